"""Who a row is, in plain data: what is confirmed on one host is sent back to the other with it, and
what has changed since is refused there. Pure."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row


def identity_of(row: Row) -> dict[str, object]:
    return {
        "ended": row.status.ended,
        "agent": row.agent,
        "pane": [row.pane.id, row.pane.pid, row.pane.created_epoch],
        "tmux": [
            row.tmux.boot_id,
            row.tmux.server_pid,
            row.tmux.session_id,
            row.tmux.session_created,
        ],
        "conversations": [list(one) for one in row.conversations],
    }


def changed(name: str) -> Failure:
    return Failure(
        Code.SESSION_REPLACED,
        f"could not end {name}: it is not the session any more that was confirmed",
        "look at it again, then say it again",
    )

"""Who calls: the user, the host, the tool, and the registered session that the call comes from.
Looks at no process."""

from __future__ import annotations

import pwd

from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import pane_word


def caller(context: Context) -> dict[str, object]:
    """As it is recorded with an ending; what was handed over keeps who asked for it."""
    if context.asked_by is not None:
        return dict(context.asked_by)
    uid = context.settings.uid
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return {
        "user": user,
        "host": context.place.host,
        "tool": context.tool,
        "session": own_name(context),
    }


def own_name(context: Context) -> str | None:
    """Name the running row that we are called from: by the mark of its session, else by its
    pane."""
    mark, here = context.settings.mark, context.settings.pane
    if mark is None and here is None:
        return None
    look = context.registry.look()
    if mark is not None and (name := context.books.name_of(mark)) is not None:
        row = look.named(name)
        return name if row is not None and not row.status.ended else None
    rows = (
        row for row in look.usable if not row.status.ended and row.tmux.server_pid and row.pane.id
    )
    return next(
        (row.name for row in rows if pane_word(row.tmux.server_pid, row.pane.id or "") == here),
        None,
    )

"""Turns what other hosts report into sessions, for the table of `list`; unexpected values become
unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tmuxreap.commands.list import SORT_KEYS
from tmuxreap.core.answers import RemoteResult, Session
from tmuxreap.core.model import Live, Status
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace

TEXTS = ("agent", "tmux_server", "pane_id", "cwd", "conversation_id", "drift", "state")
NUMBERS = ("pid", "idle_s", "heartbeat_age_s")


def shown(items: Sequence[Item], sort: object) -> list[Item]:
    shown_items = [_shown(item) if isinstance(item, RemoteResult) else item for item in items]
    key = SORT_KEYS.get(sort) if isinstance(sort, str) else None
    if key is None:
        return shown_items
    sessions = [one for one in shown_items if isinstance(one, RemoteResult) and one.shown]
    sessions.sort(key=lambda one: key(one.shown))  # type: ignore[arg-type, return-value]
    return [*sessions, *(one for one in shown_items if one not in sessions)]


def _shown(item: RemoteResult) -> RemoteResult:
    session = None if "live" not in item.facts else session_of(item.target, item.facts)
    return item if session is None else replace(item, shown=session)


def session_of(target: str, facts: Mapping[str, object]) -> Session | None:
    try:
        status, live = Status(facts.get("status")), Live(facts.get("live"))
    except ValueError:
        return None
    texts: dict[str, Any] = {name: _of(str, facts.get(name)) for name in TEXTS}
    numbers: dict[str, Any] = {name: _of(int, facts.get(name)) for name in NUMBERS}
    tags, memory = facts.get("tags"), facts.get("memory_mb")
    return Session(
        name=target,
        status=status,
        live=live,
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        resumable=facts.get("resumable") is True,
        attached=facts.get("attached") is True,
        memory_mb=float(memory) if isinstance(memory, (int, float)) else 0.0,
        **texts,
        **numbers,
    )


def _of(kind: type, value: object) -> object:
    return value if isinstance(value, kind) and not isinstance(value, bool) else None

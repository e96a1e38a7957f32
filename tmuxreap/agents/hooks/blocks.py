"""Where an agent takes hooks from, and what an entry looks like there: the `hooks` block of a
profile, checked."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.agents.blocks import Block
from tmuxreap.core.values import field, frozen

KEYS = ("file", "events", "entry", "base", "named")


@frozen
class Hooks:
    file: str  # in the store
    events: tuple[str, ...]
    entry: Mapping[str, object]  # {command} is what is called
    base: Mapping[str, object] = field(default_factory=dict)  # what such a file must hold besides
    named: bool = True  # the agent names the event on stdin


def hooks_of(data: Block) -> Hooks | None:
    if not data.data:
        return None
    data.only(KEYS)
    file, events = data.text("file"), data.words("events")
    if not file or not events or not data.inner("entry").data:
        raise data.bad("file", "hooks need their file, their events and their entry")
    if file.startswith(("/", "~")) or ".." in file.split("/"):
        raise data.bad("file", f"{file!r} does not lie in the store")
    named = data.data.get("named", True)
    if not isinstance(named, bool):
        raise data.bad("named", f"{named!r} is neither true nor false")
    return Hooks(file, events, data.inner("entry").data, data.inner("base").data, named)

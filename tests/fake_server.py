"""What a fake tmux server holds: sessions, panes, and their options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from tmuxreap.core.model import (
    Pane,
    ProcessId,
)


@dataclass
class FakePane:
    now: Pane
    process: ProcessId
    tty: int
    screen: str = ""
    options: dict[str, str] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)
    on_key: Callable[[str], None] | None = None  # how the screen reacts to a key


@dataclass
class FakeSession:
    id: str
    name: str
    created: int
    panes: list[FakePane] = field(default_factory=list)
    activity: int = 0
    attached: int = 0
    grouped: bool = False
    environment: dict[str, str] = field(
        default_factory=dict
    )  # environment that `new-session -e` gives to its panes


@dataclass
class FakeServer:
    process: ProcessId
    started: int
    sessions: list[FakeSession] = field(default_factory=list)
    session_ids: Iterator[int] = field(default_factory=count)
    pane_ids: Iterator[int] = field(default_factory=count)
    options: dict[str, str] = field(default_factory=dict)

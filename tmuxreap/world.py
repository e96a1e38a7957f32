"""One look at the world, as plain data: what `observe` gathers and `sights` judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tmuxreap.model import Process, ProcessId, ServerLook
from tmuxreap.ownership import Index
from tmuxreap.values import frozen


@frozen
class Names:
    """What a process is called."""

    argv: tuple[str, ...]
    executable: str | None


@frozen
class World:
    """One look: every process, the tmux servers that were asked, and where this program itself stands in it."""

    host: str
    boot_id: str
    servers: Mapping[str, ServerLook]
    index: Index
    names: Callable[[Process], Names]
    tty_of: Callable[[str], int]
    canonical: Callable[[str], str]  # the one path of a socket
    epoch_of: Callable[[ProcessId], float]
    protected: frozenset[int]  # this program and those that called it

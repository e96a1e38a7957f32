"""The shared programs that are spared, told in one step: a look asks it of every process of every session. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.agents.profiles import Spare
from tmuxreap.core.values import frozen


@frozen
class Spares:
    listed: tuple[Spare, ...]
    programs: frozenset[str]
    by_line: bool  # one of them has its name from nowhere but its command line

    @classmethod
    def of(cls, *spares: Spare) -> Spares:
        by_line = any(spare.command is not None for spare in spares)
        return cls(spares, frozenset(spare.program for spare in spares), by_line)

    def matching(self, called: Sequence[str], words: Sequence[str]) -> Spare | None:
        if not self.by_line and self.programs.isdisjoint(called):
            return None
        command = " ".join(words)
        return next((spare for spare in self.listed if spare.matches(called, command)), None)

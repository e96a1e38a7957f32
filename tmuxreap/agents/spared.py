"""Programs that are not part of an agent: shared ones, which are spared, and carriers of terminals.
Fast, since every process of every session is checked. Never does I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tmuxreap.agents.profiles import Spare
from tmuxreap.core.values import field, frozen


@frozen
class Carrier:
    """A program that only carries the terminal of another program."""

    program: str
    arguments: re.Pattern[str] | None = None
    beyond: bool = False  # it runs programs where this kernel cannot see them


@frozen
class Carriers:
    listed: tuple[Carrier, ...] = ()
    nested: frozenset[str] = frozenset()  # programs that take the keys: tmux, editors, pagers
    screens: tuple[re.Pattern[str], ...] = ()  # what their screens look like

    def matching(self, names: Sequence[str], words: Sequence[str]) -> Carrier | None:
        """Return the carrier with one of these names and this command line, or None."""
        named = [carrier for carrier in self.listed if carrier.program in names]
        line = " ".join(words)
        return next((it for it in named if it.arguments is None or it.arguments.search(line)), None)

    def taking_keys(self, words: Sequence[str], agents: Collection[str]) -> str | None:
        """Return the program that takes the keys, if the command line has one before the agent."""
        for word in " ".join(words).split():
            name = word.strip("'\"").rpartition("/")[2]
            if name in agents:
                return None
            if name in self.nested:
                return name
        return None

    def shows_another(self, text: str | None) -> bool:
        return text is not None and any(screen.search(text) for screen in self.screens)


@frozen
class Spares:
    listed: tuple[Spare, ...]
    programs: frozenset[str]
    by_line: bool  # whether one of them is recognized only by its command line
    carriers: Carriers = field(default_factory=Carriers)

    @classmethod
    def of(cls, *spares: Spare, carriers: Carriers | None = None) -> Spares:
        by_line = any(spare.command is not None for spare in spares)
        programs = frozenset(spare.program for spare in spares)
        return cls(spares, programs, by_line, carriers or Carriers())

    def matching(self, names: Sequence[str], words: Sequence[str]) -> Spare | None:
        if not self.by_line and self.programs.isdisjoint(names):
            return None
        command = " ".join(words)
        return next((spare for spare in self.listed if spare.matches(names, command)), None)

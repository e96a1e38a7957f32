"""The conditions of a cell that differ among users, drawn by chance: the size of the terminal, how
the row came about, what a prompt looks like, how quick the agent is, how busy the machine.

A seed draws the same conditions for the same cell again, whatever else is played."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

WIDTHS = (60, 80, 100, 120, 121, 140, 160, 200, 240)
HEIGHTS = (24, 30, 40, 60)
FROZEN_S = (0.0, 0.0, 0.0, 1.0, 2.5)  # most agents are quick
LOADS = (0, 0, 1, 2)
STARTED, ADOPTED, BY_HAND = "start", "adopt", "row by hand"


@dataclass(frozen=True, slots=True)
class Conditions:
    """As patterns were tried, where nothing else is given."""

    width: int = 120
    height: int = 40
    row: str = STARTED
    numbered: bool = False  # prompts and drafts look like the options of a dialog
    frozen_s: float = 0.0  # after the call
    load: int = 0  # programs that only compute

    def __str__(self) -> str:
        words = [f"{self.width}x{self.height}", self.row]
        if self.numbered:
            words.append("numbered")
        if self.frozen_s:
            words.append(f"frozen for {self.frozen_s:g} s")
        if self.load:
            words.append(f"load {self.load}")
        return ", ".join(words)

    def worded(self, text: str, number: int = 1) -> str:
        return f"{number}. {text}" if self.numbered else text

    @property
    def of_any_cell(self) -> Conditions:
        """Those that a cell takes which begins in a way of its own."""
        return replace(self, row=STARTED, numbered=False, frozen_s=0.0)


PLAIN = Conditions()


def drawn(seed: int, agent: str, row: str) -> Conditions:
    chance = Random(f"{seed}:{agent}:{row}")
    return Conditions(
        width=chance.choice(WIDTHS),
        height=chance.choice(HEIGHTS),
        row=chance.choice((STARTED, ADOPTED, BY_HAND)),
        numbered=chance.random() < 0.5,
        frozen_s=chance.choice(FROZEN_S),
        load=chance.choice(LOADS),
    )

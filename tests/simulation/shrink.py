"""Finds what a failing history needs: fewer steps, fewer faults, with the same broken promise."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.simulation.history import Step, play

Played = Callable[[Sequence[Step]], "str | None"]


def failure_of(steps: Sequence[Step]) -> str | None:
    """Return what is wrong with this history; None if nothing is."""
    try:
        play(steps)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def kind_of(failure: str) -> str:
    """Return what two failures of one cause have in common: no numbers, no names."""
    return " ".join(re.sub(r"\(.*?\)|\[.*?\]|\d+|\b[ab]\b", "", failure).split()[:6])


def shrink(steps: Sequence[Step], failure: str, played: Played = failure_of) -> list[Step]:
    """Return a part of the history that fails alike, of which no step can be left out."""
    wanted = kind_of(failure)

    def fails(part: Sequence[Step]) -> bool:
        found = played(part)
        return found is not None and kind_of(found) == wanted

    left = _without_steps(list(steps), fails)
    return _without_faults(left, fails)


def _without_steps(steps: list[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    size = max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(steps):
            part = steps[:at] + steps[at + size :]
            if fails(part):
                steps = part
            else:
                at += size
        size //= 2
    return steps


def _without_faults(steps: list[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    for at, step in enumerate(steps):
        if step[0] != "act":
            continue
        for fault in step[4]:
            kept = tuple(one for one in steps[at][4] if one != fault)
            part = [*steps[:at], (*step[:4], kept, step[5]), *steps[at + 1 :]]
            if fails(part):
                steps = part
    return steps

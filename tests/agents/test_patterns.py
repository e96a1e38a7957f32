"""Screen patterns are never slow, whatever a screen shows: a slow one would block every verb that
looks at that session."""

# ruff: noqa: RUF001 - what agents draw

from __future__ import annotations

import random
import re

import pytest

from tests.cpu import cpu_limit
from tmuxreap.agents.load import load_profiles

AGENTS = load_profiles(None).agents
CPU_S = 1.0  # linear patterns need hundredths; backtracking over all lines takes ages
LINES, SCREENS = 60, 40
ANY = (
    *("", " ", "  ", "─" * 120, "─── a", "│", "│ a", "┃", "> ", "❯ ", "❯", "› ", "! a", "/a"),
    *("● 1. a", "a" * 160, " a b c ", "a:", "(a)", "[a]", "•", "1", "? a", "■", "⠋ a", "…"),
)
PATTERNS = {
    f"{agent.name}-{word}": pattern
    for agent in AGENTS.values()
    for word, pattern in (*agent.marks.items(), *((s.value, p) for s, p in agent.screens.items()))
}


def words_of(pattern: str) -> list[str]:
    """Return the pattern's literal words: a screen of these matches furthest before it fails."""
    plain = re.sub(r"\\[a-zA-Z]|\(\?[^)]*?[:=!>]|[\\^$*+?{}()\[\]|.]", "\0", pattern)
    return [word for word in plain.split("\0") if len(word) > 1]


@pytest.mark.parametrize("name", PATTERNS)
def test_no_screen_makes_a_pattern_slow(name: str) -> None:
    pattern, chance = PATTERNS[name], random.Random(name)
    words = words_of(pattern.pattern)
    own = [*words, *(f"  {word} a" for word in words), *(f"a {word}" for word in words)]
    with cpu_limit(CPU_S):
        for turn in range(SCREENS):
            few = chance.sample([*own, *ANY], k=min(2 + turn % 7, len(own) + len(ANY)))
            pattern.search("\n".join(chance.choices(few, k=LINES)))

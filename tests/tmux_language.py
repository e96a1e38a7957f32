"""The language of tmux's nested commands, as far as we build it: words and comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from tmuxreap.system.tmux.client import GROUPED, HOLDS


def words_of(line: str) -> list[str]:
    """Split a nested command: words in single quotes, or in double quotes with octal escapes."""
    return [
        _unescaped(one or two or three)
        for one, two, three in re.findall(r"'([^']*)'|\"([^\"]*)\"|([^\s'\"]+)", line)
    ]


def _unescaped(word: str) -> str:
    octets = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), word.encode())
    return octets.decode("utf-8", "surrogateescape")


def holds(condition: str, facts: Mapping[str, object]) -> bool:
    """Evaluate the comparisons of the compare-and-kill commands."""
    for name, short in ((GROUPED, "grouped"), (HOLDS, "held")):
        condition = condition.replace(f"#{{{name}}}", f"#{{{short}}}")
    facts = {**facts, "grouped": facts.get(GROUPED, ""), "held": facts.get(HOLDS, "")}
    compared = re.findall(r"#\{==:#\{(\w+)\},([^}]*)\}", condition)
    matched = re.findall(r"#\{m:([^,]*),#\{(\w+)\}\}", condition)
    assert compared, f"the fake cannot read {condition}"
    same = all(str(facts.get(name, "")) == value for name, value in compared)
    return same and all(fnmatchcase(str(facts[name]), pattern) for pattern, name in matched)

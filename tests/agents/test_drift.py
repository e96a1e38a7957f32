"""The report of what a new version of an agent does that its profile does not know."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.real_agents import sentinels
from tests.real_agents.drift import Seen, pattern_of, report
from tests.real_agents.sentinels import SCENES, Scene, Sentinel, faults
from tests.real_agents.setups import SETUPS
from tmuxreap.agents.load import load_profiles

CLAUDE = load_profiles(None).agents["claude"]
ASKING = "───\n  Auto mode can't check\n\n  ❯ 1. Switch\n\n  Enter to stay · 12 s\n"  # noqa: RUF001
NEW = Seen(
    "2.2.0",
    flags={"--verbose": False, "--new-mode": False, "--colour": True},
    files=["a", "daemon/roster.json"],
    keys={"idle, Left": "starts `claude daemon run`"},
    screens={"without options, a tool": ASKING},
    apart={"/usr/bin/claude daemon run": "idle, Left"},
)


def test_a_report_names_the_key_the_screen_and_the_flags_that_are_new() -> None:
    text = "\n".join(report("claude", NEW, None, CLAUDE))
    assert "- idle, Left: starts `claude daemon run`" in text
    assert ASKING in text
    assert "- `--new-mode`" in text
    assert "`--verbose`" not in text, "the profile has it"
    assert "      alone: [--new-mode]" in text, "one that takes a word needs no entry"
    assert "      - {program: claude, arguments: 'daemon\\ run'}" in text


def test_a_proposed_pattern_matches_its_screen_whatever_the_numbers() -> None:
    pattern = re.compile(pattern_of(ASKING), re.MULTILINE)
    assert pattern.search(ASKING)
    assert pattern.search(ASKING.replace("12 s", "9 s"))


def test_a_difference_seen_in_the_last_run_is_not_reported_again() -> None:
    lines = report("claude", NEW, replace(NEW, version="2.1.0"), CLAUDE)
    assert not [line for line in lines if line.startswith(("## Keys", "## No pattern", "## Flags"))]


def test_a_difference_gone_since_the_last_run_is_reported() -> None:
    last = replace(NEW, flags={**NEW.flags, "--old": False}, files=["a"])
    text = "\n".join(report("claude", NEW, last, CLAUDE))
    assert "## Flags that are gone\n\n- `--old`" in text
    assert "## Files that are new\n\n- `daemon/roster.json`" in text


class Stub:
    """As much of a bench as a scene without states needs."""

    setup = SETUPS["claude"]


def test_there_are_forty_sentinels_of_different_names() -> None:
    names = [one.name for scene in SCENES for one in scene.sentinels]
    assert len(names) >= 40
    assert len(set(names)) == len(names)


def test_each_sentinel_that_does_not_hold_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> bool:
        raise AssertionError("never came: the answer\na screen")

    monkeypatch.setattr(sentinels, "begin", lambda *_, **__: None)
    scenes = (
        Scene(lambda _: None, (Sentinel("one", lambda _: True), Sentinel("two", fails))),
        Scene(lambda _: None, (Sentinel("three", fails, lambda _: False),)),
        Scene(fails, (Sentinel("four", lambda _: True), Sentinel("five", lambda _: True))),  # type: ignore[arg-type]
    )
    found = list(faults(Stub(), scenes))  # type: ignore[arg-type]
    assert found == ["two: never came: the answer", "four, five: never came: the answer"]

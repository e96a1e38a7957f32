"""A block becomes a profile, or says what is wrong in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tmuxreap.agents import build
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Hooks


def test_the_head_of_the_file_explains_each_word_of_a_block() -> None:
    head = (
        (Path(build.__file__).with_name("agents.yaml"))
        .read_text(encoding="utf-8")
        .partition("common:")[0]
    )
    explained = set(re.findall(r"[a-z_]+", head))
    assert {
        *build.BLOCK_KEYS,
        *build.TALK_KEYS,
        *build.KEYS,
        *Hooks.__match_args__,
    } - explained == set()


HOOKS = {"file": "settings.json", "events": ["Stop"], "entry": {"command": "{command}"}}


def hooks_of(tmp_path: Path, block: dict[str, object]) -> Hooks | None:
    mine = tmp_path / "agents.yaml"
    mine.write_text(json.dumps({"agents": {"other": {"process": ["other"], "hooks": block}}}))
    return load_profiles(mine).agents["other"].hooks


def test_a_block_of_hooks_becomes_what_an_agent_takes(tmp_path: Path) -> None:
    assert hooks_of(tmp_path, HOOKS) == Hooks("settings.json", ("Stop",), {"command": "{command}"})
    assert hooks_of(tmp_path, {}) is None
    named = hooks_of(tmp_path, {**HOOKS, "named": False, "base": {"version": 1}})
    assert named is not None
    assert (named.named, named.base) == (False, {"version": 1})


@pytest.mark.parametrize(
    ("over", "key"),
    [
        ({"file": ""}, "file"),
        ({"events": []}, "file"),
        ({"entry": {}}, "file"),
        ({"file": "/etc/passwd"}, "file"),
        ({"file": "~/x"}, "file"),
        ({"file": "a/../../x"}, "file"),
        ({"named": "yes"}, "named"),
        ({"evnets": []}, "evnets"),
    ],
)
def test_a_mistake_in_hooks_is_reported_with_its_place(
    over: dict[str, object], key: str, tmp_path: Path
) -> None:
    mine = tmp_path / "agents.yaml"
    block = {"process": ["other"], "hooks": {**HOOKS, **over}}
    mine.write_text(json.dumps({"agents": {"other": block}}))
    profiles = load_profiles(mine)
    (fault,) = profiles.faults
    assert f"agents.other.hooks.{key}: " in fault.message
    assert "other" not in profiles.agents

"""Our hooks in a user's settings: added, removed again, and every other byte stays."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmuxreap.agents.hooks.settings_file import NotJson, installed, parse, removed
from tmuxreap.agents.profiles import Hooks

HOOKS = Hooks(
    "settings.json",
    ("SessionStart", "PreToolUse"),
    {"hooks": [{"type": "command", "command": "{command}", "timeout": 10}]},
)
MINE = '{"type": "command", "command": "notify-send done"}'

TEXTS = (
    "{}",
    "{}\n",
    "  { }  ",
    '{"model": "opus"}',
    '{\n  "model": "opus"\n}\n',
    '{\r\n\t"model": "opus",\r\n\t"n": 1.50e3\r\n}\r\n',
    '{"hooks": {}}',
    '{"hooks": {}, "model": "opus"}\n',
    '{\n  "model": "opus",\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
    '{"hooks": {"SessionStart": [], "PreToolUse": []}}',
    f'{{"hooks": {{"PreToolUse": [{{"matcher": "Bash", "hooks": [{MINE}]}}]}}, "a": [1, {{}}]}}',
    (
        f'{{\n   "hooks": {{\n      "Stop": [\n         {{"hooks": [{MINE}]}}\n      ]\n   }},\n   '
        ' "z": "\\u00fc"\n}'
    ),
)


@pytest.mark.parametrize("text", TEXTS)
def test_installed_hooks_are_removed_again_to_the_byte(text: str) -> None:
    with_hooks = installed(text, HOOKS, "claude", "tmuxreap")
    assert removed(with_hooks, "claude").replace(" ", "") == text.replace(" ", "")
    assert text.strip("{ }\n") == "" or removed(with_hooks, "claude") == text


@pytest.mark.parametrize("text", TEXTS)
def test_other_hooks_stay_and_ours_take_the_agents_form(text: str) -> None:
    before, after = json.loads(text), json.loads(installed(text, HOOKS, "claude", "tmuxreap"))
    command = "tmuxreap hook claude 2>/dev/null || :"
    others = before.get("hooks", {})
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert after["hooks"].keys() == {**others, **dict.fromkeys(HOOKS.events)}.keys()
    for event, entries in after["hooks"].items():
        if event not in HOOKS.events:
            assert entries == others[event]
            continue
        assert entries[:-1] == others.get(event, [])
        (ours,) = entries[-1]["hooks"]
        assert (ours["type"], ours["timeout"]) == ("command", 10)
        assert ours["command"].partition(" # ")[0] == command


@pytest.mark.parametrize("text", TEXTS)
def test_installing_hooks_twice_changes_nothing(text: str) -> None:
    once = installed(text, HOOKS, "claude", "tmuxreap")
    assert installed(once, HOOKS, "claude", "tmuxreap") == once


def test_a_moved_hook_replaces_the_old_one() -> None:
    moved = installed(
        installed(TEXTS[4], HOOKS, "claude", "/old/tmuxreap"), HOOKS, "claude", "'/a b/tmuxreap'"
    )
    assert "/old" not in moved
    assert removed(moved, "claude") == TEXTS[4]


def test_hooks_of_other_agents_and_programs_are_not_taken_for_ours() -> None:
    text = installed("{}", HOOKS, "qwen", "tmuxreap").replace("timeout", "tmuxreap-hook claude")
    assert removed(text, "claude") == text
    foreign = (
        '{"hooks": {"Stop": [{"hooks": [{"command": "mytmuxreap hook claude"}, {"command": "x hook'
        ' claude"}]}]}}'
    )
    assert removed(foreign, "claude") == foreign


def test_our_hook_is_found_in_a_group_made_by_a_person() -> None:
    text = (
        f'{{"hooks": {{"Stop": [{{"hooks": [{MINE}, {{"command": "/x/tmuxreap hook'
        ' claude"}]}]}}'
    )
    assert removed(text, "claude") == f'{{"hooks": {{"Stop": [{{"hooks": [{MINE}]}}]}}}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"x"',
        '{"a": 1,}',
        "{} {}",
        "// x\n{}",
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": {}}}',
        "[" * 9999,
    ],
)
def test_odd_settings_are_reported_and_not_touched(text: str) -> None:
    with pytest.raises(NotJson):
        installed(text, HOOKS, "claude", "tmuxreap")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.long
@settings(max_examples=int(os.environ.get("EXAMPLES", "25")), deadline=None)
@given(
    st.dictionaries(st.text(max_size=6), VALUES, min_size=1, max_size=4),
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
)
def test_any_settings_survive(
    data: dict[str, object], indent: int | str | None, ascii_only: bool
) -> None:
    data.pop("hooks", None)
    text = json.dumps({**data, "last": 1}, indent=indent, ensure_ascii=ascii_only)
    with_hooks = installed(text, HOOKS, "claude", "tmuxreap")
    assert list(json.loads(with_hooks)) == [*data, "last", "hooks"] or "last" in data
    assert removed(with_hooks, "claude") == text
    assert parse(with_hooks).end == len(with_hooks)

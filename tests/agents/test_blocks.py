"""Invalid blocks of agents are reported with their place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tmuxreap.agents.blocks import Block, LazyPattern, Unreadable, parsed
from tmuxreap.agents.load import load_profiles
from tmuxreap.core.errors import Code


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents: [", "line 2, column 1: did not find expected node content"),
        ("a: b: c", "line 1, column 5: mapping values are not allowed"),
        ("agents: []", "line 1, column 9: agents: expected a mapping, not []"),
        ("[]", "line 1, column 1: the file is not a mapping"),
        ("agents: {}\nagnets: {}", "line 2, column 9: agnets: 'agnets' is not known here"),
        ("agents: {x: 3}", "line 1, column 13: agents.x: expected a mapping, not 3"),
        (
            "agents:\n  x:\n    keys: {idle: [{type: 1}]}",
            "line 3, column 18: agents.x.keys.idle: {'type': 1} is not a key",
        ),
        (
            "agents: {x: {keys: {idle: Enter}}}",
            "column 27: agents.x.keys.idle: expected a list, not 'Enter'",
        ),
        ("agents: {x: {keys: {idle: [-1]}}}", "agents.x.keys.idle: -1 is not a key, a pause"),
        ("agents: {x: {keys: {idle: [60]}}}", "agents.x.keys.idle: 60 is not a key, a pause"),
        ("agents: {x: {keys: {idle: [[text]]}}}", "keys.idle: ['text'] is not a key, a pause"),
        ("agents: {x: {keys: {idle: [[wait]]}}}", "keys.idle: ['wait'] is not a key, a pause"),
        ("agents: {x: {keys: {idle: [{text: a, b: c}]}}}", "is not a key, a pause, a wait or a"),
        (
            "agents: {x: {screens: {sleepy: z}}}",
            "agents.x.screens.sleepy: 'sleepy' is not known here",
        ),
        (
            "agents: {x: {screens: {idle: '('}}}",
            "column 30: agents.x.screens.idle: '(' is not a valid pattern",
        ),
        (
            "agents: {x: {conversation: {locators: [launch, guess]}}}",
            "'guess' is not a locator; known are hook,",
        ),
        (
            "agents: {x: {conversation: {locators: [{kind: pidfile}]}}}",
            "column 40: agents.x.conversation.locators.0: pidfile needs its path",
        ),
        (
            "agents: {x: {conversation: {locators: [{kind: open-file, path: 'a'}]}}}",
            "no group (?P<id>...) says",
        ),
        (
            "agents: {x: {conversation: {locators: [{kind: argv, flags: --id}]}}}",
            "flags: expected a list",
        ),
        (
            "agents: {x: {conversation: {purge: ['../{id}']}}}",
            "'../{id}' does not lie in the store",
        ),
        (
            "agents: {x: {conversation: {shared: ['../../other']}}}",
            "'../../other' does not lie in the store",
        ),
        ("agents: {x: {conversation: {purge: ['chats/*']}}}", "'chats/*' names no {id}"),
        (
            "agents: {x: {process: claude}}",
            "agents.x.process: expected a list, not 'claude'",
        ),
        ("agents: {x: {process: [[a]]}}", "expected a word, not ['a']"),
        ("agents: {x: {leave_s: soon}}", "agents.x.leave_s: 'soon' is not a number of seconds"),
        ("agents: {x: {leave_s: .nan}}", "nan is not a number of seconds"),
        (
            "agents: {x: {proces: [a]}}",
            "agents.x.proces: 'proces' is not known here; known are about,",
        ),
        (
            "agents: {x: {spare: [{arguments: a}]}}",
            "agents.x.spare.0: a program that is spared needs a name",
        ),
        (
            "common: {spare: ['\\x00']}\nagents: {claude: {keys: {safe: 3}}}",
            "line 2, column 32: agents.claude.keys.safe",
        ),
    ],
)
def test_a_block_that_is_wrong_is_reported_with_its_place(
    tmp_path: Path, text: str, words: str
) -> None:
    mine = tmp_path / "agents.yaml"
    mine.write_text(text)
    profiles = load_profiles(mine)
    (fault,) = profiles.faults
    assert fault.failure.code is Code.CONFIG_INVALID
    assert f"{mine}: " in fault.message
    assert words in fault.message
    assert profiles.agents == load_profiles(None).agents


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"agents: \xff\xfe")
    for name, words in (("folder", "it is no regular file"), ("bytes", "can't decode")):
        (fault,) = load_profiles(tmp_path / name).faults
        assert f"{tmp_path / name}: " in fault.message
        assert words in fault.message


def test_an_empty_user_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text("# nothing yet\n")
    assert load_profiles(tmp_path / "agents.yaml") == load_profiles(None)


def test_a_built_in_pattern_is_compiled_on_first_use() -> None:
    late = Block({"x": "^(?P<id>a+)$"}, validated=True).pattern("x")
    assert isinstance(late, LazyPattern)
    assert late._made is None
    match = late.search("b\naa")
    assert match is not None
    assert (match["id"], late.groupindex) == ("aa", {"id": 1})
    assert isinstance(late._made, re.Pattern)


def test_a_pattern_compiled_late_equals_one_compiled_at_once() -> None:
    one, other = (Block({"x": "a"}, validated=tried).pattern("x") for tried in (True, False))
    assert one == other
    assert hash(one) == hash(LazyPattern("a"))
    assert one != LazyPattern("b")
    assert one != "a"


def test_aliases_that_stand_for_billions_of_values_are_refused_at_once() -> None:
    lines = [f"a{one}: &a{one} [{', '.join([f'*a{one - 1}'] * 9)}]" for one in range(1, 12)]
    bomb = "\n".join(["a0: &a0 [x, x, x]", *lines, "reason: *a11\n"])
    with pytest.raises(Unreadable, match="too many values"):
        parsed(bomb)
    with pytest.raises(Unreadable, match="too many values"):
        parsed("a: &a [x, *a]\n")
    assert parsed("a: &a [x, y]\nb: *a\nc: {<<: {d: *a}}\n") == {
        "a": ["x", "y"],
        "b": ["x", "y"],
        "c": {"d": ["x", "y"]},
    }

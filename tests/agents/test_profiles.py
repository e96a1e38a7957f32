"""Agents are data: the package's own file, the user's over it, and what a process may be called."""

from __future__ import annotations

import re
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

from tmuxreap.agents import load
from tmuxreap.agents.hooks import blocks
from tmuxreap.agents.load import Profiles, load_profiles
from tmuxreap.agents.profiles import Key, Pause, Text
from tmuxreap.agents.programs import program_names
from tmuxreap.agents.screens import State
from tmuxreap.core.errors import Code, Failure


@pytest.fixture(scope="module")
def ours() -> Profiles:
    return load_profiles(None)


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (("claude", "--resume", "x"), {"claude"}),
        (("/usr/local/bin/claude",), {"claude"}),
        (("node", "/usr/lib/codex.js", "--x"), {"node", "codex", "codex.js"}),
        (("node", "--inspect", "/srv/gemini/bin/gemini"), {"node", "gemini"}),
        (("/usr/bin/python3.11", "-m", "tmuxreap.demo_agent", "--x"), {"python3.11", "tmuxreap.demo_agent"}),
        (("env", "A=1", "claude"), {"env", "claude"}),
        (("-bash",), {"bash"}),
        (("sh", "/srv/run-claude.sh"), {"sh", "run-claude", "run-claude.sh"}),
        (("vi", "claude"), {"vi"}),
        ((), set()),
    ],
)
def test_what_a_program_may_be_called(argv: tuple[str, ...], names: set[str]) -> None:
    assert set(program_names(argv, "", None)) == names


def test_an_agent_is_recognised_by_its_program_and_not_by_an_argument(ours: Profiles) -> None:
    claude = ours.agents["claude"]
    assert claude.recognises(("node", "/x/claude"), "node", "/usr/bin/node")
    assert claude.recognises((), "claude", None)
    assert not claude.recognises(("grep", "claude"), "grep", "/bin/grep")
    assert not claude.recognises(("tail", "-f", "claude"), "tail", None)
    assert not claude.recognises(("bash", "-c", "echo claude"), "bash", None)


def test_by_name_and_by_command(ours: Profiles) -> None:
    assert ours.by_name_suffix("acme-creator-claude") == "claude"
    assert ours.by_name_suffix("claude-notes") is None
    assert ours.by_command(["node", "/x/gemini"]) == "gemini"
    assert ours.by_command(["vim"]) is None
    assert ours.of(None) is None
    assert ours.of("nobody") is None


def test_the_demo_agent_s_block(ours: Profiles) -> None:
    demo = ours.agents["demo"]
    assert demo.idle_keys == (Text("/exit"), Pause(0.1), Key("Enter"))
    assert demo.safe_keys[0] == Key("Escape")
    assert isinstance(demo.safe_keys[1], Pause), "an Escape that a key follows at once is Alt"
    assert demo.command == (sys.executable, "-m", "tmuxreap.demo_agent")
    assert set(demo.screens) == {State.IDLE, State.DRAFT, State.BUSY, State.DIALOG}
    assert (demo.store_variable, demo.store_default) == ("TMUXREAP_DEMO_HOME", "~/.tmuxreap-demo")


def test_only_what_was_run_for_real_gets_keys(ours: Profiles) -> None:
    for profile in ours.agents.values():
        assert profile.has_keys <= (profile.verified is not None), profile.name


def test_no_bare_enter_and_no_melting_escape(ours: Profiles) -> None:
    for profile in ours.agents.values():
        for steps in (profile.idle_keys, profile.safe_keys, profile.again_keys):
            for step, following in zip_longest(steps, steps[1:]):
                if step == Key("Escape"):
                    assert isinstance(following, Pause), profile.name
        assert Key("Enter") not in (*profile.safe_keys, *profile.again_keys), profile.name


def test_shared_programs(ours: Profiles) -> None:
    def spared(names: tuple[str, ...], command: str) -> bool:
        return any(spare.matches(names, command) for spare in ours.common_spare)

    assert spared(("ssh-agent",), "ssh-agent -s")
    assert spared(("java",), "java -cp x org.gradle.launcher.daemon.bootstrap.GradleDaemon")
    assert not spared(("java",), "java -jar server.jar")
    assert not spared(("node",), "node firefox")


def test_the_user_s_file_is_merged_over_ours(tmp_path: Path) -> None:
    mine = tmp_path / "agents.yaml"
    mine.write_text(
        "agents:\n"
        "  demo: {leave_s: 9, keys: {idle: [C-d]}}\n"
        "  mine: {process: [mine], command: [mine, '{python}'], conversation: {locators: [launch]}}\n"
    )
    profiles = load_profiles(mine)
    demo = profiles.agents["demo"]
    assert (demo.leave_s, demo.idle_keys) == (9.0, (Key("C-d"),))
    assert demo.safe_keys == load_profiles(None).agents["demo"].safe_keys
    assert profiles.agents["mine"].command == ("mine", sys.executable)
    assert profiles.agents["mine"].leave_s == 3.0
    assert not profiles.agents["mine"].has_keys
    assert "claude" in profiles.agents


def test_a_user_s_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert load_profiles(tmp_path / "none.yaml").agents.keys() == load_profiles(None).agents.keys()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents: [", "line 2, column 1: did not find expected node content"),
        ("a: b: c", "line 1, column 5: mapping values are not allowed"),
        ("agents: []", "line 1, column 9: agents: a mapping is due where [] stands"),
        ("[]", "line 1, column 1: the file is no mapping"),
        ("agents: {}\nagnets: {}", "line 2, column 9: agnets: 'agnets' means nothing here"),
        ("agents: {x: 3}", "line 1, column 13: agents.x: a mapping is due where 3 stands"),
        (
            "agents:\n  x:\n    keys: {idle: [{type: 1}]}",
            "line 3, column 18: agents.x.keys.idle: {'type': 1} is no key",
        ),
        ("agents: {x: {keys: {idle: Enter}}}", "column 27: agents.x.keys.idle: a list is due where 'Enter' stands"),
        ("agents: {x: {keys: {idle: [-1]}}}", "agents.x.keys.idle: -1 is no key, no pause"),
        ("agents: {x: {screens: {sleepy: z}}}", "agents.x.screens.sleepy: 'sleepy' means nothing here"),
        ("agents: {x: {screens: {idle: '('}}}", "column 30: agents.x.screens.idle: '(' is no pattern"),
        ("agents: {x: {conversation: {locators: [launch, guess]}}}", "'guess' is no locator; there are hook,"),
        (
            "agents: {x: {conversation: {locators: [{kind: pidfile}]}}}",
            "column 40: agents.x.conversation.locators.0: pidfile needs its path",
        ),
        ("agents: {x: {conversation: {locators: [{kind: open-file, path: 'a'}]}}}", "no group (?P<id>...) says"),
        ("agents: {x: {conversation: {locators: [{kind: argv, flags: --id}]}}}", "flags: a list is due"),
        ("agents: {x: {conversation: {purge: ['../{id}']}}}", "'../{id}' does not lie in the store"),
        ("agents: {x: {conversation: {purge: ['chats/*']}}}", "'chats/*' names no {id}"),
        ("agents: {x: {process: claude}}", "agents.x.process: a list is due where 'claude' stands"),
        ("agents: {x: {process: [[a]]}}", "a word is due where ['a'] stands"),
        ("agents: {x: {leave_s: soon}}", "agents.x.leave_s: 'soon' is no number of seconds"),
        ("agents: {x: {leave_s: .nan}}", "nan is no number of seconds"),
        ("agents: {x: {proces: [a]}}", "agents.x.proces: 'proces' means nothing here; there are about,"),
        ("agents: {x: {spare: [{arguments: a}]}}", "agents.x.spare.0: a program that is spared needs a name"),
        (
            "common: {spare: ['\\x00']}\nagents: {claude: {keys: {safe: 3}}}",
            "line 2, column 32: agents.claude.keys.safe",
        ),
    ],
)
def test_a_block_that_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    mine = tmp_path / "agents.yaml"
    mine.write_text(text)
    with pytest.raises(Failure) as raised:
        load_profiles(mine)
    assert raised.value.code is Code.USAGE
    assert f"{mine}: " in raised.value.message
    assert words in raised.value.message


def test_a_file_that_cannot_be_read_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"agents: \xff\xfe")
    for name, words in (("folder", "Is a directory"), ("bytes", "can't decode")):
        with pytest.raises(Failure) as raised:
            load_profiles(tmp_path / name)
        assert f"{tmp_path / name}: " in raised.value.message
        assert words in raised.value.message


def test_an_empty_file_of_the_user_s_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text("# nothing yet\n")
    assert load_profiles(tmp_path / "agents.yaml") == load_profiles(None)


def test_the_head_of_the_file_explains_each_word_of_a_block() -> None:
    head = (Path(load.__file__).with_name("agents.yaml")).read_text(encoding="utf-8").partition("common:")[0]
    told = set(re.findall(r"[a-z_]+", head))
    assert {*load.BLOCK_KEYS, *load.TALK_KEYS, *blocks.KEYS} - told == set()

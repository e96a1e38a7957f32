"""`agents`: the known agents, and what the user's own file changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Answer
from tests.command_line import tmuxreap as run
from tmuxreap.agents import blocks, load
from tmuxreap.agents.blocks import Block
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tmuxreap").mkdir()
    return tmp_path / "tmuxreap" / "agents.yaml"


def of(answer: Answer, name: str) -> dict[str, Any]:
    (row,) = [one for one in answer.json["results"] if one["name"] == name]
    return row


def test_each_agent_says_what_it_can(mine: Path) -> None:
    answer = run("agents", "--json")
    claude = of(answer, "claude")
    assert (claude["exit_keys"], claude["takes_an_id"], claude["purge"]) == (True, True, True)
    assert claude["resume"] == "claude --resume {id}"
    assert claude["locators"][0] in ("hook", "pidfile")
    droid = of(answer, "droid")
    assert (droid["exit_keys"], droid["purge"], droid["locators"]) == (False, False, ["argv"])


def test_a_new_agent_is_one_block_and_no_code(mine: Path) -> None:
    mine.write_text(
        "agents:\n  parrot: {about: mine, process: [parrot], command: [parrot],"
        " resume: [--session, '{id}']}\n"
    )
    answer = run("agents", "--json")
    parrot = of(answer, "parrot")
    assert (parrot["about"], parrot["exit_keys"], parrot["resume"]) == (
        "mine",
        False,
        "parrot --session {id}",
    )
    assert of(answer, "claude")["exit_keys"]


def test_changing_one_word_of_a_block_keeps_the_others(mine: Path) -> None:
    before = of(run("agents", "--json"), "claude")
    mine.write_text("agents: {claude: {about: ours}}\n")
    after = of(run("agents", "--json"), "claude")
    assert (after.pop("about"), before.pop("about")) == ("ours", "Claude Code")
    assert after == before


def test_a_fork_inherits_its_block_but_not_its_verification(mine: Path) -> None:
    mine.write_text(
        "agents:\n  fork: {about: a fork, like: claude, process: [fork], command: [fork],"
        " store: {default: ~/.fork}}\n"
    )
    profiles = load_profiles(mine)
    fork, claude = profiles.agents["fork"], profiles.agents["claude"]
    assert (fork.screens, fork.safe_keys) == (claude.screens, claude.safe_keys)
    assert (fork.process, fork.store_default, fork.verified) == (("fork",), "~/.fork", None)
    assert profiles.by_programs(["claude"]) == ["claude"]


@pytest.mark.parametrize("like", ["nobody", "kilo"])
def test_like_must_name_a_known_agent_that_is_not_a_fork(mine: Path, like: str) -> None:
    mine.write_text(f"agents:\n  fork: {{like: {like}, process: [fork]}}\n")
    answer = run("agents", "--json")
    assert answer.error["message"].endswith(
        f"{mine}: line 2, column 16: agents.fork.like: {like!r} is no agent with a block of its own"
    )


def test_a_fault_in_the_users_file_is_reported_with_its_place(mine: Path) -> None:
    mine.write_text("agents:\n  claude:\n    conversation:\n      locators: [guess]\n")
    answer = run("agents", "--json")
    assert answer.exit == 2
    assert answer.error["code"] == "config_invalid"
    assert of(answer, "claude")["exit_keys"]
    place = f"{mine}: line 4, column 18: agents.claude.conversation.locators.0.kind"
    assert answer.error["message"].startswith(
        f"could not read the agents' profiles: {place}: 'guess' is not a locator"
    )


def test_without_a_home_no_user_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert run("agents").exit == 0


def test_a_row_of_an_unknown_agent_is_shown(mine: Path, tmp_path: Path) -> None:
    registry = tmp_path / "agent-sessions.yaml"
    registry.write_text("tmux_sessions:\n  - {name: acme, status: stopped, agent: nobody}\n")
    answer = run("list", "--registry", str(registry), "--json")
    assert (answer.exit, of(answer, "acme")["agent"]) == (0, "nobody")
    assert run("resume", "acme", "--registry", str(registry), "--json").codes == ["not_resumable"]


def test_built_in_profiles_load_without_yaml_and_every_pattern_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = load._profiles(Block(blocks.parsed(load.BUILT_IN.read_text("utf-8"))))
    tuple(tried.agents.values())  # compiles them all
    load._ours.cache_clear()
    monkeypatch.delattr(blocks, "parsed")
    ours = load_profiles(None)
    assert (dict(ours.agents), ours.common_spare) == (dict(tried.agents), tried.common_spare)


@pytest.mark.parametrize("known", ['{"00000000": {}}', "{", None])
def test_values_cached_from_another_file_are_not_used(
    known: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text("agents: {only: {process: [only]}}\n")
    if known is not None:
        file.with_suffix(".json").write_text(known)
    monkeypatch.setattr(load, "BUILT_IN", file)
    monkeypatch.setattr(load, "PARSED", file.with_suffix(".json"))
    assert list(load_profiles(None).agents) == ["only"]


BROKEN = "agents:\n  parrot:\n    process: [parrot]\n    screens: {idle: '^parrot>['}\n"
WHOLE = BROKEN.replace("'^parrot>['", "'^parrot>'")


def test_a_wrong_block_counts_as_it_was_last_read_well(mine: Path, tmp_path: Path) -> None:
    mine.write_text(WHOLE)
    assert load_profiles(mine, state_folder=tmp_path).faults == ()
    mine.write_text(f"{BROKEN}  starling: {{process: [starling]}}\n")
    profiles = load_profiles(mine, state_folder=tmp_path)
    (fault,) = profiles.faults
    assert (fault.part, fault.remembered) == ("parrot", True)
    assert fault.warning.endswith("it counts as it was last read")
    assert list(profiles.agents["parrot"].screens) == [State.IDLE]
    assert "starling" in profiles.agents
    mine.write_text("agents: [")
    profiles = load_profiles(mine, state_folder=tmp_path)
    assert {"parrot", "starling"} <= profiles.agents.keys()
    assert [fault.remembered for fault in profiles.faults] == [True]


def test_a_file_that_was_never_read_is_not_remembered_as_empty(mine: Path, tmp_path: Path) -> None:
    """Else the second stop would end the programs that the user spares."""
    for end in ("\n", "\n\n"):
        mine.write_text("common: {spare: [mine]}\nagents: [" + end)
        (fault,) = load_profiles(mine, state_folder=tmp_path).faults
        assert (fault.remembered, fault.loses("spare")) == (False, True)


def test_a_fork_of_an_excluded_agent_is_excluded_too(mine: Path) -> None:
    mine.write_text(f"{BROKEN}  fork: {{process: [fork], like: parrot}}\n")
    profiles = load_profiles(mine)
    assert {fault.part for fault in profiles.faults} == {"parrot", "fork"}
    assert profiles.agents == load_profiles(None).agents


@pytest.mark.parametrize("verb", ["list", "stop", "kill", "reconcile", "reap --yes", "show cl"])
def test_one_bad_block_hinders_no_verb(mine: Path, tmp_path: Path, verb: str) -> None:
    mine.write_text(BROKEN)
    words = [*verb.split(), *(["cl"] if verb in ("stop", "kill") else [])]
    answer = run(*words, *registered(tmp_path), "--json")
    (warning,) = [one for one in answer.json["warnings"] if one.startswith("config_invalid: ")]
    assert f"{mine}: line 4, column 21: agents.parrot.screens.idle: " in warning
    assert warning.endswith("it is left out")
    if verb == "reap --yes":
        assert (answer.exit, answer.error["code"]) == (2, "config_invalid")
    else:
        assert answer.exit == 0
    if verb in ("stop", "kill"):
        assert answer.json["results"][0]["stopped_by"] == "already_gone"


def test_only_what_asks_for_the_bad_block_is_refused(mine: Path, tmp_path: Path) -> None:
    mine.write_text(BROKEN)
    for words in (
        ("start", "x", "--agent", "parrot", *registered(tmp_path)),
        ("hooks", "install", "parrot"),
    ):
        answer = run(*words, "--json")
        assert (answer.exit, answer.error["code"]) == (2, "config_invalid")


@pytest.mark.parametrize(
    "text",
    [
        "common: {spare: [{arguments: x}]}\n",
        "common: {spare: [mine]}\nagents: [\n",
        "agents:\n  claude: {spare: [mine], keyz: {}}\n",
    ],
)
def test_a_stop_ends_nothing_while_the_spared_programs_are_unknown(
    mine: Path, tmp_path: Path, text: str
) -> None:
    mine.write_text(text)
    where = registered(tmp_path)
    before = Path(where[1]).read_bytes()
    answer = run("stop", "cl", *where, "--json")
    assert (answer.exit, answer.error["code"]) == (2, "config_invalid")
    assert "tmuxreap kill" in answer.error["hint"]
    assert Path(where[1]).read_bytes() == before
    killed = run("kill", "cl", *where, "--json")
    assert killed.exit == 0
    assert "your list of spared programs cannot be read" in " ".join(killed.json["warnings"])


@pytest.mark.parametrize("kind", ["fifo", "device", "deep", "wide", "large", "others"])
def test_an_agents_file_that_is_no_plain_file_is_not_used(
    mine: Path, tmp_path: Path, kind: str
) -> None:
    if kind == "fifo":
        os.mkfifo(mine)
    elif kind == "device":
        mine.symlink_to("/dev/zero")
    else:
        texts = {"deep": "[" * 50_000, "wide": "- " * 50_000, "large": f"# {'x' * 1_000_000}"}
        mine.write_text(texts.get(kind, "agents: {claude: {about: theirs}}\n"))
        mine.chmod(0o666 if kind == "others" else 0o644)
    answer = run("stop", "cl", *registered(tmp_path), "--json")
    assert (answer.exit, answer.json["results"][0]["stopped_by"]) == (0, "already_gone")
    assert any(one.startswith("config_invalid: ") for one in answer.json["warnings"])


def registered(folder: Path) -> list[str]:
    registry = folder / "agent-sessions.yaml"
    registry.write_text("tmux_sessions:\n  - {name: cl, status: running, agent: claude}\n")
    return ["--registry", str(registry)]

"""What a shell is offered on TAB: the words that fit, from registry and ledger alone."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tests.ledger_records import Ledger
from tmuxreap.agents.load import load_profiles
from tmuxreap.core.verbs import PUBLIC
from tmuxreap.ledger.records import NewEvent

REGISTRY = """\
tmux_sessions:
  - {name: shop, status: running, agent: demo, tags: [acme], tmux_server: farm}
  - {name: shop-2, status: running, agent: claude}
  - {name: old, status: stopped, agent: demo, resumable: true, tags: [acme, night]}
  - {name: "with\\ttab", status: running}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TMUXREAP_REGISTRY", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "agent-sessions.yaml").write_text(REGISTRY)
    return tmp_path


def offered(*words: str) -> dict[str, str]:
    """Return the words that fish is offered for this line, each with its hint."""
    line = " ".join(("tmuxreap", *words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("_TMUXREAP_COMPLETE", "complete_fish")
        patch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        patch.setenv("_TYPER_COMPLETE_ARGS", line)
        answer = tmuxreap()
    assert (answer.exit, answer.err) == (0, "")
    pairs = [line.partition("\t") for line in answer.out.splitlines() if line]
    return {word: hint for word, _, hint in pairs}


def in_bash(*words: str) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("_TMUXREAP_COMPLETE", "complete_bash")
        patch.setenv("COMP_WORDS", " ".join(("tmuxreap", *words)))
        patch.setenv("COMP_CWORD", str(len(words)))
        return tmuxreap().out.splitlines()


def test_verbs_are_offered_with_what_they_do() -> None:
    assert set(PUBLIC) - {"hook"} <= set(offered(""))
    assert offered("reco")["reconcile"].startswith("Compare the registry with what runs")
    assert {"--registry", "--version", "--help"} <= set(offered("--"))


def test_a_verb_is_offered_the_sessions_that_it_can_mean() -> None:
    assert offered("stop", "") == {
        "shop": "running, demo",
        "shop-2": "running, claude",
        "tag:acme": "1 session",
        "agent:demo": "1 session",
        "agent:claude": "1 session",
        "all": "3 sessions",
    }
    assert offered("resume", "o") == {"old": "stopped, demo, resumable"}
    assert set(offered("list", "tag:")) == {"tag:acme", "tag:night"}
    assert {"shop", "old"} <= set(offered("show", ""))
    assert {"shop", "old"} <= set(offered("stop", "--purge-conversation", ""))


def test_completion_does_not_repeat_a_named_session() -> None:
    assert set(offered("stop", "shop", "")) == {"shop-2", "tag:acme", "agent:demo", "agent:claude"}


def test_a_flag_is_offered_and_then_its_value() -> None:
    assert "--grace" in offered("stop", "--")
    assert "--tag" in offered("start", "x", "--tag", "a", "--ta")
    assert offered("list", "--status", "r") == {"running": ""}
    assert set(offered("start", "x", "--agent", "")) == set(load_profiles(None).agents)
    assert offered("start", "x", "--server", "") == {"farm": "1 session"}
    assert set(offered("start", "x", "--tag", "")) == {"acme", "night"}
    assert set(offered("kill", "--task-status", "")) == {"failed", "ready", "cancelled"}
    assert set(offered("completion", "")) == {"bash", "zsh", "fish"}


def test_where_nothing_is_known_the_shell_completes_files() -> None:
    for line in (("stop", "--reason", ""), ("list", "--registry", ""), ("start", "x", "--", "")):
        assert offered(*line) == {}


def test_another_registry_is_read_before_and_after_the_verb(project: Path) -> None:
    (project / "other.yaml").write_text("tmux_sessions:\n  - {name: far, status: running}\n")
    assert set(offered("stop", "--registry", "other.yaml", "")) == {"far", "all"}
    assert set(offered("--registry", "other.yaml", "stop", "")) == {"far", "all"}


def test_agents_of_the_user_are_offered(project: Path) -> None:
    mine = project / ".config" / "tmuxreap" / "agents.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("agents:\n  homemade:\n    process: [homemade]\n    about: yours\n")
    assert offered("start", "x", "--agent", "home") == {"homemade": "yours"}


@pytest.mark.parametrize("words", [("nosuch", ""), ("stop", "--nosuch", "x"), ("agents", "")])
def test_unknown_values_are_not_offered(words: tuple[str, ...]) -> None:
    assert not set(offered(*words)) - set(PUBLIC)


def test_a_missing_or_broken_registry_offers_nothing(project: Path) -> None:
    registry = project / ".hermes" / "agent-sessions.yaml"
    for broken in (b"\xff\xfe\0", b"tmux_sessions: {", b""):
        registry.write_bytes(broken)
        assert offered("stop", "") == {}
    registry.unlink()
    assert offered("stop", "") == {}
    registry.mkdir()
    assert offered("stop", "") == {}


def test_bash_gets_what_follows_the_last_break() -> None:
    assert in_bash("stop", "tag", ":", "a") == ["acme"]
    assert in_bash("list", "tag", ":") == ["acme", "night"]
    assert in_bash("stop", "sh") == ["shop", "shop-2"]


def test_a_name_is_quoted_for_bash(project: Path) -> None:
    registry = project / ".hermes" / "agent-sessions.yaml"
    registry.write_text("tmux_sessions:\n  - {name: two words, status: running}\n")
    assert "two\\ words" in in_bash("stop", "tw")


def test_zsh_is_offered_nothing_that_it_would_run(project: Path) -> None:
    """It evaluates what it is offered, and a registry may come with a clone."""
    registry = project / ".hermes" / "agent-sessions.yaml"
    registry.write_text(
        "tmux_sessions:\n"
        "  - {name: 'a\\$(touch run)', status: running}\n"
        "  - {name: plain, status: running, agent: 'x\\$(touch run)`touch run`'}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("_TMUXREAP_COMPLETE", "complete_zsh")
        patch.setenv("_TYPER_COMPLETE_ARGS", "tmuxreap show ")
        said = tmuxreap().out
    assert '"plain":"running, x(touch run)touch run"' in said
    assert not set("$`\\") & set(said.replace(r"\\:", ""))


@pytest.fixture
def ledger(project: Path) -> Path:
    path = project / ".hermes" / "agent-sessions.db"
    Ledger.open(path, now=time.time()).close()
    return path


def say(ledger: Path, name: str, state: str, at: float) -> None:
    with contextlib.closing(sqlite3.connect(ledger)) as db, db:
        db.execute(
            "INSERT INTO heartbeats (name, at, state, kind, data) VALUES (?, ?, ?, 'prompt', '{}')",
            (name, at, state),
        )


def happen(ledger: Path, name: str, kind: str, at: float, **data: object) -> None:
    with Ledger.open(ledger, now=at) as book:
        book.record_event(NewEvent(name, kind, data), at)


def test_a_running_session_has_its_last_known_state(ledger: Path) -> None:
    say(ledger, "shop", "waiting", time.time())
    say(ledger, "old", "working", time.time())
    offers = offered("show", "")
    assert offers["shop"] == "running, demo, waiting"
    assert offers["shop-2"] == "running, claude"
    assert offers["old"] == "stopped, demo, resumable"


def test_the_later_word_counts_and_an_old_one_has_its_age(ledger: Path) -> None:
    now = time.time()
    say(ledger, "shop", "working", now - 400)
    assert offered("show", "shop")["shop"] == "running, demo, working 6m 40s ago"
    happen(ledger, "shop", "state", now - 5, state="waiting", before="working")
    assert offered("show", "shop")["shop"] == "running, demo, waiting"
    happen(ledger, "shop", "started", now - 1)
    assert offered("show", "shop")["shop"] == "running, demo"


def test_an_unread_answer_does_not_crash_completion() -> None:
    environ = {
        **os.environ,
        "_TMUXREAP_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": "tmuxreap ",
    }
    words = [sys.executable, "-m", "tmuxreap"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            words, env=environ, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_that_of_typer(shell: str) -> None:
    answer = tmuxreap("completion", shell)
    assert answer.exit == 0
    assert f"_TMUXREAP_COMPLETE=complete_{shell}" in answer.out


def test_an_unknown_shell_is_refused() -> None:
    answer = tmuxreap("completion", "csh")
    assert (answer.exit, answer.out) == (2, "")
    assert "\nhint: give bash, zsh, fish" in answer.err


def test_a_set_is_offered_with_the_number_of_its_sessions(project: Path) -> None:
    with contextlib.closing(
        Ledger.open(project / ".hermes" / "agent-sessions.db", now=time.time())
    ) as ledger:
        for name in ("shop", "old"):
            ledger.note(name, "stopped", {"set": "evening"})
    assert offered("stop", "shop", "--set", "") == {"evening": "2 sessions"}
    known = {"last": "of the newest stop or kill", "evening": "2 sessions"}
    assert offered("resume", "--set", "") == known


@pytest.mark.parametrize("kind", ["started", "resumed", "adopted", "restarted"])
def test_a_new_agent_does_not_have_the_state_of_the_one_before(ledger: Path, kind: str) -> None:
    now = time.time()
    say(ledger, "shop", "working", now - 20)
    happen(ledger, "shop", kind, now - 5)
    assert offered("show", "shop")["shop"] == "running, demo"

"""Completion candidates: they cost next to nothing and never fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tests.test_guard_counts import MAIN, counted
from tmuxreap.agents.load import load_profiles
from tmuxreap.commands.completion import SCRIPTS
from tmuxreap.interfaces.cli.main import VERBS
from tmuxreap.interfaces.completion.vocabulary import VERBS as WORDS

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
    for name in ("TMUXREAP_REGISTRY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "agent-sessions.yaml").write_text(REGISTRY)
    return tmp_path


def offered(*words: str) -> dict[str, str]:
    answer = tmuxreap("_complete", *words)
    assert (answer.exit, answer.err) == (0, "")
    pairs = [line.split("\t") for line in answer.out.splitlines()]
    return {pair[0]: pair[1] for pair in pairs}


def test_verbs_are_offered_with_what_they_do() -> None:
    assert set(VERBS) <= set(offered(""))
    assert offered("rec") == {"reconcile": WORDS["reconcile"][0]}
    assert set(offered("-")) == {"--version", "--help"}


def test_a_verb_is_offered_the_sessions_that_it_can_mean() -> None:
    assert offered("stop", "") == {
        "shop": "running, demo",
        "shop-2": "running, claude",
        "tag:acme": "1 session",
        "agent:demo": "1 session",
        "agent:claude": "1 session",
        "all": "2 sessions",
    }
    assert offered("resume", "o") == {"old": "stopped, demo, resumable"}
    assert set(offered("list", "tag:")) == {"tag:acme", "tag:night"}
    assert {"shop", "old"} <= set(offered("show", ""))
    assert {"shop", "old"} <= set(offered("stop", "--purge-conversation", ""))


def test_what_was_named_is_not_offered_again() -> None:
    assert set(offered("stop", "shop", "")) == {"shop-2", "tag:acme", "agent:demo", "agent:claude"}


def test_a_flag_is_offered_once_and_then_its_value() -> None:
    assert "--grace" in offered("stop", "--")
    assert "--grace" not in offered("stop", "--grace", "2", "--")
    assert "--tag" in offered("start", "x", "--tag", "a", "--ta")
    assert offered("list", "--status", "r") == {"running": ""}
    assert offered("list", "--status=r") == {"--status=running": ""}
    assert set(offered("start", "x", "--agent", "")) == set(load_profiles(None).agents)
    assert offered("start", "x", "--server", "") == {"farm": "1 session"}
    assert set(offered("start", "x", "--tag", "")) == {"acme", "night"}
    assert offered("kill", "--task-status", "") == {"failed": "", "ready": "", "cancelled": ""}
    assert offered("stop", "--reason", "") == {}
    assert offered("list", "--registry", "") == {":files": ""}
    assert offered("skills", "") == {"install": ""}
    assert set(offered("completion", "")) == {"bash", "zsh", "fish"}


def test_words_that_mean_something_to_us_are_words_of_the_line() -> None:
    assert "shop" in offered("stop", "--help", "")
    assert "shop" in offered("stop", "--json", "--", "")
    assert offered("start", "x", "--", "") == {":files": ""}
    assert set(offered("stop", "'sho")) == {"shop", "shop-2"}


def test_another_registry_and_agents_of_the_user_are_known(project: Path) -> None:
    (project / "other.yaml").write_text("tmux_sessions:\n  - {name: far, status: running}\n")
    assert set(offered("stop", "--registry", "other.yaml", "")) == {"far", "all"}
    mine = project / ".config" / "tmuxreap" / "agents.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("agents:\n  # of ours\n  homemade:\n    process: [homemade]\n")
    assert offered("start", "--agent", "home") == {"homemade": "yours"}


@pytest.mark.parametrize(
    "words", [(), ("nosuch", ""), ("stop", "--nosuch", "x"), ("agents", ""), ("stop", "\udcff")]
)
def test_what_is_not_known_is_not_offered(words: tuple[str, ...]) -> None:
    assert not set(offered(*words)) - set(VERBS) - {"ls"}


def test_no_registry_and_a_broken_one_are_silence(project: Path) -> None:
    registry = project / ".hermes" / "agent-sessions.yaml"
    for broken in (b"\xff\xfe\0", b"tmux_sessions: {", b""):
        registry.write_bytes(broken)
        assert offered("stop", "") == {}
    registry.unlink()
    assert offered("stop", "") == {}
    registry.mkdir()
    assert offered("stop", "") == {}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed_as_it_is(shell: str) -> None:
    answer = tmuxreap("completion", shell)
    assert answer.out == (SCRIPTS / f"tmuxreap.{shell}").read_text()


def test_a_shell_that_is_not_known_is_refused() -> None:
    answer = tmuxreap("completion", "csh")
    assert (answer.exit, answer.out) == (2, "")
    assert "\nhint: give bash, zsh, fish" in answer.err


def test_nobody_reads_it() -> None:
    words = [sys.executable, "-m", "tmuxreap", "_complete", ""]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert b"Traceback" not in ended.stderr


def test_it_is_cheap(project: Path) -> None:
    counts = counted(project, MAIN, "_complete", "stop", "")
    heavy = {
        "typer",
        "yaml",
        "sqlite3",
        "json",
        "subprocess",
        "hashlib",
        "tmuxreap.registry.file",
        "tmuxreap.interfaces.cli.main",
    }
    assert not heavy & set(counts.modules)
    assert len(counts.modules) <= 75, counts.modules
    assert (counts.processes, counts.written, counts.changes) == ((), (), ())

"""Terminals other than tmux: their commands, and every way in which these fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tmuxreap.core.errors import Code
from tmuxreap.core.model import Terminal
from tmuxreap.system import git, terminals

Program = Callable[[str, str], dict[str, str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Put a stand-in on a PATH of its own; return that environment."""

    def make(name: str, body: str) -> dict[str, str]:
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return {"PATH": f"{file.parent}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")}

    return make


@pytest.mark.parametrize(
    ("terminal", "name", "words"),
    [
        (Terminal.KITTY, "kitty", "@ close-window --match id:7\n"),
        (Terminal.WEZTERM, "wezterm", "cli kill-pane --pane-id 7\n"),
    ],
)
def test_a_pane_is_closed(
    program: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    terminal: Terminal,
    name: str,
    words: str,
) -> None:
    environ = program(name, 'echo "$@" > "$CALLS"')
    monkeypatch.setenv("PATH", environ["PATH"])
    assert terminals.close_pane("acme", terminal, "7", environ) is None
    assert (tmp_path / "calls").read_text() == words


@pytest.mark.parametrize(
    ("terminal", "name", "said"),
    [
        (Terminal.KITTY, "kitty", "Error: No matching windows for expression: id:7"),
        (Terminal.WEZTERM, "wezterm", "ERROR wezterm > no such pane 7; terminating"),
    ],
)
def test_a_window_that_closed_with_its_process_is_no_failure(
    program: Program, monkeypatch: pytest.MonkeyPatch, terminal: Terminal, name: str, said: str
) -> None:
    environ = program(name, f"echo '{said}' >&2; exit 1")
    monkeypatch.setenv("PATH", environ["PATH"])
    assert terminals.close_pane("acme", terminal, "7", environ) is None


def test_a_terminal_says_why_a_pane_stays(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = program("kitty", "echo 'remote control is disabled' >&2; exit 1")
    monkeypatch.setenv("PATH", environ["PATH"])
    failure = terminals.close_pane("acme", Terminal.KITTY, "7", environ)
    assert failure is not None
    assert (failure.code, failure.message) == (
        Code.PANE_CLOSE_FAILED,
        "could not close the pane of acme: kitty said: remote control is disabled",
    )
    assert failure.hint.endswith("by hand: kitty @ close-window --match id:7")


def test_a_silent_failure_is_reported_with_its_exit_status(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = program("wezterm", "exit 3")
    monkeypatch.setenv("PATH", environ["PATH"])
    failure = terminals.close_pane("acme", Terminal.WEZTERM, "7", environ)
    assert failure is not None
    assert failure.message == "could not close the pane of acme: wezterm said: exit 3"


def test_a_terminal_program_that_is_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    failure = terminals.close_pane("acme", Terminal.KITTY, "7", {"PATH": str(tmp_path)})
    assert failure is not None
    assert (
        failure.message
        == "could not close the pane of acme: kitty could not be run: No such file or directory"
    )


def test_a_terminal_that_gives_no_answer_is_an_error(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = program("kitty", "exec sleep 60")
    monkeypatch.setenv("PATH", environ["PATH"])
    monkeypatch.setattr(terminals, "TIMEOUT_S", 0.05)
    failure = terminals.close_pane("acme", Terminal.KITTY, "7", environ)
    assert failure is not None
    assert failure.message == "could not close the pane of acme: kitty gave no answer in 0.05 s"


def test_a_worktree_is_never_removed_by_force(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = program(
        "git", 'echo "$@" > "$CALLS"; echo "fatal: contains modified files" >&2; exit 128'
    )
    monkeypatch.setenv("PATH", environ["PATH"])
    failure = git.remove_worktree("acme", "/trees/a b", environ)
    assert failure is not None
    assert (failure.code, failure.message) == (
        Code.CLEANUP_FAILED,
        "could not remove the worktree of acme: git said: fatal: contains modified files",
    )
    assert failure.hint.endswith("by hand: git -C '/trees/a b' worktree remove '/trees/a b'")
    called = (tmp_path / "calls").read_text()
    assert called.endswith(" -C /trees/a b worktree remove /trees/a b\n")
    assert "force" not in called


def test_nothing_reaches_the_callers_terminal(
    program: Program, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    environ = program("git", 'case "$*" in *status*) ;; *) echo out ;; esac; echo err >&2; cat')
    monkeypatch.setenv("PATH", environ["PATH"])
    assert git.remove_worktree("acme", "/trees/a", environ) is None
    assert capfd.readouterr() == ("", "")

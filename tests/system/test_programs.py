"""Other programs, run to their end: their output, or a short reason why it failed."""

from __future__ import annotations

import signal

import pytest

from tmuxreap.system.programs import run
from tmuxreap.system.tmux import client

PATH = {"PATH": "/usr/bin:/bin"}


def test_output_of_a_program_is_returned_only_if_it_went_well() -> None:
    assert run(["sh", "-c", "echo yes"], PATH, 5.0) == ("yes\n", None)
    assert run(["sh", "-c", "echo yes; exit 1"], PATH, 5.0) == ("", "sh said: exit 1")
    assert run(["no-such-program"], PATH, 5.0)[0] == ""


def why(*words: str) -> str | None:
    return run(words, PATH, 5.0)[1]


def test_a_failed_program_is_quoted() -> None:
    assert why("sh", "-c", "exit 0") is None
    assert why("sh", "-c", "echo because >&2; exit 3") == "sh said: because"
    assert why("sh", "-c", "exit 3") == "sh said: exit 3"
    traceback = "Traceback (most recent call last):\\n  File x, line 1\\nOSError: no terminal"
    assert why("sh", "-c", f"printf '{traceback}' >&2; exit 1") == "sh said: OSError: no terminal"
    assert why("no-such-program") == ("no-such-program could not be run: No such file or directory")


def test_a_hanging_program_is_not_awaited() -> None:
    assert run(["sleep", "60"], PATH, 0.05) == ("", "sleep gave no answer in 0.05 s")


def test_a_program_sees_only_the_given_environment() -> None:
    said, _ = run(["sh", "-c", 'echo "$GIVEN/$HOME"'], {**PATH, "GIVEN": "x"}, 5.0)
    assert said == "x/\n"


def test_output_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_OUTPUT", 1 << 20)
    said, why = run(["yes"], PATH, 20.0)
    assert (said, why) == ("", "yes could not be run: it said more than can be read")


def test_a_missing_exit_status_is_no_success() -> None:
    """A failed `git status` says nothing, and would be read as a clean worktree."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        said, why = run(["sh", "-c", "echo yes"], PATH, 20.0)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert said == ""
    assert "SIGCHLD is ignored" in str(why)

"""The start and the end of the program, and its streams."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tmuxreap import __main__ as program
from tmuxreap.interfaces.cli import main as command_line

# Leaves text in the buffer of stderr that can never be written.
TALKS_TO_NOBODY = """
import sys
from tmuxreap import __main__ as program
from tmuxreap.interfaces.cli import main as command_line

def work(words):
    sys.stderr.write("talk")
    return 0

program._run = work
sys.exit(program.main([]))
"""


def test_a_full_stderr_does_not_fail_a_command() -> None:
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    words = [sys.executable, "-c", TALKS_TO_NOBODY]
    with Path("/dev/full").open("w") as full:
        assert (
            subprocess.run(words, stderr=full, env=buffered, timeout=60, check=False).returncode
            == 0
        )


@pytest.mark.parametrize("words", [["--help"], ["stop", "-h"], ["help", "stop"], ["schema"], []])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_stdout_is_an_error_and_no_crash(words: list[str], unbuffered: str) -> None:
    command = [sys.executable, "-m", "tmuxreap", *words]
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        said = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=environ, timeout=60, check=False
        )
    assert (said.returncode, said.stderr.count(b"\n")) == (1, 1)
    assert said.stderr.startswith(b"error: could not write the answer: ")


def test_without_arguments_the_program_prints_its_help() -> None:
    bare = subprocess.run(
        [sys.executable, "-m", "tmuxreap"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (bare.returncode, bare.stderr) == (0, "")
    assert "Everyday:" in bare.stdout


@pytest.mark.parametrize(("verb", "collects"), [("list", 0), ("watch", 1), ("mcp", 1)])
def test_a_verb_that_lasts_collects_its_garbage(
    verb: str, collects: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short command makes too little garbage to collect; one that runs for hours does not."""
    found: list[int] = []

    def work(words: list[str], **_: object) -> int:
        before = gc.get_stats()[0]["collections"]
        kept = [[] for _ in range(50_000)]
        found.append(gc.get_stats()[0]["collections"] - before)
        return 0 * len(kept)

    monkeypatch.setattr(sys, "argv", ["tmuxreap", verb])
    monkeypatch.setattr(command_line, "program", lambda verbs: work)
    monkeypatch.setattr(os, "_exit", lambda status: None)
    threshold = gc.get_threshold()
    try:
        program.run()
    finally:
        gc.set_threshold(*threshold)
    assert bool(found[0]) == bool(collects)

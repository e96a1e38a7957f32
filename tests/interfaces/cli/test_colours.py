"""Colours are for terminals that show them: each of the two outputs is asked for itself."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import warm
from tests.real import Real

REGISTRY = "tmux_sessions:\n  - {name: acme, status: stopped}\n"
COLOUR = "\x1b["


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ends = pty.openpty()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def said(
    terminal: tuple[int, int], registry: Path, words: str, term: str, piped: str = ""
) -> tuple[str, str]:
    """Run a verb on a terminal, one output in a pipe; return what the terminal and the pipe got."""
    registry.write_text(REGISTRY)
    _, theirs = terminal
    environ = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environ |= {"TERM": term}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    if piped:
        streams[piped] = subprocess.PIPE
    command = [warm.program(), *words.split(), "--registry", str(registry)]
    child = subprocess.Popen(command, env=environ, **streams)
    out, err = child.communicate(timeout=60)
    return all_of(terminal), (out or err or b"").decode()


def all_of(terminal: tuple[int, int]) -> str:
    """Return what the terminal got so far."""
    ours, theirs = terminal
    os.write(theirs, b"end")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 65536)
    return shown.removesuffix(b"end").decode()


def test_a_terminal_gets_colours(terminal: tuple[int, int], registry: Path) -> None:
    assert COLOUR in said(terminal, registry, "list", "xterm")[0]
    assert COLOUR in said(terminal, registry, "show nosuch", "xterm")[0]


@pytest.mark.parametrize(
    "words", ["list", "list nosuch", "show acme", "report", "stop acme", "stop nosuch"]
)
def test_a_terminal_without_colours_gets_none(
    terminal: tuple[int, int], registry: Path, words: str
) -> None:
    shown, _ = said(terminal, registry, words, "dumb")
    assert shown
    assert COLOUR not in shown


@pytest.mark.parametrize("words", ["list", "show acme", "report", "stop acme"])
def test_a_pipe_gets_no_colours(terminal: tuple[int, int], registry: Path, words: str) -> None:
    _, got = said(terminal, registry, words, "xterm", "stdout")
    assert got
    assert COLOUR not in got


@pytest.mark.parametrize("words", ["list nosuch", "stop nosuch", "show nosuch"])
def test_errors_in_a_file_have_no_colours(
    terminal: tuple[int, int], registry: Path, words: str
) -> None:
    _, got = said(terminal, registry, words, "xterm", "stderr")
    assert got.startswith("error: ")
    assert COLOUR not in got


def test_the_progress_of_a_stop_is_not_redrawn_on_a_dumb_terminal(
    terminal: tuple[int, int], registry: Path, real: Real
) -> None:
    real.start("acme")
    _, theirs = terminal
    command = [warm.program(), "stop", "acme", "--registry", str(real.registry)]
    environ = {**os.environ, "TERM": "dumb"}
    subprocess.run(command, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, check=True)
    shown = all_of(terminal)
    assert "acme: stopped" in shown
    assert COLOUR not in shown

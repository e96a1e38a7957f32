"""A Ctrl-C at a question, typed into a real terminal: nothing was begun, and that is said."""

from __future__ import annotations

import os
import pty
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

REGISTRY = """\
tmux_sessions:
  - {name: a, status: running}
  - {name: b, status: running}
  - {name: c, status: stopped, resumable: true, demo_conversation_id_own: x}
  - {name: d, status: stopped}
"""


def typed_at_the_question(words: Sequence[str]) -> tuple[str, int]:
    """Run the program in a terminal of its own, and press Ctrl-C at its question. Return what it
    said after that, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # who runs the tests may ignore it
        os.execv(sys.executable, [sys.executable, "-m", "tmuxreap", *words])
    said = b""
    try:
        while b"[y/N]" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        said = said.partition(b"[y/N]")[2]
        while part := _read(terminal):
            said += part
    finally:
        os.close(terminal)
    return said.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the end, as the kernel tells it of a terminal
        return b""


@pytest.mark.parametrize(
    "words", [("stop", "all"), ("kill", "[ab]"), ("forget", "[cd]"), ("attach", "c")]
)
def test_a_ctrl_c_at_the_question_begins_nothing(
    registry: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    registry.write_text(REGISTRY)
    said, status = typed_at_the_question([*words, "--registry", str(registry)])
    assert status == 130, said
    assert "nothing was started: the question was interrupted" in said
    assert "reconcile" not in said
    assert registry.read_text() == REGISTRY

"""Masks text by the user's own patterns, each within a time limit: one that backtracks could run
for ever.

A timer interrupts the matching where its signal is ours to handle, in the main thread of our own
program. Python runs signal handlers nowhere else, and in a host program they are the host's: there
a child process does it, and is killed if it takes too long. Never returns text unmasked."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from tmuxreap.core.masking import MASK, masked
from tmuxreap.system.machine import may_handle_signals
from tmuxreap.system.programs import run

Pattern = re.Pattern[str]

PATTERN_S = 0.1
LINE_S = 0.02  # for each line, once the whole text has taken too long
ALL_S = 2.0  # for all patterns and lines together
START_S = 5.0  # for a child process to start
CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from tmuxreap.system import timed_masks"
ROOT = str(Path(__file__).parent.parent.parent)


def mask(patterns: Sequence[Pattern], text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with what the patterns match masked, and those that took too long: of them,
    each line that was not judged in time is masked as a whole."""
    if not patterns or not text:
        return text, ()
    if may_handle_signals():
        return _mask_timed(patterns, text)
    return _mask_in_child(patterns, text)


def _mask_timed(patterns: Sequence[Pattern], text: str) -> tuple[str, tuple[str, ...]]:
    slow = []
    deadline = time.monotonic() + ALL_S
    for pattern in patterns:
        whole = _within(PATTERN_S, pattern, text)
        if whole is None:
            slow.append(pattern.pattern)
            lines = (_line_within(deadline, pattern, line) for line in text.split("\n"))
            whole = "\n".join(lines)
        text = whole
    return text, tuple(slow)


def _line_within(deadline: float, pattern: Pattern, line: str) -> str:
    if not line or time.monotonic() >= deadline:
        return MASK if line else line
    found = _within(LINE_S, pattern, line)
    return MASK if found is None else found


def _within(seconds: float, pattern: Pattern, text: str) -> str | None:
    """Return the masked text; None if that takes longer."""
    timer = _Timer()
    previous = signal.signal(signal.SIGALRM, timer.ring)
    try:
        return timer.run(seconds, lambda: pattern.sub(masked, text))
    except _TimeUp:
        return None
    finally:
        signal.signal(signal.SIGALRM, previous)


class _TimeUp(Exception):  # noqa: N818 - an answer, no error
    pass


class _Timer:
    """Raises in the midst of the work, and never after it."""

    def __init__(self) -> None:
        self._armed = False

    def ring(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            raise _TimeUp

    def run(self, seconds: float, work: Callable[[], str]) -> str:
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return work()
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)


def _mask_in_child(patterns: Sequence[Pattern], text: str) -> tuple[str, tuple[str, ...]]:
    request = json.dumps([[pattern.pattern for pattern in patterns], text]).encode()
    # Isolated: nothing of the working directory or the environment is imported.
    words = [sys.executable, "-I", "-c", f"{CHILD}; timed_masks.answer()", ROOT]
    output, failed = run(words, {}, ALL_S + START_S, request)
    try:
        told, slow = json.loads("" if failed else output)
    except ValueError:
        return MASK, tuple(pattern.pattern for pattern in patterns)
    return str(told), tuple(slow)


def answer() -> None:
    """Mask what stands on stdin: the child's part."""
    patterns, text = json.load(sys.stdin)
    compiled = [re.compile(pattern, re.MULTILINE) for pattern in patterns]
    json.dump(_mask_timed(compiled, text), sys.stdout)

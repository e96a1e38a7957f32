"""One conversation with the tmuxreap of one host: its lines as they come, and how long it may be
silent.

Knows nothing of verbs. It believes no line: what is too long or no line of ours is left out."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections import deque

from tmuxreap.core.text import plain
from tmuxreap.hosts.engines import Engine, begin, has_left, let_go
from tmuxreap.hosts.wire import LONGEST_LINE, Line, heard

LONGEST_NOISE = 1024 * 1024  # of banners, and of what stands on stderr
LAST_WORDS = 400
READ = 65536
EXIT_S = 1.0


class SilentError(Exception):
    """Nothing came for too long."""


class EndedError(Exception):
    """The stream has ended."""


class Talk:
    def __init__(self, engine: Engine) -> None:
        self._process: subprocess.Popen[bytes] = begin(engine)
        self._lines: deque[Line] = deque()
        self._rest, self._trouble = b"", b""
        self._open = {self._fileno("stdout"), self._fileno("stderr")}

    def _fileno(self, name: str) -> int:
        found: int = getattr(self._process, name).fileno()
        return found

    def send(self, text: str) -> None:
        """A pipe that is closed already is seen when its answer is waited for."""
        assert self._process.stdin is not None  # noqa: S101 - begun with pipes
        with contextlib.suppress(OSError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def line(self, wait_s: float) -> Line:
        """The next line of ours; noise does not make the wait longer."""
        until = time.monotonic() + wait_s
        while not self._lines:
            if self._fileno("stdout") not in self._open:
                raise EndedError
            left = until - time.monotonic()
            if left <= 0:
                raise SilentError
            self._take(left)
        return self._lines.popleft()

    def _take(self, wait_s: float) -> None:
        poll = select.poll()
        for number in self._open:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(wait_s * 1000):
            data = os.read(number, READ)
            if not data:
                self._open.discard(number)
            elif number == self._fileno("stdout"):
                self._hear(data)
            else:
                self._trouble = (self._trouble + data)[-LONGEST_NOISE:]

    def _hear(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
        for one in whole:
            found = heard(one.decode(errors="replace"))
            if found is not None:
                self._lines.append(found)

    def end(self) -> int | None:
        """How it left, when its stream has ended; with what it still said of its trouble."""
        status = has_left(self._process, EXIT_S)
        number = self._fileno("stderr")
        while number in self._open and select.select([number], [], [], 0)[0]:
            self._take(0)
        return status

    @property
    def words(self) -> str:
        """What was said on stderr, as one plain line."""
        lines = [line.strip() for line in self._trouble.decode(errors="replace").splitlines()]
        return plain("; ".join(line for line in lines if line))[-LAST_WORDS:]

    def close(self) -> None:
        let_go(self._process)

"""A conversation with the tmuxreap of one host: reads its lines, with a timeout for silence.

Knows nothing of verbs, and never trusts a line: overlong and foreign lines are dropped."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque

from tmuxreap.core.text import plain
from tmuxreap.hosts.engines import Engine
from tmuxreap.hosts.wire import LONGEST_LINE, Line, parse_line

LONGEST_NOISE = 1024 * 1024  # bytes of stderr that are kept
LAST_WORDS = 400
READ = 65536
EXIT_S, LEAVE_S = 3.0, 0.2


class SilentError(Exception):
    """The host was silent for too long."""


class EndedError(Exception):
    """The stream has ended."""


class Talk:
    def __init__(self, engine: Engine) -> None:
        # In its own process session: neither Ctrl-C nor our terminal's hangup reaches it.
        self._process = subprocess.Popen(
            engine.words,
            env=dict(engine.environ),
            cwd=engine.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.version = ""  # of the tmuxreap there, once it has greeted
        self._lines: deque[Line] = deque()
        self._rest, self._errors = b"", b""
        assert self._process.stdout is not None  # noqa: S101 - begun with pipes
        assert self._process.stderr is not None  # noqa: S101
        self._stdout, self._stderr = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._open = {self._stdout, self._stderr}

    def send(self, text: str) -> None:
        """Send a line; a closed pipe is noticed later, when the answer is read."""
        assert self._process.stdin is not None  # noqa: S101 - begun with pipes
        with contextlib.suppress(OSError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def line(self, wait_s: float) -> Line:
        """Return the next line of ours; noise does not extend the timeout."""
        deadline = time.monotonic() + wait_s
        while not self._lines:
            if self._stdout not in self._open:
                raise EndedError
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise SilentError
            self._read_available(left_s)
        return self._lines.popleft()

    def _read_available(self, wait_s: float) -> None:
        poll = select.poll()
        for number in self._open:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(wait_s * 1000):
            data = os.read(number, READ)
            if not data:
                self._open.discard(number)
            elif number == self._stdout:
                self._receive(data)
            else:
                self._errors = (self._errors + data)[-LONGEST_NOISE:]

    def _receive(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
        for raw in whole:
            line = parse_line(raw.decode(errors="replace"))
            if line is not None:
                self._lines.append(line)

    def end(self) -> int | None:
        """Return its exit status after its stream has ended, and read the rest of its stderr."""
        status = self._exit_status(EXIT_S)
        while self._stderr in self._open and select.select([self._stderr], [], [], 0)[0]:
            self._read_available(0)
        return status

    @property
    def words(self) -> str:
        """Its stderr as one plain line."""
        lines = [line.strip() for line in self._errors.decode(errors="replace").splitlines()]
        return plain("; ".join(line for line in lines if line))[-LAST_WORDS:]

    def close(self) -> None:
        """Close the streams and send SIGHUP: ssh exits, but a verb in progress on the host goes
        on."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._process.send_signal(signal.SIGHUP)
            if self._exit_status(LEAVE_S) is None:
                # Not killed, since its verb may go on; awaited, since it would stay a zombie.
                threading.Thread(target=self._process.wait, daemon=True).start()

    def _exit_status(self, wait_s: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(wait_s)
        return None

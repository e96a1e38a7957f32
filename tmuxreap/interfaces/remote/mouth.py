"""Owns the output of the remote side to the caller. Never fails, and never waits for an answer."""

from __future__ import annotations

import os
import threading

from tmuxreap.hosts.wire import Say, say

BEAT_S = 5.0


class Output:
    """Writes lines as long as the caller reads; a closed pipe is no error."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        self._lock = threading.Lock()
        self.is_open = True

    def say(self, what: Say, **facts: object) -> None:
        data = (say(what, **facts) + "\n").encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                while data and self.is_open:
                    data = data[os.write(self._out, data) :]
            except OSError:
                self.is_open = False

    def beat(self) -> None:
        """Send a sign of life regularly, in a thread."""
        quiet = threading.Event()

        def work() -> None:
            while not quiet.wait(BEAT_S):
                self.say(Say.BEAT)

        threading.Thread(target=work, daemon=True).start()

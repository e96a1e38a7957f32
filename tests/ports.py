"""Ports for the servers of tests."""

from __future__ import annotations

import os
import socket
from itertools import count

# Below those that the kernel gives to clients: no other program gets one between look and use.
FIRST, SPAN = 20_000, 12_000
EACH = 8  # neighbors by their pids begin so far from each other
_asked = count()


def free_port() -> int:
    """Return a port that nobody listens on."""
    while True:
        port = FIRST + (os.getpid() * EACH + next(_asked)) % SPAN
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port

"""A simulated container: a daemon that runs programs on its own terminals, and the client that
carries one of them into a pane. The client has its file's name; the daemon's programs are not its
children and have no mark."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import sys
import termios
import tty

BLOCK = 65_536
SIZE = struct.pack("HHHH", 20, 80, 0, 0)  # smaller than any pane: in 3.2a they are 23 high


def relay(left: int, right: int, out: int) -> None:
    """Copy bytes from left to right and back to `out`, until one is closed."""
    while True:
        ready, _, _ = select.select([left, right], [], [])
        for one, other in ((left, right), (right, out)):
            if one in ready:
                try:
                    data = os.read(one, BLOCK)
                except OSError:
                    return
                if not data:
                    return
                os.write(other, data)


def serve(path: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.fresh")
    listener.listen()
    os.replace(f"{path}.fresh", path)  # whoever sees it is served
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            _carry(client)
        client.close()


def _carry(client: socket.socket) -> None:
    """The program lives on when its client is gone."""
    words = client.recv(BLOCK).decode().split("\0")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, SIZE)
    relay(client.fileno(), terminal, client.fileno())
    client.close()
    while True:  # discard its remaining output
        try:
            os.read(terminal, BLOCK)
        except OSError:
            os._exit(0)


def run(path: str, words: list[str]) -> None:
    daemon = socket.socket(socket.AF_UNIX)
    daemon.connect(path)
    daemon.send("\0".join(words).encode())
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        relay(0, daemon.fileno(), 1)
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    run(os.environ["CARRIED_BY"], sys.argv[sys.argv.index("--") + 1 :])

"""A link between client and server that a test can disturb: delay, hold back, garble, cut."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Relay:
    """Forwards connections to `port` to another port of this machine."""

    def __init__(self, to: int) -> None:
        self.delay_s = 0.0
        self.held = False  # the server's answers do not arrive
        self.garbled = False
        self.refusing = False  # new connections are closed at once
        self.accepted = 0
        self.server_port = to
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """Close every open connection; new ones are forwarded as before."""
        while self._ends:
            end = self._ends.pop()
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # close alone does not wake accept()
        self._accepting.join()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.refusing:
                client.close()
                continue
            self._ends.append(client)
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port))
            except OSError:
                client.close()
                continue
            self._ends.append(server)
            for source, sink, said in ((client, server, False), (server, client, True)):
                work = (source, sink, said)
                threading.Thread(target=self._carry, args=work, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, of_server: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.delay_s)
                while self.held and of_server and sink.fileno() >= 0:
                    time.sleep(0.01)
                sink.sendall(bytes(byte ^ 0x55 for byte in data) if self.garbled else data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

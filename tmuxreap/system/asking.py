"""Asks programs that serve on this machine alone: HTTP on a port of loopback, and JSON-RPC in
WebSocket frames on a Unix socket. Nothing is sent before the listener was proven to the caller, no
redirection or proxy is followed, and each answer is waited for as long as the caller says.

Never decides who may be asked, and starts nothing."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import struct
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tmuxreap.core.errors import NoAnswer, NobodyListens, Refused

MOST_BYTES = 1 << 24  # an answer is cut off by its end: nobody reads half of it
OK = 200  # the status of HTTP
# In the place of a frame's length: two or eight bytes of it follow.
SHORT = 126
LONG = 127
# The kinds of frames; from CLOSE on, what stands between the pieces of a message.
TEXT = 1
CLOSE = 8
LAST = 0x80  # of a message
MASKED = 0x80
SWITCHING = b" 101 "
PEER = struct.Struct("3i")  # pid, user, group
Question = tuple[str, Mapping[str, object]]  # the name of a call, and its parameters
NOTES = 1000  # of a server, before its answer
AT_ONCE = 32  # questions that wait for their answers


class Wire(Protocol):
    """A connection to a server."""

    def call(self, name: str, parameters: Mapping[str, object]) -> object:
        """Return the answer, which JSON says."""

    def call_each(self, questions: Sequence[Question]) -> list[object]:
        """Return the answer to each, or how it was refused."""

    def close(self) -> None: ...


def one_by_one(wire: Wire, questions: Sequence[Question]) -> list[object]:
    """Ask each once the one before it is answered."""
    found: list[object] = []
    for question in questions:
        try:
            found.append(wire.call(*question))
        except Refused as refused:
            found.append(refused)
    return found


class HttpWire:
    """One server on loopback. A call is named by its method and path: `GET /session`."""

    def __init__(
        self,
        address: tuple[str, int],
        limit_s: float,
        is_proven: Callable[[], bool],
        login: tuple[str, str] | None = None,
    ) -> None:
        """`is_proven`: asked once the connection stands; `login`: sent only then."""
        # late: it loads ssl and email, and a socket of codex needs none of them
        import http.client

        self._faults = (OSError, http.client.HTTPException)
        self._limit_s = limit_s
        self._connection = http.client.HTTPConnection(*address, timeout=limit_s)
        self._headers = {"Accept": "application/json"}
        try:
            self._connection.connect()
        except OSError as error:
            raise _failure(error) from None
        if not is_proven():
            self.close()
            raise NoAnswer("another program listens there by now")
        if login is not None:
            words = base64.b64encode(":".join(login).encode()).decode()
            self._headers["Authorization"] = f"Basic {words}"

    def call(self, name: str, parameters: Mapping[str, object]) -> object:
        method, _, path = name.partition(" ")
        query = urllib.parse.urlencode({key: str(value) for key, value in parameters.items()})
        connection = self._connection
        if connection.sock is None:  # it would connect again, unproven
            raise NoAnswer("the server closed the connection")
        try:
            connection.sock.settimeout(self._limit_s)
            connection.request(method, f"{path}?{query}" if query else path, headers=self._headers)
            answer = connection.getresponse()
            said = answer.read(MOST_BYTES)
        except self._faults as error:
            raise NoAnswer(str(error) or type(error).__name__) from None
        if answer.length:
            raise NoAnswer("its answer is not whole")
        if answer.status != OK:
            raise Refused(f"it answered {answer.status}")
        return _parsed(said)

    def call_each(self, questions: Sequence[Question]) -> list[object]:
        return one_by_one(self, questions)

    def close(self) -> None:
        self._connection.close()


class SocketWire:
    """One server on a Unix socket, which speaks JSON-RPC in WebSocket frames. `is_proven` is given
    the process that listens."""

    def __init__(self, path: str, limit_s: float, is_proven: Callable[[int], bool]) -> None:
        self._limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self._read = b""
        self._count = 0
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(limit_s)
            self._socket.connect(path)
            pid = _listener(self._socket)
            if pid is None or not is_proven(pid):
                raise NoAnswer("another program listens there")
            self._shake_hands()
        except OSError as error:
            self.close()
            raise _failure(error) from None
        except NoAnswer:
            self.close()
            raise

    def call(self, name: str, parameters: Mapping[str, object]) -> object:
        (answer,) = self.call_each([(name, parameters)])
        if isinstance(answer, Refused):
            raise answer
        return answer

    def call_each(self, questions: Sequence[Question]) -> list[object]:
        """The server takes its time for each: some are asked before the first is answered."""
        found: list[object] = []
        for at in range(0, len(questions), AT_ONCE):
            try:
                found += self._answers(questions[at : at + AT_ONCE])
            except OSError as error:
                raise NoAnswer(str(error) or type(error).__name__) from None
        return found

    def _answers(self, questions: Sequence[Question]) -> list[object]:
        numbers = range(self._count + 1, self._count + 1 + len(questions))
        self._count += len(questions)
        self._deadline = time.monotonic() + self._limit_s
        for number, (name, parameters) in zip(numbers, questions, strict=True):
            asked = {"id": number, "method": name, "params": dict(parameters)}
            self._send(json.dumps(asked).encode())
        answers: dict[int, object] = {}
        for _ in range(NOTES * len(questions)):
            said = _parsed(self._message())
            if not isinstance(said, dict) or "method" in said:
                continue
            told = said.get("id")
            if type(told) is int and told in numbers and told not in answers:
                answers[told] = _result(said)
                self._deadline = time.monotonic() + self._limit_s
            if len(answers) == len(questions):
                return [answers[number] for number in numbers]
        raise NoAnswer("it says other things")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _shake_hands(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            "GET / HTTP/1.1",
            "Host: localhost",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        )
        self._socket.sendall("\r\n".join((*lines, "", "")).encode())
        while b"\r\n\r\n" not in self._read:
            self._receive()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        if SWITCHING not in head.partition(b"\r\n")[0]:
            raise NoAnswer("it speaks another protocol")

    def _send(self, data: bytes) -> None:
        """Send one message; what a client sends is masked."""
        length = len(data)
        if length < SHORT:
            head = bytes((LAST | TEXT, MASKED | length))
        elif length < 1 << 16:
            head = bytes((LAST | TEXT, MASKED | SHORT)) + length.to_bytes(2, "big")
        else:
            head = bytes((LAST | TEXT, MASKED | LONG)) + length.to_bytes(8, "big")
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self._socket.settimeout(_left(self._deadline))
        self._socket.sendall(head + mask + masked)

    def _message(self) -> bytes:
        """Return the next message, put together from its frames."""
        message = b""
        while True:
            first, second = self._take(2)
            kind = first & 0x0F
            length = second & 0x7F
            if length == SHORT:
                length = int.from_bytes(self._take(2), "big")
            elif length == LONG:
                length = int.from_bytes(self._take(8), "big")
            if length + len(message) > MOST_BYTES:
                raise NoAnswer("its answer is too long")
            data = self._take(length)
            if kind == CLOSE:
                raise NoAnswer("it closed the connection")
            if kind > CLOSE:
                continue
            message += data
            if first & LAST:
                return message

    def _take(self, count: int) -> bytes:
        while len(self._read) < count:
            self._receive()
        taken = self._read[:count]
        self._read = self._read[count:]
        return taken

    def _receive(self) -> None:
        self._socket.settimeout(_left(self._deadline))
        data = self._socket.recv(1 << 16)
        if not data:
            raise NoAnswer("it closed the connection")
        self._read += data
        if len(self._read) > 2 * MOST_BYTES:
            raise NoAnswer("its answer is too long")


def _listener(connected: socket.socket) -> int | None:
    """Return the process at the other end, if the kernel says that it is this user's."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    said = connected.getsockopt(socket.SOL_SOCKET, option, PEER.size)
    pid, user, _ = PEER.unpack(said)
    return pid if user == os.getuid() else None


def _result(said: Mapping[str, object]) -> object:
    """Return the answer, or how it refused one."""
    error = said.get("error")
    if error is not None:
        reason = error.get("message") if isinstance(error, dict) else error
        return Refused(f"it refused: {reason}")
    return said.get("result")


def _failure(error: OSError) -> NoAnswer:
    """Say why no connection came about: nobody listens, or somebody gave no answer."""
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
        return NobodyListens("nobody listens there")
    return NoAnswer(str(error) or type(error).__name__)


def _parsed(said: bytes) -> object:
    try:
        return json.loads(said or b"null")
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is no JSON") from None


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise NoAnswer("it gave no answer in time")
    return left

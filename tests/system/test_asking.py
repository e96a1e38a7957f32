"""Servers on this machine: who is asked, and what is taken for an answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tmuxreap.system.asking import AT_ONCE, HttpWire, NoAnswer, NobodyListens, Refused, SocketWire

LIMIT_S = 30.0
SOON_S = 0.2
Speak = Callable[[socket.socket], None]
HELLO = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


def listening(server: socket.socket, speak: Speak) -> socket.socket:
    """Answer every connection so, until the socket is closed."""

    def serve() -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line:
                speak(line)

    threading.Thread(target=serve, daemon=True).start()
    return server


@pytest.fixture
def http() -> Iterator[Callable[[bytes], tuple[str, int]]]:
    opened: list[socket.socket] = []

    def begin(answer: bytes) -> tuple[str, int]:
        server = socket.create_server(("127.0.0.1", 0))
        opened.append(server)
        listening(server, lambda line: (line.recv(9999), line.sendall(answer))[1])
        address: tuple[str, int] = server.getsockname()
        return address

    yield begin
    for server in opened:
        server.close()


@pytest.fixture
def unix(tmp_path: Path) -> Iterator[Callable[[Speak], str]]:
    opened: list[socket.socket] = []

    def begin(speak: Speak) -> str:
        path = tmp_path / "s"
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen()
        opened.append(listening(server, speak))
        return str(path)

    yield begin
    for server in opened:
        server.close()


def said(body: bytes, status: str = "200 OK", more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n".encode()
    return head + more + b"\r\n" + body


def ask(address: tuple[str, int], limit_s: float = LIMIT_S) -> object:
    wire = HttpWire(address, limit_s, lambda: True)
    try:
        return wire.call("GET /x", {"folder": "a b&c"})
    finally:
        wire.close()


def test_an_answer_is_what_its_json_says(http: Callable[[bytes], tuple[str, int]]) -> None:
    assert ask(http(said(b'{"a": [1]}'))) == {"a": [1]}
    assert ask(http(said(b""))) is None


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (said(b"{}", "401 Unauthorized"), Refused),
        (said(b"{}", "404 Not Found"), Refused),
        (said(b"", "302 Found", b"Location: http://127.0.0.1:1/\r\n"), Refused),
        (said(b"<html>"), NoAnswer),
        (b"nothing of HTTP\r\n\r\n", NoAnswer),
        (b"", NoAnswer),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", NoAnswer),
    ],
)
def test_any_other_answer_is_rejected(
    http: Callable[[bytes], tuple[str, int]], answer: bytes, failure: type[NoAnswer]
) -> None:
    with pytest.raises(failure):
        ask(http(answer))


def test_nothing_is_sent_to_a_listener_that_is_not_proven(tmp_path: Path) -> None:
    heard: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def hear(line: socket.socket) -> None:
        heard.append(line.recv(99))
        done.set()

    listening(server, hear)
    with pytest.raises(NoAnswer, match="another program"):
        HttpWire(server.getsockname(), LIMIT_S, lambda: False, ("user", "password"))
    assert done.wait(LIMIT_S)
    server.close()
    assert heard == [b""]


def test_a_place_where_nobody_listens_is_reported(tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    address = server.getsockname()
    server.close()
    with pytest.raises(NobodyListens):
        ask(address)
    with pytest.raises(NobodyListens):
        SocketWire(str(tmp_path / "none"), LIMIT_S, lambda _: True)


def test_a_server_that_says_nothing_is_not_waited_for(unix: Callable[[Speak], str]) -> None:
    silent = threading.Event()
    path = unix(lambda _: silent.wait(LIMIT_S) and None)
    with pytest.raises(NoAnswer):
        SocketWire(path, SOON_S, lambda _: True)
    silent.set()


def test_the_process_at_the_other_end_is_asked_about(unix: Callable[[Speak], str]) -> None:
    asked: list[int] = []
    with pytest.raises(NoAnswer, match="another program"):
        SocketWire(unix(lambda line: None), LIMIT_S, lambda pid: bool(asked.append(pid)))
    assert asked == [os.getpid()]


@pytest.mark.parametrize(
    "after",
    [
        b"",  # it hangs up
        b"\x88\x00",  # it closes
        b"\x81\x05words",  # no JSON
        b"\x81\x7f" + (1 << 40).to_bytes(8, "big"),  # more than anybody reads
    ],
)
def test_a_message_that_is_no_answer_is_ignored(unix: Callable[[Speak], str], after: bytes) -> None:
    def speak(line: socket.socket) -> None:
        line.recv(9999)
        line.sendall(HELLO + after)
        line.recv(9999)

    wire = SocketWire(unix(speak), LIMIT_S, lambda _: True)
    with pytest.raises(NoAnswer):
        wire.call("list", {})
    wire.close()


def frame(file: BinaryIO) -> tuple[bytes, bytes, bytes]:
    """Return the head of the next frame, its length, and its data without the mask."""
    head = file.read(2)
    counted = {126: 2, 127: 8}.get(head[1] & 0x7F, 0)
    size = file.read(counted)
    length = int.from_bytes(size, "big") if counted else head[1] & 0x7F
    mask = file.read(4)
    data = bytes(it ^ mask[at % 4] for at, it in enumerate(file.read(length)))
    return head, size, data


@pytest.mark.parametrize("length", [3, 200, 70_000])
def test_questions_and_answers_of_every_length_arrive(
    unix: Callable[[Speak], str], length: int
) -> None:
    """It answers with the frame that it heard, without its mask."""

    def speak(line: socket.socket) -> None:
        file = line.makefile("rwb")
        while file.readline().strip():
            pass
        file.write(HELLO)
        file.flush()
        head, size, data = frame(file)
        data = data.replace(b'"method"', b'"result"')
        file.write(bytes((head[0], head[1] & 0x7F)) + size + data)
        file.flush()

    wire = SocketWire(unix(speak), LIMIT_S, lambda _: True)
    assert wire.call("list", {"text": "x" * length}) == "list"
    wire.close()


def test_a_call_that_is_refused_says_why(unix: Callable[[Speak], str]) -> None:
    def speak(line: socket.socket) -> None:
        line.recv(9999)
        line.sendall(HELLO)
        line.recv(9999)
        answer = b'{"id": 1, "error": {"message": "no such thread"}}'
        line.sendall(bytes((0x81, len(answer))) + answer)

    wire = SocketWire(unix(speak), LIMIT_S, lambda _: True)
    with pytest.raises(Refused, match="no such thread"):
        wire.call("read", {})
    wire.close()


def test_several_questions_are_sent_before_the_first_answer(unix: Callable[[Speak], str]) -> None:
    """Each question takes the server its time. Answers come in any order, with notes between."""
    count = 2 * AT_ONCE + 1
    heard: list[int] = []

    def speak(line: socket.socket) -> None:
        file = line.makefile("rwb")
        while file.readline().strip():
            pass
        file.write(HELLO)
        file.flush()
        for first in range(1, count + 1, AT_ONCE):
            due = range(first, min(first + AT_ONCE, count + 1))
            heard.extend(json.loads(frame(file)[2])["id"] for _ in due)
            for number in reversed(due):
                answer = {"id": number, "result": f"of {number}"}
                if number == 2:
                    answer = {"id": number, "error": {"message": "no such thread"}}
                for said in ({"method": "note", "id": number}, {"id": True}, answer):
                    data = json.dumps(said).encode()
                    file.write(bytes((0x81, len(data))) + data)
            file.flush()

    wire = SocketWire(unix(speak), LIMIT_S, lambda _: True)
    answers = wire.call_each([("read", {"number": number}) for number in range(1, count + 1)])
    wire.close()
    assert heard == list(range(1, count + 1))
    refused = answers.pop(1)
    assert isinstance(refused, Refused)
    assert answers == ["of 1", *(f"of {number}" for number in range(3, count + 1))]


def test_a_server_that_answers_only_some_has_not_answered(unix: Callable[[Speak], str]) -> None:
    def speak(line: socket.socket) -> None:
        line.recv(9999)
        answer = b'{"id": 1, "result": "one"}'
        line.sendall(HELLO + bytes((0x81, len(answer))) + answer)
        line.recv(9999)

    wire = SocketWire(unix(speak), LIMIT_S, lambda _: True)
    with pytest.raises(NoAnswer):
        wire.call_each([("read", {}), ("read", {})])
    wire.close()


def test_a_socket_is_asked_without_loading_http() -> None:
    """A stop of codex asks one: http.client loads ssl and email, two starts of Python long."""
    code = "import sys, tmuxreap.system.asking; print({'ssl', 'http.client'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

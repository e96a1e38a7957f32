"""A server that runs sessions while they are at work, as agents' own ones do: HTTP on loopback, or
JSON-RPC in WebSocket frames on a Unix socket.

    stub_server.py http|socket

Its store is that of the demo agent: `working.json` there has what it is at work on, `mode.json` how
it behaves: deaf (an abort does nothing), slow_s (until an abort takes effect), page (what it
answers instead). It writes down what it was asked, in `asked.jsonl`."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

STORE = Path(os.environ.get("TMUXREAP_DEMO_HOME") or f"{os.environ['HOME']}/.tmuxreap-demo")
WORKING, ASKED, LOCK, PORT = (
    STORE / name for name in ("working.json", "asked.jsonl", "server.lock", "port")
)
SOCKET = STORE / "server.sock"
PASSWORD = os.environ.get("DEMO_PASSWORD")


def read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


def write(path: Path, data: object) -> None:
    fresh = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    fresh.write_text(json.dumps(data))
    fresh.replace(path)


def change(number: str, told: dict[str, Any] | None) -> None:
    """Add a session, or take it away."""
    with LOCK.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        working = read(WORKING)
        working.pop(number, None)
        write(WORKING, working if told is None else {**working, number: told})


def note(asked: str, login: str | None = None) -> None:
    with ASKED.open("a") as file:
        file.write(json.dumps({"asked": asked, "login": login}) + "\n")


def abort(number: str) -> None:
    mode = read(STORE / "mode.json")
    if not mode.get("deaf"):
        threading.Timer(mode.get("slow_s", 0.0), change, (number, None)).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        login = self.headers.get("Authorization")
        note(f"{self.command} {self.path}", login)
        mode = read(STORE / "mode.json")
        wanted = base64.b64encode(f"demo:{PASSWORD}".encode()).decode()
        if PASSWORD and login != f"Basic {wanted}":
            self.say(401, None)
        elif "page" in mode:
            self.say(200, mode["page"])
        else:
            self.say(*self.answer())

    do_POST = do_GET

    def answer(self) -> tuple[int, object]:
        path, asked = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        folder = asked.get("directory", [""])[0]
        working = read(WORKING)
        number = path.split("/")[2] if path.count("/") > 1 else ""
        if path == "/session/status":
            here = {it: one for it, one in working.items() if folder in ("", one["directory"])}
            return 200, {it: {"type": one["type"]} for it, one in here.items()}
        if path == "/permission":
            asking = {it: one["asks"] for it, one in working.items() if one.get("asks")}
            return 200, [{"sessionID": it, "asks": asks} for it, asks in asking.items()]
        if self.command == "POST":
            abort(number)
            return 200, True
        return (200, working[number]) if number in working else (404, None)

    def say(self, status: int, answer: object) -> None:
        said = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


def serve_http() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    write(PORT, server.server_port)
    server.serve_forever()


def serve_socket() -> None:
    fresh = STORE / "fresh.sock"
    fresh.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(fresh))
    listening.listen()
    fresh.replace(SOCKET)  # whoever sees it is served: between the two calls, it refuses
    while True:
        line, _ = listening.accept()
        threading.Thread(target=speak, args=(line,), daemon=True).start()


def speak(line: socket.socket) -> None:
    file = line.makefile("rwb")
    while file.readline().strip():
        pass
    file.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
    file.flush()
    while (said := heard(file)) is not None:
        note(said["method"])
        # something else first, a ping, and the answer in two pieces
        for kind, data in ((0x81, b'{"method": "note", "params": {}}'), (0x89, b"ping")):
            file.write(framed(kind, data))
        answer = json.dumps({"id": said["id"], **answered(said)}).encode()
        file.write(framed(0x01, answer[:7]) + framed(0x80, answer[7:]))
        file.flush()


def heard(file: Any) -> dict[str, Any] | None:
    head = file.read(2)
    if len(head) < 2:
        return None
    length = head[1] & 0x7F
    assert head[1] & 0x80, "what a client sends is masked"
    if length == 126:
        length = int.from_bytes(file.read(2), "big")
    mask = file.read(4)
    said: dict[str, Any] = json.loads(
        bytes(byte ^ mask[at % 4] for at, byte in enumerate(file.read(length)))
    )
    return said


def framed(kind: int, data: bytes) -> bytes:
    length = len(data)
    if length < 126:
        return bytes((kind, length)) + data
    return bytes((kind, 126)) + length.to_bytes(2, "big") + data


def answered(said: dict[str, Any]) -> dict[str, Any]:
    working, given = read(WORKING), said["params"]
    number = given.get("id")
    if said["method"] == "list":
        return {"result": {"data": [*working, "idle-one"]}}
    if said["method"] == "end" and given["turn"] == "t2":
        abort(number)
    if number in working:
        one = working[number]
        return {"result": {"thread": {**one, "status": {"type": one["type"]}, "turns": TURNS}}}
    if number == "idle-one":
        return {"result": {"thread": {"status": {"type": "idle"}}}}
    return {"error": {"message": "no such session"}} if number else {"result": {}}


TURNS = [{"id": "t1"}, {"id": "t2"}]

if __name__ == "__main__":
    STORE.mkdir(parents=True, exist_ok=True)
    serve_http() if sys.argv[1] == "http" else serve_socket()

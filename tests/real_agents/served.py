"""Sessions that a real agent's own server runs: begun at the server, or left by a pane. After each
verb the server's own answer decides whether one is at work."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench
from tests.real_agents.jobs import Job
from tmuxreap.agents.screens import State
from tmuxreap.registry.rows import conversation_field

WATCHED_S = 120.0
SLOWLY = "please BE_SLOW"
PASSWORD = "s3cret-of-the-server"


class Opencode:
    """`opencode serve`, asked as its own documentation says."""

    agent = "opencode"

    def __init__(self, bench: Bench, password: str = PASSWORD) -> None:
        self.bench, self.password, self.pid = bench, password, 0
        self.url = self.serve()

    def serve(self) -> str:
        environ = dict(self.bench.environ)
        if self.password:
            environ["OPENCODE_SERVER_PASSWORD"] = self.password
        server = subprocess.Popen(
            [str(self.bench.program), "serve", "--port", "0"],
            env=environ,
            cwd=self.bench.place.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self.pid = server.pid
        assert server.stdout is not None
        line = ""
        while "listening on" not in line:
            line = server.stdout.readline()
            assert line, "the server ended"
        return line.split()[-1]

    def ask(self, method: str, path: str, body: object = None) -> Any:
        login = base64.b64encode(f"opencode:{self.password}".encode()).decode()
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Basic {login}"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def working(self, folder: Path | None = None) -> set[str]:
        where = f"?directory={folder}" if folder else ""
        return set(self.ask("GET", f"/session/status{where}"))

    def begin(self, prompt: str = SLOWLY, folder: Path | None = None) -> str:
        """Begin one at the server, without a pane; return its ID once it is at work."""
        where = f"?directory={folder}" if folder else ""
        number = str(self.ask("POST", f"/session{where}", {})["id"])
        said = {"parts": [{"type": "text", "text": f"{MESSAGE}, {prompt}"}]}
        self.ask("POST", f"/session/{number}/prompt_async{where}", said)
        self.bench.until("its work", lambda: number in self.working(folder))
        if prompt == SLOWLY:
            self.bench.until("its question", lambda: asked_slowly(self.bench))
        return number

    def pane(self) -> list[str]:
        """A person has the password in the environment of the pane."""
        self.bench.environ["OPENCODE_SERVER_PASSWORD"] = self.password
        return [str(self.bench.program), "attach", self.url]

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Codex:
    """The daemon of codex, asked on its own socket. Its panes begin what it runs."""

    agent = "codex"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @property
    def pid(self) -> int:
        file = self.bench.place.home / ".codex/app-server-daemon/daemon.pid"
        return int(json.loads(file.read_text())["pid"])

    def ask(self, method: str, **given: object) -> Any:
        path = self.bench.place.home / ".codex/app-server-control/app-server-control.sock"
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(30)
            line.connect(str(path))
            line.sendall(
                b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                b"Sec-WebSocket-Version: 13\r\n\r\n"
            )
            file = line.makefile("rb")
            while file.readline().strip():
                pass
            hello = {"clientInfo": {"name": "tests", "version": "1"}}
            told(line, file, 1, "initialize", hello)
            return told(line, file, 2, method, given)

    def working(self) -> set[str]:
        try:
            loaded = self.ask("thread/loaded/list")["data"]
        except OSError:
            return set()
        found = [self.ask("thread/read", threadId=it).get("thread") for it in loaded]
        return {str(it["id"]) for it in found if it and it["status"]["type"] == "active"}

    def begin(self, prompt: str = SLOWLY) -> str:
        """Begin one in a pane, and close that."""
        where = ["-x", "120", "-y", "40", "-c", str(self.bench.place.project)]
        before = self.working()
        self.bench.tmux("new-session", "-d", "-s", NAME, *where, self.bench.line)
        self.bench.until("its prompt", lambda: self.bench.seen().state is State.IDLE)
        self.bench.settle(2.0)
        self.bench.say(f"{MESSAGE}, {prompt}")
        self.bench.until("its work", lambda: self.working() - before)
        if prompt == SLOWLY:
            self.bench.until("its question", lambda: asked_slowly(self.bench))
        self.bench.tmux("kill-session", "-t", f"={NAME}")
        self.bench.until("the end of its pane", lambda: NAME not in self.bench.tmux("ls"))
        (number,) = self.working() - before
        return number

    def pane(self) -> list[str]:
        return [str(self.bench.program)]

    def close(self) -> None:
        pass


def told(line: socket.socket, file: Any, number: int, method: str, given: object) -> Any:
    """Ask by one frame, and return the answer to it."""
    data = json.dumps({"id": number, "method": method, "params": given}).encode()
    assert len(data) < 1 << 16
    line.sendall(b"\x81\xfe" + len(data).to_bytes(2, "big") + bytes(4) + data)
    while True:
        kind, length = file.read(2)
        if length == 126:
            length = int.from_bytes(file.read(2), "big")
        elif length == 127:
            length = int.from_bytes(file.read(8), "big")
        said = file.read(length)
        if kind & 0x0F == 1 and (answer := json.loads(said)).get("id") == number:
            return answer.get("result") or {}


def asked_slowly(bench: Bench) -> bool:
    """Tell whether the turn itself began, and not only a title for it."""
    return any("BE_SLOW" in it for it in bench.turns(0))


Server = Opencode | Codex


@contextlib.contextmanager
def served(bench: Bench) -> Iterator[Server]:
    server = Opencode(bench) if bench.agent == "opencode" else Codex(bench)
    if not bench.registry.exists():
        bench.registry.write_text("tmux_sessions: []\n")
    try:
        yield server
    finally:
        server.close()


def adopted(bench: Bench, number: str, name: str = NAME) -> None:
    bench.reap("adopt", name, "--background", f"{bench.agent}:{number}")


def unregistered(bench: Bench) -> list[str]:
    return [one["command"] for one in bench.answer("list")["unregistered"]]


def ended(bench: Bench, server: Server, verb: str, number: str, name: str = NAME) -> str:
    item = bench.reap(verb, name)
    assert number not in server.working(), f"{number} is at work by its own server's word"
    assert all(number not in command for command in unregistered(bench))
    alive = [it for it in bench.answer("list")["results"] if it["live"] == "alive"]
    assert name not in [it["name"] for it in alive], alive
    return f"{item['stopped_by']}, {item['duration_ms'] / 1000:.1f} s"


def listed(bench: Bench) -> str:
    with served(bench) as server:
        number = server.begin()
        (command,) = unregistered(bench)
        assert command.endswith(f"--background {bench.agent}:{number}"), command
        adopted(bench, number)
        (one,) = bench.answer("list")["results"]
        assert (one["live"], one["state"]) == ("alive", "working"), one
        assert one["seat"] == f"{bench.agent}:{number}"
        assert unregistered(bench) == []
        return ended(bench, server, "stop", number)


def killed(bench: Bench) -> str:
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number)
        return ended(bench, server, "kill", number)


def waiting(bench: Bench) -> str:
    """It asks, and nobody sees it: told, and ended."""
    with served(bench) as server:
        number = server.begin("RUN_A_TOOL")
        adopted(bench, number)
        bench.until(
            "its question",
            lambda: bench.answer("list")["results"][0]["state"] == "waiting",
            every_s=1.0,
        )
        word = ended(bench, server, "stop", number)
        assert not bench.proof.exists()
        return word


def resumed(bench: Bench) -> str:
    """In tmux, in the same conversation."""
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number)
        ended(bench, server, "stop", number)
        assert bench.row()["resumable"] is True, bench.row()
        text = bench.registry.read_text()
        line = f"agent: {bench.agent}"
        assert line in text
        bench.registry.write_text(text.replace(line, f"{line}\n    tmux_server: {bench.socket}"))
        bench.reap("resume", NAME)
        bench.resize()
        bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
        asked = len(bench.model.asked)
        bench.say(AGAIN)
        bench.until("what was said", lambda: any(MESSAGE in it for it in bench.model.asked[asked:]))
        return str(bench.reap("stop", NAME)["stopped_by"])


def at_once(bench: Bench, verb: str) -> str:
    """A pane shows it, and its row is ended: the turn at the server ends as well."""
    with served(bench) as server:
        bench.start(*server.pane())
        bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
        bench.settle(2.0)
        bench.say(f"{MESSAGE}, {SLOWLY}")
        bench.until("its work", server.working)
        bench.until("its question", lambda: asked_slowly(bench))
        assert unregistered(bench) == []
        item = bench.reap(verb, NAME)
        assert server.working() == set(), item
        assert not [it for it in item["warnings"] if it.startswith("goes_on")], item["warnings"]
        assert item["resumable"] is True, item
        return f"{item['stopped_by']}, {item['duration_ms'] / 1000:.1f} s"


def pane_stopped(bench: Bench) -> str:
    return at_once(bench, "stop")


def pane_killed(bench: Bench) -> str:
    return at_once(bench, "kill")


def left(bench: Bench) -> str:
    """Its pane goes, its turn stays: the row of that conversation follows it."""
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number, "other")
        ended(bench, server, "stop", number, "other")
        words = [*server.pane(), *(("-s",) if bench.agent == "opencode" else ("resume",)), number]
        bench.start(*words)
        bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
        bench.settle(2.0)
        nobody = f"{conversation_field(bench.agent)}: null"
        text = bench.registry.read_text()
        assert nobody in text, text
        bench.registry.write_text(text.replace(nobody, nobody.replace("null", number)))
        bench.say(SLOWLY)
        bench.until("its work", server.working)
        bench.tmux("kill-session", "-t", f"={NAME}")
        one = next(it for it in bench.answer("list")["results"] if it["name"] == NAME)
        assert (one["live"], one["drift"]) == ("alive", "moved"), one
        return ended(bench, server, "stop", number)


def forked(bench: Bench) -> str:
    """The pane goes on with the copy, and is closed: the copy is its child."""
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number, "other")
        ended(bench, server, "stop", number, "other")
        bench.reap("forget", "other")
        bench.start(*server.pane(), "resume", number)
        bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
        bench.settle(2.0)
        nobody = f"{conversation_field(bench.agent)}: null"
        text = bench.registry.read_text()
        assert nobody in text, text
        bench.registry.write_text(text.replace(nobody, nobody.replace("null", number)))
        bench.say("/fork")
        bench.settle(3.0)
        bench.keys("Enter")  # the worktree that it is in
        bench.settle(3.0)
        bench.say(SLOWLY)
        bench.until("its work", server.working)
        (copy,) = server.working()
        name = f"{NAME}/{copy}"
        tree = [it["name"] for it in bench.answer("list", "--tree")["results"]]
        assert (copy != number, tree) == (True, [NAME, name]), tree
        bench.tmux("kill-session", "-t", f"={NAME}")
        bench.until("the end of its pane", lambda: NAME not in bench.tmux("ls"))
        tree = [it["name"] for it in bench.answer("list", "--tree")["results"]]
        assert (copy in server.working(), tree) == (True, [NAME, name]), tree
        return ended(bench, server, "stop", copy, name)


def without_server(bench: Bench) -> str:
    """Its server is killed, and all its work with it."""
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number)
        os.kill(server.pid, signal.SIGKILL)
        bench.until(
            "its end", lambda: bench.answer("list")["results"][0]["live"] == "gone", every_s=1.0
        )
        bench.answer("reconcile")
        assert bench.row()["status"] == "terminated", bench.row()
        return str(bench.row()["status"])


def other_home(bench: Bench) -> str:
    """One of another HOME is not ours, and stays."""
    with served(bench) as server:
        number = server.begin()
        home = bench.environ["HOME"]
        bench.environ["HOME"] = str(bench.folder / "other")
        os.mkdir(bench.environ["HOME"])
        assert unregistered(bench) == []
        refused = bench.answer("adopt", NAME, "--background", f"{bench.agent}:{number}")
        assert refused["error"] or refused["results"][0]["error"], refused
        bench.environ["HOME"] = home
        assert number in server.working()
        adopted(bench, number)
        return ended(bench, server, "stop", number)


def all_of_the_folder(bench: Bench) -> str:
    with served(bench) as server:
        numbers = {server.begin(), server.begin()}
        answer = bench.answer("adopt", "--all", "--yes")
        assert not [it for it in answer["results"] if it.get("error")], answer
        answer = bench.answer("stop", "all", "--yes")
        assert answer["counts"]["ended"] == len(numbers), answer
        assert server.working() == set()
        return f"{len(numbers)} of {len(numbers)}"


def two_minutes_later(bench: Bench) -> str:
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number)
        ended(bench, server, "stop", number)
        deadline = time.monotonic() + WATCHED_S
        while time.monotonic() < deadline:
            assert number not in server.working(), "it came back"
            time.sleep(5.0)
        return "gone"


def by_itself(bench: Bench) -> str:
    """Its turn ends: it runs nothing, and can be resumed."""
    with served(bench) as server:
        number = server.begin()
        adopted(bench, number)
        bench.until("its end", lambda: number not in server.working(), every_s=1.0)
        (one,) = bench.answer("list")["results"]
        assert (one["live"], one["drift"]) == ("gone", "dead"), one
        item = bench.reap("stop", NAME)
        assert bench.row()["resumable"] is True, bench.row()
        return str(item["stopped_by"])


def without_password(bench: Bench) -> str:
    server = Opencode(bench, "")
    bench.registry.write_text("tmux_sessions: []\n")
    try:
        number = server.begin()
        adopted(bench, number)
        return ended(bench, server, "stop", number)
    finally:
        server.close()


def another_folder(bench: Bench) -> str:
    """One server has sessions of several folders; it opens none for our question."""
    with served(bench) as server:
        assert isinstance(server, Opencode)
        folder = bench.folder / "elsewhere"
        folder.mkdir()
        number = server.begin(folder=folder)
        adopted(bench, number)
        item = bench.reap("stop", NAME)
        assert server.working(folder) == set()
        return str(item["stopped_by"])


CELLS: dict[str, Callable[[Bench], str]] = {
    "background, listed": listed,
    "background, kill": killed,
    "background, waiting": waiting,
    "background, resume": resumed,
    "background, pane stopped": pane_stopped,
    "background, pane killed": pane_killed,
    "background, pane left": left,
    "background, no server": without_server,
    "background, other HOME": other_home,
    "background, all": all_of_the_folder,
    "background, by itself": by_itself,
    "background, two minutes later": two_minutes_later,
}
OF_CODEX: dict[str, Callable[[Bench], str]] = {"background, forked": forked}
OF_OPENCODE: dict[str, Callable[[Bench], str]] = {
    "background, no password": without_password,
    "background, another folder": another_folder,
}


def jobs() -> Iterator[Job]:
    for row, play in CELLS.items():
        yield Job("opencode", row, play)
        yield Job("codex", row, play)
    for row, play in OF_CODEX.items():
        yield Job("codex", row, play)
    for row, play in OF_OPENCODE.items():
        yield Job("opencode", row, play)

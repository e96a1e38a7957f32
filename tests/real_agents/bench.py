"""One real agent in a private tmux, against the mock: started, brought into a state, looked at."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.real_agents.chance import ADOPTED, PLAIN, STARTED, Conditions
from tests.real_agents.mock_model import MockModel
from tests.real_agents.setups import Place, Setup
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State, read_screen

PATIENCE_S = 240.0  # the machine may be busy, and an agent take ten seconds of it to begin
BURST_S = 0.5  # between a text and its Enter: several agents swallow one that comes sooner
SOON_S, TRIES = 4.0, 20
ONE_STATE_LOOKS = 5
MESSAGE = "please remember the blue teapot"
AGAIN = "which colour did it have"
NAME = "acme"
ENDINGS = ("stop", "kill", "interrupt")


class Bench:
    def __init__(
        self,
        agent: str,
        setup: Setup,
        profile: Profile,
        program: Path,
        *,
        allowed: bool = False,
        home: Path | None = None,
        conditions: Conditions = PLAIN,
    ) -> None:
        """`allowed`: it runs its tools without asking. `home`: one that it shares with others."""
        self.conditions = conditions
        self.busy: list[subprocess.Popen[bytes]] = []
        self.agent, self.setup, self.profile, self.name = agent, setup, profile, NAME
        self.folder = Path(tempfile.mkdtemp(prefix="tra", dir="/tmp")).resolve()
        self.proof = self.folder / "proof-that-it-ran"
        self.model = MockModel(setup.command.format(proof=self.proof), spoken=setup.spoken)
        place = Place(home or self.folder / "home", self.folder / "project", self.model.url)
        place.home.mkdir(exist_ok=True)
        place.project.mkdir()
        subprocess.run(["git", "init", "-q", str(place.project)], check=True)
        self.place, self.program = place, program
        self.socket = str(self.folder / "s")
        self.registry = self.folder / "agent-sessions.yaml"
        self.typed: tuple[str, ...] = ()  # more than its state says
        self.ended: dict[str, Any] = {}  # the answer of the last stop
        self.environ = self._environment()
        self.allow(allowed)

    def allow(self, allowed: bool) -> None:
        """Of what is started from now on."""
        self.allowed, self.model.asks = allowed, not allowed
        self.options = self.setup.allowing if allowed else self.setup.options
        for name, value in self.setup.allowing_environ:
            self.environ.pop(name, None)
            self.environ.update({name: value} if allowed else {})

    def _environment(self) -> dict[str, str]:
        root = Path(__file__).parent.parent.parent
        node = Path(shutil.which("node") or "/usr/bin/node")
        path = f"{self.program.parent}:{node.parent}:/usr/bin:/bin"
        return {
            "HOME": str(self.place.home),
            "PATH": path,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "EDITOR": "vi",
            "TMUX_TMPDIR": str(self.folder),
            "PYTHONPATH": str(root),
            "NO_PROXY": "127.0.0.1,localhost",
            **self.setup.seed(self.place),
        }

    def __enter__(self) -> Bench:
        for _ in range(self.conditions.load):
            self.busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        return self

    def __exit__(self, *_: object) -> None:
        for busy in self.busy:
            busy.kill()
            busy.wait()
        subprocess.run(
            ["tmux", "-N", "-S", self.socket, "kill-server"], capture_output=True, check=False
        )
        self.model.close()
        time.sleep(0.3)
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):  # it has just gone by itself
                os.kill(pid, 9)
        shutil.rmtree(self.folder, ignore_errors=True)

    def left(self) -> dict[int, str]:
        """Living processes of this bench: all of them have its HOME, or its place for tmux."""
        shared = self.place.home.parent != self.folder
        mark = f"TMUX_TMPDIR={self.folder}" if shared else f"HOME={self.place.home}"
        wanted, found = mark.encode(), {}
        for home in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (home / "environ").read_bytes().split(b"\0"):
                    found[int(home.name)] = (
                        (home / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                    )
            except OSError:
                continue
        return {pid: command for pid, command in found.items() if command}

    # The program

    def answer(self, *words: str) -> dict[str, Any]:
        """What a verb answers. A model that talks goes on for so long on any machine: what it
        begins afterwards was not prevented."""
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tmuxreap",
                words[0],
                "--registry",
                str(self.registry),
                "--json",
                *words[1:],
            ],
            env=self.environ,
            cwd=self.place.project,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if words[0] in ENDINGS:
            self.model.may_finish.set()
        try:
            answer: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise AssertionError(
                f"tmuxreap {' '.join(words)}: {done.stdout}{done.stderr}"
            ) from None
        return answer

    def reap(self, *words: str) -> dict[str, Any]:
        """The one result; a failure is one of the test."""
        answer = self.answer(*words)
        if answer["error"]:
            raise AssertionError(f"tmuxreap {' '.join(words)}: {answer['error']['message']}")
        item: dict[str, Any] = answer["results"][0]
        if item.get("error"):
            raise AssertionError(f"tmuxreap {' '.join(words)}: {item['error']['message']}")
        return item

    def start(self, *command: str, flags: Sequence[str] = ()) -> dict[str, Any]:
        if not command and not flags and self.conditions.row != STARTED:
            return self._begun_by_hand()
        if not command and self.conditions.frozen_s:  # tmux continues what it started itself
            command = ("sh", "-c", f"{self.line}; exec sh")
        words = command or (self.setup.program, *self.options)
        where = ("--server", self.socket, "--cwd", str(self.place.project), *flags)
        item = self.reap("start", self.name, "--agent", self.agent, *where, "--", *words)
        self.resize()
        return item

    def _begun_by_hand(self) -> dict[str, Any]:
        """As a person begins it, and registers it afterwards, or another tool does."""
        size = ("-x", str(self.conditions.width), "-y", str(self.conditions.height))
        line = f"{self.line}; exec sh" if self.conditions.frozen_s else self.line
        where = ("-s", self.name, "-c", str(self.place.project))
        self.tmux("new-session", "-d", *size, *where, line)
        pid = int(self.tmux("display-message", "-p", "-t", f"={self.name}:", "#{pane_pid}"))
        if self.conditions.row == ADOPTED:
            self.registry.write_text("tmux_sessions: []\n")
            self.until("the adoption", lambda: self._adopted(), every_s=1.0)
            return self.reap("show", self.name)
        pane = {"pid": pid, "cmd": self.setup.program, "cwd": str(self.place.project)}
        row = {"name": self.name, "status": "running", "tmux_server": self.socket, "pane": pane}
        self.registry.write_text(yaml.safe_dump({"tmux_sessions": [row]}))
        return row

    def _adopted(self) -> bool:
        """A launcher may not have begun the agent yet."""
        return bool(self.answer("adopt", self.name, "--server", self.socket)["ok"])

    def resize(self) -> None:
        """What is resumed has the size of tmux's own choice."""
        size = ("-x", str(self.conditions.width), "-y", str(self.conditions.height))
        self.tmux("resize-window", "-t", f"={self.name}:", *size)

    def states(self) -> dict[str, str]:
        """What it does, by each door."""
        waited = self.answer("wait", self.name, "--until", "gone", "--timeout", "0s")
        asked = {
            "list": self.answer("list", self.name),
            "show": self.answer("show", self.name),
            "wait": waited,
            "interrupt": self.answer("interrupt", self.name, "--dry-run"),
        }
        return {door: str(answer["results"][0]["state"]) for door, answer in asked.items()}

    def one_state(self) -> str:
        """The state that all doors tell; the screen may change between two of them."""
        for _ in range(ONE_STATE_LOOKS):
            states = self.states()
            if len(set(states.values())) == 1:
                return states["list"]
        raise AssertionError(f"the doors tell several states: {states}")

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """The agent stands still for a while, as on a busy machine: its screen is the old one."""
        pids = self.below_its_shell() if self.conditions.frozen_s else []
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(self.conditions.frozen_s, let_go_on, [pids])
        timer.start()
        try:
            yield
        finally:
            timer.join()

    def below_its_shell(self) -> list[int]:
        """All that would draw or hear a key: what the shell started, and below that; that first."""
        found = [int(self.row()["pane"]["pid"])]
        for parent in found:
            found += [pid for pid in self.left() if parent_of(pid) == parent]
        return found[1:]

    @property
    def line(self) -> str:
        """Its command, as one types it."""
        return shlex.join([str(self.program), *self.options])

    def pane_state(self) -> str:
        """As the program tells it: by the agent's own word too."""
        return str(self.reap("show", self.name)["pane_state"])

    def row(self, name: str = "") -> dict[str, Any]:
        rows: list[dict[str, Any]] = yaml.safe_load(self.registry.read_text())["tmux_sessions"]
        return next(row for row in rows if row["name"] == (name or self.name))

    @property
    def prompted(self) -> tuple[str, ...]:
        """Its command with a prompt in it."""
        first = [word.format(prompt=MESSAGE) for word in self.setup.first]
        return (self.setup.program, *self.options, *first)

    def drafts(self) -> list[str]:
        import sqlite3

        books = sqlite3.connect(self.registry.with_suffix(".db"))
        found = books.execute("select data from events where kind = 'draft'").fetchall()
        books.close()
        return [json.loads(data)["text"] for (data,) in found]

    def trace(self) -> str:
        """What there is to find the cause of a fault: the screen, and all that was written down."""
        import sqlite3

        books = sqlite3.connect(self.registry.with_suffix(".db"))
        try:
            events = books.execute("select * from events").fetchall()
        except sqlite3.Error as error:
            events = [(str(error),)]
        books.close()
        shown = "\n".join(map(repr, [*events, *self.model.asked[-2:]]))
        return f"screen:\n{self.screen()}\nevents and last requests:\n{shown}"

    def turns(self, asked: int) -> list[str]:
        """The requests since then. An agent may ask for a title of its own; a turn is asked for
        with the tools that it may use, where it has any."""
        later = self.model.asked[asked:]
        turns = later if self.setup.spoken else [one for one in later if '"tools"' in one]
        return [one for one in turns if self.setup.aside not in one]

    # The terminal

    def tmux(self, *words: str) -> str:
        where = ["tmux", "-u", "-f", "/dev/null", "-S", self.socket]
        done = subprocess.run(
            [*where, *words],
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        return done.stdout.rstrip("\n ")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", f"={self.name}:")

    def seen(self) -> Screen:
        """With its styles, which tell a suggestion from a draft."""
        shown = self.tmux("capture-pane", "-p", "-e", "-t", f"={self.name}:")
        return read_screen(shown, self.profile.screens, self.profile.marks, self.profile.tall)

    def becomes(self, state: State, what: str) -> None:
        """As the program tells it, which is a start of Python each time."""
        self.until(what, lambda: self.pane_state() == state.value, every_s=0.5)

    def until(
        self,
        what: str,
        found: Callable[[], object],
        patience_s: float = PATIENCE_S,
        every_s: float = 0.05,
    ) -> None:
        deadline = time.monotonic() + patience_s
        while not found():
            if time.monotonic() > deadline:
                raise AssertionError(f"never came: {what}\n{self.screen()}")
            time.sleep(every_s)

    def settle(self, still_s: float = 1.0) -> None:
        """Until the screen has not changed for a while."""
        last, since = "", time.monotonic()
        deadline = since + PATIENCE_S
        while time.monotonic() < min(since + still_s, deadline):
            now = self.screen()
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.1)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", "-t", f"={self.name}:", text)
        time.sleep(BURST_S)

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", f"={self.name}:", *keys)

    def say(self, text: str) -> None:
        """As a person does, who looks: an agent that starts, or takes a conversation up, on a busy
        machine may empty its input once more, or hear the text and its Enter in one burst."""
        end = text[-8:]
        self.type(text)
        for _ in range(TRIES):
            if self.soon(lambda: self._shows(end)):
                break
            self.settle()
            if not self._shows(end):
                self.type(text)
        time.sleep(BURST_S)
        for _ in range(TRIES):
            self.keys("Enter")
            if self.soon(lambda: end not in self.seen().draft):
                break

    def _shows(self, text: str) -> bool:
        """A narrow terminal wraps it."""
        return "".join(text.split()) in "".join(self.screen().split())

    def soon(self, holds: Callable[[], bool], seconds: float = SOON_S) -> bool:
        deadline = time.monotonic() + seconds
        while not (held := holds()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return held

    def copy_mode(self) -> None:
        self.tmux("copy-mode", "-t", f"={self.name}:")


def let_go_on(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0

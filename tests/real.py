"""The whole program on a private, real tmux server, with the demo agent: the basis of the live
tests."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests import plain_yaml
from tests.ledger_records import Ledger
from tests.schemas import checked
from tmuxreap.app import real_app
from tmuxreap.commands import adopt, restart, resume, show, start, stop
from tmuxreap.commands import list as listing
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.ports import Tmux
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.database import ledger_path
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

PATIENCE_S = 60.0  # a safety limit, not a verdict: the awaited event comes much sooner
LOOK_S, LOOK_AT_MOST_S = 0.03, 0.1
BURST_S = 0.06
CONFIRM_S = 0.02
BELOW_SHELL_S = 1.0  # a shell may take that long to begin the agent
DEMO = [sys.executable, "-m", "tmuxreap.demo_agent"]
# What a tmux client prints without a server, and when the server exits in the middle.
NOBODY = ("no server running", "No such file or directory")
LEAVING = ("server exited", "lost server")


def until(what: str, found: Callable[[], object]) -> None:
    """Poll until `found` holds, at growing intervals: a look at a screen costs a process."""
    deadline, pause_s = time.monotonic() + PATIENCE_S, LOOK_S
    while not found():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, LOOK_AT_MOST_S)


def alive(pid: int) -> bool:
    """Tell whether the process lives; a zombie is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def agents_of(store: Path) -> list[int]:
    """Return the demo agents of a store that live. One that was killed has left its file behind,
    and its pid may be another's."""
    found: list[int] = []
    for file in (store / "sessions").glob("*.json"):
        started = json.loads(file.read_text())["procStart"]
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            told = Path(f"/proc/{file.stem}/stat").read_text().rpartition(")")[2].split()
            if told[0] != "Z" and told[19] == started:
                found.append(int(file.stem))
    return found


def freeze(pid: int) -> None:
    """Stop a process that tmux does not let go on at once, and wait until it stands: on a busy
    machine it has to get a processor first."""
    os.kill(pid, signal.SIGSTOP)
    stat = Path(f"/proc/{pid}/stat")
    until("its stop", lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


def answer(result: Result) -> dict[str, Any]:
    (item,) = checked(result).results
    return item.as_json()


class Real:
    """A registry, a store and a private server."""

    agent = "demo"
    program: Sequence[str] = DEMO
    leaves_by = "exit_keys"  # what ends an idle agent

    def __init__(self, socket: str, folder: Path) -> None:
        self.socket, self.folder = socket, folder
        self.registry = folder / "agent-sessions.yaml"
        self.registry.write_text("tmux_sessions: []\n")
        self.store = Path(os.environ["HOME"]) / ".tmuxreap-demo"
        self.other_tmux: Tmux | None = None

    # The program

    @contextlib.contextmanager
    def app(self) -> Iterator[Context]:
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith("TMUXREAP")
        }
        settings = Settings(environ, self.folder, os.getuid(), os.getpid(), sys.platform)
        app = real_app(settings, str(self.registry))
        if self.other_tmux is not None:
            app.tmux = self.other_tmux
        try:
            yield app
        finally:
            app.close()

    def start(
        self, name: str = "acme", *options: str, command: Sequence[str] = (), **more: Any
    ) -> dict[str, Any]:
        """Start an agent and wait until it is ready for keys."""
        request = start.StartRequest(
            name,
            self.agent,
            cwd=str(self.folder),
            server=self.socket,
            confirm_s=BELOW_SHELL_S if command else CONFIRM_S,
            command=tuple(command) or (*self.program, *options),
        )
        with self.app() as app:
            begun = answer(start.run(app, replace(request, **more)))
        self.shows(name, "demo agent · conversation")
        return begun

    def stop(self, *targets: str, dry_run: bool = False, **policy: Any) -> Result:
        return self._end(Policy(EndVerb.STOP, "manual_stop"), targets, dry_run, policy)

    def kill(self, *targets: str, dry_run: bool = False, **policy: Any) -> Result:
        return self._end(Policy(EndVerb.KILL, "killed"), targets, dry_run, policy)

    def _end(
        self, policy: Policy, targets: Sequence[str], dry_run: bool, given: dict[str, Any]
    ) -> Result:
        request = stop.EndRequest(tuple(targets) or ("acme",), replace(policy, **given), dry_run)
        with self.app() as app:
            return checked(stop.run(app, request))

    def resume(self, name: str = "acme", *, print_only: bool = False) -> dict[str, Any]:
        with self.app() as app:
            return answer(resume.run(app, resume.ResumeRequest((name,), print_only, CONFIRM_S)))

    def adopt(self, name: str = "acme", agent: str | None = "demo") -> dict[str, Any]:
        with self.app() as app:
            return answer(adopt.run(app, adopt.AdoptRequest(name, agent, self.socket)))

    def restart(self, *targets: str, **more: Any) -> list[dict[str, Any]]:
        """Restart agents; return the answers."""
        request = restart.RestartRequest(targets or ("acme",), confirm_s=CONFIRM_S)
        with self.app() as app:
            answered = checked(restart.run(app, replace(request, **more)))
            return [item.as_json() for item in answered.results]

    def show(self, name: str = "acme") -> dict[str, Any]:
        with self.app() as app:
            return answer(show.run(app, (name,)))

    def list(self) -> list[dict[str, Any]]:
        with self.app() as app:
            listed = checked(listing.run(app, listing.ListRequest((), None, False, None)))
            return [item.as_json() for item in listed.results]

    def fails(self, work: Callable[[], object]) -> Failure:
        try:
            work()
        except Failure as failure:
            return failure
        raise AssertionError("it did not fail")

    # Observations

    @property
    def words(self) -> str:
        """The agent's command line, for a shell."""
        return shlex.join(self.program)

    def row(self, name: str = "acme") -> dict[str, Any]:
        return self.rows()[name]

    def rows(self) -> dict[str, dict[str, Any]]:
        return {
            row["name"]: row
            for row in plain_yaml.load(self.registry.read_text())["tmux_sessions"] or []
        }

    def edit(self, old: str, new: str) -> None:
        text = self.registry.read_text()
        assert old in text
        self.registry.write_text(text.replace(old, new))

    def events(self, kind: str) -> list[dict[str, Any]]:
        with Ledger.open(ledger_path(self.registry), now=time.time()) as ledger:
            return [dict(event.data) for event in ledger.events() if event.kind == kind]

    def said(self) -> list[tuple[str, str]]:
        """Return the text of all conversations in the store."""
        files = sorted((self.store / "conversations").glob("*.jsonl"))
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [(line["role"], line["text"]) for line in lines]

    def prompts(self) -> list[str]:
        """Return what the agents were asked."""
        return [text for role, text in self.said() if role == "user"]

    def agent_pid(self) -> int:
        """Return the pid of the only agent, which may be below the shell of its pane."""
        files: list[Path] = []

        def is_one() -> bool:  # an agent that has just begun writes it soon
            files[:] = (self.store / "sessions").glob("*.json")
            return len(files) == 1

        until("the file of the only agent", is_one)
        return int(files[0].stem)

    # The terminal

    def tmux(self, *words: str, socket: str | None = None) -> str:
        where = ["tmux", "-u", "-f", "/dev/null", "-S", socket or self.socket]
        told = subprocess.run(
            [*where, *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert told.returncode == 0, f"tmux {words}: {told.stderr}"
        return told.stdout.rstrip()

    def sessions(self, socket: str | None = None) -> set[str]:
        """Return the session names, or None if no server runs; fail if it does not answer."""
        words = [
            "tmux",
            "-N",
            "-S",
            socket or self.socket,
            "list-sessions",
            "-F",
            "#{session_name}",
        ]
        told = subprocess.run(words, capture_output=True, text=True, check=False)
        while any(leaving in told.stderr for leaving in LEAVING):
            told = subprocess.run(words, capture_output=True, text=True, check=False)
        assert told.returncode == 0 or any(word in told.stderr for word in NOBODY), told.stderr
        return set(told.stdout.splitlines())

    def ask(self, name: str, format_: str) -> str:
        return self.tmux("display-message", "-p", "-t", f"={name}:", format_)

    def pid(self, name: str = "acme") -> int:
        told = self.ask(name, "#{pane_pid}")
        assert told, f"no session {name} among {self.sessions()}"
        return int(told)

    def screen(self, name: str = "acme") -> str:
        return self.tmux("capture-pane", "-p", "-t", f"={name}:")

    def shows(self, name: str, text: str) -> None:
        until(f"{text!r} on the screen", lambda: text in self.screen(name))

    def keys(self, name: str, *keys: str) -> None:
        self.tmux("send-keys", "-t", f"={name}:", *keys)

    def say(self, text: str, name: str = "acme") -> None:
        """Send a message and wait for the answer."""
        self.submit(text, name)
        self.shows(name, f"You said: {text}")

    def submit(self, text: str, name: str = "acme") -> None:
        self.tmux("send-keys", "-l", "-t", f"={name}:", text)
        self.shows(name, f"> {text}")
        time.sleep(BURST_S)  # the demo agent takes an earlier Enter as part of a paste
        self.keys(name, "Enter")

    def session_file(self, name: str = "acme") -> dict[str, str]:
        facts: dict[str, str] = json.loads(
            (self.store / "sessions" / f"{self.pid(name)}.json").read_text()
        )
        return facts

    def bystander(self, name: str = "quiet", *command: str) -> int:
        """Start an unrelated session on the same server."""
        words = command or ("sleep", "600")
        self.tmux("new-session", "-d", "-s", name, *words)
        return self.pid(name)

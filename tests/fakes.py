"""The three fake interfaces, based on measurements: tests/contract runs the same tests on fakes and
real ones.

`Story` assembles the whole program on them: a registry in a folder, one tmux server, one clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Any

from tests import plain_yaml
from tests.fake_processes import OWN_PID, FakeClock, FakeProcess, FakeProcesses
from tests.fake_server import FakePane, FakeServer, FakeSession
from tests.fake_tmux import FakeTmux
from tests.ledger_records import Ledger
from tests.schemas import checked
from tmuxreap.commands import restart as restarting
from tmuxreap.commands import stop as ending
from tmuxreap.commands.stop import EndRequest
from tmuxreap.core.model import EndVerb, ProcessId, Row
from tmuxreap.core.ports import Progress
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.database import ledger_path
from tmuxreap.proof.observe import Place
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

__all__ = [
    "OWN_PID",
    "FakeAgent",
    "FakeClock",
    "FakePane",
    "FakeProcess",
    "FakeProcesses",
    "FakeServer",
    "FakeSession",
    "FakeTmux",
    "Story",
]

DEMO = ("python3", "-m", "tmuxreap.demo_agent")
CONVERSATION = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"
ENDING_COMMANDS = (
    "kill-session",
    "kill-pane",
    "kill-window",
    "kill-server",
    "respawn-pane",
    "unlink-window",
)
AN_ID = re.compile(r"[$%]\d+:?")


@dataclass
class FakeAgent:
    """The demo agent on a fake pane: the keys that it received, and their effects."""

    pane: FakePane
    process: ProcessId
    processes: FakeProcesses
    state: str = "idle"
    draft: str = ""
    leaves: bool = True
    exit_delay_s: float = 0.0
    shell: ProcessId | None = None
    heard: list[str] = field(default_factory=list)
    submitted: list[str] = field(default_factory=list)
    approved: bool = False
    conversation: str = CONVERSATION
    works: bool = False  # it begins a turn when it is given a prompt
    interrupts: int = 0

    def press(self, key: str) -> None:
        now = self.processes.refresh(self.process)
        if now is None or now.pgrp != now.tpgid:
            return
        self.heard.append(key)
        self.interrupts = self.interrupts + 1 if key == "C-c" and not self.draft else 0
        if self.state == "dialog":
            self.approved = self.approved or key == "Enter"
            self.state = "idle" if key in ("Enter", "Escape") else self.state
        elif key == "Enter" and self.draft:
            self._submit()
        elif key in ("C-u", "C-c"):
            self.draft = ""
        elif key == "Escape":
            self.state = "idle"
        elif key != "Enter":
            self.draft += key
        if self.interrupts >= 2 and self.state == "idle":
            self.leave()
        self.draw()

    def draw(self) -> None:
        if self.state == "dialog":
            self.pane.screen = (
                "demo agent\n╭──╮\n│ Allow the tool `rm -rf build`? [Enter] yes  [Esc] no │\n╰──╯"
            )
        else:
            working = "· working (esc to interrupt)\n" if self.state == "busy" else ""
            shown = self.draft.replace("\n", "\n  ")
            self.pane.screen = f"demo agent\n\n{working}> {shown}"

    def leave(self) -> None:
        if self.leaves:
            self.processes.after(self.exit_delay_s, self._gone)

    def _submit(self) -> None:
        if self.draft == "/exit":
            self.leave()
        else:
            self.submitted.append(self.draft)
            self.state = "busy" if self.works else self.state
        self.draft = ""

    def _gone(self) -> None:
        if self.shell is not None:
            self.processes.put_in_front(self.shell)
        self.processes.die(self.process)


def plans_of(registry: Path) -> list[str]:
    """Return the plans of all endings that were ever started."""
    with contextlib.closing(sqlite3.connect(ledger_path(registry))) as db:
        return [
            plan
            for (plan,) in db.execute(
                "SELECT plan FROM intents WHERE verb IN ('stop', 'kill') ORDER BY id"
            )
        ]


class Story:
    UID = os.getuid() or 1000  # who writes the files; root's are trusted by all
    SOCKET = f"/tmp/tmux-{UID}/default"
    HOST, BOOT = "here", "this-boot"

    def __init__(self, folder: Path, clock: FakeClock | None = None) -> None:
        self.folder = folder
        self.path = folder / "agent-sessions.yaml"
        self.store = folder / "store"
        self.clock = clock or FakeClock()
        self.processes = FakeProcesses(self.clock)
        self.tmux = FakeTmux(self.processes)
        self.processes.add("tmuxreap", pid=OWN_PID)
        self.path.write_text("# ours\ntmux_sessions: []\n")
        self.agents: dict[str, FakeAgent] = {}
        self.apps: list[Context] = []
        self.ledgers: list[Ledger] = []

    # Setting up a history

    def agent(
        self,
        name: str = "acme",
        *,
        state: str = "idle",
        draft: str = "",
        leaves: bool = True,
        exit_delay_s: float = 0.0,
        shell: bool = False,
        message: bool = True,
        status: str = "running",
        conversation: str = CONVERSATION,
        **process: object,
    ) -> FakeAgent:
        """Add a demo agent in its own session, with its row; other arguments as for
        FakeProcesses.add."""
        marks = {"TMUXREAP_DEMO_HOME": str(self.store), "TMUXREAP_ID": f"mark-of-{name}"}
        if shell:
            session = self.tmux.open(
                self.SOCKET, name, "bash", environ=marks, ignores={Signals.SIGTERM}
            )
            leader = session.panes[0].process
            mine = self.processes.add(*DEMO, parent=leader, foreground=True, **process)  # type: ignore[arg-type]
        else:
            session = self.tmux.open(self.SOCKET, name, *DEMO, environ=marks, **process)
            leader = mine = session.panes[0].process
        one = FakeAgent(session.panes[0], mine, self.processes, state, draft, leaves, exit_delay_s)
        one.shell = leader if shell else None
        one.conversation = conversation
        one.pane.on_key = one.press
        one.draw()
        self.agents[name] = one
        self._talk(one, message)
        self.add_row(self._row_of(name, session, status, conversation))
        return one

    def comes_back(self) -> None:
        """Let the demo agent begin in each pane in which its command is run again."""

        def begin(pane: FakePane) -> None:
            name = next(name for name, one in self.agents.items() if one.pane is pane)
            conversation = self.agents[name].conversation
            one = self.agents[name] = FakeAgent(pane, pane.process, self.processes)
            one.conversation = conversation
            pane.on_key = one.press
            one.draw()
            self._talk(one, message=False)

        self.tmux.on_respawn = begin

    def restart(self, *targets: str, pid: int = OWN_PID, **more: Any) -> list[dict[str, Any]]:
        """Restart agents; return the answers."""
        request = restarting.RestartRequest(targets or ("acme",), **more)
        answered = checked(restarting.run(self.app(pid), request))
        return [item.as_json() for item in answered.results]

    def add_row(self, row: Mapping[str, object]) -> None:
        text = self.path.read_text().replace("tmux_sessions: []\n", "tmux_sessions:\n")
        self.path.write_text(text + f"  - {json.dumps(row)}\n")

    def row(self, name: str = "acme") -> dict[str, object]:
        rows = plain_yaml.load(self.path.read_text())["tmux_sessions"]
        found: dict[str, object] = next(row for row in rows if row["name"] == name)
        return found

    def app(
        self, pid: int = OWN_PID, *, tool: str = "cli", progress: Progress | None = None
    ) -> Context:
        environ = {"HOME": str(self.folder), "TMUX_TMPDIR": "/tmp"}
        settings = Settings(
            environ=environ, cwd=self.folder, uid=self.UID, pid=pid, platform="linux"
        )
        place = Place(self.HOST, self.BOOT, pid)
        ports = self.tmux, self.processes, self.clock, place
        app = Context(settings, str(self.path), *ports, tool=tool, progress=progress)
        self.apps.append(app)
        return app

    def stop(self, *targets: str, pid: int = OWN_PID, **policy: object) -> Result:
        return self._end(targets, Policy(EndVerb.STOP, "manual_stop"), pid, policy)

    def kill(self, *targets: str, pid: int = OWN_PID, **policy: object) -> Result:
        return self._end(targets, Policy(EndVerb.KILL, "killed"), pid, policy)

    def _end(
        self, targets: tuple[str, ...], policy: Policy, pid: int, given: dict[str, object]
    ) -> Result:
        dry_run = bool(given.pop("dry_run", False))
        asked = replace(policy, **given)  # type: ignore[arg-type]
        return checked(ending.run(self.app(pid), EndRequest(targets or ("acme",), asked, dry_run)))

    # Observing the result

    def ledger(self) -> Ledger:
        """Open the ledger; `close` closes it, if nobody has before."""
        opened = Ledger.open(ledger_path(self.path), now=self.clock.now())
        self.ledgers.append(opened)
        return opened

    def written(self) -> dict[str, bytes]:
        """Return all files in the registry's folder."""
        return {file.name: file.read_bytes() for file in self.folder.iterdir() if file.is_file()}

    def recorded_plans(self) -> list[str]:
        return plans_of(self.path)

    def signals_to(self, process: ProcessId) -> list[Signals]:
        return [number for pid, number in self.processes.signals if pid == process.pid]

    def told(self) -> list[tuple[str, ...]]:
        return [command for _, command in self.tmux.transcript]

    def close(self) -> None:
        """Close what was opened, and check that no name and no pattern ever reached tmux as a
        target."""
        for opened in (*self.apps, *self.ledgers):
            opened.close()
        made = {
            f"={command[command.index('-s') + 1]}:"  # new sessions have no known id yet
            for command in self.told()
            if command[0] == "new-session"
        }
        for command in self.told():
            targets = [command[at + 1] for at, word in enumerate(command) if word == "-t"]
            assert all(AN_ID.fullmatch(one) or one in made for one in targets), command
            assert command[0] not in ENDING_COMMANDS, f"not compared in the server: {command}"

    def _talk(self, agent: FakeAgent, message: bool) -> None:
        sessions, conversations = self.store / "sessions", self.store / "conversations"
        for folder in (sessions, conversations):
            folder.mkdir(parents=True, exist_ok=True)
        start = str(agent.process.start)
        facts = {"sessionId": agent.conversation, "procStart": start, "status": "idle"}
        (sessions / f"{agent.process.pid}.json").write_text(json.dumps(facts))
        if message:
            line = {"role": "user", "text": "hello", "cwd": "/"}
            (conversations / f"{agent.conversation}.jsonl").write_text(json.dumps(line) + "\n")

    def _row_of(
        self,
        name: str,
        session: FakeSession,
        status: str,
        conversation: str = CONVERSATION,
        socket: str = SOCKET,
    ) -> dict[str, object]:
        server, pane = self.tmux.servers[socket], session.panes[0]
        return {
            "name": name,
            "status": status,
            "agent": "demo",
            "demo_conversation_id_own": conversation,
            "conversation_source": "launch",
            "store": str(self.store),
            "pane": {
                "pid": pane.now.pid,
                "cwd": "/",
                "id": pane.now.id,
                "start_ticks": pane.process.start,
            },
            "tmux": {
                "socket": socket,
                "host": self.HOST,
                "boot_id": self.BOOT,
                "server_pid": server.process.pid,
                "server_started": server.started,
                "session_id": session.id,
                "session_created": session.created,
            },
        }


def row_of(story: Story, name: str = "acme") -> Row:
    row = story.app().registry.look().named(name)
    assert row is not None
    return row


def sight(story: Story, name: str = "acme", pid: int = OWN_PID) -> Sight:
    return story.app(pid).sights.of_row(row_of(story, name))

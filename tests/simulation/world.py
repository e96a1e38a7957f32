"""The simulated world: lives of agents, people, other tools; and who every process belongs to.

Knows what is true. Never asks the program."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from signal import Signals
from typing import Any

from tests import plain_yaml
from tests.fakes import FakeClock, FakePane, FakeSession, Story
from tests.simulation.actors import Actor, Port
from tests.simulation.daemons import LIST, Daemon
from tests.simulation.lives import BANNER, KINDS, PROFILES, SOCKETS, STORE, Life, SimAgent
from tests.simulation.other_tools import PLANTED, OtherTools
from tests.simulation.watching import adopted_by
from tests.turns import PATIENCE_S
from tmuxreap.core.model import ProcessId
from tmuxreap.sessions.context import Context

SERVER_NAMES = (None, "other")
MOST = 6  # commands at a time
CAREFUL = ("stop", "reap", "start")  # verbs that end nothing whose end they cannot write
HALF = "half of prompt"
NAMING = ("start", "adopt", "resume", "restart")  # verbs that mean a name, whatever has it
PERSON, SHELL, SHARED, OURS, SERVER, GIVEN = "person", "shell", "shared", "ours", "server", "given"


class World(OtherTools):
    """A story with many hands in it."""

    def __init__(self, folder: Path, clock: FakeClock | None = None) -> None:
        super().__init__(Story(folder, clock))
        self.folder = folder
        self.tmux = self.story.tmux
        self.owner: dict[ProcessId, object] = {}
        self.birth: object = None
        self.wrongs: list[str] = []
        self.blind = False  # the ledger was not to be had: what only it holds may be unknown
        self.locked = False
        self.ending = False  # a watch ends
        self.undo = adopted_by(self)
        self.daemon = Daemon(self, LIST, {})  # nobody needs it, unless a history says so
        self.processes.when_born.append(self._born)
        self.processes.when_gone.append(self._gone)
        self.tmux.when_created.append(self._created)
        self._guard()
        config = folder / ".config" / "tmuxreap"
        config.mkdir(parents=True)
        (config / "agents.yaml").write_text(PROFILES)
        self.story.add_row({"name": "flow", "status": "stopped", "note": 0})
        for socket in SOCKETS:
            self.open(socket, "quiet", "sleep", "600", owner=PERSON)

    # Truth

    def check(self, holds: bool, promise: int, what: str) -> None:
        if not holds:
            self.wrongs.append(f"promise {promise}: {what}")

    def alive(self, life: Life) -> list[ProcessId]:
        """Return its living processes; a shell that is left in a session of another name is that
        one's."""
        alive = [one for one in self.of(life) if self.processes.alive(one)]
        renamed = life.session is not None and life.session.name != life.name
        if not renamed and not self.moved(life):
            return alive
        table = self.processes.table
        return [one for one in alive if table[one.pid].argv[0] not in ("sh", "bash")]

    def of(self, life: Life) -> list[ProcessId]:
        return [process for process, owner in self.owner.items() if owner is life]

    def newest(self, name: str) -> Life | None:
        return next((life for life in reversed(self.lives) if life.name == name), None)

    def life_of(self, row: dict[str, Any]) -> Life | None:
        """Return the life that a row means, by what its writer knew."""
        pane, tmux = row.get("pane") or {}, row.get("tmux") or {}
        if row.get("terminal") == "background":
            return self.daemon.life_at(pane.get("id"))
        wanted = [life for life in self.lives if life.leader.pid == pane.get("pid")]
        if not tmux.get("session_id") and pane.get("start_ticks") is None:
            named = [life for life in wanted if life.name == row["name"]]
            living = [life for life in named if self.is_known(life)]
            # A pid is a memory: once nothing of that one lives the row may mean a later session.
            wanted = living or [life for life in wanted if life is self.newest(row["name"])]
        if tmux.get("session_id"):
            of = tmux["session_id"], tmux.get("session_created")
            wanted = [
                it for it in wanted if it.session and (it.session.id, it.session.created) == of
            ]
        if pane.get("start_ticks") is not None:
            wanted = [life for life in wanted if life.leader.start == pane["start_ticks"]]
        return wanted[-1] if wanted else None

    def is_known(self, life: Life) -> bool:
        """Tell whether anything lives of it that its pid or an earlier look ties to its row."""
        sessions = {one: self.processes.table[one.pid].now.sid for one in self.alive(life)}
        return any(one in life.seen or sid == life.leader.pid for one, sid in sessions.items())

    def stands(self, life: Life, *others: str) -> bool:
        """Tell whether its tmux session is still there with a pane of its own, or of others."""
        server = self.tmux.servers.get(life.socket or "")
        if server is None or life.session not in server.sessions:
            return False
        assert life.session is not None
        owners = [self.owner.get(pane.process) for pane in life.session.panes]
        lives = life.agent is not None and self.processes.alive(life.agent.process)
        mine = life.session.name == life.name or lives
        return any((owner is life and mine) or owner in others for owner in owners)

    def moved(self, life: Life) -> bool:
        """Tell whether its pane stands in another session now."""
        server = self.tmux.servers.get(life.socket or "")
        holders = [
            one
            for one in (server.sessions if server else ())
            if any(pane is life.pane for pane in one.panes)
        ]
        return bool(holders) and holders[0] is not life.session

    def rows(self) -> dict[str, dict[str, Any]]:
        listed = plain_yaml.load(self.story.path.read_text())["tmux_sessions"]
        return {row["name"]: row for row in listed or []}

    # Births and deaths

    @contextlib.contextmanager
    def born(self, owner: object) -> Iterator[None]:
        self.birth, before = owner, self.birth
        try:
            yield
        finally:
            self.birth = before

    def _born(self, process: ProcessId, parent: ProcessId | None) -> None:
        owner = self.birth if self.birth is not None else self.owner.get(parent or process)
        comm = self.processes.table[process.pid].now.comm
        self.owner[process] = SERVER if comm == "tmux: server" else owner
        environ = self.processes.table[process.pid].environ or {}
        self.processes.table[process.pid].environ = {**environ, "HOME": str(self.folder)}

    def _gone(self, process: ProcessId) -> None:
        life = self.owner.get(process)
        if isinstance(life, Life) and self.current in life.struck:  # not while another one ran
            life.killers.add(self.current)
        if isinstance(life, Life) and life.agent is not None and life.agent.process == process:
            self._follow(life)

    def _created(self, socket: str, session: FakeSession) -> None:
        """Give the session that a command has made a life."""
        planted = session.name == PLANTED
        self.check(
            not planted, 2, f"{self.current} ran the command of a row that nobody here began"
        )
        pane = session.panes[0]
        argv = self.processes.table[pane.process.pid].argv
        kind = next((kind for kind, words in KINDS.items() if words[0] == argv[0]), "mystery")
        kind = "demo" if "tmuxreap.demo_agent" in argv else kind
        words = [
            argv[at + 1] for at, word in enumerate(argv) if word in ("--session-id", "--resume")
        ]
        said = "--resume" in argv
        life = self._life(session.name, kind, socket, session, (words or [""])[0], said=said)
        self.owner[pane.process] = life

    def _life(
        self,
        name: str,
        kind: str,
        socket: str,
        session: FakeSession,
        conversation: str,
        *,
        process: ProcessId | None = None,
        said: bool = False,
        **agent: Any,
    ) -> Life:
        pane = session.panes[0]
        mark = self._mark_of(pane.process)
        life = Life(name, kind, socket, pane.process, session, pane, conversation, mark)
        self.lives.append(life)
        own = process or pane.process
        it = SimAgent(pane, own, self.processes, **agent)
        it.world, it.life, life.agent = self, life, it
        it.shell = pane.process if own != pane.process else None
        pane.on_key = self._hears(pane, it)
        if kind == "demo":
            it.draw()
            self.write_pidfile(life)
        if said:
            self.say(life)
        return life

    def _mark_of(self, process: ProcessId) -> str | None:
        return (self.processes.table[process.pid].environ or {}).get("TMUXREAP_ID")

    def _hears(self, pane: FakePane, agent: SimAgent | None) -> Callable[[str], None]:
        """Return what a key does in this pane."""

        def press(key: str) -> None:
            actor = self.current
            if actor is not None:
                self._keyed(actor, pane, key)
            if agent is not None and agent.life.kind == "demo":
                agent.press(key)

        return press

    def _keyed(self, actor: Actor, pane: FakePane, key: str) -> None:
        leader = self.processes.table.get(pane.process.pid)
        front = self.processes._foreground.get(leader.now.sid) if leader else None
        for fake in list(self.processes.table.values()):
            if fake.now.pgrp == front and fake.now.tty == pane.tty:
                self._strike(actor, fake.now.id, f"typed {key!r} to", 6)

    def _follow(self, life: Life) -> None:
        """Let the script that ran the agent start its shell."""
        leader = life.leader
        if life.agent is not None and life.agent.returns and self.processes.alive(leader):
            with self.born(life):
                self.processes.add("bash", parent=leader, foreground=True)

    def left(self, life: Life) -> None:
        """Let it say goodbye, as it was asked to leave."""
        if life.pane is not None and life.said:
            life.pane.screen = BANNER.format(life.conversation)

    # Agents and what they write

    @property
    def store(self) -> Path:
        return self.folder / STORE

    def say(self, life: Life) -> None:
        """Put a message into its conversation."""
        life.said = True
        if life.kind != "demo" or not life.conversation:
            return
        folder = self.store / "conversations"
        folder.mkdir(parents=True, exist_ok=True)
        line = {"role": "user", "text": "hello", "cwd": "/"}
        with (folder / f"{life.conversation}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def on_disk(self, conversation: str) -> bool:
        path = self.store / "conversations" / f"{conversation}.jsonl"
        return path.exists() and '"user"' in path.read_text()

    def write_pidfile(self, life: Life, **more: str) -> None:
        folder = self.store / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        agent = life.agent
        assert agent is not None
        facts = {"sessionId": life.conversation, "procStart": str(agent.process.start)}
        facts |= {"status": "idle", **more}
        (folder / f"{agent.process.pid}.json").write_text(json.dumps(facts))

    # Setting up

    def server(self, socket: str) -> None:
        if socket not in self.tmux.servers:
            self.tmux._start(socket)

    def open(
        self, socket: str, name: str, comm: str, *argv: str, owner: object, **process: Any
    ) -> FakeSession:
        self.server(socket)
        with self.born(owner):
            session = self.tmux.open(socket, name, comm, *argv, **process)
        pane = session.panes[0]
        pane.on_key = self._hears(pane, None)
        return session

    def split(self, session: FakeSession, comm: str, owner: str, **process: Any) -> FakePane:
        socket = self.socket_of(session)
        with self.born(owner):
            pane = self.tmux.split(socket, session, comm, **process)
        pane.on_key = self._hears(pane, None)
        return pane

    def socket_of(self, session: FakeSession) -> str:
        return next(at for at, one in self.tmux.servers.items() if session in one.sessions)

    def live(
        self, name: str, kind: str, socket: str, wrap: str = "", *, said: bool = True, **how: Any
    ) -> Life | None:
        """Let a person open a session with an agent in it. `wrap`: shell, script or nothing."""
        if wrap == "headless" or (wrap == "daemon" and not self.daemon.is_told):
            return self._headless(name, kind, **how)
        if wrap == "daemon":
            return self.daemon.open(name, self._fresh_conversation(name), said=said)
        server = self.tmux.servers.get(socket)
        if server is not None and any(one.name == name for one in server.sessions):
            return None
        self.server(socket)
        agent = {key: how.pop(key) for key in ("leaves", "exit_delay_s", "works") if key in how}
        words, conversation = KINDS[kind], self._fresh_conversation(name)
        marks = how.pop("marks", {})
        leader: tuple[str, ...] = words
        if wrap:
            leader = ("bash",) if wrap == "shell" else ("sh", "-c", f"{words[0]}; bash")
        ignores = {Signals.SIGTERM} if wrap == "shell" else how.get("ignores", set())
        if not wrap:
            session = self.open(socket, name, *leader, owner=PERSON, environ=marks, **how)
        else:
            session = self.open(socket, name, *leader, owner=PERSON, environ=marks, ignores=ignores)
        process = session.panes[0].process
        if wrap:
            front = wrap == "shell"
            process = self.processes.add(*words, parent=process, foreground=front, **how)
        more: dict[str, Any] = {"said": said, "process": process, **agent}
        life = self._life(name, kind, socket, session, conversation, **more)
        assert life.agent is not None
        life.agent.returns = wrap == "script"
        for one in (session.panes[0].process, process):
            self.owner[one] = life
        return life

    def _fresh_conversation(self, name: str) -> str:
        return f"{len(self.lives):08x}-0000-4000-8000-{name * 12}"

    def _headless(self, name: str, kind: str, **how: Any) -> Life:
        """Let an agent run without tmux."""
        for key in ("leaves", "exit_delay_s", "works"):
            how.pop(key, None)
        marks = how.pop("marks", {})
        with self.born(PERSON):
            process = self.processes.add(*KINDS[kind], new_session=True, environ=marks, **how)
        life = Life(name, kind, None, process, None, None, "", self._mark_of(process))
        self.lives.append(life)
        self.owner[process] = life
        return life

    def bear(self, life: Life, comm: str, owner: object = None, **how: Any) -> ProcessId | None:
        """Add a child of the agent."""
        if (
            life.agent is None
            or not self.processes.alive(life.agent.process)
            or len(self.alive(life)) > 6
        ):
            return None
        with self.born(owner or life):
            return self.processes.add(comm, parent=life.agent.process, **how)

    # Commands

    def context(self, actor: Actor) -> Context:
        app = self.story.app(actor.process.pid, tool="watch" if actor.verb == "watch" else "cli")
        self.story.apps.remove(app)
        app.tmux = Port(self, "tmux", app.tmux)  # type: ignore[assignment]
        app.processes = Port(self, "processes", app.processes)  # type: ignore[assignment]
        app.clock = Port(self, "clock", app.clock)  # type: ignore[assignment]
        actor.apps.append(app)
        return app

    def act(
        self,
        verb: str,
        names: Collection[str],
        work: Callable[[Context], Any],
        faults: Collection[tuple[int, str]] = (),
        inside: Life | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Actor | None:
        actor = self.later(verb, names, work, faults, inside, facts)
        if actor is not None:
            self.let(actor)
        return actor

    def later(
        self,
        verb: str,
        names: Collection[str],
        work: Callable[[Context], Any],
        faults: Collection[tuple[int, str]] = (),
        inside: Life | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Actor | None:
        """Start a command that goes on when the others wait."""
        if len(self.actors) >= MOST:
            return None
        parent = inside.agent.process if inside is not None and inside.agent is not None else None
        if parent is not None and not self.processes.alive(parent):
            parent = None
        with self.born(OURS if parent is None else GIVEN):
            process = self.processes.add("tmuxreap", parent=parent)
        actor = Actor(self, process, verb, names, work, faults)
        actor.facts = {**(facts or {}), "inside": inside if parent is not None else None}
        self.actors.append(actor)
        return actor

    def abandon(self) -> None:
        """End the threads that are left."""
        self.undo()
        for actor in list(self.actors):
            actor.crashed = True
            for _ in range(100):
                if actor.done:
                    break
                self.current = actor
                actor._go.release()
                actor._back.acquire(timeout=PATIENCE_S)
        self.current = None

    # What commands do to others

    def _guard(self) -> None:
        signal, hang_up = self.processes.signal, self.processes.hang_up

        def signalled(process: ProcessId, number: Signals) -> Any:
            if self.current is not None and self.processes.alive(process):
                self._strike(self.current, process, f"sent {number.name} to", 2)
            return signal(process, number)

        def hung_up(leader: ProcessId) -> None:
            if self.current is not None and self.processes.alive(leader):
                self._strike(self.current, leader, "closed the pane of", 2)
            hang_up(leader)

        self.processes.signal = signalled  # type: ignore[method-assign]
        self.processes.hang_up = hung_up  # type: ignore[method-assign]

    def _strike(self, actor: Actor, process: ProcessId, how: str, promise: int) -> None:
        owner = self.owner.get(process)
        fake = self.processes.table.get(process.pid)
        told = f"{actor} {how} {fake.argv if fake else ''} {process.pid} of {owner}"
        self.check(not actor.crashed, 5, f"{told}, although it is dead")
        brought_back = how.startswith("sent") and self.daemon.keeps(process)
        self.check(not brought_back, 1, f"{told}: its daemon will bring it back")
        if isinstance(owner, Life):
            owner.struck.add(actor)
            self.check(owner is not actor.facts["inside"], 2, f"{told}, in which it runs itself")
            self.check(self.meant(actor, owner), 2, f"{told}: nobody named it")
            self._strikes_a_life(actor, owner, told)
        else:
            self.check(owner in (None, GIVEN, SHELL), promise, told)

    def _strikes_a_life(self, actor: Actor, life: Life, told: str) -> None:
        """Check that it began before the first strike, and that its end could be written; remember
        the draft that it takes along."""
        known = actor.facts.setdefault("known", len(self.lives))
        later = self.lives.index(life) >= known
        anew = not actor.names or actor.verb in NAMING
        self.check(anew or not later, 2, f"{told}, which began when it had struck already")
        unwritten = self.full and actor.facts.get("full") and actor.verb in CAREFUL
        self.check(not unwritten, 5, f"{told}, although nothing can be written")
        agent = life.agent
        draft = actor.facts.get("drafts", {}).get(life)
        if agent is not None and draft and agent.draft == draft and self.shows(life):
            actor.facts.setdefault("taken", {})[life] = draft

    def shows(self, life: Life) -> bool:
        """Tell whether its agent lives in a pane that tmux still has."""
        server = self.tmux.servers.get(life.socket or "")
        panes = [pane for one in server.sessions for pane in one.panes] if server else []
        alive = life.agent is not None and self.processes.alive(life.agent.process)
        return alive and any(pane is life.pane for pane in panes)

    def meant(self, actor: Actor, life: Life) -> bool:
        if not actor.names:
            return True
        # A start may have written its row anew: what that meant when it was given is still named.
        before = actor.facts.get("rows", {})
        if any(self.life_of(before[name]) is life for name in actor.names & before.keys()):
            return True
        rows = [row for name, row in self.rows().items() if name in actor.names]
        if life.name in actor.names:
            own = [self.life_of(row) for row in rows if row["name"] == life.name]
            others = [it for it in own if it is not None and it is not life]
            known = any(self.is_known(it) or self.daemon.runs(it) for it in others)
            return actor.verb in NAMING or not known
        return any(self.life_of(row) is life or self.may_be(row, life) for row in rows)

    def may_be(self, row: dict[str, Any], life: Life) -> bool:
        """Tell whether another tool's row, which only has a name, means this life: its pane stands
        in the session of that name."""
        if (row.get("tmux") or {}).get("session_id"):
            return False
        server = self.tmux.servers.get(life.socket or "")
        named = [one for one in (server.sessions if server else ()) if one.name == row["name"]]
        return any(pane is life.pane for one in named for pane in one.panes)

    # The ledger

    def lock_ledger(self, locked: bool) -> None:
        self.locked = locked
        self.blind = self.blind or locked

    def close(self) -> None:
        for app in self.story.apps:
            app.close()
        self.story.apps.clear()

"""The demo agent's own daemon in the simulated world: it runs sessions without a pane, with a list
in a file and a command that ends one, or as a server that is asked, on a socket.

Knows what is true of them. Never asks the program."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakes import DEMO
from tests.simulation.actors import SILENT
from tests.simulation.lives import PROFILES, Life
from tmuxreap.core.errors import NoAnswer, NobodyListens, Refused
from tmuxreap.core.model import ProcessId
from tmuxreap.ending import own_ends
from tmuxreap.ending.plan import DAEMON_WAIT_S
from tmuxreap.system import asking

if TYPE_CHECKING:
    from tests.simulation.world import World

LIST, SERVER = "list", "server"
DAEMON = "daemon"  # the owner of its process
WATCHED_S = 1.0  # how long the program looks on for one that comes back
LOCATORS = [
    {
        "kind": "pidfile",
        "path": "sessions/{pid}.json",
        "id": "sessionId",
        "started": "procStart",
        "state": "status",
        "parked": "parked",
    },
    {"kind": "exit-banner", "pattern": "tmuxreap-demo --resume (?P<id>{id})"},
    "launch",
    {"kind": "argv", "flags": ["--resume", "--session-id"]},
    "sole-candidate",
]
COMMON = {"id": "[a-z0-9]{2,8}", "conversation": "own", "folder": "cwd", "attach": ["demo-ctl"]}
BACKGROUND: Mapping[str, Mapping[str, object]] = {
    LIST: {
        **COMMON,
        "file": "roster.json",
        "entries": "workers",
        "daemon": "daemon",
        "pid": "pid",
        "started": "start",
        "agent_pid": "agent",
        "agent_started": "agent_start",
        "state_file": "jobs/{id}/state.json",
        "ended": ["stopped"],
        "end": ["demo-ctl", "stop", "{id}"],
        "respawn_s": WATCHED_S,
    },
    SERVER: {
        **COMMON,
        "state": "type",
        "began": "began",
        "server": {
            "transport": "socket",
            "socket": "server.sock",
            "program": {"program": "demo-daemon", "arguments": r"demo-daemon run"},
            "list": "list",
            "entry": {"entry": {"id": "{id}"}},
            "working": ["busy"],
            "turn": {"entry": {"id": "{id}"}},
            "turn_id": "turn",
            "end": {"end": {"id": "{id}", "turn": "{turn}"}},
            "by_hand": "open {id}, and Escape",
        },
    },
}
SPARE = {"program": "demo daemon", "command": r"^demo-daemon (?:run|worker)\b"}


@dataclass(eq=False)
class Seat:
    """One session in the daemon. `holder` has its terminal, and the agent below it."""

    id: str
    life: Life
    began: float
    holder: ProcessId | None = None
    agent: ProcessId | None = None
    wanted: bool = True  # it was not told to end: its daemon brings it back

    @property
    def processes(self) -> list[ProcessId]:
        return [one for one in (self.holder, self.agent) if one is not None]


class Daemon:
    """`how`: respawn_s (until one that died is back), slow_s (until it has ended one), deaf (it
    ends nothing), revives_s (one that was ended is back by itself), late_s (until an answer)."""

    def __init__(self, world: World, kind: str, how: Mapping[str, Any]) -> None:
        self.world, self.kind = world, kind
        self.how = dict(how)
        self.is_told = False  # the program knows of it
        self.torn = False  # its list cannot be read, or it answers nothing
        self.listed = ""  # what its list says, whole
        self.seats: dict[str, Seat] = {}
        self.process: ProcessId | None = None
        world.processes.when_gone.append(self._gone)

    def tell(self) -> None:
        """Tell the program of it, by the user's own profiles."""
        self.is_told = True
        demo = {
            "spare": [SPARE],
            "background": BACKGROUND[self.kind],
            "conversation": {"locators": LOCATORS},
        }
        path = self.world.folder / ".config" / "tmuxreap" / "agents.yaml"
        path.write_text(f"{PROFILES}  demo: {json.dumps(demo)}\n")

    # Truth

    @property
    def lives(self) -> bool:
        return self.process is not None and self.world.processes.alive(self.process)

    def seat_of(self, life: Life) -> Seat | None:
        return next((one for one in self.seats.values() if one.life is life), None)

    def life_at(self, number: object) -> Life | None:
        found = [seat.life for seat in self.seats.values() if seat.id == number]
        return found[0] if found else None

    def living(self, seat: Seat) -> list[ProcessId]:
        return [one for one in seat.processes if self.world.processes.alive(one)]

    def runs(self, life: Life) -> bool:
        """Tell whether it runs this life, or is about to bring it back."""
        seat = self.seat_of(life)
        if seat is None:
            return False
        if self.kind == SERVER:
            return seat.wanted and self.lives
        return bool(self.living(seat)) or (seat.wanted and self.lives)

    def goes_on(self, life: Life, row: Mapping[str, Any]) -> bool:
        """Tell whether it runs what this row means."""
        return self.runs(life) and self.is_tied(life, row)

    def is_tied(self, life: Life, row: Mapping[str, Any]) -> bool:
        """Tell whether the row says what it runs: by the seat, or, of a pane until its end, by the
        conversation."""
        if row.get("terminal") == "background":
            return True
        own = row.get("demo_conversation_id_own")
        is_demo = row.get("status") == "running" and row.get("agent") == "demo"
        return is_demo and own == life.conversation

    def processes_of(self, life: Life) -> list[ProcessId]:
        seat = self.seat_of(life)
        return seat.processes if seat is not None else []

    def keeps(self, process: ProcessId) -> bool:
        """Tell whether it would bring back what dies here."""
        holding = [seat for seat in self.seats.values() if process in seat.processes]
        return self.lives and any(seat.wanted for seat in holding)

    # What it does

    def begin(self) -> None:
        """Begin the daemon itself, below the agent that needs it first: it carries its marks."""
        if self.lives or not self.is_told:
            return
        demos = [one.agent for one in self.world.lives if one.kind == "demo"]
        lives = [agent.process for agent in demos if agent is not None]
        parent = next((one for one in lives if self.world.processes.alive(one)), None)
        with self.world.born(DAEMON):
            self.process = self.world.processes.add(
                "demo-daemon", "run", parent=parent, new_session=True
            )
        if self.kind == SERVER:
            self.world.store.mkdir(parents=True, exist_ok=True)
            (self.world.store / "server.sock").touch()
        for seat in self.seats.values():
            seat.wanted = seat.wanted and bool(self.living(seat))
        self.write()

    def open(self, name: str, conversation: str, *, said: bool) -> Life:
        """Let a person begin a session in it, without a pane."""
        self.begin()
        assert self.process is not None
        life = Life(name, "demo", None, self.process, None, None, conversation)
        self.world.lives.append(life)
        seat = self.take(life)
        if seat is not None and seat.holder is not None:
            life.leader = seat.holder
        if said:
            self.world.say(life)
        return life

    def take(self, life: Life) -> Seat | None:
        """Run this life, unless it does."""
        if life.kind != "demo" or self.runs(life) or not self.is_told:
            return None
        self.begin()
        seat = self.seat_of(life)
        if seat is None:
            seat = Seat(f"w{life.name}{len(self.seats)}", life, self.world.clock.now())
            self.seats[seat.id] = seat
        seat.wanted = True
        if self.kind == LIST:
            self._bring(seat)
        return seat

    def _bring(self, seat: Seat) -> None:
        """Start its processes."""
        if not self.lives or not seat.wanted or self.living(seat):
            return
        with self.world.born(seat.life):
            seat.holder = self.world.processes.add(
                "demo-daemon", "worker", seat.id, parent=self.process, new_session=True
            )
            seat.agent = self.world.processes.add(*DEMO, parent=seat.holder)
        facts = {"sessionId": seat.life.conversation, "procStart": str(seat.agent.start)}
        folder = self.world.store / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seat.agent.pid}.json").write_text(json.dumps({**facts, "status": "idle"}))
        (self.world.store / "jobs" / seat.id / "state.json").unlink(missing_ok=True)
        self.write()

    def _gone(self, process: ProcessId) -> None:
        seat = next((one for one in self.seats.values() if process in one.processes), None)
        if seat is None:
            return
        for other in self.living(seat):  # neither goes on without the other one
            self.world.processes.die(other)
        if seat.wanted and self.lives:
            self.world.processes.after(self.how.get("respawn_s", 0.0), lambda: self._bring(seat))

    def end(self, number: str) -> str | None:
        """End one, as it is told to; return why it does not."""
        seat = self.seats.get(number)
        if seat is None:
            return f"No session matching {number!r}"
        self._asked_for(seat)
        if not self.how.get("deaf"):
            self.world.processes.after(self.how.get("slow_s", 0.0), lambda: self.ended(seat))
        return None

    def _asked_for(self, seat: Seat) -> None:
        """Check that it was meant, by the command that tells."""
        world, actor = self.world, self.world.current
        if actor is None:
            return
        told = f"{actor} told the daemon to end {seat.id} of {seat.life}"
        world.check(not actor.crashed, 5, f"{told}, although it is dead")
        world.check(world.meant(actor, seat.life), 2, f"{told}: nobody named it")
        seat.life.struck.add(actor)

    def ended(self, seat: Seat) -> None:
        """Let it be over, by its own end or by what was told."""
        if not seat.wanted:
            return
        seat.wanted = False
        for one in self.living(seat):
            self.world.processes.die(one)
        if self.kind == LIST:
            state = self.world.store / "jobs" / seat.id / "state.json"
            state.parent.mkdir(parents=True, exist_ok=True)
            state.write_text('{"state": "stopped"}')
        self.write()
        if self.how.get("revives_s"):
            self.world.processes.after(self.how.pop("revives_s"), lambda: self.revive(seat))

    def revive(self, seat: Seat) -> None:
        """Bring back what was ended: once, as a person who attaches to it does."""
        if self.world.slowed:
            self.world.processes.after(1.0, lambda: self.revive(seat))
        elif self.lives:
            self.take(seat.life)

    def mend(self) -> None:
        """Let its list be read again, and let it answer at once."""
        self.torn = False
        self.how["late_s"] = 0.0
        path = self.world.store / "roster.json"
        if path.exists():
            path.write_text(self.listed)

    def write(self) -> None:
        """Write the list; that of a daemon that died stays as it was."""
        if self.kind != LIST or not self.lives:
            return
        assert self.process is not None
        self.listed = json.dumps({"daemon": self.process.pid, "workers": dict(self._entries())})
        self.world.store.mkdir(parents=True, exist_ok=True)
        text = self.listed[:-9] if self.torn else self.listed
        (self.world.store / "roster.json").write_text(text)

    def _entries(self) -> Iterator[tuple[str, object]]:
        for seat in self.seats.values():
            if seat.wanted and seat.holder is not None and seat.agent is not None:
                holder, agent = seat.holder, seat.agent
                facts = {"own": seat.life.conversation, "cwd": "/"}
                begun = {"pid": holder.pid, "start": str(holder.start)}
                own = {"agent": agent.pid, "agent_start": str(agent.start)}
                yield seat.id, {**facts, **begun, **own}

    # What it answers

    def run(
        self, words: Sequence[str], environ: Mapping[str, str], limit_s: float
    ) -> tuple[str, str | None]:
        """Answer its own command."""
        return "", self.end(words[2])

    def connected(self, is_proven: Callable[[int], bool]) -> None:
        if not self.lives or self.process is None:
            raise NobodyListens("nobody listens there")
        if self.torn or not is_proven(self.process.pid):
            raise NoAnswer("it closed the connection")

    def answer(self, name: str, parameters: Mapping[str, object]) -> object:
        """Answer a question; raise NoAnswer without one."""
        if not self.lives or self.torn:
            raise NoAnswer("it closed the connection")
        working = {number: one for number, one in self.seats.items() if one.wanted}
        if name == "list":
            return list(working)
        seat = working.get(str(parameters["id"]))
        if seat is None:
            raise Refused("it refused: no such session")
        if name == "end":
            self.end(seat.id)
            return True
        own = {"own": seat.life.conversation, "cwd": "/", "began": seat.began}
        return {**own, "type": "busy", "turn": seat.id}

    def wait(self, limit_s: float) -> None:
        """Let the answer come late, and raise NoAnswer where that is too late."""
        late_s = self.how.get("late_s", 0.0)
        actor = self.world.current
        if not late_s or actor is None or threading.current_thread() is not actor.thread:
            return
        if not actor.holds_lock:
            self.world.slowed += 1  # the answer may be over when it comes
            try:
                actor.pause((), self.world.clock.monotonic() + min(late_s, limit_s))
            finally:
                self.world.slowed -= 1
        if late_s >= limit_s:
            raise NoAnswer("it gave no answer in time")


class Wire:
    """A connection to the server of a world, as one command has it."""

    def __init__(self, world: World, limit_s: float, is_proven: Callable[[int], bool]) -> None:
        self._world, self._limit_s = world, limit_s
        world.call(("server", "connect"), world.daemon.connected, (is_proven,), {})

    def call(self, name: str, parameters: Mapping[str, object]) -> object:
        daemon = self._world.daemon
        said = self._world.call(("server", "call"), daemon.answer, (name, parameters), {})
        daemon.wait(self._limit_s)
        return said

    def call_each(self, questions: Sequence[asking.Question]) -> list[object]:
        return asking.one_by_one(self, questions)

    def close(self) -> None:
        pass


class OwnEnd:
    """One run of the agent's own way, which takes simulated time."""

    def __init__(self, world: World, end: Callable[[], str | None], line: str) -> None:
        self.line, self._clock = line, world.clock
        self.reason = end()
        took_s = world.daemon.how.get("slow_s", 0.0)
        if self.reason == SILENT:
            took_s = DAEMON_WAIT_S
        self._until = self._clock.monotonic() + took_s

    @property
    def is_done(self) -> bool:
        return self._clock.monotonic() >= self._until


@contextlib.contextmanager
def reached(world: World) -> Iterator[None]:
    """Let the program reach the daemon of this world."""

    def run(words: Sequence[str], environ: Mapping[str, str], limit_s: float) -> Any:
        return world.call(("program", "run"), world.daemon.run, (words, environ, limit_s), {})

    before = own_ends.run, own_ends.OwnEnd, asking.SocketWire
    own_ends.run = run
    own_ends.OwnEnd = lambda end, line: OwnEnd(world, end, line)  # type: ignore[assignment, misc, return-value]
    asking.SocketWire = lambda path, limit_s, proven: Wire(world, limit_s, proven)  # type: ignore[assignment, misc, return-value]
    try:
        yield
    finally:
        own_ends.run, own_ends.OwnEnd, asking.SocketWire = before  # type: ignore[misc]

"""Fake processes that ignore signals, linger and exit, and a clock that only waiting advances."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from signal import Signals

from tmuxreap.core.model import Process, ProcessId, Usage
from tmuxreap.core.ports import SignalSent
from tmuxreap.core.values import replace

TICKS = 100
OWN_PID = 99_999
HARMLESS = (Signals.SIGCHLD, Signals.SIGWINCH, Signals.SIGURG)


class FakeClock:
    def __init__(self, now: float = 1_795_000_000.0) -> None:
        self._booted = now - 5_000.0
        self._uptime = 5_000.0
        self._slept = 0.0

    def now(self) -> float:
        return self._booted + self.uptime()

    def uptime(self) -> float:
        return self._uptime + self._slept

    def sleep(self, seconds: float) -> None:
        """Suspend the whole machine."""
        self._slept += seconds

    def set_by(self, seconds: float) -> None:
        """Set the wall clock."""
        self._booted += seconds

    def monotonic(self) -> float:
        return self._uptime

    def move_to(self, monotonic: float) -> None:
        self._uptime = max(self._uptime, monotonic)


@dataclass
class FakeProcess:
    """The look and behavior of one process. `lingers` and `leaves_on`: its time to exit after a
    signal or keys."""

    now: Process
    argv: tuple[str, ...]
    environ: Mapping[str, str] | None
    executable: str | None
    cwd: str | None
    open_files: tuple[str, ...]
    reads: str  # its standard input
    memory: int
    ignores: frozenset[Signals]
    lingers: Mapping[Signals, float]
    leaves_on: Mapping[tuple[str, ...], float]
    denied: bool  # of another user: signals are refused
    unkillable: bool  # stuck in the kernel
    typed: list[str] = field(default_factory=list)
    pending: list[Signals] = field(default_factory=list)


class FakeProcesses:
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.table: dict[int, FakeProcess] = {}
        self.signals: list[tuple[int, Signals]] = []
        self.scopes: dict[str, list[ProcessId]] = {}  # members of each, including dead ones
        self.used: dict[int, Usage] = {}
        self.terminals: dict[str, float] = {}  # when they were made, if not long ago
        self.connected: dict[int, Collection[int] | None] = {}  # who is connected to a server
        self.listening: dict[int, Collection[tuple[str, int]]] = {}
        self.when_gone: list[Callable[[ProcessId], None]] = []
        self.when_born: list[Callable[[ProcessId, ProcessId | None], None]] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._pids = count(101)
        self._foreground: dict[
            int, int
        ] = {}  # session -> group, remembered by the kernel after a hangup too

    # Setting up a history

    def add(
        self,
        comm: str,
        *argv: str,
        pid: int | None = None,
        parent: ProcessId | None = None,
        tty: int | None = None,
        new_session: bool = False,
        new_group: bool = False,
        foreground: bool = False,
        environ: Mapping[str, str] | None = None,
        executable: str | None = None,
        cwd: str | None = None,
        open_files: Sequence[str] = (),
        reads: str = "/dev/null",
        memory: int = 1_000_000,
        ignores: Collection[Signals] = (),
        lingers: Mapping[Signals, float] | None = None,
        leaves_on: Mapping[tuple[str, ...], float] | None = None,
        denied: bool = False,
        unkillable: bool = False,
    ) -> ProcessId:
        """Start a process. It inherits from its parent what is not given: session, group, terminal,
        environment."""
        identity = ProcessId(
            next(self._pids) if pid is None else pid, round(self.clock.uptime() * TICKS)
        )
        above = self.table[parent.pid] if parent else None
        origin = above.now if above else Process(ProcessId(1, 0), 0, 1, 1, 0, -1, "S", "init")
        sid = identity.pid if new_session or not above else origin.sid
        terminal = tty if tty is not None else 0 if new_session else origin.tty
        leads = new_session or new_group or foreground or not above
        if terminal and (foreground or new_session):
            self._foreground[sid] = identity.pid
        self.table[identity.pid] = FakeProcess(
            now=Process(
                id=identity,
                ppid=origin.pid,
                pgrp=identity.pid if leads else origin.pgrp,
                sid=sid,
                tty=terminal,
                tpgid=-1,
                state="S",
                comm=comm,
            ),
            argv=(comm, *argv),
            environ={**((above and above.environ) or {}), **(environ or {})},
            executable=executable or f"/usr/bin/{comm}",
            cwd=cwd or (above.cwd if above else "/"),
            open_files=tuple(open_files),
            reads=reads,
            memory=memory,
            ignores=frozenset(ignores),
            lingers=lingers or {},
            leaves_on=leaves_on or {},
            denied=denied,
            unkillable=unkillable,
        )
        for told in self.when_born:
            told(identity, parent)
        return identity

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Schedule an action after that much time."""
        heapq.heappush(self._events, (self.clock.monotonic() + seconds, next(self._order), action))

    def die(self, process: ProcessId) -> None:
        if not self.alive(process):
            return
        dead = self.table.pop(process.pid).now
        for child in self._where(lambda other: other.ppid == dead.pid):
            child.now = replace(child.now, ppid=1)
        if dead.sid == dead.pid:
            self._leader_died(dead)
        for told in self.when_gone:
            told(process)

    def alive(self, process: ProcessId) -> bool:
        return self.identify(process.pid) == process

    def type(self, tty: int, *keys: str) -> None:
        """Type keys, which reach only the foreground group of the terminal."""
        for reader in self._where(
            lambda other: other.tty == tty and other.pgrp == self._foreground.get(other.sid)
        ):
            for key in keys:
                reader.typed.append(key)
                self._read(reader)

    def put_in_front(self, process: ProcessId) -> None:
        """Move the process's group to the foreground of its terminal, as a shell does."""
        if self.alive(process):
            now = self.table[process.pid].now
            self._foreground[now.sid] = now.pgrp

    def hang_up(self, leader: ProcessId) -> None:
        """Close the terminal: signal only the leader, and detach the whole session from the
        terminal."""
        if not self.alive(leader):
            return
        for member in self._where(lambda other: other.sid == leader.pid):
            member.now = replace(member.now, tty=0)
        self._deliver(leader, Signals.SIGHUP)
        self._deliver(leader, Signals.SIGCONT)

    # The interface

    def look(self) -> Mapping[int, Process]:
        return {pid: self._seen(fake) for pid, fake in self.table.items()}

    def refresh(self, process: ProcessId) -> Process | None:
        return self._seen(self.table[process.pid]) if self.alive(process) else None

    def moment(self) -> float:
        return self.clock.now()

    def is_newer(self, terminal: str, moment: float) -> bool:
        return self.terminals.get(terminal, 0.0) >= moment

    def identify(self, pid: int) -> ProcessId | None:
        return self.table[pid].now.id if pid in self.table else None

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        return self.table[process.pid].argv if self.alive(process) else ()

    def environ(self, process: ProcessId) -> Mapping[str, str] | None:
        return self.table[process.pid].environ if self.alive(process) else None

    def argv_and_executable(self, process: ProcessId) -> tuple[tuple[str, ...], str | None]:
        found = self.table[process.pid].executable if self.alive(process) else None
        return self.argv(process), found

    def tmux_variables(self, process: ProcessId) -> Mapping[str, str]:
        return self.environ(process) or {}

    def cwd(self, process: ProcessId) -> str | None:
        return self.table[process.pid].cwd if self.alive(process) else None

    def input_of(self, process: ProcessId) -> str | None:
        return self.table[process.pid].reads if self.alive(process) else None

    def open_files(self, process: ProcessId, begin: str = "") -> tuple[str, ...]:
        files = self.table[process.pid].open_files if self.alive(process) else ()
        return tuple(path for path in files if path.startswith(begin))

    def clients(self, process: ProcessId) -> Collection[int] | None:
        return self.connected.get(process.pid, ())

    def listens(self, process: ProcessId) -> Collection[tuple[str, int]]:
        return self.listening.get(process.pid, ()) if self.alive(process) else ()

    def scope(self, process: ProcessId) -> str | None:
        return next((name for name, held in self.scopes.items() if process in held), None)

    def members(self, scope: str) -> Collection[int]:
        return {one.pid for one in self.scopes.get(scope, ()) if self.alive(one)}

    def memory(self, process: ProcessId) -> int:
        return self.table[process.pid].memory if self.alive(process) else 0

    def usage(self, processes: Collection[ProcessId]) -> Mapping[ProcessId, Usage]:
        return {it: self.used.get(it.pid, Usage(0.0, 0.0)) for it in processes if self.alive(it)}

    def started_epoch(self, process: ProcessId) -> float:
        return self.clock.now() - self.clock.uptime() + process.start / TICKS

    def signal(self, process: ProcessId, number: Signals) -> SignalSent:
        if process.pid <= 1 or process.pid == OWN_PID:
            raise ValueError(f"pid {process.pid} is never signalled")
        if not self.alive(process):
            return SignalSent.GONE
        if self.table[process.pid].denied:
            return SignalSent.DENIED
        self.signals.append((process.pid, number))
        self._deliver(process, number)
        return SignalSent.SENT

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        deadline = self.clock.monotonic() + max(timeout_s, 0.0)
        while True:
            gone = {process for process in processes if not self.alive(process)}
            if gone:
                return gone
            if not self._events or self._events[0][0] > deadline:
                assert deadline != float("inf"), (
                    "nothing is going to happen: this would wait for ever"
                )
                self.clock.move_to(deadline)
                return gone
            moment, _, action = heapq.heappop(self._events)
            self.clock.move_to(moment)
            action()

    # What the kernel does

    def close(self) -> None:
        pass

    def _where(self, wanted: Callable[[Process], bool]) -> list[FakeProcess]:
        return [fake for fake in self.table.values() if wanted(fake.now)]

    def _seen(self, fake: FakeProcess) -> Process:
        group = self._foreground.get(fake.now.sid, -1) if fake.now.tty else -1
        return replace(fake.now, tpgid=group)

    def _leader_died(self, leader: Process) -> None:
        for member in self._where(lambda other: other.sid == leader.sid):
            member.now = replace(member.now, tty=0)
        front = self._foreground.pop(leader.sid, None)
        for member in self._where(lambda other: other.sid == leader.sid and other.pgrp == front):
            self._deliver(member.now.id, Signals.SIGHUP)
            self._deliver(member.now.id, Signals.SIGCONT)

    def _deliver(self, process: ProcessId, number: Signals) -> None:
        if not self.alive(process):
            return
        fake = self.table[process.pid]
        if number is Signals.SIGKILL:
            if not fake.unkillable:
                self._leave(process, fake.lingers.get(number, 0.0))
        elif number is Signals.SIGSTOP:
            fake.now = replace(fake.now, state="T")
        elif number is Signals.SIGCONT:
            fake.now = replace(fake.now, state="S")
            pending, fake.pending = fake.pending, []
            for waiting in pending:
                self._deliver(process, waiting)
        elif number in fake.ignores or number in HARMLESS:
            return
        elif fake.now.state == "T":
            fake.pending.append(number)
        else:
            self._leave(process, fake.lingers.get(number, 0.0))

    def _leave(self, process: ProcessId, seconds: float) -> None:
        if seconds <= 0:
            self.die(process)
        else:
            self.after(seconds, lambda: self.die(process))

    def _read(self, reader: FakeProcess) -> None:
        for keys, seconds in reader.leaves_on.items():
            if tuple(reader.typed[-len(keys) :]) == keys:
                self._leave(reader.now.id, seconds)

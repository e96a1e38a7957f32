"""Commands that run one at a time, in any order, and break at any call of a port.

Each command has its own thread and runs only while it holds the baton; it returns the baton when it
waits. Never knows what a command does."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from tests.fake_processes import FakeProcesses
from tests.turns import Crash, Turn, Turns
from tmuxreap.core.errors import Failure, NoAnswer
from tmuxreap.core.faults import Step
from tmuxreap.core.model import ProcessId, Unreachable
from tmuxreap.core.ports import SignalSent
from tmuxreap.core.results import Result
from tmuxreap.sessions.context import Context
from tmuxreap.system import lock

PAUSE_S = 0.4
SILENT = "demo-ctl gave no answer in 10 s"


def _no_answer() -> NoReturn:
    raise NoAnswer("it gave no answer in time")


# What a port answers if it got no answer itself; other calls are never broken so.
NO_ANSWER: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("tmux", "look"): lambda socket: Unreachable(socket, "no answer in 5 s", "it may be stopped"),
    ("tmux", "do"): lambda *_: False,
    ("tmux", "ask"): lambda socket, questions, *_: [None] * len(questions),
    ("tmux", "capture"): lambda *_, **__: None,
    ("tmux", "create"): lambda *_, **__: "no answer",
    ("processes", "signal"): lambda *_: SignalSent.DENIED,
    ("program", "run"): lambda *_: ("", SILENT),
    ("server", "connect"): lambda *_: _no_answer(),
    ("server", "call"): lambda *_: _no_answer(),
}
INTERRUPTED = {("tmux", "look"), ("processes", "wait")}
# Steps without access to a file: no disk fails there.
CALLS = frozenset(
    {Step.CREATED, Step.CONFIRMED, Step.KEYS, Step.HANGUP, Step.KILL, Step.PROVEN, Step.PURGED}
)
DISK = {"full": errno.ENOSPC, "broken": errno.EIO}
WRITES = frozenset(
    {Step.TEMP_CREATED, Step.TEMP_WRITTEN, Step.INTENT, Step.LEDGER, Step.INTENT_CLOSED}
)
KINDS = ("kill", "killed", "interrupt", "silent", "deaf", "pause", "meddle", *DISK)


class Actor(Turn):
    """One command in a process of its own."""

    def __init__(
        self,
        stage: Stage,
        process: ProcessId,
        verb: str,
        names: Collection[str],
        work: Callable[[Context], Result | None],
        faults: Collection[tuple[int, str]] = (),
    ) -> None:
        """`names`: the rows that it may write; empty: all. `faults`: numbers of calls, and what
        happens there."""
        self.stage, self.verb, self.names = stage, verb, frozenset(names)
        self.faults = dict(faults)
        self.calls = 0
        self.broken = self.paused = False
        self.facts: dict[str, Any] = {}  # what the judges remember of it
        self.result: Result | None = None
        self.failure: Failure | None = None
        self.apps: list[Context] = []
        self._work = work
        super().__init__(stage, process)

    def __repr__(self) -> str:
        return f"{self.verb} {' '.join(sorted(self.names)) or 'all'} ({self.process.pid})"

    def work(self) -> None:
        self.app = self.stage.context(self)
        try:
            self.result = self._work(self.app)
        except KeyboardInterrupt:
            pass
        except Failure as failure:
            self.failure = failure

    def close(self) -> None:
        for app in self.apps:
            with suppress(Crash):
                app.close()
        self.stage.processes.die(self.process)

    def forget_ledger(self) -> None:
        for books in [books for app in self.apps for books in app._opened]:
            if books._connection is not None:
                with suppress(Exception):
                    books._connection.rollback()
            books.close()
            books._failed = True

    @property
    def holds_lock(self) -> bool:
        """Whether others would wait for it in real time."""
        return any(held.is_locked for (pid, _), held in lock._locks.items() if pid == os.getpid())

    def fault(self) -> str | None:
        self.calls += 1
        return self.faults.get(self.calls)


class Port:
    """A port as one command sees it: each call can fail, or be its last."""

    def __init__(self, stage: Stage, name: str, port: object) -> None:
        self._stage, self._name, self._port = stage, name, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        call, port = self._stage.call, self._name

        def called(*words: Any, **more: Any) -> Any:
            return call((port, name), found, words, more)

        self.__dict__[name] = called
        return called


class Stage(Turns):
    """The commands that are under way, and the baton."""

    def __init__(self, processes: FakeProcesses) -> None:
        super().__init__(processes)
        self.actors: list[Actor] = []
        self.stages: list[Stage] = [self]  # of all machines
        processes.when_gone.append(self._ends)
        self.slowed = 0  # commands that pause between a look and what follows from it
        self.full = False  # the disk, for all, and for as long as it says so

    def _ends(self, process: ProcessId) -> None:
        """Let a command do nothing more once another one has ended its process."""
        for actor in self.actors:
            if actor.process == process and actor is not self.current:
                actor.crashed = True

    def context(self, actor: Actor) -> Context:
        raise NotImplementedError

    def meddle(self) -> None:
        """Let another program write the registry, without the lock."""

    def answered(self, actor: Actor) -> None:
        """Hear of a command that has ended."""

    def went_on(self, actor: Actor) -> None:
        """Hear of a command that has gone one piece further."""

    def looks(self, actor: Actor, socket: str) -> None:
        """Hear of a command that is about to look at a server."""

    def call(
        self,
        call: tuple[str, str],
        port: Callable[..., Any],
        words: tuple[Any, ...],
        more: Mapping[str, Any],
    ) -> Any:
        actor = self.current
        if actor is None or threading.current_thread() is not actor.thread:
            return port(*words, **more)  # a look in the background breaks nowhere
        if actor.crashed:
            raise Crash
        fault = actor.fault()
        if fault is not None:
            before = self._suffer(actor, fault, call)
            if before:
                return NO_ANSWER[call](*words, **more)
        if call == ("tmux", "look"):
            self.looks(actor, *words)
        done = actor.wait(*words) if call == ("processes", "wait") else port(*words, **more)
        if fault == "killed":
            actor.crash()
        if fault == "deaf" and call in NO_ANSWER:
            actor.broken = True
            return NO_ANSWER[call](*words, **more)
        return done

    def _suffer(self, actor: Actor, fault: str, call: tuple[str, str]) -> bool:
        """Break before the call; tell whether it is not made at all."""
        if fault == "kill":
            actor.crash()
        if fault == "interrupt" and call in INTERRUPTED and actor.verb not in ("start", "resume"):
            raise KeyboardInterrupt
        if fault == "pause" and call[0] != "clock" and not actor.holds_lock:
            self.slowed += 1
            actor.paused = True
            try:
                actor.pause((), self.processes.clock.monotonic() + PAUSE_S)
            finally:
                self.slowed -= 1
        if fault == "silent" and call in NO_ANSWER:
            actor.broken = True
            return True
        return False

    def at(self, step: Step) -> None:
        """A step inside of files and ledger: the disk may fail, or the command be killed."""
        actor = self.current
        if actor is None:
            return
        if actor.crashed:
            raise Crash
        fault = actor.fault()
        if fault in ("kill", "killed"):
            actor.crash()
        if fault == "meddle":
            self.meddle()
        if self.full and step in WRITES:
            fault = "full"
        if fault in DISK and step not in CALLS:
            actor.broken = True
            raise OSError(DISK[fault], os.strerror(DISK[fault]))

    # Time

    def let(self, actor: Actor) -> None:
        actor.go_on()
        self.went_on(actor)
        if actor.done:
            self.actors.remove(actor)
            self.answered(actor)

    def pass_time(self, seconds: float) -> None:
        """Let the world and all commands go on for so long."""
        clock = self.processes.clock
        until = clock.monotonic() + seconds
        for _ in range(5_000):
            ready = [(one, actor) for one in self.stages for actor in one.actors if actor.ready]
            for stage, actor in ready:
                stage.let(actor)
            if ready:
                continue
            if clock.monotonic() >= until:
                return
            moment = self._next(until)
            for stage in self.stages:
                stage.processes.wait((), moment - clock.monotonic())
            clock.move_to(moment)
        raise AssertionError(f"never ends: {[stage.actors for stage in self.stages]}")

    def _next(self, until: float) -> float:
        """Return the time of the next thing that happens."""
        moments = [until]
        for stage in self.stages:
            moments += [one.awaited[1] for one in stage.actors if one.awaited is not None]
            moments += [event[0] for event in stage.processes._events[:1]]
        return min(moments)

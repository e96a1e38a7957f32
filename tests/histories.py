"""Commands that run at the same time on one registry, and the world in which they run: each in its
own thread and only while it holds the baton."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from tests import plain_yaml
from tests.fakes import Story
from tmuxreap.core.errors import Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Result
from tmuxreap.sessions.context import Context

PATIENCE_S = 60
SERVER_PID = 89_000  # one process with many commands, like an MCP server
ENDINGS, RUNGS = ("stop", "kill"), (Step.KEYS, Step.HANGUP, Step.KILL)


class Crash(BaseException):
    """Simulates SIGKILL: no cleanup runs."""


class Actor:
    def __init__(
        self, world: World, pid: int, verb: str, name: str, work: Callable[[Context], Result]
    ) -> None:
        self.world, self.pid, self.verb, self.name, self._work = world, pid, verb, name, work
        found = world.story.processes.identify(pid)
        self.process = found or world.story.processes.add("tmuxreap", pid=pid)
        self.awaited: tuple[frozenset[ProcessId], float] | None = None
        self.doomed_at: Step | None = None
        self.crashed = self.done = self.overtaken = False
        self.app: Context | None = None
        self.result: Result | None = None
        self.error: BaseException | None = None
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self.app = self.world.story.app(self.pid)
            self.result = self._work(self.app)
        except (Crash, Failure):
            pass
        except BaseException as error:
            self.error = error
        finally:
            if self.app is not None:
                self.app.close()
                self.world.story.apps.remove(self.app)
            if self.pid != SERVER_PID:
                self.world.story.processes.die(self.process)
            self.done = True
            self._back.release()

    @property
    def ready(self) -> bool:
        if self.done or self.awaited is None:
            return not self.done
        processes, until = self.awaited
        story = self.world.story
        return (
            self.crashed
            or until <= story.clock.monotonic()
            or not all(map(story.processes.alive, processes))
        )

    def go_on(self) -> None:
        self.world.current = self
        self._go.release()
        assert self._back.acquire(timeout=PATIENCE_S), f"{self.verb} {self.name} hangs"
        self.world.current = None
        if self.error is not None:
            raise self.error

    def pause(self, processes: Collection[ProcessId], until: float) -> None:
        self.awaited = (frozenset(processes), until)
        self._back.release()
        self._go.acquire()
        self.awaited = None
        if self.crashed:
            self.crash()

    def crash(self) -> None:
        self.crashed = True
        self.world.story.processes.die(self.process)
        if self.app is not None and "books" in self.app.__dict__:  # nothing more is written
            self.app.books.close()
            self.app.books._failed = True
        raise Crash


class World:
    """A story in which waiting returns the baton."""

    def __init__(self, folder: Path, intended: Callable[[Actor], None]) -> None:
        """`intended`: called when a command has planned and recorded what it is going to end."""
        self.story = Story(folder)
        self.intended = intended
        self.current: Actor | None = None
        self.blind = False  # the ledger was unavailable: what only it holds may be unknown
        self.locked = False  # by a reader of the ledger that keeps its lock
        self._wait = self.story.processes.wait
        self.story.processes.wait = self.wait  # type: ignore[method-assign]
        signal = self.story.processes.signal
        self.story.processes.signal = lambda *words: self._entitled() and signal(*words)  # type: ignore[method-assign]
        run = self.story.tmux.run
        self.story.tmux.run = (  # type: ignore[method-assign]
            lambda *words: (
                self._living() and ("kill-" not in str(words) or self._entitled()) and run(*words)
            )
        )

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        if self.current is None:
            return self._wait(processes, timeout_s)
        until = self.story.clock.monotonic() + max(0.0, timeout_s)
        while True:
            gone = {process for process in processes if not self.story.processes.alive(process)}
            if gone or self.story.clock.monotonic() >= until:
                return gone
            self.current.pause(processes, until)

    def at(self, step: Step) -> None:
        actor = self.current
        if actor is not None and step is Step.INTENT:
            self.intended(actor)
        if (
            actor is not None
            and step in RUNGS
            and actor.verb in ENDINGS
            and actor.pid != SERVER_PID
        ):
            with self.story.ledger() as ledger:
                actor.overtaken = all(
                    intent.owner.pid != actor.pid for intent in ledger.open_intents()
                )
        if self.current is not None and self.current.doomed_at is step:
            self.current.crash()

    def _entitled(self) -> bool:
        """Check that a command taken over before this rung ends nothing more."""
        assert self.current is None or not self.current.overtaken or self.blind, (
            f"{self.current.verb} goes on"
        )
        return True

    def _living(self) -> bool:
        """Tell whether the current command lives; a crashed one never calls tmux while
        unwinding."""
        return self.current is None or not self.current.crashed

    def rows(self) -> dict[str, dict[str, Any]]:
        return {
            row["name"]: row
            for row in plain_yaml.load(self.story.path.read_text())["tmux_sessions"]
        }

"""Commands that run at the same time on one registry, and the world in which they run: each in its
own thread and only while it holds the baton."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests import plain_yaml
from tests.fakes import Story
from tests.turns import Turn, Turns
from tmuxreap.core.errors import Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Result
from tmuxreap.sessions.context import Context

SERVER_PID = 89_000  # one process with many commands, like an MCP server
ENDINGS, RUNGS = ("stop", "kill"), (Step.KEYS, Step.HANGUP, Step.KILL)


class Actor(Turn):
    def __init__(
        self, world: World, pid: int, verb: str, name: str, work: Callable[[Context], Result]
    ) -> None:
        self.world, self.pid, self.verb, self.name, self._work = world, pid, verb, name, work
        self.doomed_at: Step | None = None
        self.overtaken = False
        self.result: Result | None = None
        found = world.story.processes.identify(pid)
        super().__init__(world, found or world.story.processes.add("tmuxreap", pid=pid))

    def __repr__(self) -> str:
        return f"{self.verb} {self.name}"

    def work(self) -> None:
        self.app = self.world.story.app(self.pid)
        with suppress(Failure):
            self.result = self._work(self.app)

    def close(self) -> None:
        if self.app is not None:
            self.app.close()
            self.world.story.apps.remove(self.app)
        if self.pid != SERVER_PID:
            self.world.story.processes.die(self.process)

    def forget_ledger(self) -> None:
        if self.app is not None and "books" in self.app.__dict__:
            self.app.books.close()
            self.app.books._failed = True


class World(Turns):
    """A story in which waiting returns the baton."""

    def __init__(self, folder: Path, intended: Callable[[Actor], None]) -> None:
        """`intended`: called when a command has planned and recorded what it is going to end."""
        self.story = Story(folder)
        super().__init__(self.story.processes)
        self.intended = intended
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
        return self.current.wait(processes, timeout_s)

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

"""A `watch` in the simulated world: its waiting, and the processes by which it starts sessions
again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from tmuxreap.commands.watch import restarting
from tmuxreap.commands.watch.waiting import Woken
from tmuxreap.commands.watch.watch import WatchRequest, run
from tmuxreap.core.model import ProcessId
from tmuxreap.system import files

if TYPE_CHECKING:
    from tests.simulation.actors import Actor
    from tests.simulation.world import World
    from tmuxreap.sessions.context import Context

LONGEST_S = 45.0
POLL_S = 1.0


class SimWaiter:
    """Waits for deaths and for changes of the registry, as the kernel tells of them."""

    def __init__(self, world: World, context: Context) -> None:
        self._world, self._context = world, context
        self._until = world.clock.monotonic() + LONGEST_S
        self._stamp: files.Stamp | None = None

    def arm(self) -> None:
        self._stamp = self._now()

    def _now(self) -> files.Stamp | None:
        try:
            return files.stamp_of(self._context.registry.resolved)
        except OSError:
            return None

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        """Wait, a little at a time: a change of the file wakes nobody here."""
        clock, awaited = self._world.clock, frozenset(processes)
        until = clock.monotonic() + max(0.0, timeout_s)
        while True:
            left_s = min(POLL_S, until - clock.monotonic())
            gone = self._context.processes.wait(awaited, max(0.0, left_s))
            ending = clock.monotonic() >= self._until or self._world.ending
            if gone or ending or self._now() != self._stamp or clock.monotonic() >= until:
                return Woken(frozenset(gone), self._now() != self._stamp, ending)

    def how_ended(self, process: ProcessId) -> str | None:
        return None

    def remember_memory(self) -> None:
        pass

    def close(self) -> None:
        pass


class SimProcess:
    """The process of one restart: a command like others."""

    def __init__(self, actor: Actor | None) -> None:
        self.pid = actor.process.pid if actor is not None else 0
        self.returncode = 0

    def wait(self) -> int:
        return 0


def watch(world: World, broken: Collection[tuple[int, str]]) -> None:
    def work(context: Context) -> None:
        run(context, WatchRequest(), lambda change: None, SimWaiter(world, context))  # type: ignore[arg-type]

    world.act("watch", (), work, broken)


def begin(world: World, words: Collection[str]) -> Any:
    _, _, _, name, loss, tried = words

    def work(context: Context) -> Any:
        return restarting.bring_back(context, name, loss, int(tried))

    return SimProcess(world.later("restart", (name,), work))


def adopted_by(world: World) -> Any:
    """Let the watches of this world start sessions again in it; return what undoes that."""
    real = restarting.popen_outside
    restarting.popen_outside = lambda words, environ: begin(world, words)  # type: ignore[assignment]

    def undo() -> None:
        restarting.popen_outside = real

    return undo

"""Commands that run at the same time on one registry, each in its own thread and only while it
holds the baton: it returns the baton when it waits. What histories and the simulation share.

Never knows what a command does, nor what breaks it."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

from tests.fake_processes import FakeProcesses
from tmuxreap.core.model import ProcessId
from tmuxreap.sessions.context import Context

PATIENCE_S = 60


class Crash(BaseException):
    """Simulates SIGKILL: no cleanup runs."""


class Turns:
    """Whose turn it is; waiting ends it."""

    current: Any = None  # the command that holds the baton

    def __init__(self, processes: FakeProcesses) -> None:
        self.processes = processes


class Turn:
    """One command. `go_on` gives it the baton until it waits or ends."""

    def __init__(self, turns: Turns, process: ProcessId) -> None:
        self.turns, self.process = turns, process
        self.awaited: tuple[frozenset[ProcessId], float] | None = None
        self.crashed = self.done = False
        self.app: Context | None = None
        self.error: BaseException | None = None
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()  # it waits for the baton, which nobody gives before this one is made

    def work(self) -> None:
        """Do what the command does, with `self.app`."""
        raise NotImplementedError

    def close(self) -> None:
        """Clean up after the work, however it ended."""
        raise NotImplementedError

    def forget_ledger(self) -> None:
        """Close what is open of the ledger: nothing more is written."""
        raise NotImplementedError

    def _run(self) -> None:
        self._go.acquire()
        try:
            self.work()
        except Crash:
            pass
        except BaseException as error:
            self.error = error
        finally:
            try:
                self.close()
            finally:
                self.done = True
                self._back.release()

    @property
    def ready(self) -> bool:
        """Tell whether it has something to do: what it waits for has happened."""
        if self.done or self.awaited is None:
            return not self.done
        awaited, until = self.awaited
        alive = self.turns.processes.alive
        over = until <= self.turns.processes.clock.monotonic()
        return self.crashed or over or not all(map(alive, awaited))

    def go_on(self) -> None:
        self.turns.current = self
        self._go.release()
        in_time = self._back.acquire(timeout=PATIENCE_S)
        self.turns.current = None
        assert in_time, f"{self} hangs"
        if self.error is not None:
            raise self.error

    def pause(self, processes: Collection[ProcessId], until: float) -> None:
        self.awaited = (frozenset(processes), until)
        self._back.release()
        self._go.acquire()
        self.awaited = None
        if self.crashed:
            self.crash()

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        """Wait for the first of these to end, as a port does."""
        clock, alive = self.turns.processes.clock, self.turns.processes.alive
        until = clock.monotonic() + max(0.0, timeout_s)
        while True:
            gone = {process for process in processes if not alive(process)}
            if gone or clock.monotonic() >= until:
                return gone
            self.pause(processes, until)

    def crash(self) -> None:
        self.crashed = True
        self.turns.processes.die(self.process)
        self.forget_ledger()
        raise Crash

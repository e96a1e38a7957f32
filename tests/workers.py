"""Runs several tests at a time, in forks of this process: tests are imported and collected once,
not again by each worker.

A worker gets its tests in units (tests/together.py), one ahead: the next test decides which
fixtures stay set up. Every fourth worker begins at the other end: tests there only compute, and use
the cores while the first ones wait. A worker's reports are repeated here. If it dies, the test that
it ran fails; a test that does not end ends its worker, and says where it was."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import selectors
import signal
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, TextIO

import pytest

from tests.together import units_of

LOOK_S = 1.0
AHEAD = 2  # units that a worker knows: the current and the next one
LIMIT_S = 120.0  # of a test: far more than any takes on a busy machine
HUNG = "hung"  # in a worker's folder: where its test was when the limit was reached
BACKWARDS = 4  # each worker whose number this divides begins at the other end


@dataclass
class Worker:
    """A worker, as seen by the parent."""

    number: int
    pid: int
    link: Connection
    given: deque[list[int]] = field(default_factory=deque)
    runs: int | None = None


def run(session: pytest.Session, how_many: int) -> None:
    """Run all tests of the session."""
    units = units_of([item.nodeid for item in session.items])
    # Forks share its folder; each worker has its own in it.
    folders = session.config._tmp_path_factory  # type: ignore[attr-defined]
    folders.getbasetemp()
    Crew(session, units).work(min(how_many, len(units)))


class Crew:
    def __init__(self, session: pytest.Session, units: list[list[int]]) -> None:
        self._session, self._config = session, session.config
        self._waiting = deque(units)
        self._there = selectors.DefaultSelector()
        self._begun = 0

    def work(self, how_many: int) -> None:
        try:
            for _ in range(how_many):
                self._begin()
            while self._there.get_map():
                heard = self._there.select(LOOK_S)
                for key, _ in heard:
                    self._hear(key.data)
                if not heard:
                    self._look_for_dead()
        finally:
            self._end_all()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _workers(self) -> list[Worker]:
        return [key.data for key in self._there.get_map().values()]

    def _begin(self) -> None:
        ours, its = Pipe()
        self._begun += 1
        pid = os.fork()
        if pid == 0:
            for worker in self._workers():
                worker.link.close()
            ours.close()
            _serve(self._session, its, self._begun)
        its.close()
        worker = Worker(self._begun, pid, ours)
        self._there.register(ours, selectors.EVENT_READ, worker)
        for _ in range(AHEAD):
            self._give(worker)

    def _give(self, worker: Worker) -> None:
        stopped = self._session.shouldfail or self._session.shouldstop
        unit = self._next_for(worker) if self._waiting and not stopped else None
        if unit is not None:
            worker.given.append(unit)
        with contextlib.suppress(BrokenPipeError):  # it died: its exit is handled next
            worker.link.send(unit)

    def _next_for(self, worker: Worker) -> list[int]:
        return self._waiting.popleft() if worker.number % BACKWARDS else self._waiting.pop()

    def _hear(self, worker: Worker) -> None:
        try:
            kind, what = worker.link.recv()
        except (EOFError, ConnectionResetError):
            self._has_ended(worker, os.waitpid(worker.pid, 0)[1])
            return
        hook = self._config.hook
        if kind == "report":
            report = hook.pytest_report_from_serializable(config=self._config, data=what)
            hook.pytest_runtest_logreport(report=report)
            return
        item = self._session.items[what]
        if kind == "begun":
            worker.runs = what
            hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        else:
            worker.runs = None
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            self._has_done(worker, what)

    def _has_done(self, worker: Worker, number: int) -> None:
        worker.given[0].remove(number)
        if not worker.given[0]:
            worker.given.popleft()
            self._give(worker)

    def _look_for_dead(self) -> None:
        """Reap dead workers: a test's leftover process may keep a dead worker's link open."""
        for worker in self._workers():
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._has_ended(worker, status)

    def _has_ended(self, worker: Worker, status: int) -> None:
        """Handle a worker's exit; after an early one its test failed, and others get the rest."""
        self._there.unregister(worker.link)
        worker.link.close()
        if worker.runs is None and (status or worker.given):
            raise RuntimeError(f"a worker ended between two tests: {_named(status)}")
        if worker.runs is None:
            return
        worker.given[0].remove(worker.runs)
        self._tell_death(self._session.items[worker.runs], worker, status)
        self._waiting.extendleft(reversed([unit for unit in worker.given if unit]))
        if self._waiting:
            self._begin()

    def _tell_death(self, item: pytest.Item, worker: Worker, status: int) -> None:
        why = f"the process that ran it ended: {_named(status)}"
        where = _folder_of(self._config, worker.number) / HUNG
        if where.exists() and (stacks := where.read_text()):
            why = f"it did not end within {LIMIT_S:g} s\n{stacks}"
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", why, "call", duration=0.0
        )
        self._config.hook.pytest_runtest_logreport(report=report)

    def _end_all(self) -> None:
        """Interrupt the remaining workers, so that they clean up and exit."""
        for worker in self._workers():
            self._there.unregister(worker.link)
            worker.link.close()
            os.kill(worker.pid, signal.SIGINT)
            os.waitpid(worker.pid, 0)
        self._there.close()


def _folder_of(config: pytest.Config, number: int) -> Path:
    folders: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    shared: Path = folders.getbasetemp()
    return shared / f"w{number}"


def _named(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit status {code}" if code >= 0 else signal.Signals(-code).name


# In the worker process


class Reporter:
    """Sends the worker's reports to the parent, but for fixtures that were set up or torn down
    well: nothing is counted or printed of these."""

    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self._config, self._link = config, link

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when != "call":
            return
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._link.send(("report", data))


def _serve(session: pytest.Session, link: Connection, number: int) -> NoReturn:
    status = 1
    try:
        hung = _folder_of(session.config, number) / HUNG
        _become_worker(session.config, link, number)
        with hung.open("w") as where:
            _run_units(session, link, where)
        status = 0
    except (KeyboardInterrupt, BrokenPipeError):
        status = 2
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            session._setupstate.teardown_exact(None)
        os._exit(status)


def _become_worker(config: pytest.Config, link: Connection, number: int) -> None:
    plugins: Any = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(Reporter(config, link))
    _capture_for_itself(plugins.getplugin("capturemanager"))
    folders: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = _folder_of(config, number)
    folders._basetemp.mkdir(mode=0o700)


def _capture_for_itself(capture: Any) -> None:
    """All forks share the position in the files of the capture: it gets its own files. The objects
    stay, because a module may have kept sys.stderr when it was imported."""
    capture.suspend_global_capture()
    for stream in (capture._global_capturing.out, capture._global_capturing.err):
        if hasattr(stream, "targetfd"):  # and not -s, which captures nothing
            with tempfile.TemporaryFile() as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())


def _run_units(session: pytest.Session, link: Connection, hung: TextIO) -> None:
    numbers = _each(link)
    number = next(numbers, None)
    while number is not None:
        following = next(numbers, None)
        item = session.items[number]
        link.send(("begun", number))
        if not ("LONG" in os.environ and item.get_closest_marker("long")):
            faulthandler.dump_traceback_later(LIMIT_S, exit=True, file=hung)
        item.config.hook.pytest_runtest_protocol(
            item=item, nextitem=None if following is None else session.items[following]
        )
        faulthandler.cancel_dump_traceback_later()
        link.send(("done", number))
        number = following


def _each(link: Connection) -> Iterator[int]:
    while (unit := link.recv()) is not None:
        yield from unit

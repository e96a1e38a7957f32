"""One call of a verb: a context of its own, made and closed, so that a registry can stay open for
days.

Touches no signal and prints nothing; what the verb could not do is a `Failure`, as everywhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tmuxreap.app import real_app
from tmuxreap.core.answers.base import read
from tmuxreap.core.answers.endings import Ending
from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.results import Result, failure_in
from tmuxreap.ending.results import failed_target
from tmuxreap.interfaces.python.errors import error_of
from tmuxreap.interfaces.python.targets import name_of
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings
from tmuxreap.system.interrupts import left_alone

T = TypeVar("T")
LOCKS = "tmuxreap.interfaces.python.locks"


@contextlib.contextmanager
def context_of(registry: Path, tool: str = "python") -> Iterator[Context]:
    """Give the context of one call, with the lock that the calling thread may hold."""
    context = real_app(
        Settings.from_environment(), str(registry), tool, lock_held=is_held(registry)
    )
    try:
        with left_alone():
            context.configure(lenient=True)
            yield context
    finally:
        context.close()


def is_held(registry: Path) -> bool:
    """Without loading filelock: who never asked for the lock does not hold it."""
    locks = sys.modules.get(LOCKS)
    return locks is not None and bool(locks.is_held(registry.resolve()))


def ran(registry: Path, work: Callable[[Context], Result]) -> Result:
    """Call a verb; what stopped it as a whole is raised."""
    try:
        with context_of(registry) as context:
            return work(context)
    except Failure as failure:
        raise error_of(failure) from None


def answers_of(registry: Path, kind: type[T], work: Callable[[Context], Result]) -> list[T]:
    """Call a verb and read its results; the first that has an error raises it."""
    result = ran(registry, work)
    found = [read(kind, item.as_json()) for item in result.results]
    failure = result.failure or next((failure_in(it) for it in result.results if it.error), None)
    if failure is not None:
        raise error_of(failure, found)
    return found


def endings_of(
    registry: Path, work: Callable[[Context], Result], asked: Iterable[object], *, check: bool
) -> list[Ending]:
    """Call what ends; without `check` what stopped it as a whole stands in each result."""
    failure: Failure | None = None
    try:
        with context_of(registry) as context:
            result = work(context)
            items, failure = result.results, result.failure
    except LockIsHeld as held:
        raise error_of(held) from None
    except Failure as error:
        items, failure = (), error
    if any(it.error and it.error.code == Code.INTERRUPTED.text for it in items):
        raise KeyboardInterrupt  # what was done is recorded, and `reconcile` finishes the rest
    told = items or [failed_target(name_of(one), failure) for one in asked if failure]
    found = [read(Ending, item.as_json()) for item in told]
    failure = failure or next((failure_in(it) for it in items if it.error), None)
    if check and failure is not None:
        raise error_of(failure, found)
    return found


def check_free(registry: Path, what: str) -> None:
    """Refuse what always waits for processes."""
    if is_held(registry):
        raise LockIsHeld(what)

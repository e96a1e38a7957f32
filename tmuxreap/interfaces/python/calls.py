"""Owns the call of a verb: each has its own context, so that a registry can stay open for days.

Never touches signals and never prints; what the verb could not do is a `Failure`, as everywhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tmuxreap.app import real_app
from tmuxreap.core.answers import Ending
from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.results import Result, failure_in, read
from tmuxreap.ending.ending import failed_target
from tmuxreap.interfaces.python.errors import error_of
from tmuxreap.interfaces.python.targets import name_of
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings
from tmuxreap.system.machine import keep_signal_handlers

T = TypeVar("T")
LOCKS = "tmuxreap.interfaces.python.locks"


@contextlib.contextmanager
def context_of(registry: Path, tool: str = "python") -> Iterator[Context]:
    """Yield the context of one call, with the lock that the calling thread may hold."""
    context = real_app(
        Settings.from_environment(), str(registry), tool, lock_held=is_held(registry)
    )
    try:
        with keep_signal_handlers():
            context.configure(lenient=True)
            yield context
    finally:
        context.close()


def is_held(registry: Path) -> bool:
    """Tell whether the calling thread holds the lock; without importing filelock, it does not."""
    locks = sys.modules.get(LOCKS)
    return locks is not None and bool(locks.is_held(registry.resolve()))


def run_verb(registry: Path, work: Callable[[Context], Result]) -> Result:
    """Call a verb; raise the failure of the whole call."""
    try:
        with context_of(registry) as context:
            return work(context)
    except Failure as failure:
        raise error_of(failure) from None


def answers_of(registry: Path, kind: type[T], work: Callable[[Context], Result]) -> list[T]:
    """Call a verb and return its results; raise if any of them has an error."""
    result = run_verb(registry, work)
    results = [read(kind, item.as_json()) for item in result.results]
    failure = result.failure or next((failure_in(it) for it in result.results if it.error), None)
    if failure is not None:
        raise error_of(failure, results)
    return results


def endings_of(
    registry: Path, work: Callable[[Context], Result], targets: Iterable[object], *, check: bool
) -> list[Ending]:
    """Call a verb that ends; without `check`, a failure of the call is the error of each result."""
    failure: Failure | None = None
    try:
        with context_of(registry) as context:
            result = work(context)
            items, failure = result.results, result.failure
    except LockIsHeld as held:
        raise error_of(held) from None
    except Failure as error:
        items, failure = (), error
    if any(item.error and item.error.code == Code.INTERRUPTED.text for item in items):
        raise KeyboardInterrupt  # what was done is recorded, and `reconcile` finishes the rest
    shown = items or [failed_target(name_of(target), failure) for target in targets if failure]
    endings = [read(Ending, item.as_json()) for item in shown]
    failure = failure or next((failure_in(item) for item in items if item.error), None)
    if check and failure is not None:
        raise error_of(failure, endings)
    return endings


def check_free(registry: Path, what: str) -> None:
    """Refuse a call that always waits for processes while the lock is held."""
    if is_held(registry):
        raise LockIsHeld(what)

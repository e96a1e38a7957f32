"""Owns the call of a verb from Python, each with its own context, so that a registry can stay open
for days; and the sessions and targets that go in and out. Never touches signals and never prints:
what the verb could not do is a `Failure`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tmuxreap.app import real_app
from tmuxreap.core import answers
from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.results import Ending, Result, failed_target, failure_in, read
from tmuxreap.interfaces.python.options import error_of
from tmuxreap.registry.targets import selects_many
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings
from tmuxreap.system.machine import keep_signal_handlers

if TYPE_CHECKING:
    from tmuxreap.interfaces.python.libtmux_objects import TmuxPane, TmuxSession

    Target: TypeAlias = str | answers.Session | TmuxSession | TmuxPane
    Several: TypeAlias = list[Target] | tuple[Target, ...]
else:
    Target = Several = Any


class Session(answers.Session):
    """What is known of one row: its fields, and a look at its session."""

    __slots__ = ()

    def libtmux(self) -> TmuxSession:
        """Return the libtmux.Session that holds its pane now, found by IDs only."""
        from tmuxreap.interfaces.python import libtmux_objects

        return libtmux_objects.session_of(self)

    def libtmux_pane(self) -> TmuxPane:
        """Return the libtmux.Pane of its agent."""
        from tmuxreap.interfaces.python import libtmux_objects

        return libtmux_objects.pane_of(self)


def listed(target: Target | Several) -> tuple[list[Target], bool]:
    """Return the targets, and whether the answer is a list. A single word must mean one session."""
    if isinstance(target, (list, tuple)):
        return list(target), True
    if isinstance(target, str) and selects_many(target):
        failure = Failure(
            Code.USAGE,
            f"could not answer {target!r} with one result: it may mean several sessions",
            f"give it in a list: [{target!r}]",
        )
        raise error_of(failure)
    return [target], False


def name_of(target: object) -> str:
    """Return the target's name, for an answer without a row."""
    name = getattr(target, "name", None)
    return name if isinstance(name, str) else str(target)


def words_of(context: Context, targets: Sequence[Target]) -> tuple[str, ...]:
    """Return each target as a word of the command line."""
    return tuple(_word(context, target) for target in targets)


def _word(context: Context, target: object) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, (answers.Session, Ending)):
        return target.name
    if "libtmux" in sys.modules:  # no libtmux object exists before its import
        from tmuxreap.interfaces.python.libtmux_objects import TmuxPane, TmuxSession, target_of

        if isinstance(target, (TmuxSession, TmuxPane)):
            return target_of(context, target)
    raise TypeError(
        f"a target is a name, a Session or a libtmux object, not {type(target).__name__}"
    )


T = TypeVar("T")
LOCK = "tmuxreap.system.lock"


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
    lock = sys.modules.get(LOCK)
    return lock is not None and bool(lock.is_held(registry.resolve()))


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


def ender_of(
    registry: Path, work: Callable[[Context], Result], targets: Iterable[object], *, check: bool
) -> list[Ending]:
    """Call a verb that ends; without `check`, a failure of the call is the error of each result."""
    failure: Failure | None = None
    try:
        with context_of(registry) as context:
            result = work(context)
            items = result.results
            failure = result.failure
    except LockIsHeld as held:
        raise error_of(held) from None
    except Failure as error:
        items = ()
        failure = error
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

"""Halts a resume of several sessions when starts fail one after the other, or agents leave at once:
what makes three of them fail makes the others fail, too. Never ends or starts anything."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.core.answers import Launched, Session
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Item
from tmuxreap.core.values import frozen, replace
from tmuxreap.sessions.context import Context

MAX_FAILURES = 3
LEFT_WITHIN_S = 10.0
SCREEN = "; its last screen:"  # in the message of a failed start


@frozen
class Halt:
    """Why the rest was not tried, and the names of the rest."""

    failure: Failure
    not_tried: tuple[str, ...]


@frozen
class _Resumed:
    name: str
    process: ProcessId
    at: float


class Breaker:
    """Counts the failures of one resume. `limit`: how many are too many; 0: none are."""

    def __init__(self, context: Context, limit: int) -> None:
        self._context = context
        self._limit = limit
        self._failed: list[Item] = []  # in a row
        self._young: list[_Resumed] = []
        self._left: list[str] = []

    def note(self, item: Item) -> None:
        """Count a result. A refusal tells nothing about the others."""
        if item.error is not None:
            if item.error.code == Code.START_FAILED.text:
                self._failed.append(item)
            return
        self._failed.clear()
        pid = item.pid if isinstance(item, Session) else None
        if pid is None:
            process = None
        else:
            process = self._context.processes.identify(pid)
        if process is not None:
            self._young.append(_Resumed(item.name, process, self._context.clock.monotonic()))
        elif pid is not None:
            self._left.append(item.name)

    def halt(self, rest: Sequence[str], set_name: str | None) -> Halt | None:
        """Return why the rest is not to be tried, or None."""
        if self._limit == 0:
            return None
        self._look()
        if len(self._failed) >= self._limit:
            count = len(self._failed)
            last = _cause(self._failed[-1])
            cause = f"{count} starts in a row failed; the last: {last}"
        elif len(self._left) >= self._limit:
            names = ", ".join(self._left)
            count = len(self._left)
            cause = f"{count} agents left within {LEFT_WITHIN_S:g} s of their start: {names}"
        else:
            return None
        message = f"could not resume the rest ({', '.join(rest)}), which was not tried: {cause}"
        words = rest if set_name is None else ("--set", set_name)
        hint = f"when that is fixed: {command('resume', *words)}"
        return Halt(Failure(Code.RESUME_HALTED, message, hint), tuple(rest))

    def told_once(self, items: Sequence[Item]) -> list[Item]:
        """Return the results without the screens of the failed starts: the cause stands in the
        failure of the whole."""
        return [_without_screen(item) if item in self._failed else item for item in items]

    def _look(self) -> None:
        """Note which agents have left by now; those that stayed long enough are fine."""
        now = self._context.clock.monotonic()
        processes = self._context.processes
        gone = [one for one in self._young if processes.refresh(one.process) is None]
        self._left += [one.name for one in gone if now - one.at <= LEFT_WITHIN_S]
        self._young = [
            one for one in self._young if one not in gone and now - one.at <= LEFT_WITHIN_S
        ]


def _cause(item: Item) -> str:
    assert item.error is not None  # noqa: S101 - only failed ones are kept
    return item.error.message


def _without_screen(item: Item) -> Item:
    if not isinstance(item, Launched) or item.error is None:
        return item
    message = item.error.message.partition(SCREEN)[0]
    return replace(item, error=replace(item.error, message=message))

"""What becomes of sessions that are to be ended, as answers. Decides and prints nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.answers.base import Process, problem_of
from tmuxreap.core.answers.endings import Counts, Ending
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Outcome, StoppedBy
from tmuxreap.core.results import Item
from tmuxreap.core.values import frozen
from tmuxreap.ending.plan import Rung
from tmuxreap.sessions.ownership import Belonging

EndResult = Ending  # in this room an ending is what is under way


@frozen
class RungReport:
    rung: Rung
    waited_s: float = 0.0
    enough: bool = False
    skipped: str | None = None


@frozen
class Draft:
    text: str
    event: int | None


def told(found: Iterable[Belonging], *, why: bool = False) -> tuple[Process, ...]:
    """Name processes as answers do."""
    return tuple(
        Process(one.process.pid, one.process.comm, one.why if why else None) for one in found
    )


def counts(items: Iterable[Item]) -> Counts:
    """Sum up endings: how many are no more, by which means, and how many targets failed. Other
    hosts tell theirs in JSON."""
    facts = [item.as_json() for item in items]
    ended = [one for one in facts if one.get("outcome") in ENDED]
    by = [one.get("stopped_by") for one in ended]
    return Counts(
        ended=len(ended),
        by_keys=by.count(StoppedBy.EXIT_KEYS),
        by_term=by.count(StoppedBy.HANGUP) + by.count(StoppedBy.SIGTERM),
        by_kill=by.count(StoppedBy.SIGKILL),
        failed=sum(one.get("error") is not None for one in facts),
    )


ENDED = frozenset({Outcome.STOPPED, Outcome.KILLED, Outcome.TERMINATED})


def failed_target(name: str, failure: Failure) -> EndResult:
    outcome = Outcome.REFUSED if failure.code in REFUSALS else Outcome.FAILED
    return EndResult(name=name, outcome=outcome, error=problem_of(failure))


REFUSALS = frozenset(
    {
        Code.SESSION_ALIVE,
        Code.SESSION_REPLACED,
        Code.OWN_SESSION,
        Code.FOREIGN_PANES,
        Code.AMBIGUOUS_PANE,
        Code.REGISTERED_ELSEWHERE,
        Code.BEYOND_REACH,
        Code.NOT_INTERRUPTIBLE,
    }
)

"""What outcomes mean: which of them ended a session, how many did, and the answer for a target that
failed. Ends nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.answers import Ending
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Outcome, StoppedBy
from tmuxreap.core.results import Counts, Item, local, problem_of


def counts(items: Iterable[Item]) -> Counts:
    """Count endings: how many ended, by which means, and how many targets failed."""
    items = tuple(items)
    found = map(local, items)
    ended = []
    for one in found:
        if isinstance(one, Ending) and one.outcome in ENDED:
            ended.append(one)
    by = [one.stopped_by for one in ended]
    return Counts(
        ended=len(ended),
        by_keys=by.count(StoppedBy.EXIT_KEYS),
        by_term=by.count(StoppedBy.HANGUP) + by.count(StoppedBy.SIGTERM),
        by_kill=by.count(StoppedBy.SIGKILL),
        failed=sum(item.error is not None for item in items),
    )


ENDED = frozenset({Outcome.STOPPED, Outcome.KILLED, Outcome.TERMINATED})


def failed_target(name: str, failure: Failure) -> Ending:
    if failure.code in REFUSALS:
        outcome = Outcome.REFUSED
    else:
        outcome = Outcome.FAILED
    return Ending(name=name, outcome=outcome, error=problem_of(failure))


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
        Code.NOT_IDLE,
    }
)

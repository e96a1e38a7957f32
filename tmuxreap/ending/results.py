"""The answers of endings. Decides and prints nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.answers import Counts
from tmuxreap.core.answers import Ending as EndResult
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Outcome, StoppedBy, Verb
from tmuxreap.core.results import Item, problem_of
from tmuxreap.core.results import Process as ProcessAnswer
from tmuxreap.core.values import frozen
from tmuxreap.ending.plan import Rung
from tmuxreap.proof.ownership import Belonging


@frozen
class RungReport:
    rung: Rung
    waited_s: float = 0.0
    enough: bool = False
    skipped: str | None = None


def as_answer(belongings: Iterable[Belonging], *, why: bool = False) -> tuple[ProcessAnswer, ...]:
    """Convert processes to the form of answers."""
    return tuple(
        ProcessAnswer(it.process.pid, it.process.comm, it.why if why else None) for it in belongings
    )


def counts(items: Iterable[Item]) -> Counts:
    """Count endings: how many ended, by which means, and how many targets failed. Counts JSON,
    since answers of other hosts have no other form."""
    facts = [item.as_json() for item in items]
    ended = [fact for fact in facts if fact.get("outcome") in ENDED]
    by = [fact.get("stopped_by") for fact in ended]
    return Counts(
        ended=len(ended),
        by_keys=by.count(StoppedBy.EXIT_KEYS),
        by_term=by.count(StoppedBy.HANGUP) + by.count(StoppedBy.SIGTERM),
        by_kill=by.count(StoppedBy.SIGKILL),
        failed=sum(fact.get("error") is not None for fact in facts),
    )


ENDED = frozenset({Outcome.STOPPED, Outcome.KILLED, Outcome.TERMINATED})


def failed_target(name: str, failure: Failure) -> EndResult:
    outcome = Outcome.REFUSED if failure.code in REFUSALS else Outcome.FAILED
    return EndResult(name=name, outcome=outcome, error=problem_of(failure))


def out_of_reach(verb: Verb, name: str, carrier: str | None) -> Failure:
    """Return the failure for an agent of which only the carrier was ended."""
    what = f"what {name} ran behind {carrier}"
    reason = (
        f"only {carrier} itself was ended; what it carried cannot be seen from here and may go on"
    )
    hint = f"end it where it runs: {command(verb.value, name, '--host', 'HOST')}"
    return could_not(verb.value, what, reason, hint, Code.BEYOND_REACH)


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

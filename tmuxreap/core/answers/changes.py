"""The answer of `watch`: one line per change."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Answer, Problem
from tmuxreap.core.answers.endings import Ending
from tmuxreap.core.values import frozen

DRIFT_FIELDS = ("drift", "evidence", "settled", "hint", "cause")
FIELDS_BY_EVENT = {"state": ("state", "source", "until", "before"), "dropped": (), "reaped": ()}
OPTIONAL = ("registry", "count", "attempt", "names")


@frozen
class Change(Answer):
    """A change that `watch` saw: a new drift, a new state, or the end of a session it reaped."""

    NOT_IN_JSON = frozenset({"ending"})

    name: str
    event: str
    timestamp: str
    drift: str | None = None
    evidence: str | Mapping[str, object] | None = None
    settled: bool = False
    hint: str | None = None
    cause: str | None = None
    registry: str | None = None
    count: int | None = None
    outcome: str | None = None
    verdict: str | None = None
    state: str | None = None
    before: str | None = None
    source: str | None = None
    until: str | None = None
    attempt: int | None = None
    names: tuple[str, ...] = ()
    error: Problem | None = None
    ending: Ending | None = None

    def as_json(self) -> dict[str, object]:
        """Return the fields of its kind of event; for a reaped session also the whole ending."""
        fields = Answer.as_json(self)
        names = (
            "name",
            "event",
            "timestamp",
            *FIELDS_BY_EVENT.get(self.event, DRIFT_FIELDS),
            "error",
        )
        optional = [name for name in OPTIONAL if fields[name] not in (None, [])]
        ending = {} if self.ending is None else self.ending.as_json()
        return {**ending, **{name: fields[name] for name in (*names, *optional)}}

"""What reconcile, watch and events answer."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Answer, Problem, as_json
from tmuxreap.core.answers.endings import Ending
from tmuxreap.core.values import frozen


@frozen
class Drift(Answer):
    """Tells where the registry and the world disagree; `settled`: certain enough to be written."""

    name: str
    drift: str | None = None
    evidence: str | None = None
    settled: bool = False
    hint: str | None = None
    cause: str | None = None
    error: Problem | None = None


@frozen
class Action(Answer):
    """Tells what was done about a drift."""

    name: str
    drift: str
    action: str


@frozen
class Reconciled(Answer):
    """Tells what `reconcile` found and did; `tmux_confirmed`: every tmux server gave an answer."""

    tmux_confirmed: bool = False
    drifts: tuple[Drift, ...] = ()
    actions: tuple[Action, ...] = ()


DRIFTED = ("drift", "evidence", "settled", "hint", "cause")
TOLD = {"state": ("state", "source", "until", "before"), "dropped": (), "reaped": ()}
IF_ANY = ("registry", "count", "attempt", "names")


@frozen
class Change(Answer):
    """Tells what `watch` saw: a drift when it comes, or the end of a session that it reaped."""

    UNTOLD = frozenset({"ending"})

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
        """Tell what belongs to an event of its kind; of one that was reaped the whole ending."""
        fields = as_json(self)
        told = ("name", "event", "timestamp", *TOLD.get(self.event, DRIFTED), "error")
        more = [name for name in IF_ANY if fields[name] not in (None, [])]
        ending = {} if self.ending is None else self.ending.as_json()
        return {**ending, **{name: fields[name] for name in (*told, *more)}}


@frozen
class Event(Answer):
    """Tells what happened, as the ledger has it; `before` is the row's text before that."""

    name: str
    id: int | None = None
    timestamp: str | None = None
    kind: str | None = None
    data: Mapping[str, object] | None = None
    before: str | None = None
    error: Problem | None = None

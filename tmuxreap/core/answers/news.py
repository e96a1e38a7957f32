"""The answers of `reconcile` and `events`."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Answer, Item
from tmuxreap.core.values import frozen


@frozen
class Drift(Item):
    """A disagreement of registry and world; `settled`: certain enough to be recorded."""

    drift: str | None = None
    evidence: str | None = None
    settled: bool = False
    hint: str | None = None
    cause: str | None = None


@frozen
class Action(Answer):
    """What was done about a drift."""

    name: str
    drift: str
    action: str


@frozen
class Reconciled(Answer):
    """What `reconcile` found and did; `tmux_confirmed`: every tmux server answered."""

    tmux_confirmed: bool = False
    drifts: tuple[Drift, ...] = ()
    actions: tuple[Action, ...] = ()


@frozen
class Event(Item):
    """An event of the ledger; `before` is the row's text before it."""

    id: int | None = None
    timestamp: str | None = None
    kind: str | None = None
    data: Mapping[str, object] | None = None
    before: str | None = None

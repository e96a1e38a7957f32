"""What reconcile and events answer."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.answers.base import Answer, Problem
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

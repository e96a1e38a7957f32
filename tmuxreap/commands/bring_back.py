"""`_bring_back`: starts one lost session again, in a process of its own that a watch starts. It
claims the attempt in the ledger first, so that of two watches only one goes on, and a canceled
restart stays canceled. Its answer is read only from the ledger."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from tmuxreap.commands.start import spec_of
from tmuxreap.commands.starting.launch import launch, make_way
from tmuxreap.commands.starting.row import Again, Launch, NoPlace, surroundings
from tmuxreap.commands.starting.take_up import take_up
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item, Result
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.rows import Restart, loss_key
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.restarts import FAILED, GIVEN_UP, LedgerUnreadable, Pending


def run(context: Context, name: str, loss: str, tried: int) -> Result:
    """Restart the session, unless `tried` is out of date: then another watch may be at it."""
    row = context.registry.look().named(name)
    items: list[Item] = []
    if row is not None and name not in context.active.busy():
        with contextlib.suppress(ValueError, LedgerUnreadable):  # the watch reports it
            known = context.restarts.pending(row)
            is_same = known is not None and (known.loss, known.tried) == (loss, tried)
            if known is not None and is_same and context.restarts.claim(known):
                items = _tried(context, row, known)
    return context.result("bring_back", items)


def _tried(context: Context, row: Row, known: Pending) -> list[Item]:
    try:
        spec = _spec(context, row, known)
        make_way(context, context.registry.look(), row, spec, replace=False)
        return [launch(context, spec)]
    except (_Moot, KeyboardInterrupt):
        return []
    except Failure as failure:
        _failed(context, known, failure)
        return []


def _failed(context: Context, known: Pending, failure: Failure) -> None:
    facts: dict[str, object] = {"attempt": known.tried + 1, "error": failure.as_json()}
    if failure.code is Code.NOT_RESUMABLE or isinstance(failure, NoPlace):
        if failure.code is Code.NOT_RESUMABLE:  # a resume would be refused for the same reason
            facts["hint"] = command("start", known.name)
        give_up(context, known.name, known.loss, failure.message, facts)
    else:
        context.books.note_all([NewEvent(known.name, FAILED, {"loss": known.loss, **facts})])


def give_up(
    context: Context, name: str, loss: str, reason: str, facts: Mapping[str, object] | None = None
) -> bool:
    """Record that no restart follows; False if it was canceled or another watch gave up first."""
    data = {"reason": reason, "hint": command("resume", name), **(facts or {})}
    return context.restarts.decide(name, loss, GIVEN_UP, data)


def _spec(context: Context, row: Row, known: Pending) -> Launch:
    """Resume the conversation; run the command again, which may hold a prompt, only if asked to."""
    row = context.restarts.as_begun(row)
    try:
        spec = take_up(context, row)
    except Failure as failure:
        if failure.code is not Code.NOT_RESUMABLE or known.policy.when is not Restart.ALWAYS:
            raise
        spec = spec_of(context, row)
    socket = row.tmux.socket or spec.socket

    def check() -> None:
        now = context.registry.look().named(row.name)
        still = now is not None and loss_key(now) == known.loss and context.restarts.pending(now)
        if not still or row.name not in context.books.open_intents():
            raise _Moot(Code.SESSION_EXISTS, f"could not start {row.name} again: not any more")

    again = Again(known.tried + 1, surroundings(context, row, socket), check)
    return replace(spec, socket=socket, again=again)


class _Moot(Failure):
    """It was canceled, or runs already, or nothing can be recorded: nothing is reported."""

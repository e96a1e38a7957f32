"""Puts together what ends sessions, from what a command works with; and `finish`: carries out,
outside the session, what `--self` handed over to the finisher. Its answer is read only from the
ledger."""

from __future__ import annotations

from tmuxreap.core.results import Item, Result
from tmuxreap.ending.end import Ender, from_text, wait_for_caller
from tmuxreap.sessions.context import Context


def ender_of(context: Context) -> Ender:
    return Ender(
        sights=context.sights,
        finder=context.finder,
        active=context.active,
        caller=context.caller,
        restarts=context.restarts,
        warnings=context.warnings,
        lock_held=context.lock_held,
    )


def finish(context: Context, number: int, policy: str) -> Result:
    context.observer.hide_self()
    me = context.place.pid
    intent = wait_for_caller(context.books, context.processes, context.clock, me, number)
    items: list[Item]
    if intent is not None:
        items = ender_of(context).finish(intent, from_text(policy))
    else:
        items = []
    return context.result("finish", items)

"""What `--self` handed over, done by the finisher outside of the session. Nobody reads its answer
but the ledger."""

from __future__ import annotations

from tmuxreap.core.results import Item, Result
from tmuxreap.ending.end import finish
from tmuxreap.ending.handover import caller_has_left, from_text
from tmuxreap.sessions.context import Context


def run(context: Context, number: int, policy: str) -> Result:
    context.observer.stand_outside()
    intent = caller_has_left(context, number)
    asked = from_text(policy)
    context.asked_by = asked.asked_by
    items: list[Item] = finish(context, intent, asked) if intent is not None else []
    return Result(
        "finish", context.registry_name, context.clock.now(), items, tuple(context.warnings)
    )

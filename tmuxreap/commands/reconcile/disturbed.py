"""Owns the comparison of registry and open intents before and after a look: what was seen of rows
that other verbs changed meanwhile is out of date.

Never writes, and never judges what was seen."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.values import frozen
from tmuxreap.ending.one_at_a_time import ActiveIntents
from tmuxreap.ledger.records import Intent
from tmuxreap.registry.look import RegistryLook
from tmuxreap.sessions.context import Context

# The ledger follows the registry within this time, unless its writer died between the two writes.
CATCH_UP_S = 0.31


@frozen
class Before:
    """The state when a look began."""

    look: RegistryLook
    latest: int  # ID of the newest intent, open or closed
    intents: Mapping[str, Intent]  # the open intents


@frozen
class Others:
    """The rows that other processes are changing now, or changed during the look."""

    busy: frozenset[str]
    passed: frozenset[str]  # opened, closed, handed over or rewritten during the look

    def __contains__(self, name: str) -> bool:
        return name in self.busy or name in self.passed


def begin(context: Context, look: RegistryLook) -> Before:
    """Record the state before a look. An intent that opens between the two reads counts as new."""
    return Before(look, context.books.latest_intent(), context.books.open_intents())


def others_at_work(context: Context, before: Before) -> Others:
    """Compare with the state before; call it after the look. Owners are checked before the ledger
    is read: an intent still open after its owner's death was not closed."""
    busy = ActiveIntents.of(context).busy(before.intents)
    now, started = context.books.open_intents(), context.books.begun_since(before.latest)
    ended = {name for name, intent in before.intents.items() if not _is_same(intent, now.get(name))}
    return Others(frozenset(busy), frozenset(ended | started | _rewritten(context, before.look)))


def is_behind(context: Context, look: RegistryLook) -> bool:
    """Tell whether the ledger's mirror stays behind the registry, with no update to come."""
    age_s = context.clock.now() - look.content.stamp.ctime_ns / 1e9
    left_s, pause_s = CATCH_UP_S - max(age_s, 0.0), 0.01
    while context.books.is_behind(look) and context.registry.is_unchanged_since(look):
        if ActiveIntents.of(context).busy():
            return False
        if left_s <= 0:
            return True
        context.processes.wait((), min(pause_s, left_s))
        left_s, pause_s = left_s - pause_s, pause_s * 2
    return False


def _is_same(then: Intent, now: Intent | None) -> bool:
    return now is not None and (now.id, now.owner) == (then.id, then.owner)


def _rewritten(context: Context, look: RegistryLook) -> set[str]:
    """Return the rows that were written, added or removed during the look."""
    if context.registry.is_unchanged_since(look):
        return set()
    return look.differing(context.registry.look())

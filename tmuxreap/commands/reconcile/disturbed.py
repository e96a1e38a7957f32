"""Tells whose rows other verbs worked on during a look: what was seen of these is of a moment that
is over.

Owns the comparison of registry and open intents before a look with those after it. Writes nothing,
and never judges what was seen."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.values import frozen
from tmuxreap.ending.one_at_a_time import AtWork
from tmuxreap.ledger.records import Intent
from tmuxreap.registry.file import RegistryLook
from tmuxreap.sessions.context import Context

# The registry is written first, the ledger follows: within this time, unless its writer died
# between the two.
CATCH_UP_S = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16)


@frozen
class Before:
    """What stood when a look began."""

    look: RegistryLook
    latest: int  # the number of the newest intent, open or closed
    intents: Mapping[str, Intent]  # the open ones


@frozen
class Others:
    """Whose rows are another's: at this moment, or for a part of the look."""

    busy: frozenset[str]
    passed: frozenset[str]  # opened, closed or handed over meanwhile, or written into the registry

    def __contains__(self, name: str) -> bool:
        return name in self.busy or name in self.passed


def begin(context: Context, look: RegistryLook) -> Before:
    """To be called before the world is looked at. An intent that opens between the two reads counts
    as new."""
    return Before(look, context.books.latest_intent(), context.books.open_intents())


def others_at_work(context: Context, before: Before) -> Others:
    """To be called after the world was looked at. The owners are asked for first and the ledger
    after them: an intent that is open still when its owner is dead was closed by nobody."""
    busy = AtWork.of(context).busy(before.intents)
    now, begun = context.books.open_intents(), context.books.begun_since(before.latest)
    ended = {name for name, intent in before.intents.items() if not _is_same(intent, now.get(name))}
    return Others(frozenset(busy), frozenset(ended | begun | _rewritten(context, before.look)))


def is_behind(context: Context, look: RegistryLook) -> bool:
    """Tell whether the mirror in the ledger stays behind this registry, with nobody about to bring
    it up."""
    age_s = context.clock.now() - look.content.stamp.ctime_ns / 1e9
    for pause_s in CATCH_UP_S if age_s < sum(CATCH_UP_S) else (0.0,):
        if pause_s:
            context.processes.wait((), pause_s)
        if not (context.books.is_behind(look) and context.registry.is_still(look)):
            return False
        if AtWork.of(context).busy():
            return False
    return True


def _is_same(then: Intent, now: Intent | None) -> bool:
    return now is not None and (now.id, now.owner) == (then.id, then.owner)


def _rewritten(context: Context, look: RegistryLook) -> set[str]:
    """The rows that were written during the look, or came, or went."""
    if context.registry.is_still(look):
        return set()
    return look.differing(context.registry.look())

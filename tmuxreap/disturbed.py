"""Tells whose rows other verbs worked on during a look: what was seen of these is of a moment that is over.

Owns the comparison of registry and open intents before a look with those after it. Writes nothing, and never judges
what was seen."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.app import App
from tmuxreap.joining import busy_names
from tmuxreap.ledger_records import Intent
from tmuxreap.registry import RegistryLook
from tmuxreap.values import frozen

# The registry is written first, the ledger follows: within this time, unless its writer died between the two.
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


def begin(app: App, look: RegistryLook) -> Before:
    """To be called before the world is looked at. An intent that opens between the two reads counts as new."""
    return Before(look, app.books.latest_intent(), app.books.open_intents())


def others_at_work(app: App, before: Before) -> Others:
    """To be called after the world was looked at. The owners are asked for first and the ledger after them: an intent
    that is open still when its owner is dead was closed by nobody."""
    busy = busy_names(app, before.intents)
    now, begun = app.books.open_intents(), app.books.begun_since(before.latest)
    ended = {name for name, intent in before.intents.items() if not _is_same(intent, now.get(name))}
    return Others(frozenset(busy), frozenset(ended | begun | _rewritten(app, before.look)))


def is_behind(app: App, look: RegistryLook) -> bool:
    """Tell whether the mirror in the ledger stays behind this registry, with nobody about to bring it up."""
    for pause_s in CATCH_UP_S:
        if pause_s:
            app.processes.wait((), pause_s)
        if not (app.books.is_behind(look) and app.registry.is_still(look)):
            return False
        if busy_names(app, app.books.open_intents()):
            return False
    return True


def _is_same(then: Intent, now: Intent | None) -> bool:
    return now is not None and (now.id, now.owner) == (then.id, then.owner)


def _rewritten(app: App, look: RegistryLook) -> set[str]:
    """The rows that were written during the look, or came, or went."""
    if app.registry.is_still(look):
        return set()
    then = {row.name: row.data for row in look.usable}
    now = {row.name: row.data for row in app.registry.look().usable}
    return {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}

"""Finds the rows of a set: what one stop, kill or reap ended, to be resumed together. Never starts
or ends anything.

A set stands in the events of its endings, and nowhere else: the newest end of a row decides in
which set it is."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.ending.plan import LAST
from tmuxreap.ledger.books import Books
from tmuxreap.registry.file import RegistryLook


@frozen
class Members:
    """The names of the rows of a set: those that can be taken up, and those that run again."""

    name: str
    ended: frozenset[str]
    running: tuple[str, ...]


def members_of(books: Books, look: RegistryLook, wanted: str) -> Members:
    """Return the rows whose newest end has this set, or the newest set for `last`."""
    name = books.newest_set() if wanted == LAST else wanted
    if name is None:
        raise _not_found("could not find the last set: no stop or kill has ended a session yet")
    ends = [event for event in books.newest_ends() if event.data.get("set") == name]
    starts = books.newest_starts()
    ended: set[str] = set()
    running: list[str] = []
    for event in ends:
        row = look.named(event.name)
        if row is not None and not row.status.ended:
            running.append(row.name)
        elif starts.get(event.name, 0) < event.id:  # else another hand ended it since
            ended.add(event.name)
    names = {row.name for row in look.rows}
    if not running and ended.isdisjoint(names):
        raise _not_found(f"could not find the set {name!r}: no session was last ended in it")
    return Members(name, frozenset(ended), tuple(running))


def known_sets(books: Books) -> list[str]:
    """Return the set of each session that has one, the newest first."""
    newest = sorted(books.newest_ends(), key=lambda event: event.id, reverse=True)
    return [str(event.data["set"]) for event in newest if event.data.get("set")]


def _not_found(message: str) -> Failure:
    hint = "each stop and kill names its set: tmuxreap events"
    return Failure(Code.SESSION_NOT_REGISTERED, message, hint)

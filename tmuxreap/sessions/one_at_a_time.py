"""One ending at a time: a second stop waits for the first and returns its outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tmuxreap.core.errors import Code, Failure, LockIsHeld, command, could_not
from tmuxreap.core.model import SUSPENDED, EndVerb
from tmuxreap.core.ports import Clock, Processes, Progress
from tmuxreap.core.results import Ending, Item, failed_target, read
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import START, Intent, is_owned
from tmuxreap.proof.observe import Place

JOIN_LOOK_S = 0.05
START_WAIT_S = 10.0


MarkInProgress = Callable[[Iterable[Intent]], None]

_under_way: set[tuple[Path, int]] = set()  # endings of this process, in any thread


@frozen
class ActiveIntents:
    """The processes that start or end sessions of this registry, as its ledger lists them."""

    books: Books
    processes: Processes
    clock: Clock
    place: Place
    progress: Progress | None = None

    def is_in_progress(self, intent: Intent) -> bool:
        """Tell whether the intent is in progress. This process may live on as a server, so of its
        own intents only those marked by `under_way` count."""
        if not is_owned(intent, self.processes, self.place.boot_id):
            return False
        return intent.owner.pid != self.place.pid or (self.books.path, intent.id) in _under_way

    def busy(self, intents: Mapping[str, Intent] | None = None) -> set[str]:
        """Return the names of the sessions that a process is ending or starting right now."""
        if intents is None:
            intents = self.books.open_intents()
        return {name for name, intent in intents.items() if self.is_in_progress(intent)}

    def abandoned(self) -> dict[str, Intent]:
        """Return by name the open intents that nobody carries out any more."""
        intents = self.books.open_intents()
        busy = self.busy(intents)
        return {name: intent for name, intent in intents.items() if name not in busy}

    def join(self, intent: Intent) -> Item | None:
        """Wait for another process's stop and return its outcome; send nothing. Return None when
        its owner died. The wait ends at the deadline of the intent."""
        reported = False
        while True:
            current = self.books.intent(intent.id)
            if current is None or current.outcome is not None:
                if current is not None and current.verb == EndVerb.RESTART.value:
                    self.wait_for_start(current.name, lock_held=False)  # its agent comes back
                return _joined(current)
            if not self.is_in_progress(current):
                return None
            if self.clock.now() > current.deadline:
                return failed_target(
                    current.name, _stuck(current, suspended=self._is_suspended(current))
                )
            if not reported and self.progress is not None and self._is_suspended(current):
                reported = True
                stuck = _stuck(current, suspended=True)
                self.progress.waits(current.name, f"{stuck.message}; {stuck.hint}")
            self.processes.wait({current.owner}, JOIN_LOOK_S)

    def outcome_after_takeover(self, intent_id: int) -> Item | None:
        """Return the outcome from the process that took the intent over; None when none did, or
        when that process died."""
        intent = self.books.intent(intent_id)
        while intent is not None and intent.taken_over_by is not None:
            intent = self.books.intent(intent.taken_over_by)
        if intent is not None and intent.id != intent_id:
            return self.join(intent)
        return None

    def starting(self) -> dict[str, Intent]:
        """Return the starts, resumes and restarts that are under way, by name."""
        intents = self.books.open_intents()
        found: dict[str, Intent] = {}
        for name, intent in intents.items():
            if intent.verb == START and self.is_in_progress(intent):
                found[name] = intent
        return found

    def wait_for_start(self, name: str, *, lock_held: bool) -> Failure | None:
        """Wait until a start in progress is finished, 10 s at most; return why it is not."""
        until = self.clock.monotonic() + START_WAIT_S
        while (intent := self.starting().get(name)) is not None:
            if lock_held:
                raise LockIsHeld(f"wait for the start of {name}")
            if self.clock.monotonic() >= until or self.clock.now() > intent.deadline:
                return _stuck(intent, suspended=self._is_suspended(intent))
            self.processes.wait({intent.owner}, JOIN_LOOK_S)
        return None

    def _is_suspended(self, intent: Intent) -> bool:
        owner = self.processes.refresh(intent.owner)
        return owner is not None and owner.state in SUSPENDED


@contextlib.contextmanager
def under_way(books: Books) -> Iterator[MarkInProgress]:
    """Mark intents as in progress in this process until the block is left; unfinished ones have no
    owner from then on."""
    marked: set[tuple[Path, int]] = set()

    def begin(intents: Iterable[Intent]) -> None:
        marked.update((books.path, intent.id) for intent in intents)
        _under_way.update(marked)

    try:
        yield begin
    finally:
        _under_way.difference_update(marked)


def _stuck(intent: Intent, *, suspended: bool) -> Failure:
    if suspended:
        state = "is suspended"
    else:
        state = "did not end in its time"
    reason = f"another {intent.verb} of it (pid {intent.owner.pid}) {state}"
    hint = f"take it over with: {command('kill', intent.name)}"
    if intent.verb == START:  # a kill would find nothing to end
        hint = f"end that start first: kill {intent.owner.pid}"
    return could_not("end", intent.name, reason, hint, Code.STILL_RUNNING)


def _joined(closed: Intent | None) -> Item | None:
    recorded = dict(closed.result or {}) if closed else {}
    if "outcome" not in recorded:
        return None  # taken over or lost: the caller looks again

    return replace(read(Ending, recorded), joined=True)

"""What is in progress with a row, as the ledger tells it. One ending at a time: a second stop waits
for the first and returns its outcome. Restarts: whether one is pending, what cancels it, and how
many there were.

Each decision about a restart is one event about one loss, made in one transaction: of two callers
the second is refused. Looks at no process but the owners of intents, and starts nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tmuxreap.agents.hooks.events import SESSION_END
from tmuxreap.core.errors import Code, Failure, LockIsHeld, command, could_not
from tmuxreap.core.model import SUSPENDED, EndVerb, Row
from tmuxreap.core.ports import Clock, Processes, Progress
from tmuxreap.core.results import Ending, Item, failed_target, read
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import (
    START,
    Intent,
    Moment,
    NewEvent,
    RecordedEvent,
    is_owned,
    moment_of,
)
from tmuxreap.ledger.schema import BEGINNINGS, DEAD
from tmuxreap.proof.observe import Place
from tmuxreap.registry.rows import Restart, RestartPolicy, ended_epoch, loss_key, policy_of
from tmuxreap.registry.transitions import Life, is_lost, is_same_process, with_beginning
from tmuxreap.system.environment import user_here

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
        """Return the starts, resumes and restarts that are in progress, by name."""
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


RESTARTING = "restarting"
FAILED = "restart_failed"
CANCELLED = "restart_cancelled"
GIVEN_UP = "restart_given_up"
START_UNKNOWN = "the ledger has no start of it, so it may never have run here"
AGENT_GONE = "agent_gone"
GOOD_EXIT = "exit status 0"
SERVER = "its tmux server ended"
REBOOT = "the machine was rebooted"
SAME_MOMENT_S = 1.0
TASK_OVER = frozenset({"completed", "cancelled", "canceled"})


class LedgerUnreadable(Exception):  # noqa: N818 - an answer more than an error
    """The ledger cannot be read at this moment."""


@frozen
class Pending:
    """A pending restart."""

    name: str
    loss: str
    policy: RestartPolicy
    tried: int  # attempts after this loss
    recent: int  # attempts within the time of the limit, after any loss

    @property
    def used_up(self) -> bool:
        return self.recent >= self.policy.limit.count


@frozen
class RestartLog:
    books: Books
    clock: Clock
    place: Place
    uid: int
    warnings: list[str]

    def pending(self, row: Row) -> Pending | None:
        """Return the pending restart, or None. Raise ValueError if the row's words are invalid or
        the answer is lost, LedgerUnreadable if the ledger cannot be read now."""
        if not is_lost(row) or row.tmux.host not in (None, self.place.host):
            return None
        policy = policy_of(row)
        if policy is None:
            return None
        events = self.books.history(row.name)
        if events is None:
            raise LedgerUnreadable
        loss = loss_key(row)
        if is_decided(events, loss):
            return None
        self._beginning(row, events)
        if not _lost_since_start(row, events):
            return None
        if policy.when is Restart.ON_FAILURE and not self._has_failed(row, events):
            return None
        self._check_task(row)
        tried = [event for event in events if event.kind == RESTARTING]
        recent = []
        for event in _since_user_start(events):
            if event.kind == RESTARTING:
                recent.append(event)
        counted = []
        for event in recent:
            if self._age_s(event) < policy.limit.within_s:
                counted.append(event)
        return Pending(row.name, loss, policy, sum(_is_of(it, loss) for it in tried), len(counted))

    def as_begun(self, row: Row) -> Row:
        """Return the row with the command, folder and store that it was begun with: what another
        hand wrote into it since is never run unasked."""
        return with_beginning(row, self._beginning(row, self.books.history(row.name) or []))

    def _beginning(self, row: Row, events: Sequence[RecordedEvent]) -> Life:
        """Return the life that this session was begun with, by this user; raise ValueError if the
        ledger has none. A registry, and a ledger, may come from anywhere: with a lost row and a
        command to run."""
        begun = next((event for event in reversed(events) if event.kind in BEGINNINGS), None)
        life = begun.data.get("life") if begun is not None else None
        if begun is None or not isinstance(life, Mapping) or not is_same_process(row, life):
            raise ValueError(START_UNKNOWN)
        if begun.data.get("user") != user_here(self.uid):
            raise ValueError(START_UNKNOWN)
        return life

    def _check_task(self, row: Row) -> None:
        """Raise ValueError if the work that it was begun for is over."""
        status = None
        if row.task_id:
            status = self.books.task_status(row.task_id)
        if status in TASK_OVER:
            raise ValueError(f"its task {row.task_id} is {status}")

    def has_pending(self, row: Row) -> bool:
        try:
            return self.pending(row) is not None
        except (ValueError, LedgerUnreadable):
            return False

    def cancel(self, row: Row, verb: str, by: Callable[[], Mapping[str, object]]) -> bool:
        """Cancel a pending restart; tell whether one was cancelled. `by`: tells who did."""
        try:
            pending = self.pending(row)
        except ValueError:
            return False
        except LedgerUnreadable:
            self.warnings.append(
                f"restart_not_cancelled: a watch may start {row.name} again, for the ledger could"
                " not be read: repeat this when it can"
            )
            return False
        if pending is None:
            return False
        facts = {"by": verb, "ended_by": by()}
        return self.decide(row.name, pending.loss, CANCELLED, facts)

    def decide(self, name: str, loss: str, kind: str, facts: Mapping[str, object]) -> bool:
        """Record the final decision on this loss; return False if one was recorded before, or if
        recording failed."""
        event = NewEvent(name, kind, {"loss": loss, **facts})
        return self.books.note_unless(event, lambda events: is_decided(events, loss)) is True

    def claim(self, pending: Pending) -> bool:
        """Claim the next attempt; of two concurrent callers only one gets it."""
        attempt = pending.tried + 1
        by = {"pid": self.place.pid}  # the watch that reports the result
        moment = Moment.now(self.place.boot_id, self.clock)
        facts = {"loss": pending.loss, "attempt": attempt, **by, **moment.as_data()}

        def taken(events: Sequence[RecordedEvent]) -> bool:
            tried = sum(
                event.kind == RESTARTING and _is_of(event, pending.loss) for event in events
            )
            return tried >= attempt or is_decided(events, pending.loss)

        return self.books.note_unless(NewEvent(pending.name, RESTARTING, facts), taken) is True

    def _age_s(self, event: RecordedEvent) -> float:
        """Return the event's age: by the uptime within one boot, since clocks may be set."""
        moment = moment_of(event.data)
        if moment is not None and moment.boot_id == self.place.boot_id:
            return self.clock.uptime() - moment.uptime
        return max(0.0, self.clock.now() - event.at)

    def _has_failed(self, row: Row, events: Sequence[RecordedEvent]) -> bool:
        """Tell whether the session ended by a failure. A proper exit leaves a goodbye from the
        agent's hook; an unrequested end leaves none."""
        start_id = max((event.id for event in events if event.kind in BEGINNINGS), default=0)
        life = [event for event in events if event.id > start_id]
        if any(event.kind == AGENT_GONE and event.data.get("goodbye") for event in life):
            return False
        cause = next((it.data.get("cause") for it in reversed(life) if it.kind == DEAD), None)
        if cause is not None and not str(cause).startswith("exit status"):
            return True
        return cause != GOOD_EXIT and not self._said_goodbye(row)

    def _said_goodbye(self, row: Row) -> bool:
        since = row.pane.created_epoch or 0.0
        beats = self.books.heartbeats_of(row.name)
        return any(beat.kind == SESSION_END and beat.at >= since - SAME_MOMENT_S for beat in beats)


def is_decided(events: Sequence[RecordedEvent], loss: str) -> bool:
    """Tell whether the restart after this loss was cancelled or given up."""
    return any(event.kind in (CANCELLED, GIVEN_UP) and _is_of(event, loss) for event in events)


def _is_of(event: RecordedEvent, loss: str) -> bool:
    return event.data.get("loss") == loss


def _since_user_start(events: Sequence[RecordedEvent]) -> Sequence[RecordedEvent]:
    """Return the events since a user last began the session, which resets the count."""
    begun = []
    for at, event in enumerate(events):
        if event.kind in BEGINNINGS and not event.data.get("restart"):
            begun.append(at)
    return events[begun[-1] :] if begun else events


def _lost_since_start(row: Row, events: Sequence[RecordedEvent]) -> bool:
    """Tell whether the loss came after the last start: by the order of events; by their times if
    another tool recorded the loss."""
    lives = [event for event in events if event.kind in (*BEGINNINGS, DEAD)]
    if lives[-1].kind == DEAD:
        return True
    lost_at = ended_epoch(row)
    return lost_at is not None and lost_at >= int(lives[-1].at)

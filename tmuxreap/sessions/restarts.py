"""What stands in the ledger of a row's restarts: whether one is pending, what cancels it, and how
many there were.

Each decision is one event, of one loss, made in one transaction: who comes second is told no. Looks
at no process and starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.agents.hooks.events import SESSION_END
from tmuxreap.core.model import Row
from tmuxreap.core.ports import Clock
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Event, Moment, NewEvent, moment_of
from tmuxreap.registry.restarts import Restart, Wish, is_lost, loss_of, wish_of
from tmuxreap.registry.rows import ended_epoch
from tmuxreap.sessions.caller import Caller
from tmuxreap.sessions.observe import Place

RESTARTING, FAILED = "restarting", "restart_failed"
CANCELLED, GIVEN_UP = "restart_cancelled", "restart_given_up"
BEGINNINGS = ("started", "resumed", "adopted")
UNTOLD = "the ledger does not tell of its start: whether a restart was cancelled is not known"
DEAD, AGENT_GONE = "dead", "agent_gone"
GOOD_EXIT = "exit status 0"
SERVER = "its tmux server ended"
REBOOT = "the machine was started anew"
SAME_MOMENT_S = 1.0


class NotKnown(Exception):  # noqa: N818 - an answer more than an error
    """The ledger cannot be had at this moment."""


@frozen
class Pending:
    """A restart that is to come."""

    name: str
    loss: str
    wish: Wish
    tried: int  # after this loss
    recent: int  # within the time of the limit, after this and other losses

    @property
    def used_up(self) -> bool:
        return self.recent >= self.wish.limit.count


@frozen
class RestartLog:
    books: Books
    clock: Clock
    place: Place
    warnings: list[str]

    def pending(self, row: Row) -> Pending | None:
        """None where nothing is to come. ValueError where the row's words mean nothing, or nobody
        can tell; NotKnown where it may be told later."""
        if not is_lost(row) or row.tmux.host not in (None, self.place.host):
            return None
        wish = wish_of(row)
        if wish is None:
            return None
        events = self.books.history(row.name)
        if events is None:
            raise NotKnown
        loss = loss_of(row)
        if is_decided(events, loss) or not _lost_since_start(row, events):
            return None
        if wish.when is Restart.ON_FAILURE and not self._has_failed(row, events):
            return None
        tried = [event for event in events if event.kind == RESTARTING]
        recent = [one for one in _since_person(events) if one.kind == RESTARTING]
        near = [one for one in recent if self._age_s(one) < wish.limit.within_s]
        return Pending(row.name, loss, wish, sum(_is_of(one, loss) for one in tried), len(near))

    def may_come_back(self, row: Row) -> bool:
        try:
            return self.pending(row) is not None
        except (ValueError, NotKnown):
            return False

    def cancel(self, row: Row, verb: str, caller: Caller) -> bool:
        """Whether a restart of it was to come, and now is not."""
        try:
            known = self.pending(row)
        except ValueError:
            return False
        except NotKnown:
            self.warnings.append(
                f"restart_not_cancelled: a watch may start {row.name} again, for the ledger could"
                " not be read: repeat this when it can"
            )
            return False
        if known is None:
            return False
        facts = {"by": verb, "ended_by": caller.as_recorded(self.books)}
        return self.decide(row.name, known.loss, CANCELLED, facts)

    def decide(self, name: str, loss: str, kind: str, facts: Mapping[str, object]) -> bool:
        """End the matter of this loss; False where that was done before, or could not be
        recorded."""
        event = NewEvent(name, kind, {"loss": loss, **facts})
        return self.books.note_unless(event, lambda events: is_decided(events, loss)) is True

    def claim(self, known: Pending) -> bool:
        """Take the next attempt; two that try at the same moment do not both get it."""
        attempt = known.tried + 1
        by = {"pid": self.place.pid}  # whose watch tells what comes of it
        moment = Moment.now(self.place.boot_id, self.clock)
        facts = {"loss": known.loss, "attempt": attempt, **by, **moment.as_data()}

        def taken(events: Sequence[Event]) -> bool:
            tried = sum(one.kind == RESTARTING and _is_of(one, known.loss) for one in events)
            return tried >= attempt or is_decided(events, known.loss)

        return self.books.note_unless(NewEvent(known.name, RESTARTING, facts), taken) is True

    def _age_s(self, event: Event) -> float:
        """By the clock that nobody sets, while the machine was not started anew."""
        moment = moment_of(event.data)
        if moment is not None and moment.boot_id == self.place.boot_id:
            return self.clock.uptime() - moment.uptime
        return max(0.0, self.clock.now() - event.at)

    def _has_failed(self, row: Row, events: Sequence[Event]) -> bool:
        """What is known of how it ended; an end that nobody asked for leaves no good-bye."""
        begun = max((one.id for one in events if one.kind in BEGINNINGS), default=0)
        life = [one for one in events if one.id > begun]
        if any(one.kind == AGENT_GONE and one.data.get("goodbye") for one in life):
            return False
        cause = next((one.data.get("cause") for one in reversed(life) if one.kind == DEAD), None)
        if cause is not None and not str(cause).startswith("exit status"):
            return True
        return cause != GOOD_EXIT and not self._said_goodbye(row)

    def _said_goodbye(self, row: Row) -> bool:
        since = row.pane.created_epoch or 0.0
        told = self.books.told(row.name)
        return any(one.kind == SESSION_END and one.at >= since - SAME_MOMENT_S for one in told)


def is_decided(events: Sequence[Event], loss: str) -> bool:
    """Cancelled or given up."""
    return any(one.kind in (CANCELLED, GIVEN_UP) and _is_of(one, loss) for one in events)


def _is_of(event: Event, loss: str) -> bool:
    return event.data.get("loss") == loss


def _since_person(events: Sequence[Event]) -> Sequence[Event]:
    """What came after a person began it last: that clears the account."""
    begun = [
        at
        for at, one in enumerate(events)
        if one.kind in BEGINNINGS and not one.data.get("restart")
    ]
    return events[begun[-1] :] if begun else events


def _lost_since_start(row: Row, events: Sequence[Event]) -> bool:
    """By the order of what was recorded; where another tool wrote the loss, by the times."""
    lives = [one for one in events if one.kind in (*BEGINNINGS, DEAD)]
    if not lives and row.tmux.known:
        raise ValueError(UNTOLD)  # who wrote such a row has told the ledger, which was another one
    if lives and lives[-1].kind == DEAD:
        return True
    lost_at = ended_epoch(row)
    begun_at = lives[-1].at if lives else row.pane.created_epoch
    return lost_at is not None and (begun_at is None or lost_at >= int(begun_at))

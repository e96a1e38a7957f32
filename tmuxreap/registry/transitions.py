"""The state machine of a row: the table of states and events, and the fields that each event
writes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tmuxreap.core.model import EndVerb, Row, Status, StoppedBy
from tmuxreap.core.results import Conversation
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen

Path = tuple[str, ...]


class Remove(Enum):
    """The marker value that deletes a field's key."""

    KEY = "remove"


class RowEvent(Enum):
    """Something that happened to a session; a request for it is an intent."""

    STOPPED = "stopped"
    KILLED = "killed"
    PURGED = "purged"
    FOUND_DEAD = "found_dead"
    SWEPT = "swept"  # processes of an ended row were ended
    STARTED = "started"
    ADOPTED = "adopted"
    RESUMED = "resumed"
    RESTARTED = "restarted"  # in its own pane


R = Status.RUNNING
S = Status.STOPPED
T = Status.TERMINATED
A = Status.ARCHIVED

# STOPPED or KILLED on an ended row: another process ended the row while our stop was in progress.
# SWEPT keeps the status. None: the event cannot happen, and asking for it is a bug.
TRANSITIONS: dict[RowEvent, dict[Status, Status | None]] = {
    RowEvent.STOPPED: {R: S, S: S, T: S, A: S},
    RowEvent.KILLED: {R: S, S: S, T: S, A: S},
    RowEvent.PURGED: {R: T, S: T, T: T, A: T},
    RowEvent.FOUND_DEAD: {R: T, S: None, T: None, A: None},
    RowEvent.SWEPT: {R: None, S: S, T: T, A: A},
    RowEvent.STARTED: {R: R, S: R, T: R, A: R},
    RowEvent.ADOPTED: {R: R, S: R, T: R, A: R},
    RowEvent.RESUMED: {R: R, S: R, T: R, A: R},
    RowEvent.RESTARTED: {R: R, S: R, T: R, A: R},
}

EVENT_OF_VERB: dict[EndVerb, RowEvent] = {
    EndVerb.STOP: RowEvent.STOPPED,
    EndVerb.KILL: RowEvent.KILLED,
    EndVerb.RESTART: RowEvent.STOPPED,  # until the agent is there again
}
MODES: dict[RowEvent, str] = {
    RowEvent.STOPPED: "graceful",
    RowEvent.KILLED: "kill",
    RowEvent.PURGED: "purge",
    RowEvent.FOUND_DEAD: "lost",
}

END_FIELDS = (
    *("stopped_at", "stopped_at_epoch", "terminated_at", "terminated_at_epoch", "stop_reason"),
    *("termination_mode", "stopped_by", "resumable", "scope", "last_visible_status"),
)


Value = str | int | float | bool | None | tuple[str, ...] | Remove
Changes = Mapping[Path, Value]


@frozen
class End:
    """The facts about an ending to be recorded."""

    event: RowEvent
    at: float
    stopped_by: StoppedBy | None = None
    reason: str | None = None
    scope: str | None = None
    conversation: Conversation | None = None
    conversation_field: str | None = None
    resumable: bool | None = None
    screen: str | None = None


def next_status(status: Status, event: RowEvent) -> Status:
    to = TRANSITIONS[event][status]
    if to is None:
        raise ValueError(f"a {status.value} row cannot be {event.value}")
    return to


def end_changes(status: Status, ending: End) -> Changes:
    """Return the fields that this ending writes into a row of this status."""
    to = next_status(status, ending.event)
    if ending.event is RowEvent.SWEPT:
        return {("stopped_by",): _word(ending.stopped_by)}
    if to is Status.TERMINATED:
        word = "terminated"
    else:
        word = "stopped"
    changes: dict[Path, Value] = {
        ("status",): to.value,
        (f"{word}_at",): iso(ending.at),
        (f"{word}_at_epoch",): int(ending.at),
        ("termination_mode",): MODES[ending.event],
    }
    facts = {
        "stop_reason": ending.reason,
        "stopped_by": _word(ending.stopped_by),
        "scope": ending.scope,
        **_conversation(ending),
        "last_visible_status": ending.screen,
    }
    changes.update({(name,): value for name, value in facts.items() if value is not None})
    return changes


def revive_changes(present: set[str]) -> Changes:
    """Return the changes that make an ended row run again: all fields about its end go."""
    changes: dict[Path, Value] = {("status",): Status.RUNNING.value}
    changes.update({(name,): Remove.KEY for name in END_FIELDS if name in present})
    return changes


def wants_restart(row: Row) -> bool:
    """Tell whether the row has any restart policy; cheap, as it is called for every row."""
    return row.data.get("restart") not in (None, "", False, "never")


def is_lost(row: Row) -> bool:
    return row.status.ended and row.data.get("termination_mode") == MODES[RowEvent.FOUND_DEAD]


def _conversation(ending: End) -> dict[str, str | bool | None]:
    facts: dict[str, str | bool | None] = {}
    known = ending.conversation
    if known is not None and known.id is not None and ending.conversation_field is not None:
        facts = {ending.conversation_field: known.id, "conversation_source": known.source}
    facts["resumable"] = ending.resumable
    if ending.event is RowEvent.PURGED:
        facts["resumable"] = False
    return facts


def _word(stopped_by: StoppedBy | None) -> str | None:
    return None if stopped_by is None else stopped_by.value

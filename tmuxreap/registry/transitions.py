"""The state machine of a row: the table of states and events, and the fields that each event
writes; and a row's life: the fields that say what session it means and how that ended, as the
ledger keeps them with each start and each end. Tells whether a row shows an older life than the
ledger knows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from tmuxreap.core.model import EndVerb, Row, Status, StoppedBy, Terminal
from tmuxreap.core.results import Conversation
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen
from tmuxreap.registry.rows import fields_of, read_row

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


Life = Mapping[str, object]

SAME_START_S = 1.0
NESTED = ("pane", "tmux")
BEGINNING = ("agent", "terminal", "tmux_server", "start_command", "store", "conversation_source")
SAME_END = ("status", *END_FIELDS[: END_FIELDS.index("resumable")])


def life_of(row: Row) -> Life:
    own = {field for field, _ in row.conversations}
    kept = {"status", *END_FIELDS, *BEGINNING, *NESTED, *own}
    return {name: value for name, value in row.data.items() if name in kept}


def with_life(row: Row, life: Life) -> Row:
    """Return the row as it was in this life, with all its other fields as they are now."""
    data = {}
    for name, value in row.data.items():
        if name not in END_FIELDS:
            data[name] = value
    inner = {name: {**_inner(row.data, name), **_inner(life, name)} for name in NESTED}
    return read_row(row.index, {**data, **life, **inner})


def with_beginning(row: Row, life: Life) -> Row:
    """Return the row with what it was begun with in this life, and nothing else of it."""
    inner = {name: {**_inner(row.data, name), **_inner(life, name)} for name in NESTED}
    kept = {}
    for name, value in row.data.items():
        if name not in BEGINNING:
            kept[name] = value
    begun = {name: life[name] for name in BEGINNING if name in life}
    return read_row(row.index, {**kept, **begun, **inner})


def life_changes(row: Row, life: Life) -> Changes:
    """Return the changes that give the row this life; what is the same is not written."""
    changes: dict[Path, Value] = {
        (name,): Remove.KEY for name in END_FIELDS if name in fields_of(row) and name not in life
    }
    for name, value in life.items():
        if name in NESTED:
            then = _inner(life, name)
            now = _inner(row.data, name)
            changes.update({(name, key): one for key, one in _differing(now, then).items()})
        else:
            changes.update(
                {(key,): one for key, one in _differing(row.data, {name: value}).items()}
            )
    return changes


def is_ended(life: Life) -> bool:
    return life.get("status") != Status.RUNNING.value


def newer_lives(row: Row, lives: Sequence[Life], before: Sequence[Life]) -> list[Life]:
    """Return the lives that may be newer than the row's, the best first; none if the row says the
    newest, or something that the ledger does not know. `lives`: in their order; `before`: what the
    row said when each of them began."""
    if not lives:
        return []
    newest = lives[-1]
    older = [*lives[:-1], *before]
    if row.status.ended:
        known = not _is_same_end(row, newest) and any(_is_same_end(row, life) for life in older)
        # Without a time, an end that another hand wrote now looks like one from before the start.
        told = row.ended_at is not None or not is_same_process(row, newest)
        return [newest] if known and told else []
    ends = [life for life in lives if is_ended(life) and is_same_process(row, life)]
    if is_ended(newest):
        return [newest] if ends else []
    if is_same_process(row, newest) or not any(is_same_process(row, life) for life in older):
        return []
    return [newest, *ends[-1:]]


def is_same_process(row: Row, life: Life) -> bool:
    """Tell whether both mean one process: by its pid, and by its start where both have it; of a
    session that a server runs without a process, by its seat."""
    pane = _inner(life, "pane")
    tmux = _inner(life, "tmux")
    if row.pane.pid != pane.get("pid"):
        return False
    seat = row.pane.id if row.terminal is Terminal.BACKGROUND else None
    if row.pane.pid is None and (seat is None or seat != pane.get("id")):
        return False
    for mine, known in ((row.tmux.host, tmux.get("host")), (row.tmux.boot_id, tmux.get("boot_id"))):
        if None not in (mine, known) and mine != known:
            return False
    ticks = pane.get("start_ticks")
    started = pane.get("created_epoch")
    if row.pane.start_ticks is not None and ticks is not None:
        return row.pane.start_ticks == ticks
    if row.pane.created_epoch is not None and isinstance(started, (int, float)):
        return abs(row.pane.created_epoch - started) <= SAME_START_S
    return True


def end_key(life: Life) -> str:
    """Return one text that is the same for a row and for a life that show the same end."""
    shown = [life.get(name) for name in SAME_END]
    return repr([*map(_text, shown), _text(_inner(life, "pane").get("pid"))])


def end_key_of(row: Row) -> str:
    return end_key(row.data)


def _is_same_end(row: Row, life: Life) -> bool:
    return end_key_of(row) == end_key(life)


def _differing(now: Life, then: Life) -> dict[str, Value]:
    """Return the plain values that differ; one that is empty on both sides does not."""
    found: dict[str, Value] = {}
    for name, value in then.items():
        if (value is None or isinstance(value, (str, int, float))) and _text(
            now.get(name)
        ) != _text(value):
            found[name] = value
    return found


def _inner(data: Life, name: str) -> Mapping[str, object]:
    value = data.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return None if value is None else str(value)

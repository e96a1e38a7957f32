"""The table of states and events: complete, and each event writes exactly its fields."""

from __future__ import annotations

import pytest

from tmuxreap.core.model import EndVerb, Status, StoppedBy
from tmuxreap.core.results import Conversation
from tmuxreap.core.times import iso
from tmuxreap.registry.transitions import (
    END_FIELDS,
    EVENT_OF_VERB,
    MODES,
    TRANSITIONS,
    End,
    Remove,
    RowEvent,
    end_changes,
    next_status,
    revive_changes,
)

R, S, T, A = Status.RUNNING, Status.STOPPED, Status.TERMINATED, Status.ARCHIVED
AT = 1795000000.75
WHEN = "2026-11-18T11:06:40Z"


def test_the_table_knows_every_event_and_status() -> None:
    assert set(TRANSITIONS) == set(RowEvent)
    for event, row in TRANSITIONS.items():
        assert set(row) == set(Status), event


# The contract: from, event, to.
CONTRACT = {
    (R, RowEvent.STOPPED): S,
    (R, RowEvent.KILLED): S,
    (R, RowEvent.PURGED): T,
    (S, RowEvent.PURGED): T,
    (T, RowEvent.PURGED): T,
    (R, RowEvent.FOUND_DEAD): T,
    (T, RowEvent.STOPPED): S,
    (T, RowEvent.KILLED): S,
    (S, RowEvent.STARTED): R,
    (S, RowEvent.RESUMED): R,
    (S, RowEvent.ADOPTED): R,
    (T, RowEvent.STARTED): R,
    (T, RowEvent.RESUMED): R,
    (T, RowEvent.ADOPTED): R,
    (S, RowEvent.RESTARTED): R,
    (S, RowEvent.SWEPT): S,
    (T, RowEvent.SWEPT): T,
}


@pytest.mark.parametrize(("status", "event"), CONTRACT, ids=lambda value: value.value)
def test_each_transition_is_that_of_the_contract(status: Status, event: RowEvent) -> None:
    assert next_status(status, event) is CONTRACT[status, event]


@pytest.mark.parametrize(
    "event", [event for event in RowEvent if event is not RowEvent.SWEPT], ids=lambda e: e.value
)
def test_archived_behaves_as_stopped_and_is_never_written(event: RowEvent) -> None:
    assert TRANSITIONS[event][A] == TRANSITIONS[event][S]
    assert A not in TRANSITIONS[event].values()


IMPOSSIBLE = [
    (status, event)
    for event, row in TRANSITIONS.items()
    for status, to in row.items()
    if to is None
]


def test_the_impossible_transitions_are_known() -> None:
    assert IMPOSSIBLE == [
        (S, RowEvent.FOUND_DEAD),
        (T, RowEvent.FOUND_DEAD),
        (A, RowEvent.FOUND_DEAD),
        (R, RowEvent.SWEPT),
    ]


@pytest.mark.parametrize(("status", "event"), IMPOSSIBLE, ids=lambda value: value.value)
def test_an_impossible_transition_is_an_internal_error(status: Status, event: RowEvent) -> None:
    with pytest.raises(ValueError, match=f"a {status.value} row cannot be {event.value}"):
        end_changes(status, End(event, AT))


def test_every_verb_that_ends_has_its_event_and_every_ending_its_mode() -> None:
    ending = set(EndVerb) - {
        EndVerb.INTERRUPT,
        EndVerb.SEND,
    }  # they end no session and write no row
    assert {verb: EVENT_OF_VERB[verb] for verb in ending} == {
        EndVerb.STOP: RowEvent.STOPPED,
        EndVerb.KILL: RowEvent.KILLED,
        EndVerb.RESTART: RowEvent.STOPPED,
    }
    assert MODES == {
        RowEvent.STOPPED: "graceful",
        RowEvent.KILLED: "kill",
        RowEvent.PURGED: "purge",
        RowEvent.FOUND_DEAD: "lost",
    }


def known(identifier: str | None = "c-1") -> Conversation:
    return Conversation(identifier, "hook", "/p", exists=True)


def test_a_stop_writes_these_fields() -> None:
    ending = End(
        RowEvent.STOPPED,
        AT,
        StoppedBy.EXIT_KEYS,
        "manual_stop",
        conversation=known(),
        conversation_field="claude_session_id_own",
        resumable=True,
        screen="bye",
    )
    assert end_changes(R, ending) == {
        ("status",): "stopped",
        ("stopped_at",): WHEN,
        ("stopped_at_epoch",): 1795000000,
        ("termination_mode",): "graceful",
        ("stop_reason",): "manual_stop",
        ("stopped_by",): "exit_keys",
        ("claude_session_id_own",): "c-1",
        ("conversation_source",): "hook",
        ("resumable",): True,
        ("last_visible_status",): "bye",
    }


def test_a_purge_keeps_the_id_and_cannot_be_resumed() -> None:
    changes = end_changes(S, End(RowEvent.PURGED, AT, resumable=True))
    assert changes == {
        ("status",): "terminated",
        ("terminated_at",): WHEN,
        ("terminated_at_epoch",): 1795000000,
        ("termination_mode",): "purge",
        ("resumable",): False,
    }


def test_a_session_found_dead_is_lost() -> None:
    changes = end_changes(R, End(RowEvent.FOUND_DEAD, AT, resumable=True))
    assert (changes[("status",)], changes[("termination_mode",)]) == ("terminated", "lost")
    assert changes[("resumable",)] is True


def test_a_sweep_writes_only_what_ended_the_leftovers() -> None:
    ending = End(
        RowEvent.SWEPT,
        AT,
        StoppedBy.SIGKILL,
        "killed",
        conversation=known(),
        resumable=True,
        screen="x",
    )
    assert end_changes(T, ending) == {("stopped_by",): "sigkill"}


@pytest.mark.parametrize("conversation", [None, Conversation(None, None, None, exists=False)])
def test_a_good_id_is_never_replaced_by_nothing(conversation: Conversation | None) -> None:
    ending = End(
        RowEvent.STOPPED, AT, conversation=conversation, conversation_field="claude_session_id_own"
    )
    assert ("claude_session_id_own",) not in end_changes(R, ending)
    assert ("conversation_source",) not in end_changes(R, ending)


def test_an_id_without_a_field_is_not_written() -> None:
    assert all(
        "own" not in path[0]
        for path in end_changes(R, End(RowEvent.STOPPED, AT, conversation=known()))
    )


def test_reviving_removes_every_field_about_the_end() -> None:
    present = {"name", "status", "claude_session_id_own", "tags", *END_FIELDS}
    changes = revive_changes(present)
    assert changes[("status",)] == "running"
    assert {path[0] for path, value in changes.items() if value is Remove.KEY} == set(END_FIELDS)
    assert revive_changes({"name", "stopped_at"}) == {
        ("status",): "running",
        ("stopped_at",): Remove.KEY,
    }


def test_reviving_removes_whatever_an_ending_writes() -> None:
    """All but the conversation, which a session is resumed by."""
    for event in (RowEvent.STOPPED, RowEvent.KILLED, RowEvent.PURGED, RowEvent.FOUND_DEAD):
        ending = End(
            event, AT, StoppedBy.HANGUP, "r", "pane", known(), "x_conversation_id_own", True, "s"
        )
        written = {path[0] for path in end_changes(R, ending)}
        taken = {path[0] for path in revive_changes(written)}
        assert written - taken == {"x_conversation_id_own", "conversation_source"}


def test_times_are_utc_to_the_second() -> None:
    assert iso(AT) == WHEN
    assert iso(0) == "1970-01-01T00:00:00Z"

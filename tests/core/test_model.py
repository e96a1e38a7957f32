"""The model's values and their derived properties."""

from __future__ import annotations

import pytest

from tmuxreap.core.model import (
    Pane,
    Process,
    ProcessId,
    RecordedTmux,
    Server,
    ServerSession,
    Status,
    UnreadSession,
)

PANE = Pane("%3", 100, "/dev/pts/0", False, False, False, False, "@0", False, "off")
SESSION = ServerSession("$1", "acme", 1000, 1000, 0, False, (PANE,))


def test_every_status_but_running_means_ended() -> None:
    assert {status for status in Status if not status.ended} == {Status.RUNNING}


@pytest.mark.parametrize(
    ("state", "dead"), [("S", False), ("R", False), ("T", False), ("Z", True), ("X", True)]
)
def test_a_zombie_is_dead_and_a_suspended_process_is_not(state: str, dead: bool) -> None:
    assert Process(ProcessId(9, 1), 1, 9, 9, 0, 0, state, "node").dead is dead


def test_an_identity_needs_session_creation_and_server() -> None:
    assert RecordedTmux(server_pid=7, session_id="$1", session_created=5).known
    assert not RecordedTmux(session_id="$1", session_created=5).known
    assert not RecordedTmux(server_pid=7, session_created=5).known
    assert not RecordedTmux(server_pid=7, session_id="$1").known


def test_a_server_finds_by_the_whole_name() -> None:
    server = Server("/tmp/s", 50, 900, (SESSION,))
    assert server.named("acme") is SESSION
    assert server.named("acm") is None
    assert SESSION.holds("%3")
    assert not SESSION.holds("%30")


@pytest.mark.parametrize(
    ("unread", "may"),
    [
        (UnreadSession("$1", None), True),
        (UnreadSession("$2", "acme"), False),
        (UnreadSession(None, "acme"), True),
        (UnreadSession(None, "other"), False),
        (UnreadSession(None, None), True),
    ],
)
def test_an_unreadable_pane_hides_the_processes_it_may_own(
    unread: UnreadSession, may: bool
) -> None:
    assert Server("/tmp/s", 50, 900, (), (unread,)).may_hide("$1", "acme") is may

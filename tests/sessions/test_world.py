"""One look as plain data: sessions by their identity, and the pane that a process belongs to."""

from __future__ import annotations

from tmuxreap.core.model import NoServer, Pane, Process, ProcessId, Server, Session
from tmuxreap.core.values import replace
from tmuxreap.sessions.world import by_identity, places_of

PANE = Pane("%3", 100, "/dev/pts/7", False, False, False, False, "@0", False, "off")
DEAD = replace(PANE, id="%4", pid=101, tty="/dev/pts/8", dead=True)
SESSION = Session("$1", "acme", 1000, 1000, 0, False, (PANE, DEAD))
SERVER = Server("/tmp/s", 50, 900, (SESSION,))


def tty_of(path: str) -> int:
    return {"/dev/pts/7": 7, "/dev/pts/8": 8}.get(path, 0)


def process(pid: int, sid: int = 0, tty: int = 0) -> Process:
    return Process(ProcessId(pid, 1), 1, pid, sid, tty, 0, "S", "x")


def test_a_session_is_known_by_socket_id_and_creation() -> None:
    found = by_identity({"/tmp/s": SERVER, "/tmp/none": NoServer("/tmp/none")})
    assert found == {("/tmp/s", "$1", 1000): SESSION}


def test_a_process_belongs_to_a_pane_by_leader_terminal_or_what_it_carries() -> None:
    places = places_of(SERVER, tty_of)
    assert places.of(process(200, sid=100), None) == "%3"
    assert places.of(process(200, tty=7), None) == "%3"
    assert places.of(process(200), "%4") == "%4"
    assert places.of(process(200), "%9") is None


def test_a_dead_pane_has_neither_leader_nor_terminal() -> None:
    places = places_of(SERVER, tty_of)
    assert places.of(process(200, sid=101, tty=8), None) is None
    assert places_of(NoServer("/tmp/s"), tty_of).ids == frozenset()

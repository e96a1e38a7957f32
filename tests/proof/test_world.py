"""One look as plain data: sessions by their identity, and the pane of a process."""

from __future__ import annotations

from tmuxreap.core.model import NoServer, Pane, Process, ProcessId, Server, ServerSession
from tmuxreap.core.values import replace
from tmuxreap.proof.ownership import (
    EVERYTHING,
    Index,
    Sought,
    Trace,
    by_identity,
    by_name,
    candidate_pids,
    places_of,
)

PANE = Pane("%3", 100, "/dev/pts/7", False, False, False, False, "@0", False, "off")
DEAD = replace(PANE, id="%4", pid=101, tty="/dev/pts/8", dead=True)
SESSION = ServerSession("$1", "acme", 1000, 1000, 0, False, (PANE, DEAD))
SERVER = Server("/tmp/s", 50, 900, (SESSION,))


TTYS = {"/dev/pts/7": 7, "/dev/pts/8": 8}


def process(pid: int, sid: int = 0, tty: int = 0) -> Process:
    return Process(ProcessId(pid, 1), 1, pid, sid, tty, 0, "S", "x")


def test_a_session_is_found_by_its_name_on_one_server() -> None:
    sessions = by_name({"/tmp/s": SERVER, "/tmp/none": NoServer("/tmp/none")})
    assert sessions == {("/tmp/s", "acme"): SESSION}
    assert SERVER.named("acme") == SESSION
    assert SERVER.named("other") is None


def test_a_session_is_known_by_socket_id_and_creation() -> None:
    sessions = by_identity({"/tmp/s": SERVER, "/tmp/none": NoServer("/tmp/none")})
    assert sessions == {("/tmp/s", "$1", 1000): SESSION}


def test_a_process_belongs_to_a_pane_by_leader_terminal_or_what_it_carries() -> None:
    places = places_of(SERVER, TTYS)
    assert places.of(process(200, sid=100), None) == "%3"
    assert places.of(process(200, tty=7), None) == "%3"
    assert places.of(process(200), "%3") == "%3"
    assert places.of(process(200), "%9") is None


def test_a_dead_pane_has_neither_leader_nor_terminal() -> None:
    places = places_of(SERVER, TTYS)
    assert places.of(process(200), "%4") is None
    assert places.of(process(200, sid=101, tty=8), None) is None
    assert places_of(NoServer("/tmp/s"), TTYS).ids == frozenset()


def named(wanted: Sought, *processes: Process, **traces: Trace) -> set[int]:
    index = Index.of(
        {one.pid: one for one in processes},
        {int(pid.removeprefix("p")): trace for pid, trace in traces.items()},
    )
    other = ServerSession("$2", "other", 1000, 1000, 0, False, (replace(PANE, id="%5", pid=105),))
    server = replace(SERVER, sessions=(SESSION, other))
    return candidate_pids(index, {"/tmp/s": server}, TTYS, {"/tmp/s": "/tmp/s"}, wanted)


def test_only_processes_that_may_belong_are_asked_for_their_name() -> None:
    pane, child = process(100, sid=100), replace(process(201), ppid=100)
    everyone = (pane, child, process(202, sid=100), process(203, tty=7), process(105), process(900))
    mine = {100, 201, 202, 203}
    for wanted in (Sought(frozenset({"acme"})), Sought(frozenset({"$1"}))):
        assert named(wanted, *everyone) == mine
    assert named(Sought(unregistered=True), *everyone) == {*mine, 105}
    assert named(Sought(pids=frozenset({900})), *everyone) == {900}


def test_a_process_of_a_strangers_pane_is_not_asked() -> None:
    acme = Sought(frozenset({"acme"}))
    here, gone = Trace("m", "/tmp/s,50", "%5"), Trace("m", "/tmp/s,50", "%77")
    assert named(acme, process(300), process(301), p300=here, p301=gone) == {301}
    for trace in (Trace(), Trace(tmux="/tmp/t,7")):  # a trace without a pane is in no session
        assert named(acme, process(300), p300=trace) == set()
        assert named(EVERYTHING, process(300), p300=trace) == {300}
    elsewhere = Trace("m", "/tmp/t,50", "%5")
    assert named(acme, process(300), p300=elsewhere) == {300}

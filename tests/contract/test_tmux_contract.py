"""What the ladder needs from tmux, tested on the fake and on a real, private server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from signal import SIGHUP

import pytest

from tests.contract.tmux_arenas import PLENTY_S, Arena, FakeArena, RealArena, look
from tmuxreap.core.model import (
    ClosePane,
    CloseSession,
    Created,
    LeaveMode,
    NewSession,
    NoServer,
    PasteText,
    SendKeys,
    ServerSession,
    SetOption,
    SetStatus,
    Unreachable,
)
from tmuxreap.core.ports import PaneQuestion
from tmuxreap.core.values import replace


@pytest.fixture(params=["fake", "fake 3.8", pytest.param("real", marks=pytest.mark.live)])
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    if request.param != "real":
        yield FakeArena(tells_pid_of_dead=request.param == "fake")
        return
    real = RealArena(request.getfixturevalue("tmux_socket"))
    try:
        yield real
    finally:
        real.clear()


def again(arena: Arena, session: ServerSession) -> ServerSession:
    return next(one for one in look(arena).sessions if one.id == session.id)


def leader(arena: Arena, session: ServerSession, *, at: int = 0) -> set[object]:
    identity = arena.processes.identify(session.panes[at].pid)
    assert identity is not None
    return {identity}


def gone(arena: Arena, process: set[object], *, within_s: float = PLENTY_S) -> bool:
    return arena.processes.wait(process, within_s) == process  # type: ignore[arg-type]


def option(arena: Arena, pane: str, name: str) -> str | None:
    return arena.tmux.ask(arena.socket, [PaneQuestion(pane, name)])[0]


def test_no_server_is_distinct_from_no_answer(arena: Arena) -> None:
    assert arena.tmux.look(arena.socket) == NoServer(arena.socket)
    assert not arena.tmux.do(arena.socket, [LeaveMode("%0")])
    assert arena.tmux.capture(arena.socket, "%0") is None
    assert option(arena, "%0", "@x") is None


def test_a_look_shows_sessions_panes_and_their_leaders(arena: Arena) -> None:
    session = arena.open("one")
    arena.split(session)
    server = look(arena)
    assert (server.socket, [one.name for one in server.sessions]) == (arena.socket, ["one"])
    session = server.sessions[0]
    assert (session.id, session.attached, session.grouped) == ("$0", 0, False)
    assert server.started <= session.created <= session.activity
    pane, other = session.panes
    assert (pane.id, other.id, pane.window_id, other.window_id) == ("%0", "%1", "@0", "@0")
    assert not (pane.dead or pane.in_mode or pane.synchronized or pane.input_off or pane.linked)
    assert pane.remain_on_exit == "off"
    seen = arena.processes.look()[pane.pid]
    assert (seen.sid, seen.tpgid, seen.ppid) == (pane.pid, pane.pid, server.pid)
    assert seen.tty > 0
    assert pane.tty.startswith("/dev/")


def test_the_program_has_its_marks_and_its_place(arena: Arena) -> None:
    session = arena.open("one")
    identity = arena.processes.identify(session.panes[0].pid)
    assert identity is not None
    environ = arena.processes.environ(identity)
    assert environ is not None
    assert (environ["MARK"], environ["TMUX_PANE"]) == ("m", session.panes[0].id)
    assert environ["TMUX"].startswith(f"{arena.socket},{look(arena).pid},")


def test_a_second_session_of_the_name_is_refused(arena: Arena) -> None:
    arena.open("one")
    new = NewSession("one", "/", ["sleep", "9"])
    assert arena.tmux.create(arena.socket, new) == "duplicate session: one"


def test_a_command_for_a_gone_session_does_no_harm(arena: Arena) -> None:
    """tmux 3.2 crashes when asked for the creation time of a missing session."""
    session, _ = arena.open("a"), arena.open("b")
    server, process = look(arena), leader(arena, session)
    kill = CloseSession(server, session, session.panes)
    arena.tmux.do(arena.socket, [kill])
    assert gone(arena, process)
    arena.tmux.do(arena.socket, [kill, ClosePane(server, session, session.panes[0])])
    assert [one.name for one in look(arena).sessions] == ["b"]
    assert look(arena).pid == server.pid


def test_a_session_is_killed_and_its_neighbours_live(arena: Arena) -> None:
    target, neighbour = arena.open("a"), arena.open("a-2")
    process, other = leader(arena, target), leader(arena, neighbour)
    assert arena.tmux.do(arena.socket, [CloseSession(look(arena), target)])
    assert gone(arena, process)
    assert [session.name for session in look(arena).sessions] == ["a-2"]
    assert not gone(arena, other, within_s=0.0)


@pytest.mark.parametrize(
    "what", ["another server", "another start", "another session", "another moment"]
)
def test_a_session_that_is_not_the_one_seen_is_left_alone(arena: Arena, what: str) -> None:
    session, _ = arena.open("a"), arena.open("b")
    server = look(arena)
    server, session = {
        "another server": (replace(server, pid=server.pid + 1), session),
        "another start": (replace(server, started=server.started - 1), session),
        "another session": (server, replace(session, id="$7")),
        "another moment": (server, replace(session, created=session.created - 1)),
    }[what]
    arena.tmux.do(arena.socket, [CloseSession(server, session)])
    assert [one.name for one in look(arena).sessions] == ["a", "b"]


def test_the_last_session_takes_the_server_with_it(arena: Arena) -> None:
    session = arena.open("one")
    server = look(arena)
    identity = arena.processes.identify(server.pid)
    assert identity is not None
    arena.tmux.do(arena.socket, [CloseSession(server, session)])
    assert gone(arena, {identity})
    assert arena.tmux.look(arena.socket) == NoServer(arena.socket)


def test_a_leader_that_ignores_the_hangup_outlives_its_session(arena: Arena) -> None:
    session, _ = arena.open("one", ignores=(SIGHUP,)), arena.open("two")
    process = arena.processes.identify(session.panes[0].pid)
    assert process is not None
    arena.tmux.do(arena.socket, [CloseSession(look(arena), session)])
    assert look(arena).named("one") is None
    assert arena.processes.wait({process}, 0.1) == set()
    seen = arena.processes.refresh(process)
    assert seen is not None
    assert seen.tty == 0


def test_one_pane_is_killed_and_the_other_lives(arena: Arena) -> None:
    session = arena.open("one")
    arena.split(session)
    session = again(arena, session)
    first, second = leader(arena, session), leader(arena, session, at=1)
    pane = session.panes[0]
    arena.tmux.do(arena.socket, [ClosePane(look(arena), session, replace(pane, pid=pane.pid + 1))])
    assert len(again(arena, session).panes) == 2
    arena.tmux.do(arena.socket, [ClosePane(look(arena), session, pane)])
    assert gone(arena, first)
    assert [one.id for one in again(arena, session).panes] == [session.panes[1].id]
    assert not gone(arena, second, within_s=0.0)


def test_a_pane_is_killed_in_its_own_session_only(arena: Arena) -> None:
    session, neighbour = arena.open("one"), arena.open("two")
    arena.tmux.do(arena.socket, [ClosePane(look(arena), neighbour, session.panes[0])])
    assert [one.name for one in look(arena).sessions] == ["one", "two"]


def test_a_session_that_holds_more_by_now_loses_its_judged_panes_alone(arena: Arena) -> None:
    session, _ = arena.open("one"), arena.open("two")
    arena.split(session)
    first, came = leader(arena, again(arena, session)), leader(arena, again(arena, session), at=1)
    arena.tmux.do(arena.socket, [CloseSession(look(arena), session)])
    assert len(again(arena, session).panes) == 2
    arena.tmux.do(arena.socket, [CloseSession(look(arena), session, session.panes)])
    assert gone(arena, first)
    assert len(again(arena, session).panes) == 1
    assert not gone(arena, came, within_s=0.0)


def test_commands_continue_past_one_that_fails(arena: Arena) -> None:
    session = arena.open("one")
    pane = session.panes[0].id
    assert not arena.tmux.do(arena.socket, [LeaveMode("%99"), SetOption(pane, "@x", "1")])
    assert option(arena, pane, "@x") == "1"
    assert arena.tmux.do(arena.socket, [])


def test_an_option_is_the_panes_own_or_it_is_not_set(arena: Arena) -> None:
    session = arena.open("one")
    pane = session.panes[0].id
    assert option(arena, pane, "remain-on-exit") is None
    assert arena.tmux.do(arena.socket, [SetOption(pane, "remain-on-exit", "on")])
    assert option(arena, pane, "remain-on-exit") == "on"
    assert again(arena, session).panes[0].remain_on_exit == "on"
    assert arena.tmux.do(arena.socket, [SetOption(pane, "remain-on-exit", None)])
    assert option(arena, pane, "remain-on-exit") is None
    assert again(arena, session).panes[0].remain_on_exit == "off"


def test_a_pane_that_remains_keeps_its_screen_and_has_no_other_pid(arena: Arena) -> None:
    session = arena.open("one")
    pane, process = session.panes[0], leader(arena, session)
    stays = SetOption(pane.id, "remain-on-exit", "on")
    arena.tmux.do(arena.socket, [stays, SendKeys(look(arena), pane, text="q")])
    assert gone(arena, process)
    for _ in range(100):
        if again(arena, session).panes[0].dead:
            break
        arena.processes.wait((), 0.01)
    dead = again(arena, session).panes[0]
    assert dead.dead
    assert dead.pid in (pane.pid, None)  # tmux 3.8 no longer reports it
    assert (arena.tmux.capture(arena.socket, pane.id) or "").startswith("ready")
    assert arena.tmux.do(arena.socket, [SendKeys(look(arena), dead, ("q",))])


def test_a_dead_pane_is_killed_as_it_was_seen(arena: Arena) -> None:
    session, _ = arena.open("one"), arena.open("two")
    pane, process = session.panes[0], leader(arena, session)
    stays = SetOption(pane.id, "remain-on-exit", "on")
    arena.tmux.do(arena.socket, [stays, SendKeys(look(arena), pane, text="q")])
    assert gone(arena, process)
    for _ in range(100):
        if again(arena, session).panes[0].dead:
            break
        arena.processes.wait((), 0.01)
    dead = again(arena, session).panes[0]
    arena.tmux.do(arena.socket, [ClosePane(look(arena), session, replace(dead, pid=7))])
    assert len(look(arena).sessions) == 2
    arena.tmux.do(arena.socket, [ClosePane(look(arena), session, dead)])
    assert [one.name for one in look(arena).sessions] == ["two"]


def test_text_and_keys_reach_the_program(arena: Arena) -> None:
    session, _ = arena.open("one"), arena.open("two")
    process = leader(arena, session)
    server, pane = look(arena), session.panes[0]
    arena.tmux.do(
        arena.socket, [SendKeys(server, pane, text="-l Enter;"), SendKeys(server, pane, ("Up",))]
    )
    assert not gone(arena, process, within_s=0.1)
    arena.tmux.do(arena.socket, [SendKeys(server, pane, ("q",))])
    assert gone(arena, process)
    for _ in range(100):
        if len(look(arena).sessions) == 1:
            break
        arena.processes.wait((), 0.01)
    assert [one.name for one in look(arena).sessions] == ["two"]


def test_a_pane_in_a_mode_gets_no_key_until_it_is_left(arena: Arena) -> None:
    session = arena.open("one")
    pane, process = session.panes[0].id, leader(arena, session)
    key = SendKeys(look(arena), session.panes[0], text="q")
    arena.enter_mode(pane)
    assert again(arena, session).panes[0].in_mode
    assert arena.tmux.do(arena.socket, [key])
    assert not gone(arena, process, within_s=0.1)
    assert again(arena, session).panes[0].in_mode
    assert arena.tmux.do(arena.socket, [LeaveMode(pane), LeaveMode(pane)])
    assert not again(arena, session).panes[0].in_mode
    arena.tmux.do(arena.socket, [key])
    assert gone(arena, process)


def test_a_paste_reaches_the_program_and_leaves_no_buffer(arena: Arena) -> None:
    session = arena.open("one")
    pane, process = session.panes[0], leader(arena, session)
    server = look(arena)
    arena.enter_mode(pane.id)
    assert arena.tmux.do(arena.socket, [PasteText(server, pane, "q")])
    assert not gone(arena, process, within_s=0.1)
    assert arena.buffers() == ""
    arena.tmux.do(
        arena.socket, [LeaveMode(pane.id), PasteText(server, pane, "-x $HOME #{pane_id}; ")]
    )
    assert not gone(arena, process, within_s=0.1)
    arena.tmux.do(arena.socket, [PasteText(server, pane, "q")])
    assert gone(arena, process)
    assert arena.buffers() == ""


def test_a_key_for_one_pane_is_not_pressed_where_several_would_get_it(arena: Arena) -> None:
    session = arena.open("one")
    arena.split(session)
    session = again(arena, session)
    pane = session.panes[0]
    arena.tmux.do(
        arena.socket, [SetOption(one.id, "synchronize-panes", "on") for one in session.panes]
    )
    assert all(one.synchronized for one in again(arena, session).panes)
    first, second = leader(arena, session), leader(arena, session, at=1)
    key = SendKeys(look(arena), pane, text="q")
    assert arena.tmux.do(arena.socket, [key])
    assert not gone(arena, first | second, within_s=0.1)
    arena.tmux.do(arena.socket, [SetOption(pane.id, "synchronize-panes", "off"), key])
    assert gone(arena, first)
    assert not gone(arena, second, within_s=0.1)


@pytest.mark.parametrize("what", ["another server", "another start", "another program"])
def test_a_pane_that_is_not_the_one_seen_gets_no_key(arena: Arena, what: str) -> None:
    session = arena.open("one")
    server, pane, process = look(arena), session.panes[0], leader(arena, session)
    server, pane = {
        "another server": (replace(server, pid=server.pid + 1), pane),
        "another start": (replace(server, started=server.started - 1), pane),
        "another program": (server, replace(pane, pid=(pane.pid or 0) + 1)),
    }[what]
    assert arena.tmux.do(
        arena.socket, [SendKeys(server, pane, ("q",)), SendKeys(server, pane, text="q")]
    )
    assert not gone(arena, process, within_s=0.1)


def test_a_session_whose_pane_remains_is_made_with_its_last_words(arena: Arena) -> None:
    arena.open("one")
    new = NewSession("short", "/", ["sh", "-c", "exit 7"], remains=True)
    made = arena.tmux.create(arena.socket, new)
    assert isinstance(made, Created)
    found = look(arena).named("short")
    assert found is not None
    assert (found.id, [pane.id for pane in found.panes]) == (made.session, [made.pane])
    assert found.panes[0].remain_on_exit == "on"


def test_the_status_is_shown_where_it_is_wanted_for_this_registry(arena: Arena) -> None:
    arena.open("one")
    idle, none = SetStatus("/r/a b,}.yaml", "1 idle; #{pid}"), SetStatus("/r/a b,}.yaml", None)
    arena.tmux.do(arena.socket, [idle])
    assert arena.option("@tmuxreap-status") == ""
    arena.option("@tmuxreap-segment", "on")
    arena.tmux.do(arena.socket, [idle])
    assert arena.option("@tmuxreap-status") == "1 idle; #{pid}"
    arena.option("@tmuxreap-registry", "/r/other.yaml")
    arena.tmux.do(arena.socket, [none])
    assert arena.option("@tmuxreap-status") == "1 idle; #{pid}"
    arena.option("@tmuxreap-registry", "/r/a b,}.yaml")
    arena.tmux.do(arena.socket, [none])
    assert arena.option("@tmuxreap-status") == ""


def test_the_screen_is_text_without_its_empty_end(arena: Arena) -> None:
    session = arena.open("one")
    assert arena.tmux.capture(arena.socket, session.panes[0].id) == "ready"
    assert arena.tmux.capture(arena.socket, "%99") is None


def test_the_screen_can_be_read_with_its_styles(arena: Arena) -> None:
    pane = arena.open("one").panes[0].id
    plain, styled = arena.tmux.ask(
        arena.socket, [PaneQuestion(pane), PaneQuestion(pane, styled=True)]
    )
    assert (plain, (styled or "").partition("ready")[0]) == ("ready", "\x1b[2m")


def test_many_questions_are_answered_in_one_call(arena: Arena) -> None:
    pane = arena.open("one").panes[0].id
    asked = [
        PaneQuestion(pane),
        PaneQuestion("%99"),
        PaneQuestion(pane, "@x"),
        PaneQuestion(pane, "@y"),
        PaneQuestion("%99", "@x"),
    ]
    first = [
        SetOption("%99", "@x", "1"),
        SetOption(pane, "@x", "two words"),
    ]
    assert arena.tmux.ask(arena.socket, asked, first) == ["ready", None, "two words", None, None]
    assert arena.tmux.ask(arena.socket, [PaneQuestion(pane, joined=True)]) == ["ready"]
    assert arena.tmux.ask(arena.socket, []) == []


def test_a_server_that_hangs_is_not_gone(arena: Arena) -> None:
    session = arena.open("one")
    arena.hang()
    seen = arena.tmux.look(arena.socket)
    assert isinstance(seen, Unreachable)
    assert (seen.missing, seen.denied) == (False, False)
    assert not arena.tmux.do(arena.socket, [LeaveMode(session.panes[0].id)])
    assert arena.tmux.capture(arena.socket, session.panes[0].id) is None


def test_a_server_of_another_user_is_not_gone(arena: Arena) -> None:
    arena.open("one")
    arena.deny()
    seen = arena.tmux.look(arena.socket)
    assert isinstance(seen, Unreachable)
    assert seen.denied


def test_a_socket_that_was_deleted_is_not_a_server_that_is_gone(tmux_socket: str) -> None:
    arena = RealArena(tmux_socket)
    arena.open("one")
    server = look(arena).pid
    Path(tmux_socket).unlink()
    seen = arena.tmux.look(tmux_socket)
    assert isinstance(seen, Unreachable)
    assert f"kill -USR1 {server}" in seen.hint
    os.kill(server, 10)
    for _ in range(200):
        if Path(tmux_socket).exists():
            break
        arena.processes.wait((), 0.01)
    assert look(arena).pid == server

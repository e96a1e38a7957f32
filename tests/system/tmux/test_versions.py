"""What a tmux version leaves empty, leaves out or prints differently, for each field and kind of
row: one odd pane never makes a server unreadable, and never a session dead."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from tests.fakes import FakePane, FakeTmux, Story
from tmuxreap.commands import adopt
from tmuxreap.commands import list as listing
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.start import check_name
from tmuxreap.core import answers
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import (
    Created,
    Live,
    NewSession,
    Outcome,
    Pane,
    Server,
    ServerLook,
    ServerSession,
    Unreachable,
)
from tmuxreap.core.results import Ending
from tmuxreap.core.values import replace
from tmuxreap.system.tmux.server import RealTmux
from tmuxreap.system.tmux.versions import FIELDS, server_of, spellings, unpadded

MISSING = "(missing)"
ODD = ["", MISSING, "what", "-1", "1e9", "٣", "9" * 40, "a b", "$", "/"]
END = "=:100:1000\n"
NAMES = tuple(FIELDS)
EACH = [*product(NAMES, ODD)]


def line(session: ServerSession, pane: Pane) -> list[str]:
    """A line as tmux 3.2 to 3.7 print it."""
    return [
        session.id,
        str(session.created),
        str(session.activity),
        "7",
        str(session.attached),
        "",
        pane.window_id,
        "1",
        pane.id,
        "" if pane.pid is None else str(pane.pid),
        str(int(pane.dead)),
        str(int(pane.in_mode)),
        str(int(pane.synchronized)),
        str(int(pane.input_off)),
        pane.tty,
        pane.remain_on_exit,
        session.name,
    ]


def text(
    server: Server, spoil: Callable[[ServerSession, list[str]], list[str]] = lambda _, words: words
) -> str:
    lines = [":".join(spoil(one, line(one, pane))) for one in server.sessions for pane in one.panes]
    return "".join(f"{each}\n" for each in [*lines, f"=:{server.pid}:{server.started}"])


def spoiled(words: Sequence[str], field: str, value: str) -> list[str]:
    at = NAMES.index(field)
    return [*words[:at], *([] if value == MISSING else [value]), *words[at + 1 :]]


class OddTmux(FakeTmux):
    """A server with one odd field in one session, parsed like a real one."""

    def __init__(self, told: FakeTmux, name: str, field: str, value: str) -> None:
        self.__dict__ = told.__dict__
        self._spoils = (name, field, value)

    def look(self, socket: str) -> ServerLook:
        seen = super().look(socket)
        if not isinstance(seen, Server):
            return seen
        name, field, value = self._spoils
        said = text(
            seen, lambda one, words: spoiled(words, field, value) if one.name == name else words
        )
        return server_of(socket, said) or Unreachable(socket, "odd", "odd")


def pane(**facts: Any) -> Pane:
    known: dict[str, Any] = {
        "id": "%0",
        "pid": 7,
        "tty": "/dev/pts/1",
        "dead": False,
        "in_mode": False,
        "synchronized": False,
        "input_off": False,
        "window_id": "@0",
        "linked": False,
        "remain_on_exit": "off",
    }
    return Pane(**{**known, **facts})


def session(number: int, name: str, *panes: Pane) -> ServerSession:
    return ServerSession(f"${number}", name, 5, 7, 0, False, panes)


def test_fields_that_tmux_reports_are_read_back_unchanged() -> None:
    server = Server(
        "/s",
        100,
        1000,
        (
            session(0, "a", pane(), pane(id="%1", in_mode=True, synchronized=True, input_off=True)),
            session(1, "b: c.d", pane(id="%2", pid=None, dead=True, remain_on_exit="on")),
        ),
    )
    assert server_of("/s", text(server)) == server


@pytest.mark.parametrize(
    "said", ["", "\n", "=:1\n", "=:1:\n", " =:1:2\n", "=:1:2:3\n", "=:x:1\n", "$0:5\n"]
)
def test_output_without_our_own_last_line_is_no_answer(said: str) -> None:
    assert server_of("/s", said) is None
    assert (
        server_of(
            "/s", text(Server("/s", 1, 2, (session(0, "a", pane()),))).replace("=:1:2\n", said)
        )
        is None
    )


def test_a_server_without_sessions_is_an_answer() -> None:
    assert server_of("/s", END) == Server("/s", 100, 1000, ())


def test_a_dead_pane_of_tmux_3_8_without_pid_is_accepted() -> None:
    told = (
        "$0:5:7:7:0::@0:1:%0::1:0:0:0:/dev/pts/1:on:a\n"
        "$1:5:7:7:0::@1:1:%1:9:0:0:0:0:/dev/pts/2:off:b\n"
    )
    server = server_of("/s", told + END)
    assert server is not None
    assert not server.unread
    assert [(one.name, one.panes[0].pid, one.panes[0].dead) for one in server.sessions] == [
        ("a", None, True),
        ("b", 9, False),
    ]


def test_a_pane_that_lives_without_a_pid_hides_its_session_alone() -> None:
    told = (
        "$0:5:7:7:0::@0:1:%0::0:0:0:0:/dev/pts/1:on:a\n"
        "$1:5:7:7:0::@1:1:%1:9:0:0:0:0:/dev/pts/2:off:b\n"
    )
    server = server_of("/s", told + END)
    assert server is not None
    assert server.unread
    assert [one.name for one in server.sessions] == ["b"]


@pytest.mark.parametrize(("field", "value"), EACH)
def test_a_session_is_never_reported_with_fewer_panes_than_it_has(field: str, value: str) -> None:
    """A hidden pane could be busy with something else, and would be closed with the session."""
    both = Server(
        "/s", 1, 2, (session(0, "a", pane(), pane(id="%1")), session(1, "b", pane(id="%2")))
    )
    told = text(both).split("\n")
    told[1] = ":".join(spoiled(told[1].split(":"), field, value))
    seen = server_of("/s", "\n".join(told))
    assert seen is not None
    assert [len(one.panes) for one in seen.sessions if one.name == "a"] in ([2], [])
    assert [one.name for one in seen.sessions if one.name != "a"] == ["b"]
    assert bool(seen.unread) == (len(seen.sessions) < 2)


def each_that_is_read_differently() -> list[tuple[str, str]]:
    """Return one of all fields and values that leave the same after the parsing: the rest of the
    program knows of no other. The odd pane is alive, or is all that a pane can be."""
    alive, neighbour = session(0, "a", pane()), session(1, "b", pane(id="%2"))
    flags = ("dead", "in_mode", "synchronized", "input_off", "linked")
    other = pane(pid=None, remain_on_exit="on", **dict.fromkeys(flags, True))
    found: dict[tuple[Server | None, ...], tuple[str, str]] = {}
    for field, value in EACH:
        read = []
        for odd in (alive, replace(alive, attached=2, panes=(other,))):
            told = text(Server("/s", 1, 2, (odd, neighbour))).split("\n")
            told[0] = ":".join(spoiled(told[0].split(":"), field, value))
            read.append(server_of("/s", "\n".join(told)))
        found.setdefault(tuple(read), (field, value))
    return list(found.values())


def told_oddly(story: Story, name: str, field: str, value: str) -> None:
    story.tmux = OddTmux(story.tmux, name, field, value)


def foreign_row(story: Story, name: str) -> None:
    """A row as another tool writes it."""
    text_before = story.path.read_text()
    lines = text_before.splitlines(keepends=True)
    at = next(number for number, each in enumerate(lines) if f'"name": "{name}"' in each)
    row = json.loads(lines[at].strip()[2:])
    del row["tmux"]
    row["pane"] = {"pid": row["pane"]["pid"]}
    lines[at] = f"  - {json.dumps(row)}\n"
    story.path.write_text("".join(lines))


@pytest.mark.parametrize("ours", [True, False], ids=["our row", "another tool's"])
@pytest.mark.parametrize(("field", "value"), each_that_is_read_differently())
def test_a_single_wrong_field_never_means_dead(
    field: str, value: str, ours: bool, story: Story
) -> None:
    odd, other = story.agent("odd"), story.agent("other")
    if not ours:
        foreign_row(story, "odd")
        foreign_row(story, "other")
    told_oddly(story, "odd", field, value)
    rows = listing.run(story.app(), listing.ListRequest((), None, False, None)).results
    listed = {one.name: one.live for one in rows if isinstance(one, answers.Session)}
    assert listed["other"] is Live.ALIVE
    assert listed["odd"] in (Live.ALIVE, Live.UNKNOWN, Live.REPLACED)
    before = story.path.read_bytes()
    told = reconcile.run(story.app()).as_json()["drifts"]
    assert not [one for one in told if one["drift"] in ("dead", "agent_gone", "survivors")]  # type: ignore[attr-defined]
    assert story.path.read_bytes() == before
    reap.run(story.app(), reap.ReapRequest((Kind.IDLE, Kind.ORPHAN), yes=True))
    assert story.processes.refresh(odd.process) is not None
    assert story.row("odd")["status"] == story.row("other")["status"] == "running"
    ended = {one.name: one for one in story.stop("odd", "other").results if isinstance(one, Ending)}
    assert ended["other"].outcome is Outcome.STOPPED
    assert story.processes.refresh(other.process) is None
    gone = story.processes.refresh(odd.process) is None
    assert (ended["odd"].outcome is Outcome.STOPPED) == gone
    assert story.row("odd")["status"] == ("stopped" if gone else "running")
    if not gone:
        assert ended["odd"].error is not None
        assert Code.of(ended["odd"].error.code) in (Code.TMUX_UNREACHABLE, Code.SESSION_REPLACED)


@pytest.mark.parametrize("ours", [True, False], ids=["our row", "another tool's"])
def test_every_stop_ends_as_before_where_a_dead_pane_has_no_pid(ours: bool, story: Story) -> None:
    story.agent("acme", shell=False)
    story.tmux.tells_pid_of_dead = False
    if not ours:
        foreign_row(story, "acme")
    result = story.stop("acme").results[0]
    assert isinstance(result, Ending)
    assert (result.outcome, result.error) == (Outcome.STOPPED, None)
    assert result.stopped_by is not None
    assert result.stopped_by.value == "exit_keys"


@pytest.mark.parametrize("ours", [True, False], ids=["our row", "another tool's"])
def test_a_dead_pane_without_a_pid_is_the_recorded_one(ours: bool, story: Story) -> None:
    agent = story.agent("acme")
    story.tmux.tells_pid_of_dead = False
    if not ours:
        foreign_row(story, "acme")
    story.tmux.change(agent.pane, remain_on_exit="on")
    story.processes.die(agent.process)
    result = story.stop("acme").results[0]
    assert isinstance(result, Ending)
    assert (result.outcome, result.error, result.pid) == (
        Outcome.STOPPED,
        None,
        agent.process.pid,
    )
    assert result.stopped_by is not None
    assert result.stopped_by.value == "already_gone"


def renamed(story: Story, pane: FakePane, *, pid: bool) -> None:
    """A row of another tool, created with a tmux before 3.6."""
    (server,) = story.tmux.servers.values()
    one = next(one for one in server.sessions if pane in one.panes)
    one.name = "my_app"
    if pid:
        foreign_row(story, "my.app")
    else:
        text_before = story.path.read_text()
        story.path.write_text(text_before[: text_before.index('  - {"name": "my.app"')])
        story.add_row(
            {"name": "my.app", "status": "running", "agent": "demo", "store": str(story.store)}
        )


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("plain", ("plain",)),
        ("my.app", ("my_app",)),
        ("a:b", ("a_b",)),
        ("a\\b", ("a\\\\b",)),
        ("a$b", (r"a\$b", r"a\\$b")),
    ],
)
def test_all_spellings_of_a_name_are_known(name: str, seen: tuple[str, ...]) -> None:
    assert set(seen) <= set(spellings(name)) <= {name, *seen}


@pytest.mark.live
@pytest.mark.parametrize("name", ["plain", "my.app", "a:b", "a\\b", "a$b", "x.y$z"])
def test_this_tmux_spells_a_name_in_a_known_way(name: str, tmux_socket: str) -> None:
    tmux = RealTmux(os.environ)
    assert isinstance(tmux.create(tmux_socket, NewSession(name, "/", ["sleep", "99"])), Created)
    server = tmux.look(tmux_socket)
    assert isinstance(server, Server)
    assert server.sessions[0].name in spellings(name)


@pytest.mark.parametrize(
    "name", ["my.app", "a:b", "a\\b", "a$b", "a\tb", "a\x85b", "a\u200bb", "a\udcffb", ""]
)
def test_start_refuses_a_name_that_tmux_would_change(name: str) -> None:
    with pytest.raises(Failure) as refused:
        check_name(name)
    assert refused.value.code is Code.USAGE


def test_a_session_whose_name_tmux_has_changed_is_known_by_its_pid(story: Story) -> None:
    agent = story.agent("my.app")
    renamed(story, agent.pane, pid=True)
    assert reconcile.run(story.app()).as_json()["drifts"] == []
    result = story.stop("my.app").results[0]
    assert isinstance(result, Ending)
    assert result.outcome is Outcome.STOPPED
    assert story.row("my.app")["status"] == "stopped"


def test_a_session_without_a_pid_is_not_called_dead_and_can_be_adopted(story: Story) -> None:
    agent = story.agent("my.app")
    renamed(story, agent.pane, pid=False)
    before = story.path.read_bytes()
    (drift,) = reconcile.run(story.app()).as_json()["drifts"]  # type: ignore[misc]
    assert (drift["drift"], drift["hint"]) == ("replaced", "tmuxreap adopt my.app")
    result = story.stop("my.app").results[0]
    assert isinstance(result, Ending)
    assert (result.outcome, result.error and Code.of(result.error.code)) == (
        Outcome.REFUSED,
        Code.SESSION_REPLACED,
    )
    assert story.path.read_bytes() == before
    adopt.run(story.app(), adopt.AdoptRequest("my.app", "demo"))
    ended = story.stop("my.app").results[0]
    assert isinstance(ended, Ending)
    assert ended.outcome is Outcome.STOPPED
    assert story.processes.refresh(agent.process) is None


def test_a_session_with_a_similar_name_is_left_alone(story: Story) -> None:
    """The row's process is gone, and the session of the changed name has no agent."""
    name, neighbour = ("my.app", story.tmux.open(story.SOCKET, "my_app", "vim"))
    story.add_row({"name": name, "status": "running", "agent": "demo", "pane": {"pid": 99999}})
    story.stop(name)
    assert story.processes.refresh(neighbour.panes[0].process) is not None
    assert story.row(name)["status"] == "stopped"


def test_lines_that_are_filled_up_are_read_without_the_filling() -> None:
    assert unpadded("hello      \n\nResume: x --id 1   \n") == "hello\n\nResume: x --id 1\n"


@pytest.mark.parametrize("screen", ["> ", "> half a thought \n", "", "a\n  b\n"])
def test_a_line_with_a_prompt_stays(screen: str) -> None:
    assert unpadded(screen) == screen

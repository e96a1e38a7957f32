"""Which session and which pane a row means: the same, gone, or unknown."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story, sight
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import (
    NoServer,
    Pane,
    RecordedPane,
    RecordedTmux,
    Row,
    Server,
    ServerSession,
    Terminal,
    Unreachable,
)
from tmuxreap.core.values import replace
from tmuxreap.proof.identity import (
    find_session,
    pick_pane,
    pid_of,
    same_server,
    unreachable_failure,
    unreadable_failure,
    why_unknown,
)
from tmuxreap.proof.ownership import World
from tmuxreap.proof.sight import Past

UNREACHABLE = Unreachable("/tmp/s", "it hangs", "wait")
PANE = Pane("%0", 100, "/dev/pts/0", False, False, False, False, "@0", False, "off")


@pytest.fixture
def seen(story: Story) -> tuple[Row, Server, World]:
    story.agent()
    app = story.app()
    row, world = app.registry.look().named("acme"), app.observer.look([story.SOCKET], 0)
    server = world.servers[story.SOCKET]
    assert isinstance(server, Server)
    assert row is not None
    return row, server, world


def code(result: object) -> str | None:
    return result.code.text if isinstance(result, Failure) else None


def test_the_recorded_session_is_found_with_its_pane(seen: tuple[Row, Server, World]) -> None:
    row, server, world = seen
    session = find_session(row, server, None, world, Past())
    assert isinstance(session, ServerSession)
    assert pick_pane(row, session, None, world, Past()) == session.panes[0]


def test_no_server_is_gone_and_a_later_session_of_the_name_is_another(
    seen: tuple[Row, Server, World],
) -> None:
    row, server, world = seen
    assert find_session(row, NoServer(server.socket), None, world, Past()) is None
    later = replace(row, tmux=replace(row.tmux, session_created=1))
    assert code(find_session(later, server, None, world, Past())) == "session_replaced"


def test_a_pane_found_elsewhere_was_moved(seen: tuple[Row, Server, World]) -> None:
    row, server, world = seen
    (session,) = server.sessions
    other = replace(session, id="$7", name="other")
    failure = find_session(
        row, replace(server, sessions=(other,)), None, replace(world, sessions={}), Past()
    )
    assert code(failure) == "session_replaced"
    assert "its pane is in the session other now" in str(failure)


def test_a_row_of_another_host_cannot_be_checked_from_here(seen: tuple[Row, Server, World]) -> None:
    row, server, world = seen
    far = replace(row, tmux=replace(row.tmux, host="elsewhere"))
    assert why_unknown(row, server, world) is None
    failure = why_unknown(far, server, world)
    assert (code(failure), failure and failure.hint) == (
        "tmux_unreachable",
        "run the command on elsewhere",
    )
    headless = replace(row, terminal=Terminal.NONE)
    assert why_unknown(headless, UNREACHABLE, world) is None
    assert code(why_unknown(row, UNREACHABLE, world)) == "tmux_unreachable"


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ({}, "tmux_unreachable"),
        ({"missing": True}, "tmux_missing"),
        ({"denied": True}, "permission_denied"),
    ],
)
def test_each_reason_why_tmux_was_not_asked_has_a_code(why: dict[str, bool], expected: str) -> None:
    failure = unreachable_failure("stop acme", replace(UNREACHABLE, **why))
    assert (failure.code.text, failure.message) == (expected, "could not stop acme: it hangs")


def test_a_list_that_was_read_in_part_says_nothing_of_who_is_not_in_it(
    seen: tuple[Row, Server, World],
) -> None:
    from tmuxreap.core.model import UnreadSession

    _, server, _ = seen
    assert unreadable_failure("look at acme", server, "acme") is None
    spoilt = replace(server, unread=(UnreadSession(None, "acme"),))
    assert code(unreadable_failure("look at acme", spoilt, "acme")) == "tmux_unreachable"
    assert unreadable_failure("look at other", spoilt, "other") is None


def test_a_server_is_the_same_by_boot_start_and_pid(seen: tuple[Row, Server, World]) -> None:
    row, server, world = seen
    assert same_server(row, server, world)
    for other in ({"boot_id": "before"}, {"server_started": 1}, {"server_pid": 1}):
        assert not same_server(replace(row, tmux=replace(row.tmux, **other)), server, world)
    assert not same_server(row, UNREACHABLE, world)


def test_a_dead_pane_has_the_recorded_pid() -> None:
    row = replace(
        Row("acme", agent=None, tmux_server=None, tmux=RecordedTmux()),
        pane=RecordedPane(pid=7),
    )
    assert pid_of(row, None) == 7
    assert pid_of(row, replace(PANE, pid=None)) == 7
    assert pid_of(row, PANE) == 100


def test_two_indistinguishable_panes_are_reported(seen: tuple[Row, Server, World]) -> None:
    row, server, world = seen
    strange = replace(row, pane=RecordedPane(), tmux=RecordedTmux())
    (session,) = server.sessions
    both = replace(session, panes=(*session.panes, PANE))
    failure = pick_pane(strange, both, None, world, Past())
    assert code(failure) == "ambiguous_pane"
    assert isinstance(failure, Failure)
    assert "--whole-session" in failure.hint


def as_of_another_tool(story: Story, pid: int) -> None:
    """Leave one row: as another tool writes it, with that pid."""
    row = {"name": "acme", "status": "running", "agent": "demo", "pane": {"pid": pid}}
    story.path.write_text("tmux_sessions:\n")
    story.add_row(row)


def test_an_agent_whose_pane_was_moved_here_is_not_the_one_that_is_gone(story: Story) -> None:
    """Its own pane is gone, and a person has joined the pane of another agent to its session."""
    acme, other = story.agent(), story.agent("other")
    server = story.tmux.servers[story.SOCKET]
    story.tmux.join(other.pane, server.sessions[0])
    story.processes.die(acme.process)
    assert sight(story).agent == ()
    (told,) = story.stop("acme").results
    assert story.processes.alive(other.process)
    assert told.error is not None
    assert told.error.code == "foreign_panes"
    assert story.row("other")["status"] == "running"


def test_another_session_of_the_name_is_not_taken_for_one_that_was_moved(story: Story) -> None:
    """Another tool's row has no identity; its agent lives in a neighbor's session."""
    mine = story.agent()
    as_of_another_tool(story, mine.process.pid)
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    story.tmux.join(mine.pane, quiet)
    later = story.tmux.open(story.SOCKET, "acme", *DEMO).panes[0].process
    (told,) = story.stop("acme").results
    assert told.error is not None
    assert told.error.code == "session_replaced"
    assert story.processes.alive(mine.process)
    assert story.processes.alive(later)


@pytest.mark.parametrize(
    ("words", "socket", "is_unknown"),
    [
        (DEMO, "/run/user/tmux-1/default", True),
        (("make",), "/run/user/tmux-1/default", False),
        (DEMO, "/run/user/tmux-1/other", False),
        (DEMO, Story.SOCKET, False),
        (DEMO, "", False),
    ],
)
def test_a_row_whose_agent_lives_on_another_socket_of_that_name_is_unknown(
    story: Story, words: tuple[str, ...], socket: str, is_unknown: bool
) -> None:
    """Of a unit, say, whose TMUX_TMPDIR is another."""
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    process = story.processes.add(*words, new_session=True, environ={"TMUX": f"{socket},9,0"})
    pane = {"pid": process.pid, "cwd": "/"}
    story.add_row({"name": "acme", "status": "running", "agent": "demo", "pane": pane})
    trouble = sight(story).trouble
    assert (trouble is not None and "lives on" in trouble.message) is is_unknown

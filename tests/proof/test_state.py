"""An agent's state: whether its report or its screen counts, and how few screens are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.agents.conversations.records import Record
from tmuxreap.agents.hooks.events import FRESH_S
from tmuxreap.agents.screens import State, read_screen
from tmuxreap.commands import list as listing
from tmuxreap.commands import show
from tmuxreap.commands.list import ListRequest
from tmuxreap.commands.watch.watch import texts
from tmuxreap.core.model import AgentState
from tmuxreap.core.ports import PaneQuestion
from tmuxreap.ledger.records import Heartbeat, Pulse
from tmuxreap.proof.state import CACHED_ABOVE, ScreenState, judge, screen_state

NOW = 10_000.0
WORKING, WAITING, LIMITED = AgentState.WORKING, AgentState.WAITING, AgentState.LIMITED
IDLE, UNKNOWN = AgentState.IDLE, AgentState.UNKNOWN


def said(state: str, ago: float, kind: str = "tool_before") -> Pulse:
    return Pulse(kind, state, NOW - ago, None)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    one = Story(tmp_path)
    yield one
    one.close()


@pytest.mark.parametrize(
    ("word", "screen", "drawn_ago", "state", "source"),
    [
        (said("working", 5), ScreenState(WAITING), 1, WAITING, "screen"),  # a dialog wins
        (said("working", 5), ScreenState(LIMITED), 1, LIMITED, "screen"),
        (said("waiting", 5), ScreenState(WORKING), 1, WAITING, "hook"),  # a recent report counts
        (said("idle", 5, "heartbeat"), ScreenState(WORKING), 1, IDLE, "heartbeat"),
        (
            said("idle", FRESH_S + 5),
            ScreenState(WORKING),
            500,
            IDLE,
            "hook",
        ),  # nothing was drawn since
        (said("idle", FRESH_S + 5), ScreenState(WORKING), 1, WORKING, "screen"),
        (said("idle", FRESH_S + 5), None, None, IDLE, "hook"),  # no screen can be read
        (
            said("idle", FRESH_S + 5),
            ScreenState(WORKING),
            None,
            WORKING,
            "screen",
        ),  # this tmux reports no time
        (
            said("ended", 5),
            ScreenState(IDLE),
            1,
            IDLE,
            "screen",
        ),  # it reported its end, but lives
        (said("", 5), ScreenState(), 1, UNKNOWN, "screen"),
        (None, ScreenState(WORKING), 1, WORKING, "screen"),
        (None, None, None, UNKNOWN, None),
    ],
)
def test_the_newer_of_report_and_screen_gives_the_state(
    word: Pulse | None,
    screen: ScreenState | None,
    drawn_ago: float | None,
    state: AgentState,
    source: str | None,
) -> None:
    report = judge(word, screen, None if drawn_ago is None else NOW - drawn_ago, NOW)
    assert (report.state, report.source) == (state, source)


def test_a_state_is_dated_by_its_source() -> None:
    assert judge(said("waiting", 7), ScreenState(WAITING), NOW - 1, NOW).since == NOW - 7
    assert judge(None, ScreenState(IDLE), NOW - 30, NOW).since == NOW - 30
    assert judge(None, ScreenState(WORKING), NOW - 1, NOW).since is None


@pytest.mark.parametrize("shown", ["> ", "working, again in 5 s", "[Enter] try again"])
def test_a_limit_wins_over_all_else_that_its_screen_shows(shown: str) -> None:
    marks = {"limited": re.compile(r"limit reached, resets (?P<until>\S+)")}
    patterns = {
        State.IDLE: re.compile(r"^> \Z", re.MULTILINE),
        State.BUSY: re.compile("working"),
        State.DIALOG: re.compile("Enter"),
    }
    met = read_screen(f"limit reached, resets 3pm\n{shown}", patterns, marks)
    assert screen_state(met) == ScreenState(LIMITED, "3pm")
    assert screen_state(read_screen(shown, patterns, marks)).state is not LIMITED


@pytest.mark.parametrize(
    ("on_screen", "state"),
    [("idle", "idle"), ("draft", "idle"), ("busy", "working"), ("dialog", "waiting")],
)
def test_list_and_show_tell_what_the_screen_shows(story: Story, on_screen: str, state: str) -> None:
    story.agent(
        state="idle" if on_screen == "draft" else on_screen,
        draft="fix" if on_screen == "draft" else "",
    )
    for answer in (listing.run(story.app(), ListRequest()), show.run(story.app(), ("acme",))):
        session = answer.as_json()["results"][0]  # type: ignore[index]
        assert (session["state"], session["state_source"]) == (state, "screen")


def test_an_agent_that_is_gone_has_no_state(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.die(agent.process)
    (session,) = listing.run(story.app(), ListRequest()).results
    facts = session.as_json()
    assert (facts["live"], facts["state"], facts["state_source"]) == ("agent_gone", None, None)


def test_a_report_of_an_earlier_life_does_not_count(story: Story) -> None:
    story.agent()
    with story.ledger() as ledger:
        ledger.record_heartbeat(
            Heartbeat("acme", story.clock.now() - 1e6, "working", "prompt", None, {})
        )
    (session,) = listing.run(story.app(), ListRequest()).results
    assert session.as_json()["state"] == "idle"


def test_the_screens_of_a_server_are_asked_for_in_one_call(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        story.agent(f"a{number}")
    asked = calls(story, monkeypatch)
    listing.run(story.app(), ListRequest())
    assert [len(questions) for questions in asked] == [5]


def test_only_screens_that_changed_are_read_again(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(CACHED_ABOVE + 1):
        story.agent(f"a{number}")
    with story.ledger():
        pass
    story.clock.sleep(10)
    asked = calls(story, monkeypatch)
    first = listing.run(story.app(), ListRequest()).as_json()["results"]
    again = listing.run(story.app(), ListRequest()).as_json()["results"]
    assert [one["state"] for one in first] == [one["state"] for one in again]  # type: ignore[index]
    assert [len(questions) for questions in asked] == [CACHED_ABOVE + 1]


def test_the_status_line_counts_sessions_by_state(story: Story) -> None:
    story.agent("one", state="busy")
    story.agent("two", state="dialog")
    story.agent("three", state="busy")
    app = story.app()
    rows = app.registry.look().usable
    sights = [sight for sight, _ in app.sights.with_pasts(rows)]
    assert texts(sights, app.states.of(rows, sights)) == {story.SOCKET: "2 working, 1 waiting"}


def calls(story: Story, monkeypatch: pytest.MonkeyPatch) -> list[list[PaneQuestion]]:
    asked: list[list[PaneQuestion]] = []
    ask = story.tmux.ask

    def counted(socket: str, questions: list[PaneQuestion], first: object = ()) -> object:
        asked.append(list(questions))
        return ask(socket, questions, first)  # type: ignore[arg-type]

    monkeypatch.setattr(story.tmux, "ask", counted)
    return asked


def test_an_idle_record_outweighs_a_report_of_work() -> None:
    """An interrupted turn calls no hook."""
    idle = Record(State.IDLE)
    assert judge(said("working", 5), ScreenState(IDLE), NOW - 1, NOW, idle).state is IDLE
    assert judge(said("working", 5), ScreenState(IDLE), NOW - 1, NOW).state is WORKING
    report = judge(said("idle", 5), ScreenState(WORKING), NOW - 1, NOW, idle)
    assert (report.state, report.source) == (IDLE, "hook")


def test_a_record_is_believed_where_a_view_hides_the_input() -> None:
    """Of another screen that no pattern knows it may be old."""
    idle = Record(State.IDLE)
    for is_view, state, source in ((True, IDLE, "record"), (False, UNKNOWN, "screen")):
        report = judge(None, ScreenState(is_view=is_view), NOW - 1, NOW, idle)
        assert (report.state, report.source) == (state, source)


def test_a_turn_that_its_conversation_records_counts_until_its_end(story: Story) -> None:
    """Of an agent that streams without a word on its screen."""
    agent = story.agent()
    turns = {"began": '"began"', "ended": '"ended"'}
    folder = story.folder / ".config" / "tmuxreap"
    folder.mkdir(parents=True)
    told = {"agents": {"demo": {"conversation": {"goes_on": turns}}}}
    (folder / "agents.yaml").write_text(json.dumps(told))
    (story.store / "sessions" / f"{agent.process.pid}.json").unlink()  # its record would say idle
    path = story.store / "conversations" / f"{agent.conversation}.jsonl"
    for line, state in (('{"began": 1}', "working"), ('{"ended": 1}', "idle")):
        with path.open("a") as file:
            file.write(f"{line}\n")
        (session,) = listing.run(story.app(), ListRequest()).results
        assert session.as_json()["state"] == state

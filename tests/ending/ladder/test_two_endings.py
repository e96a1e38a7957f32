"""Two endings of one session: the second joins, takes over, or finishes what the first began."""

from __future__ import annotations

from signal import SIGHUP, SIGKILL, SIGTERM

from tests.ending.ladder.test_execute import STUBBORN, facts, only
from tests.fakes import Story
from tmuxreap.core.results import Result
from tmuxreap.ledger.records import Busy, Closing, NewIntent

OTHER_PID = 99_000


def another(story: Story, name: str = "acme", reason: str = "theirs") -> NewIntent:
    """Record the intent of another, live process."""
    owner = story.processes.identify(OTHER_PID) or story.processes.add("tmuxreap", pid=OTHER_PID)
    return NewIntent(
        name, "stop", reason, "agent", owner, story.BOOT, story.clock.now() + 40, (), "{}"
    )


def begin(story: Story, new: NewIntent) -> int:
    with story.ledger() as ledger:
        begun = ledger.begin_intent(
            new, owner_alive=lambda _: True, take_over=False, now=story.clock.now()
        )
    assert not isinstance(begun, Busy)
    return begun.intent.id


def test_a_second_stop_sends_nothing_and_reports_the_first_outcome(story: Story) -> None:
    agent = story.agent()
    number = begin(story, another(story))

    def close() -> None:
        with story.ledger() as ledger:
            ledger.close_intent(
                Closing(number, "stopped", {"name": "acme", "outcome": "stopped"}),
                story.clock.now(),
            )

    story.processes.after(1.0, close)
    before = story.path.read_bytes()
    result = story.stop()
    answer = only(result)
    assert (answer["name"], answer["outcome"], answer["joined"]) == ("acme", "stopped", True)
    assert (agent.heard, story.processes.signals, story.told()) == ([], [], [])
    assert story.path.read_bytes() == before


def test_a_joined_stop_fails_as_its_owner_failed(story: Story) -> None:
    story.agent()
    number = begin(story, another(story))
    error = {"code": "permission_denied", "message": "could not stop acme", "hint": "as them"}
    with story.ledger() as ledger:
        story.processes.after(0.5, lambda: None)
        result = {"name": "acme", "outcome": "survived", "error": error}
        story.processes.after(
            1.0,
            lambda: (
                ledger.close_intent(Closing(number, "survived", result), story.clock.now()) and None
            ),
        )
        assert int(story.stop().exit) == 5


def test_the_next_stop_finishes_what_a_dead_owner_began(story: Story) -> None:
    agent = story.agent()
    begin(story, another(story))
    story.processes.die(story.processes.identify(OTHER_PID))  # type: ignore[arg-type]
    assert facts(story.stop(), "outcome", "stopped_by", "joined") == ("stopped", "exit_keys", False)
    assert agent.heard == ["/exit", "Enter"]


def test_an_owner_that_dies_while_it_is_waited_for_is_succeeded(story: Story) -> None:
    story.agent()
    begin(story, another(story))
    owner = story.processes.identify(OTHER_PID)
    story.processes.after(1.0, lambda: story.processes.die(owner))  # type: ignore[arg-type]
    assert facts(story.stop(), "outcome", "joined") == ("stopped", False)


def test_a_kill_takes_over_and_the_first_writes_nothing(story: Story) -> None:
    story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    story.processes.add("tmuxreap", pid=OTHER_PID)
    killed: list[Result] = []
    rows: list[str] = []

    def kill() -> None:
        killed.append(story.kill(pid=OTHER_PID, grace_s=0))
        rows.append(story.path.read_text())

    story.processes.after(4.0, kill)
    result = story.stop()
    assert facts(killed[0], "outcome", "stopped_by") == ("killed", "sigkill")
    assert facts(result, "outcome", "stopped_by", "error") == ("taken_over", None, None)
    assert story.path.read_text() == rows[0]
    assert story.row()["termination_mode"] == "kill"
    assert story.app().books.open_intents() == {}


def test_a_kill_that_takes_over_keeps_the_first_from_its_next_rung(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM}, unkillable=True)
    story.processes.add("tmuxreap", pid=OTHER_PID)
    story.processes.after(1.0, lambda: story.kill(pid=OTHER_PID, force=False, grace_s=0) and None)
    assert facts(story.stop(), "outcome") == ("taken_over",)
    assert agent.pane.options == {}  # what was changed for the keys is restored
    assert SIGKILL not in story.signals_to(agent.process)


def test_every_ending_closes_its_intent(story: Story) -> None:
    story.agent(**STUBBORN)
    story.stop(force=False)
    assert story.app().books.open_intents() == {}

"""When a lost session is restarted, by how many processes at once, and when no more."""

from __future__ import annotations

import pytest

from tests.fakes import Story, row_of
from tests.restarting import die, kinds, lost, wanting, write
from tmuxreap.commands.watch import restarting
from tmuxreap.commands.watch.restarting import AT_ONCE, Restarts
from tmuxreap.core.answers import Change
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger import surroundings as stored
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.under_way import Pending


class FakeChild:
    """A restart process that does its work on request."""

    def __init__(self, story: Story, one: Pending) -> None:
        self.id = story.processes.add("tmuxreap")
        self.one = one
        self.app = story.app(self.id.pid)
        self.closed = False

    def work(self) -> None:
        restarting.bring_back(self.app, self.one.name, self.one.loss, self.one.tried)

    def close(self) -> None:
        self.closed = True


class Desk:
    """Restarts in the story, and what was reported."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.told: list[Change] = []
        self.children: list[FakeChild] = []
        self.restarts = Restarts(story.app(), self.told.append, self._begin)  # type: ignore[arg-type]

    def _begin(self, context: Context, one: Pending) -> FakeChild:
        child = FakeChild(self.story, one)
        self.children.append(child)
        return child

    def see(self) -> None:
        self.restarts.see(self.story.app().registry.look().usable)

    def due_in(self) -> float:
        return self.restarts.next_at - self.story.clock.monotonic()

    def go_on(self) -> None:
        """Go to the next restart, and finish it."""
        self.story.clock.move_to(self.restarts.next_at)
        self.restarts.run_due()
        self.end()

    def end(self, *, works: bool = True) -> None:
        gone: list[ProcessId] = []
        for child in self.children:
            if child.id in self.restarts.processes:
                if works:
                    child.work()
                gone.append(child.id)
        self.restarts.ended(gone)

    @property
    def events(self) -> list[object]:
        return [one.event for one in self.told]


@pytest.fixture
def desk(story: Story) -> Desk:
    return Desk(story)


def crash(story: Story) -> None:
    """Crash the restarted session."""
    leader = story.processes.identify(int(row_of(story).pane.pid or 0))
    assert leader is not None
    story.processes.die(leader)
    from tmuxreap.commands.reconcile import reconcile

    reconcile.settle(story.app(), cause_of={"acme": "SIGKILL"}.get)


def test_a_crash_loop_is_paced_and_given_up_at_its_limit(story: Story, desk: Desk) -> None:
    lost(story)
    write(story, "acme", restart_limit="3/10m")
    pauses = []
    for _ in range(3):
        desk.see()
        pauses.append(round(desk.due_in(), 3))
        desk.go_on()
        crash(story)
    desk.see()
    assert pauses == [1.0, 2.0, 4.0]
    assert desk.due_in() == float("inf")
    assert desk.events == ["restarted"] * 3 + ["restart_given_up"]
    assert [one.by for one in desk.told[-4:]] == ["watch"] * 3 + [None]
    last = desk.told[-1]
    assert (last.hint, last.evidence) == (
        "tmuxreap resume acme",
        "it was started again 3 times within 10m",
    )
    desk.see()
    assert kinds(story).count("restart_given_up") == 1


def test_two_watches_start_it_once(story: Story, desk: Desk) -> None:
    other = Desk(story)
    lost(story)
    for one in (desk, other):
        one.see()
    for one in (desk, other):
        one.go_on()
    assert kinds(story) == ["dead", "restarting", "resumed"]
    assert (desk.events, other.events) == (["restarted"], [])
    assert other.due_in() == float("inf")


def test_two_watches_that_begin_in_the_same_moment_start_one(story: Story, desk: Desk) -> None:
    """The second has its process before the first has claimed its attempt."""
    other = Desk(story)
    lost(story)
    for one in (desk, other):
        one.see()
        story.clock.move_to(one.restarts.next_at)
        one.restarts.run_due()
    child = desk.children[0]
    story.tmux.open(story.SOCKET, "acme", "bash")  # its attempt is refused
    child.work()
    other.end()
    assert kinds(story) == ["dead", "restarting", "restart_failed"]
    assert other.events == []  # the watch with the attempt reports the outcome
    assert round(other.due_in(), 3) == 2.0


def test_two_watches_give_up_and_one_reports_it(story: Story, desk: Desk) -> None:
    other = Desk(story)
    lost(story)
    write(story, "acme", restart_limit="rather often")
    for one in (desk, other, desk):
        one.see()
    assert (desk.events, other.events) == (["restart_given_up"], [])
    assert "is no limit" in str(desk.told[0].evidence)


def test_a_cancelled_restart_starts_no_process(story: Story, desk: Desk) -> None:
    lost(story)
    desk.see()
    story.stop()
    story.clock.move_to(desk.restarts.next_at)
    desk.restarts.run_due()
    assert desk.children == []
    assert desk.due_in() == float("inf")


def test_restarts_are_limited_at_once_and_the_others_follow(story: Story, desk: Desk) -> None:
    for number in range(AT_ONCE + 2):
        lost(story, f"n{number}", message=False)
    desk.see()
    story.clock.move_to(desk.restarts.next_at)
    desk.restarts.run_due()
    assert (len(desk.children), desk.due_in()) == (AT_ONCE, float("inf"))
    desk.end()
    desk.restarts.run_due()
    assert len(desk.children) == AT_ONCE + 2
    desk.end()
    assert all(child.closed for child in desk.children)


def test_a_process_that_could_record_nothing_is_tried_again_later(story: Story, desk: Desk) -> None:
    lost(story)
    desk.see()
    pauses = []
    for _ in range(3):
        pauses.append(round(desk.due_in(), 3))
        story.clock.move_to(desk.restarts.next_at)
        desk.restarts.run_due()
        desk.end(works=False)
    assert pauses == [1.0, 2.0, 4.0]
    desk.go_on()
    assert desk.events == ["restarted"]


def test_a_session_resumed_by_hand_is_left_alone(story: Story, desk: Desk) -> None:
    lost(story)
    desk.see()
    write(story, "acme", status="running", termination_mode=None)
    desk.see()
    assert desk.due_in() == float("inf")


def test_the_surroundings_are_kept_while_a_restart_may_come(story: Story, desk: Desk) -> None:
    wanting(story)
    desk.see()
    assert stored.kept(story.app().books, "acme") is not None
    die(story, cause="exit status 0")
    desk.see()
    assert (desk.due_in(), desk.events) == (float("inf"), [])


def test_a_stranger_with_the_pid_of_a_lost_session_is_not_its_surroundings(
    story: Story, desk: Desk
) -> None:
    wanting(story)
    pid = story.agents["acme"].process.pid
    die(story)
    story.processes.add("make", pid=pid, environ={"SECRET": "theirs"})
    Desk(story).see()
    assert "SECRET" not in (stored.kept(story.app().books, "acme") or {})

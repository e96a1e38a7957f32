"""Sets: what one stop, kill or reap ended is found again, and nothing else."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands import resume
from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.resume import ResumeRequest
from tmuxreap.commands.targets import known_sets
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import LONGEST_NAME, EndingOptions, make_policy
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.targets import LAST


def taken(story: Story, name: str, *targets: str) -> list[str]:
    request = ResumeRequest(targets, print_only=True, set_name=name)
    return [item.name for item in resume.run(story.app(), request).results]


def missing(story: Story, name: str) -> Failure:
    with pytest.raises(Failure) as caught:
        taken(story, name)
    return caught.value


def sets_of(result: Result) -> list[object]:
    return [item.as_json()["set"] for item in result.results]


def test_an_ending_has_a_set_in_answer_and_events(story: Story) -> None:
    story.agent("a")
    story.agent("b")
    result = story.stop("a", "b", set_name="evening")
    assert sets_of(result) == ["evening", "evening"]
    assert result.as_json()["set"] == "evening"
    ends = [event for event in story.ledger().events() if event.kind == "stopped"]
    assert [event.data["set"] for event in ends] == ["evening", "evening"]


def test_a_set_without_a_name_has_an_id_of_its_own(story: Story) -> None:
    story.agent("a")
    story.agent("b")
    first, second = story.stop("a"), story.kill("b")
    assert sets_of(first) == [first.more["set"]]
    assert first.more["set"] != second.more["set"]
    assert taken(story, str(first.more["set"])) == ["a"]


def test_a_plan_has_no_id_that_nothing_will_have(story: Story) -> None:
    story.agent("a")
    assert sets_of(story.stop("a", dry_run=True)) == [None]
    assert sets_of(story.stop("a", dry_run=True, set_name="evening")) == ["evening"]


def test_the_newest_end_of_a_row_decides(story: Story) -> None:
    for name in ("a", "b"):
        story.agent(name)
    story.stop("a", "b", set_name="evening")
    story.path.write_text("tmux_sessions: []\n")
    story.agent("a2")
    story.stop("a2", set_name="noon")
    assert missing(story, "evening").code is Code.SESSION_NOT_REGISTERED
    assert taken(story, "noon") == ["a2"]


def test_the_last_set_is_that_of_the_newest_stop_or_kill(story: Story) -> None:
    assert missing(story, LAST).code is Code.SESSION_NOT_REGISTERED
    story.agent("a")
    story.agent("b")
    story.stop("a", set_name="one")
    story.kill("b", set_name="two")
    reaped = {"set": "three", "ended_by": {"tool": "reap"}}
    story.app().books.note_all([NewEvent("c", "stopped", reaped)])
    assert taken(story, LAST) == ["b"]


def test_a_stop_that_ended_nothing_is_not_the_last(story: Story) -> None:
    story.agent("a")
    story.stop("a", set_name="one")
    story.stop("a", set_name="two")
    assert taken(story, LAST) == ["a"]


def test_targets_narrow_a_set(story: Story) -> None:
    for name in ("a", "b"):
        story.agent(name)
    story.stop("a", "b", set_name="evening")
    assert taken(story, "evening", "b") == ["b"]


def test_resume_by_set_names_sessions_that_run_again(story: Story) -> None:
    for name in ("a", "b"):
        story.agent(name)
    story.stop("a", "b", set_name="evening")
    story.path.write_text(story.path.read_text().replace("stopped", "running", 1))
    result = resume.run(story.app(), ResumeRequest((), print_only=True, set_name="evening"))
    assert [item.name for item in result.results] == ["b"]
    assert "session_exists: a of the set evening run again" in result.warnings


def test_an_end_by_another_tool_after_a_new_start_leaves_the_set(story: Story) -> None:
    story.agent("a")
    story.stop("a", set_name="evening")
    story.app().books.note_all([NewEvent("a", "resumed", {})])
    assert missing(story, "evening").code is Code.SESSION_NOT_REGISTERED


def test_leftovers_that_are_swept_later_leave_a_row_in_its_set(story: Story) -> None:
    story.agent("a")
    story.stop("a", set_name="evening")
    left = story.processes.add("helper", environ={"TMUXREAP_ID": "mark-of-a"}, new_session=True)
    story.app().books.remember_mark("a", "mark-of-a")
    story.kill("a", set_name="later")
    assert story.processes.refresh(left) is None
    assert taken(story, "evening") == ["a"]


def test_a_set_is_kept_when_another_process_finishes_the_ending(story: Story) -> None:
    agent = story.agent("a")
    story.agent("b")
    story.stop("b", set_name="noon")
    app = story.app()
    from tmuxreap.ending.policy import Policy

    row = app.registry.look().named("a")
    assert row is not None
    policy = Policy(EndVerb.STOP, "night", set_name="evening")
    ender_of(app).planning.begin(
        ender_of(app).planning.prepare([row], policy), policy, lambda _: None
    )
    app.books.release([app.books.latest_intent()])
    story.processes.die(agent.process)
    reconcile.run(story.app())
    assert taken(story, "evening") == ["a"]
    assert known_sets(story.app().books) == ["evening", "noon"]


@pytest.mark.parametrize(
    "name", ["", " ", LAST, "a\nb", "\x1b[2J", "x" * (LONGEST_NAME + 1), " evening", "\udcff"]
)
def test_a_name_that_could_not_be_used_is_refused(name: str) -> None:
    with pytest.raises(Failure, match="could not name the set") as caught:
        make_policy(EndVerb.STOP, EndingOptions(set_name=name), {})
    assert caught.value.code is Code.USAGE


def test_a_name_of_any_script_is_taken() -> None:
    options = EndingOptions(set_name="夜 evening-1")
    assert make_policy(EndVerb.STOP, options, {}).in_set == "夜 evening-1"

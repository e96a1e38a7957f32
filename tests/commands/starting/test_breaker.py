"""The breaker: three failures of one kind are enough for a resume of several."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.resume import LEFT_WITHIN_S, Breaker
from tmuxreap.core.answers import Launched
from tmuxreap.core.errors import Code
from tmuxreap.core.results import Problem

REST = ("x", "y")
MESSAGE = "could not start {}: its command ended within 1 s; its last screen:\nno licence"


def failed(name: str, code: Code = Code.START_FAILED) -> Launched:
    return Launched(name, error=Problem(code.text, MESSAGE.format(name), ""))


def test_three_failed_starts_in_a_row_halt_and_the_cause_is_reported_once(story: Story) -> None:
    breaker = Breaker(story.app(), 3)
    items = [failed(name) for name in "abc"]
    for item in items:
        assert breaker.halt(REST, None) is None
        breaker.note(item)
    halt = breaker.halt(REST, None)
    assert halt is not None
    assert halt.failure.code is Code.RESUME_HALTED
    assert halt.not_tried == REST
    assert "(x, y)" in halt.failure.message
    assert halt.failure.hint == "when that is fixed: tmuxreap resume x y"
    told = [item.error.message for item in breaker.told_once(items) if item.error]
    assert told[0] == "could not start a: its command ended within 1 s"
    assert (*told, halt.failure.message)[-1].count("no licence") == 1
    assert not any("no licence" in message for message in told)


def test_the_hint_of_a_halt_names_the_set(story: Story) -> None:
    breaker = Breaker(story.app(), 1)
    breaker.note(failed("a"))
    halt = breaker.halt(REST, "evening")
    assert halt is not None
    assert halt.failure.hint == "when that is fixed: tmuxreap resume --set evening"


def test_a_successful_start_resets_the_count(story: Story) -> None:
    breaker = Breaker(story.app(), 2)
    alive = story.agent("b").process
    for item in (failed("a"), Launched("b", pid=alive.pid), failed("c")):
        breaker.note(item)
    assert breaker.halt(REST, None) is None


@pytest.mark.parametrize("code", [Code.NOT_RESUMABLE, Code.CONVERSATION_IN_USE])
def test_a_refusal_does_not_count(story: Story, code: Code) -> None:
    breaker = Breaker(story.app(), 1)
    breaker.note(failed("a", code))
    assert breaker.halt(REST, None) is None


@pytest.mark.parametrize(("after_s", "halts"), [(1.0, True), (LEFT_WITHIN_S + 1, False)])
def test_agents_that_exit_at_once_halt_a_resume(story: Story, after_s: float, halts: bool) -> None:
    breaker = Breaker(story.app(), 3)
    agents = [story.agent(name).process for name in "abc"]
    for name, process in zip("abc", agents, strict=True):
        breaker.note(Launched(name, pid=process.pid))
        story.clock.move_to(story.clock.monotonic() + after_s)
        assert breaker.halt(REST, None) is None
    story.clock.move_to(story.clock.monotonic() + after_s)
    for process in agents:
        story.processes.die(process)
    halt = breaker.halt(REST, None)
    assert (halt is not None) is halts
    if halt is not None:
        assert "3 agents left within 10 s of their start: a, b, c" in halt.failure.message


def test_no_limit_never_halts(story: Story) -> None:
    breaker = Breaker(story.app(), 0)
    for name in "abcd":
        breaker.note(failed(name))
    assert breaker.halt(REST, None) is None

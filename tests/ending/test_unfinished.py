"""What a dead owner left of an ending is completed by another: done, reported, restored."""

from __future__ import annotations

import json

from tests.fakes import Story
from tmuxreap.commands.endings import ender_of
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, ProcessId
from tmuxreap.core.values import replace
from tmuxreap.ending.end import restore_options
from tmuxreap.ending.policy import Policy, set_of
from tmuxreap.ledger.records import Intent, NewIntent, PaneOption
from tmuxreap.sessions.context import Context

DEAD = ProcessId(4242, 1)


def left(story: Story, **plan: object) -> Intent:
    """The intent of a dead owner."""
    wanted = NewIntent(
        name="acme",
        verb="stop",
        reason="enough",
        scope="agent",
        owner=DEAD,
        boot_id=story.BOOT,
        deadline=story.clock.now() + 9,
        options=(),
        plan=json.dumps(plan),
    )
    with story.ledger() as ledger:
        ledger.begin_intent(
            wanted, owner_alive=lambda _: False, take_over=False, now=story.clock.now()
        )
        (intent,) = ledger.open_intents()
        return intent


def seen_to(story: Story, **plan: object) -> Context:
    intent, context = left(story, **plan), story.app()
    row = context.registry.look().usable[0]
    ender_of(context).finish_recorded([], [(row, intent)])
    return context


def finish_ending(story: Story, name: str, policy: Policy) -> str:
    return ender_of(story.app()).finish_ending(name, policy, spares_lost=None)


def test_reconcile_finishes_a_kill_that_was_begun(story: Story) -> None:
    story.agent()
    done = finish_ending(story, "acme", Policy(EndVerb.KILL, "enough"))
    assert (done, story.row()["status"]) == ("finished its kill", "stopped")


def test_a_row_that_has_gone_has_nothing_left_to_end(story: Story) -> None:
    assert finish_ending(story, "acme", Policy(EndVerb.STOP, "enough")) == "finished its stop"


def test_an_unreachable_tmux_is_named_as_the_reason(story: Story) -> None:
    story.agent()
    story.tmux.hung.add(story.SOCKET)
    message = finish_ending(story, "acme", Policy(EndVerb.STOP, "enough"))
    assert message.startswith("could not look at acme: ")
    assert story.row()["status"] == "running"


def test_options_are_put_back_as_they_were(story: Story) -> None:
    pane = story.agent().pane
    pane.options.update({"remain-on-exit": "on", "synchronize-panes": "off"})
    before = {"remain-on-exit": None, "synchronize-panes": "on"}
    restore_options(
        story.tmux,
        [PaneOption(story.SOCKET, pane.now.id, name, value) for name, value in before.items()],
    )
    assert pane.options == {"synchronize-panes": "on"}


def test_a_plan_without_task_and_worktree_leaves_nothing_to_finish(story: Story) -> None:
    story.agent()
    assert seen_to(story).warnings == []


def test_a_worktree_that_cannot_go_is_a_warning(story: Story) -> None:
    story.agent()
    text = story.path.read_text()
    story.path.write_text(text.replace('"name": "acme"', '"name": "acme", "worktree": "/nowhere"'))
    (warning,) = seen_to(story, cleanup=True).warnings
    assert warning.startswith("cleanup_failed: could not remove the worktree of acme")


def test_without_the_list_of_spared_programs_a_kill_is_finished_and_a_stop_is_not(
    story: Story,
) -> None:
    agent = story.agent()
    lost = Failure(Code.CONFIG_INVALID, "agents.yaml, line 3")
    endings = ender_of(story.app())
    told = endings.finish_ending("acme", Policy(EndVerb.STOP, "enough"), spares_lost=lost)
    assert "agents.yaml, line 3" in told
    assert story.processes.alive(agent.process)
    endings.finish_ending("acme", Policy(EndVerb.KILL, "enough"), spares_lost=lost)
    assert not story.processes.alive(agent.process)


def test_endings_that_an_owner_left_unfinished_are_in_a_set_of_its_own(story: Story) -> None:
    story.agent()
    intent = left(story)
    assert set_of(intent) == f"{DEAD.pid}-{DEAD.start}"
    assert set_of(replace(intent, verb="restart")) is None

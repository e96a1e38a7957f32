"""Promise 6: no key approves a dialog, submits a half-typed prompt, or reaches another pane, mode
or program."""

from __future__ import annotations

from signal import SIGSTOP

import pytest

from tests.fakes import FakeAgent, Story
from tests.real import Real, answer
from tmuxreap.core.values import replace


def keys_rung(story: Story, **policy: object) -> object:
    (item,) = story.stop(**policy).results
    rungs = item.as_json()["rungs"]
    assert isinstance(rungs, list)
    return rungs[0]["skipped"]


def test_a_dialog_gets_an_escape_first_and_is_never_approved(story: Story) -> None:
    agent = story.agent(state="dialog")
    assert keys_rung(story) is None
    assert agent.heard == ["Escape", "/exit", "Enter"]
    assert not agent.approved
    assert agent.submitted == []


def test_a_draft_is_kept_before_it_is_cleared_and_never_sent(story: Story) -> None:
    agent = story.agent(state="draft", draft="half a thought")
    cleared_at: list[int] = []

    def pressed(key: str) -> None:
        if key in ("C-u", "C-c"):
            with story.ledger() as ledger:
                cleared_at.append(sum(event.kind == "draft" for event in ledger.events()))
        agent.press(key)

    agent.pane.on_key = pressed
    story.stop()
    assert cleared_at[0] == 1, "the draft stands in the ledger before the key that clears it"
    assert agent.submitted == []


def test_a_draft_that_reads_as_the_word_to_leave_is_a_draft(story: Story) -> None:
    agent = story.agent(draft="/exit")
    (told,) = story.stop().results
    with story.ledger() as ledger:
        kept = [event.data["text"] for event in ledger.events() if event.kind == "draft"]
    assert kept == ["/exit"]
    assert told.as_json()["draft"]["chars"] == 5  # type: ignore[index]
    assert agent.submitted == []


def test_a_prompt_typed_at_the_last_moment_is_not_sent(story: Story) -> None:
    """A user types between our /exit and our Enter."""
    agent = story.agent()
    story.processes.after(0.05, lambda: typed(agent, " and one more thing"))
    story.stop()
    assert agent.submitted == []
    with story.ledger() as ledger:
        assert [event.data["text"] for event in ledger.events() if event.kind == "draft"] == [
            "/exit and one more thing"
        ]


def typed(agent: FakeAgent, text: str) -> None:
    agent.draft += text
    agent.draw()


def test_a_dialog_that_opens_at_the_last_moment_is_not_approved(story: Story) -> None:
    agent = story.agent()

    def ask() -> None:
        agent.state = "dialog"
        agent.draw()

    story.processes.after(0.05, ask)
    story.stop()
    assert not agent.approved
    assert "Enter" not in agent.heard


def test_a_dialog_that_opens_during_the_safe_keys_is_not_approved(story: Story) -> None:
    agent = story.agent(state="busy")

    def ask() -> None:
        agent.state = "dialog"
        agent.draw()

    story.processes.after(0.5, ask)
    story.stop()
    assert not agent.approved


def test_a_screen_that_says_nothing_gets_no_enter(story: Story) -> None:
    agent = story.agent()
    agent.pane.screen = "something that nobody knows"
    agent.pane.on_key = agent.heard.append
    story.stop()
    assert "Enter" not in agent.heard
    assert "/exit" not in agent.heard


def test_an_unknown_agent_gets_no_keys(story: Story) -> None:
    agent = story.agent()
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', '"agent": "stranger"'))
    assert keys_rung(story) == "no keys are known for this agent"
    assert agent.pane.typed == []


@pytest.mark.parametrize("state", ["idle", "busy", "dialog"])
def test_an_agent_whose_process_alone_is_known_gets_no_keys(story: Story, state: str) -> None:
    blocks = story.folder / ".config" / "tmuxreap" / "agents.yaml"
    blocks.parent.mkdir(parents=True)
    blocks.write_text("agents:\n  parrot:\n    process: [tmuxreap.demo_agent]\n")
    agent = story.agent(state=state)
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', '"agent": "parrot"'))
    assert keys_rung(story) == "no keys are known for this agent"
    assert agent.pane.typed == []
    assert not story.processes.alive(agent.process)


def test_another_program_in_front_gets_no_keys(story: Story) -> None:
    agent = story.agent(shell=True)
    editor = story.processes.add("vi", parent=agent.shell, foreground=True)
    assert keys_rung(story) == "the agent is not in front"
    assert story.tmux.servers == {}
    assert agent.pane.typed == []
    assert not story.processes.alive(editor)


def test_another_program_that_comes_to_the_front_gets_no_more_keys(story: Story) -> None:
    agent = story.agent(shell=True, state="busy", leaves=False)
    story.processes.after(0.2, lambda: story.processes.put_in_front(agent.shell))  # type: ignore[arg-type]
    story.stop()
    assert agent.pane.typed == ["Escape", "/exit"]


def test_an_agent_that_sleeps_in_the_background_gets_no_keys(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.signal(agent.process, SIGSTOP)
    story.processes.put_in_front(agent.shell)  # type: ignore[arg-type]
    assert keys_rung(story) == "the agent is not in front"
    assert agent.pane.typed == []


def test_a_mode_is_left_before_the_first_key(story: Story) -> None:
    agent = story.agent()
    story.tmux.change(agent.pane, in_mode=True)
    assert keys_rung(story) is None
    assert agent.heard == ["/exit", "Enter"]


def test_a_mode_that_is_entered_meanwhile_gets_no_key(story: Story) -> None:
    """Compared in the server, in the same step as the key."""
    agent = story.agent(state="busy", leaves=False)
    story.processes.after(0.2, lambda: story.tmux.change(agent.pane, in_mode=True))
    story.stop()
    assert agent.pane.typed == ["Escape", "/exit"]


def test_a_pane_that_takes_no_input_gets_none(story: Story) -> None:
    agent = story.agent()
    story.tmux.change(agent.pane, input_off=True)
    assert keys_rung(story) == "the pane takes no input"
    assert agent.pane.typed == []


def test_synchronized_siblings_get_no_keys(story: Story) -> None:
    agent = story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    sibling = story.tmux.split(story.SOCKET, session, "bash")
    for pane in (agent.pane, sibling):
        story.tmux.change(pane, synchronized=True)
    assert keys_rung(story) is None
    assert agent.heard == ["/exit", "Enter"]
    assert sibling.typed == []


def test_siblings_synchronized_meanwhile_get_no_keys(story: Story) -> None:
    """Compared in the server, in the same step as the key: a blind key would reach another pane."""
    agent = story.agent(state="busy", leaves=False)
    sibling = story.tmux.split(story.SOCKET, story.tmux.servers[story.SOCKET].sessions[0], "bash")

    def join() -> None:
        for pane in (agent.pane, sibling):
            story.tmux.change(pane, synchronized=True)

    story.processes.after(0.2, join)
    story.stop()
    assert agent.pane.typed == ["Escape", "/exit"]
    assert sibling.typed == []


def test_a_dead_pane_gets_no_keys(story: Story) -> None:
    agent = story.agent()
    agent.pane.options["remain-on-exit"] = "on"
    story.tmux.change(agent.pane, remain_on_exit="on")
    story.processes.die(agent.process)
    assert agent.pane.now.dead
    assert keys_rung(story) == "the agent is gone"
    assert agent.pane.typed == []


def test_another_process_in_the_pane_gets_no_keys(story: Story) -> None:
    """The pane was respawned between the look and the key."""
    agent = story.agent(state="busy", leaves=False)

    def respawn() -> None:
        stranger = story.processes.add("vi", tty=agent.pane.tty, new_session=True)
        agent.pane.now = replace(agent.pane.now, pid=stranger.pid)

    story.processes.after(0.2, respawn)
    story.stop(force=False)
    assert agent.pane.typed == ["Escape", "/exit"]


@pytest.mark.live
def test_a_real_draft_is_kept_and_not_submitted(real: Real) -> None:
    real.start("acme", "--state", "draft")
    real.shows("acme", "> half a thought")
    assert answer(real.stop())["stopped_by"] == "exit_keys"
    assert real.said() == []
    assert [event["text"] for event in real.events("draft")] == ["half a thought"]

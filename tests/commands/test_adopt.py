"""`adopt`: registers a session that already exists."""

from __future__ import annotations

import pytest

from tests.fakes import CONVERSATION, DEMO, Story
from tmuxreap.commands.adopt import AdoptRequest, run
from tmuxreap.core.errors import Failure


def agent_without_a_row(story: Story) -> None:
    story.agent()
    story.path.write_text("tmux_sessions: []\n")


def refused(story: Story, *words: str, **more: object) -> str:
    with pytest.raises(Failure) as caught:
        run(story.app(), AdoptRequest(*words, **more))  # type: ignore[arg-type]
    return caught.value.code.text


def test_adopt_records_the_session_unchanged(story: Story) -> None:
    agent_without_a_row(story)
    run(story.app(), AdoptRequest("acme", tags=("web",)))
    row = story.row()
    assert (row["status"], row["agent"], row["tags"]) == ("running", "demo", ["web"])
    assert (row["demo_conversation_id_own"], row["conversation_source"]) == (
        CONVERSATION,
        "pidfile",
    )
    assert row["pane"]["pid"] == story.agents["acme"].process.pid  # type: ignore[index]
    assert row["tmux"]["session_id"] == "$0"  # type: ignore[index]


def test_a_plan_writes_nothing(story: Story) -> None:
    agent_without_a_row(story)
    (told,) = run(story.app(), AdoptRequest("acme", dry_run=True)).results
    assert told.as_json()["outcome"] == "planned"
    assert told.as_json()["conversation_id"] == CONVERSATION
    assert story.path.read_text() == "tmux_sessions: []\n"


def test_adopt_refuses_unknown_names_unknown_programs_and_all(story: Story) -> None:
    agent_without_a_row(story)
    story.tmux.open(story.SOCKET, "plain", "vim")
    assert refused(story, "nobody") == "session_not_registered"
    assert refused(story, "plain") == "usage"
    assert refused(story, "all") == "usage"
    assert story.path.read_text() == "tmux_sessions: []\n"


def test_two_agents_in_one_session_need_a_pane(story: Story) -> None:
    agent_without_a_row(story)
    (session,) = story.tmux.servers[story.SOCKET].sessions
    story.tmux.split(story.SOCKET, session, "claude", "claude")
    with pytest.raises(Failure, match="several agents run in it: claude, demo"):
        run(story.app(), AdoptRequest("acme"))
    run(story.app(), AdoptRequest("acme", agent="demo"))
    assert story.row()["agent"] == "demo"


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_session_without_a_visible_agent_is_adopted_with_a_warning(
    story: Story, dry_run: bool
) -> None:
    """The agent may be behind an unknown carrier; or it is a user's program, which a kill would
    end."""
    story.tmux.open(story.SOCKET, "notes", "bash")
    (session,) = story.tmux.servers[story.SOCKET].sessions
    shell = session.panes[0].process
    editor = story.processes.add("vim", parent=shell, foreground=True)
    told = run(story.app(), AdoptRequest("notes", agent="demo", dry_run=dry_run))
    (warning,) = told.warnings
    assert warning.startswith("agent_not_seen: no demo is seen in notes, only ")
    assert f"bash ({shell.pid}), vim ({editor.pid})" in warning
    assert "tmuxreap forget notes --force" in warning


def test_an_agent_that_is_seen_is_no_reason_to_warn(story: Story) -> None:
    agent_without_a_row(story)
    assert run(story.app(), AdoptRequest("acme", agent="demo")).warnings == ()


def test_an_ended_row_runs_again_with_the_new_session(story: Story) -> None:
    story.agent(status="stopped")
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.tmux.open(story.SOCKET, "acme", *DEMO)
    run(story.app(), AdoptRequest("acme"))
    assert (story.row()["status"], story.row()["tmux"]["session_id"]) == ("running", "$1")  # type: ignore[index]


# What a resume repeats


def started_by_hand(story: Story, *argv: str) -> None:
    """Let a user start a claude; the profile knows its flags."""
    story.tmux.open(story.SOCKET, "acme", "claude", *argv)


def test_adopt_records_the_flags_and_not_the_prompt(story: Story) -> None:
    started_by_hand(story, "claude", "--permission-mode", "plan", "fix the tests")
    assert run(story.app(), AdoptRequest("acme")).warnings == ()
    assert story.row()["start_command"] == "claude --permission-mode plan"


def test_a_secret_on_its_command_line_is_left_out_with_a_warning(story: Story) -> None:
    key = "sk-ant-" + "a1B2" * 12
    started_by_hand(story, "claude", "--settings", f'{{"apiKey": "{key}"}}', "--model", "opus")
    (warning,) = run(story.app(), AdoptRequest("acme")).warnings
    assert story.row()["start_command"] == "claude --model opus"
    assert warning.startswith("flags_not_recorded: acme: a secret follows --settings;")
    assert key not in story.path.read_text() + warning


def test_an_existing_start_command_stays(story: Story) -> None:
    started_by_hand(story, "claude", "--verbose")
    story.path.write_text(
        "tmux_sessions:\n- {name: acme, status: stopped, start_command: claude --model x}\n"
    )
    run(story.app(), AdoptRequest("acme", agent="claude"))
    assert story.row()["start_command"] == "claude --model x"


# One of several


def test_a_pane_names_one_of_several_agents(story: Story) -> None:
    started_by_hand(story, "claude", "--model", "one")
    (session,) = story.tmux.servers[story.SOCKET].sessions
    story.tmux.split(story.SOCKET, session, "claude", "claude", "--model", "two")
    with pytest.raises(Failure, match="could not determine the agent's pane") as caught:
        run(story.app(), AdoptRequest("acme"))
    assert "tmuxreap adopt acme --pane %0" in (caught.value.hint or "")
    run(story.app(), AdoptRequest("acme", pane="%0"))
    run(story.app(), AdoptRequest("second", pane="%1"))
    panes = [story.row(name)["pane"]["id"] for name in ("acme", "second")]  # type: ignore[index]
    assert panes == ["%0", "%1"]
    commands = [story.row(name)["start_command"] for name in ("acme", "second")]
    assert commands == ["claude --model one", "claude --model two"]


def test_a_pane_of_another_row_or_a_missing_one_is_refused(story: Story) -> None:
    started_by_hand(story, "claude")
    run(story.app(), AdoptRequest("acme"))
    assert refused(story, "other", pane="%0") == "session_exists"
    assert refused(story, "other", pane="%7") == "session_not_registered"


def test_the_row_of_an_agent_that_lives_elsewhere_is_not_given_to_another_session(
    story: Story,
) -> None:
    """Of an agent without tmux, and of one whose tmux session was renamed."""
    leader = story.processes.add(*DEMO, new_session=True)
    run(story.app(), AdoptRequest("alone", pid=leader.pid))
    story.agent("renamed")
    server = story.tmux.servers[story.SOCKET]
    (session,) = (it for it in server.sessions if it.name == "renamed")
    session.name = "elsewhere"
    before = story.path.read_text()
    for name in ("alone", "renamed"):
        story.tmux.open(story.SOCKET, name, *DEMO)
        assert refused(story, name) == "still_running"
    assert story.path.read_text() == before


def test_a_row_whose_agent_is_gone_is_given_to_the_session_of_its_name(story: Story) -> None:
    leader = story.processes.add(*DEMO, new_session=True)
    run(story.app(), AdoptRequest("acme", pid=leader.pid))
    story.processes.die(leader)
    story.tmux.open(story.SOCKET, "acme", *DEMO)
    run(story.app(), AdoptRequest("acme"))
    assert (story.row()["status"], story.row().get("terminal")) == ("running", "tmux")

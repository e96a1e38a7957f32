"""Two rows of one pane: it is ended once, and both say so."""

from __future__ import annotations

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.commands import show
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import Row
from tmuxreap.proof.servers import Servers


def twins(story: Story, **more: object) -> FakeAgent:
    agent = story.agent("acme")
    row = {key: value for key, value in story.row("acme").items() if key != "name"}
    story.add_row({"name": "twin", **row, **more})
    return agent


def test_two_rows_of_one_pane_are_ended_once(story: Story) -> None:
    agent = twins(story)
    first, second = [item.as_json() for item in story.stop("acme", "twin").results]
    assert (first["outcome"], second["outcome"]) == ("stopped", "already_stopped")
    assert agent.heard == ["/exit", "Enter"]
    assert [story.row(name)["status"] for name in ("acme", "twin")] == ["stopped", "stopped"]


def test_the_other_row_is_recorded_with_it_and_named(story: Story) -> None:
    twins(story)
    story.agent("quiet")
    (answer,) = [item.as_json() for item in story.stop("acme", reason="night").results]
    assert answer["warnings"] == [
        "same_pane: twin had the same pane, and is recorded as stopped with it"
    ]
    twin = story.row("twin")
    assert (twin["status"], twin["stop_reason"], twin["stopped_by"]) == (
        "stopped",
        "night",
        "exit_keys",
    )
    assert twin["resumable"] is True
    assert story.row("quiet")["status"] == "running"
    assert reconcile.run(story.app()).as_json()["drifts"] == []


def test_a_row_of_another_tool_with_that_pid_is_a_twin_too(story: Story) -> None:
    twins(story, tmux=None, tmux_server=story.SOCKET)
    story.kill("acme")
    assert (story.row("twin")["status"], story.row("twin")["termination_mode"]) == (
        "stopped",
        "kill",
    )


def test_a_row_of_an_older_session_is_no_twin(story: Story) -> None:
    twins(story)
    text = story.path.read_text()
    head, tail = text.rsplit('"session_created": ', 1)
    story.path.write_text(f'{head}"session_created": 1{tail[tail.index("}") :]}')
    assert story.stop("acme").results[0].as_json()["warnings"] == []
    assert story.row("twin")["status"] == "running"


def test_a_row_that_only_remembers_the_pid_is_left_alone(story: Story) -> None:
    """Small numbers come again: after a reboot, in a container."""
    agent = story.agent("acme")
    pane = {"pid": agent.process.pid, "cmd": "demo", "cwd": "/srv"}
    stale = {"status": "running", "agent": "demo", "pane": pane, "tmux_server": story.SOCKET}
    story.add_row({"name": "stale", **stale, "demo_conversation_id_own": "FIRST"})
    before = story.row("stale")
    (answer,) = [item.as_json() for item in story.stop("acme").results]
    assert (answer["outcome"], answer["warnings"]) == ("stopped", [])
    assert story.row("stale") == before


def test_a_row_that_remembers_the_start_of_another_process_is_left_alone(story: Story) -> None:
    twins(story, tmux=None, tmux_server=story.SOCKET)
    ticks = story.row("twin")["pane"]["start_ticks"]
    text = story.path.read_text()
    head, tail = text.rsplit(f'"start_ticks": {ticks}', 1)
    story.path.write_text(f'{head}"start_ticks": {ticks - 100}{tail}')
    story.stop("acme")
    assert story.row("twin")["status"] == "running"


def test_a_row_keeps_its_own_conversation(story: Story) -> None:
    twins(story, demo_conversation_id_own="FIRST", resumable=False, conversation_source="hook")
    story.stop("acme")
    twin = story.row("twin")
    assert twin["status"] == "stopped"
    own = twin["demo_conversation_id_own"], twin["resumable"], twin["conversation_source"]
    assert own == ("FIRST", False, "hook")
    assert story.row("acme")["demo_conversation_id_own"] not in (None, "FIRST")


def test_a_row_of_another_agent_gets_no_conversation(story: Story) -> None:
    twins(story, agent="codex")
    story.stop("acme")
    twin = story.row("twin")
    assert (twin["status"], twin.get("resumable")) == ("stopped", None)


def test_the_row_with_the_sessions_name_and_pid_ends_with_it(story: Story) -> None:
    agent = twins(story)
    for one in ("acme", "twin"):
        story.path.write_text(story.path.read_text())
        assert story.row(one)["pane"]["pid"] == agent.process.pid
    text = story.path.read_text()
    story.path.write_text(text.replace('"name": "acme"', '"name": "was"', 1))
    plain = {"pid": agent.process.pid, "cmd": "demo", "cwd": "/srv"}
    story.add_row({"name": "acme", "status": "running", "tmux_server": story.SOCKET, "pane": plain})
    story.stop("twin")
    assert {name: story.row(name)["status"] for name in ("was", "twin", "acme")} == {
        "was": "stopped",
        "twin": "stopped",
        "acme": "stopped",
    }
    assert agent.heard == ["/exit", "Enter"]


def test_ending_all_rows_of_a_pane_presses_its_keys_once(story: Story) -> None:
    agent = twins(story)
    plain = {"pid": agent.process.pid, "cmd": "demo", "cwd": "/srv"}
    story.add_row({"name": "third", "status": "running", "agent": "demo", "pane": plain})
    outcomes = [item.as_json()["outcome"] for item in story.stop("twin", "acme", "third").results]
    assert outcomes[:2] == ["stopped", "already_stopped"]
    assert agent.heard == ["/exit", "Enter"]


def test_a_stop_of_many_rows_resolves_only_servers_of_possible_twins(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find a socket's path takes system calls; a hundred endings ask of ten thousand pairs."""
    names = [f"a{number}" for number in range(10)]
    for name in names:
        story.agent(name)
    rows = [story.row(name) for name in names]
    story.path.write_text("tmux_sessions: []\n")
    for row in rows:
        pane = {"pid": row["pane"]["pid"], "cmd": "demo", "cwd": "/srv"}  # type: ignore[index]
        story.add_row({"name": row["name"], "status": "running", "pane": pane})
    asked: list[str] = []
    of = Servers.of

    def counted(servers: Servers, row: Row) -> str:
        asked.append(row.name)
        return of(servers, row)

    monkeypatch.setattr(Servers, "of", counted)
    results = story.stop(*names).results
    assert {item.as_json()["outcome"] for item in results} == {"stopped"}
    assert len(asked) < 10 * 5


def test_both_rows_say_who_ended_the_session(story: Story) -> None:
    twins(story)
    story.stop("acme")
    shown = show.run(story.app(), ["acme", "twin"]).results
    first, second = (item.as_json()["ended_by"] for item in shown)
    assert first == second is not None


@pytest.mark.parametrize("same", [True, False])
def test_a_row_of_ours_ends_with_the_row_of_another_tool(story: Story, same: bool) -> None:
    agent = story.agent("was")
    if not same:
        text = story.path.read_text().replace('"session_created": ', '"session_created": 1')
        story.path.write_text(text)
    session = story.tmux.servers[story.SOCKET].sessions[0]
    session.name = "acme"
    plain = {"pid": agent.process.pid, "cmd": "demo", "cwd": "/srv"}
    story.add_row({"name": "acme", "status": "running", "tmux_server": story.SOCKET, "pane": plain})
    story.kill("acme")
    assert story.row("acme")["status"] == "stopped"
    assert story.row("was")["status"] == ("stopped" if same else "running")


@pytest.mark.parametrize(("terminal", "ends"), [("tmux", True), ("kitty", False)])
def test_a_row_of_another_terminal_is_no_twin(story: Story, terminal: str, ends: bool) -> None:
    twins(story, tmux=None, tmux_server=story.SOCKET, terminal=terminal)
    story.kill("acme")
    assert (story.row("twin")["status"] == "stopped") is ends

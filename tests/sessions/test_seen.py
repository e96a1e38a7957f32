"""What a look saw of a row ties its processes to it, whoever wrote the row and whoever ended its
session."""

from __future__ import annotations

from signal import SIGHUP, SIGTERM

import pytest

from tests.fakes import FakeAgent, Story, sight
from tmuxreap.commands import adopt, forget, show, wait
from tmuxreap.commands import list as listing
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import Live, ProcessId
from tmuxreap.core.results import Result

DEAF = {SIGHUP, SIGTERM}


def foreign(story: Story, pid: int, **pane: object) -> None:
    """Write the row as other tools do: a name, a status, and the pane's pid, command and folder."""
    recorded = {"pid": pid, "cmd": "python3", "cwd": "/", **pane}
    row = {"name": "acme", "status": "running", "tmux_server": story.SOCKET, "pane": recorded}
    story.path.write_text("tmux_sessions: []\n")
    story.add_row(row)


def deaf_agent(story: Story, *, ours: bool) -> tuple[FakeAgent, ProcessId]:
    """Start an agent that ignores a hangup, with a helper in a kernel session of its own, and a
    neighbour."""
    agent = story.agent(ignores=DEAF)
    if not ours:
        del story.processes.table[agent.process.pid].environ["TMUXREAP_ID"]
    helper = story.processes.add("node", parent=agent.process, new_session=True, ignores=DEAF)
    if not ours:
        foreign(story, agent.process.pid)
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    return agent, helper


def end_by_another(story: Story, *, whole_server: bool = False) -> None:
    """Close the session, or the whole server, without us."""
    server = story.tmux.servers[story.SOCKET]
    closed = [it for it in server.sessions if whole_server or it.name == "acme"]
    server.sessions[:] = [it for it in server.sessions if it not in closed]
    for pane in [pane for session in closed for pane in session.panes]:
        story.processes.hang_up(pane.process)
    if whole_server:
        story.processes.die(server.process)
        story.tmux.servers.pop(story.SOCKET, None)


def only(result: Result) -> dict[str, object]:
    (item,) = result.results
    return item.as_json()


def listed(story: Story) -> dict[str, object]:
    return only(listing.run(story.app(), listing.ListRequest()))


def looks(story: Story, by: str) -> None:
    app = story.app()
    if by == "list":
        listing.run(app, listing.ListRequest())
    elif by == "show":
        show.run(app, ["acme"])
    elif by == "reconcile":
        reconcile.run(app)
    elif by == "stop":
        story.tmux.split(story.SOCKET, story.tmux.servers[story.SOCKET].sessions[0], "vim")
        assert only(story.stop())["outcome"] == "refused"


@pytest.mark.parametrize("by", ["list", "show", "reconcile", "stop"])
@pytest.mark.parametrize("whole_server", [False, True])
@pytest.mark.parametrize("ours", [False, True])
def test_a_process_that_a_look_saw_is_ended_after_its_session(
    story: Story, ours: bool, whole_server: bool, by: str
) -> None:
    agent, helper = deaf_agent(story, ours=ours)
    looks(story, by)
    end_by_another(story, whole_server=whole_server)
    assert (listed(story)["live"], listed(story)["drift"]) == ("gone", "survivors")
    found = reconcile.run(story.app()).as_json()["drifts"]
    assert [one["drift"] for one in found] == ["survivors"]  # type: ignore[attr-defined]
    assert story.row()["status"] == "running"
    assert only(story.stop(grace_s=0.1))["outcome"] == "stopped"
    assert not any(map(story.processes.alive, (agent.process, helper)))


@pytest.mark.parametrize("leader_lives", [False, True])
def test_a_helper_of_a_foreign_row_that_came_later_is_found_by_the_pane_that_was_seen(
    story: Story, leader_lives: bool
) -> None:
    agent, _ = deaf_agent(story, ours=False)
    looks(story, "list")
    late = story.processes.add("late", parent=agent.process, new_session=True, ignores=DEAF)
    end_by_another(story)
    if not leader_lives:
        story.processes.die(agent.process)
    assert late in sight(story).owned.ids
    assert only(story.kill(grace_s=0.1))["outcome"] == "killed"
    assert not story.processes.alive(late)


def test_a_look_remembers_only_what_is_new_and_drops_the_dead(story: Story) -> None:
    agent, helper = deaf_agent(story, ours=False)
    looks(story, "list")
    before = story.written()
    looks(story, "list")
    assert story.written() == before
    story.processes.die(helper)
    late = story.processes.add("late", parent=agent.process, new_session=True)
    looks(story, "list")
    (memory,) = story.app().books.seen(story.BOOT, ["acme"]).values()
    assert set(memory.processes) == {agent.process, late}
    assert memory.pane is not None
    assert (memory.pane.pane, memory.pane.mark) == ("%0", None)


def test_a_program_beside_the_agent_is_not_remembered(story: Story) -> None:
    agent = story.agent()
    pane = story.tmux.split(story.SOCKET, story.tmux.servers[story.SOCKET].sessions[0], "vim")
    daemon = story.processes.add("node", parent=pane.process, new_session=True)
    looks(story, "list")
    (memory,) = story.app().books.seen(story.BOOT, ["acme"]).values()
    assert set(memory.processes) == {agent.process}
    assert story.processes.alive(daemon)


def test_a_process_that_is_now_in_another_sessions_pane_belongs_there(story: Story) -> None:
    agent, _ = deaf_agent(story, ours=False)
    looks(story, "list")
    server = story.tmux.servers[story.SOCKET]
    story.tmux.join(agent.pane, server.sessions[1])
    server.sessions[:] = server.sessions[-1:]
    assert agent.process not in sight(story).owned.ids
    story.stop(grace_s=0.1)
    assert story.signals_to(agent.process) == []


def test_processes_of_a_forgotten_row_do_not_pass_to_a_later_row(story: Story) -> None:
    agent, _ = deaf_agent(story, ours=False)
    looks(story, "list")
    forget.run(story.app(), forget.ForgetRequest(("acme",), force=True))
    end_by_another(story)
    foreign(story, 4242)
    assert sight(story).owned.own == ()
    assert story.processes.alive(agent.process)


# Never seen: the row and its process's environment alone


@pytest.mark.parametrize("whole_server", [False, True])
@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_foreign_pid_of_a_gone_pane_is_named_and_not_signalled(
    story: Story, verb: str, whole_server: bool
) -> None:
    agent, helper = deaf_agent(story, ours=False)
    end_by_another(story, whole_server=whole_server)
    before = story.path.read_bytes()
    result = story.stop() if verb == "stop" else story.kill()
    answer = only(result)
    assert (answer["outcome"], answer["status"], int(result.exit)) == ("survived", "running", 1)
    left = [one["pid"] for one in answer["survivors"]]  # type: ignore[attr-defined]
    assert left == [agent.process.pid, helper.pid]
    assert answer["error"]["hint"].endswith(f"tmuxreap adopt acme --pid {agent.process.pid}")  # type: ignore[index]
    assert story.signals_to(agent.process)[2:] == []  # after the hangup of its terminal
    assert story.path.read_bytes() == before
    assert only(story.stop())["outcome"] == "survived"  # it does not count as seen
    assert story.signals_to(helper) == []


def test_every_verb_names_what_is_not_proven(story: Story) -> None:
    agent, _ = deaf_agent(story, ours=False)
    end_by_another(story)
    pid, hint = agent.process.pid, f"tmuxreap adopt acme --pid {agent.process.pid}"
    assert (listed(story)["live"], listed(story)["drift"]) == ("gone", "survivors")
    shown = only(show.run(story.app(), ["acme"]))["processes"]
    assert (shown[0]["pid"], shown[0]["why"]) == (pid, "recorded pid")  # type: ignore[index]
    (drift,) = reconcile.run(story.app()).as_json()["drifts"]  # type: ignore[misc]
    assert (drift["drift"], drift["settled"], drift["hint"]) == ("survivors", False, hint)
    request = reap.ReapRequest((Kind.ORPHAN,), yes=True)
    reaped = reap.run(story.app(), request).as_json()
    assert [one["name"] for one in reaped["kept"]] == ["acme"]  # type: ignore[attr-defined]
    until = wait.WaitRequest(("acme",), wait.Until.GONE, timeout_s=0.0)
    assert not only(wait.run(story.app(), until))["reached"]
    assert story.processes.alive(agent.process)
    assert story.row()["status"] == "running"


@pytest.mark.parametrize("agent_name", ["demo", None])
def test_adopt_takes_what_was_named(story: Story, agent_name: str | None) -> None:
    agent, helper = deaf_agent(story, ours=False)
    if agent_name is None:
        story.processes.table[agent.process.pid].argv = ("mine",)
        foreign(story, agent.process.pid, cmd="mine")
    end_by_another(story)
    request = adopt.AdoptRequest("acme", pid=agent.process.pid)
    assert only(adopt.run(story.app(), request))["live"] == "alive"
    assert only(story.stop(grace_s=0.1))["outcome"] == "stopped"
    assert not any(map(story.processes.alive, (agent.process, helper)))


def test_a_number_in_a_living_pane_is_reused(story: Story) -> None:
    agent = story.agent("other", ignores=DEAF)
    story.path.write_text("tmux_sessions: []\n")
    foreign(story, agent.process.pid, cmd="codex")
    story.processes.table[agent.process.pid].argv = ("vim",)
    seen = sight(story)
    assert (seen.live, seen.unproven) == (Live.GONE, ())


@pytest.mark.parametrize("wrong", ["socket", "no tmux", "start", "ended"])
def test_without_evidence_a_pid_proves_nothing(story: Story, wrong: str) -> None:
    agent, _ = deaf_agent(story, ours=False)
    environ = story.processes.table[agent.process.pid].environ
    if wrong == "socket":
        environ["TMUX"] = "/tmp/other,7,0"
    if wrong == "no tmux":
        del environ["TMUX"]
    if wrong == "start":
        foreign(story, agent.process.pid, created_epoch=12.0)
    end_by_another(story)
    if wrong == "ended":
        text = story.path.read_text()
        story.path.write_text(text.replace('"running"', '"stopped"'))
    assert sight(story).unproven == ()

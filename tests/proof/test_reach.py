"""The evidence by which processes belong to a row, and what is spared."""

from __future__ import annotations

from signal import Signals

import pytest

from tests.fakes import Story, row_of, sight
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.programs import Spares
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import ProcessId, Scope
from tmuxreap.proof.reach import spare_reason
from tmuxreap.proof.see import see
from tmuxreap.proof.sight import Past


def test_marks_of_a_stranger_with_the_leaders_pid_are_not_the_sessions(
    story: Story,
) -> None:
    """Neither its mark nor its control group, with everything in it."""
    agent = story.agent()
    other = story.agent("other").process
    story.processes.scopes = {"other's": [other]}
    known = Past(leaders=frozenset({ProcessId(other.pid, other.start - 1)}))
    story.processes.die(agent.process)
    app, row = story.app(), row_of(story)
    profile, world = app.agents.profile(row), app.observer.look([story.SOCKET], 0)
    seen = see(row, story.SOCKET, profile, app.agents.spares(profile), world, known)
    assert seen.reach is not None
    assert (seen.reach.mark, seen.reach.scopes) == (None, frozenset())


@pytest.mark.parametrize(("status", "known"), [("stopped", False), ("running", True)])
def test_a_kernel_session_that_lost_its_leader_is_no_ended_rows(
    story: Story, status: str, known: bool
) -> None:
    """Nothing was left of it: a daemon has reused the leader's pid since, and its parent exited."""
    agent = story.agent(status=status)
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(agent.process)
    story.processes.wait((), 5.0)
    again = story.processes.add("start", pid=agent.process.pid, new_session=True)
    daemon = story.processes.add("daemon", parent=again)
    story.processes.die(again)
    assert (daemon in sight(story).owned.ids) is known  # for a running one this is unknown


def test_the_tmux_server_never_belongs_to_a_session(story: Story) -> None:
    story.agent()
    server = story.tmux.servers[story.SOCKET].process
    story.processes.table[server.pid].environ = {"TMUXREAP_ID": "mark-of-acme"}
    seen = sight(story)
    assert server not in seen.owned.ids
    assert server.pid in {one.process.pid for one in seen.owned.spared}


def test_two_sessions_share_no_processes(story: Story) -> None:
    one, two = story.agent("one"), story.agent("two")
    sights = story.app().sights.with_pasts([row_of(story, "one"), row_of(story, "two")])
    assert [seen.owned.ids for seen, _ in sights] == [{one.process}, {two.process}]


def test_a_shared_program_may_be_known_by_its_command_line_alone(story: Story) -> None:
    profiles = load_profiles(None)
    daemon = story.processes.add("claude.exe", "daemon", "run", "--origin", "transient")
    other = story.processes.add("claude.exe", "--resume", "x")
    world = story.app().observer.look([], 0)
    reason = spare_reason(
        Spares.of(*profiles.common_spare, *profiles.agents["claude"].spare), world
    )
    reasons = [reason(world.index.processes[one.pid]) for one in (daemon, other)]
    assert reasons == ["a shared claude daemon", None]


@pytest.mark.parametrize(
    ("argv", "ended"),
    [
        (("tmux", "-f", "/dev/null", "new"), True),  # the server's own: nothing is executed yet
        (("sh", "-c", "make"), True),  # executed between the list and the command line
        (("/usr/bin/tmux", "-D", "-L", "inner"), False),
        (("tmux-3.6", "-D"), False),
        ((), False),
    ],
)
def test_a_pane_whose_program_is_just_being_executed_is_no_tmux_server(
    story: Story, argv: tuple[str, ...], ended: bool
) -> None:
    agent = story.agent()
    server = story.tmux.servers[story.SOCKET]
    story.processes.table[server.process.pid].argv = ("tmux", "-f", "/dev/null", "new")
    pane = story.tmux.split(story.SOCKET, server.sessions[0], "tmux: server")
    assert pane.now.pid is not None
    story.processes.table[pane.now.pid].argv = argv
    (result,) = story.kill(scope=Scope.SESSION).results
    assert (result.as_json()["outcome"] == "killed") is ended
    assert story.processes.alive(pane.process) is not ended
    assert story.processes.alive(agent.process) is not ended


# A server that may be the pane's own

PRIVATE = ("app-server", "--listen", "ws://127.0.0.1:60810")


def codex_with_a_server(story: Story, *words: str) -> tuple[ProcessId, ProcessId]:
    """Return the agent and a server that it started, in a session of its row."""
    story.tmux.open(story.SOCKET, "acme", "codex", "codex")
    (session,) = story.tmux.servers[story.SOCKET].sessions
    agent = session.panes[0].process
    story.path.write_text("tmux_sessions:\n- {name: acme, status: running, agent: codex}\n")
    return agent, story.processes.add("codex", *words, parent=agent, new_session=True)


def test_a_private_server_is_ended_with_the_pane_that_started_it(story: Story) -> None:
    agent, server = codex_with_a_server(story, *PRIVATE)
    helper = story.processes.add("node", "mcp", parent=server)
    assert sight(story).owned.ids == {agent, server, helper}
    for clients in ({agent.pid}, {agent.pid, server.pid}):
        story.processes.connected[server.pid] = clients
        assert sight(story).owned.ids == {agent, server, helper}


@pytest.mark.parametrize("clients", [{1}, None])
def test_a_server_that_others_may_use_is_spared_and_named(
    story: Story, clients: set[int] | None
) -> None:
    agent, server = codex_with_a_server(story, *PRIVATE)
    story.processes.connected[server.pid] = clients
    owned = sight(story).owned
    assert owned.ids == {agent}
    assert [(it.process.id, it.why) for it in owned.spared] == [
        (server, "a server of codex, perhaps not of this session alone")
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("app-server", "--listen", "unix://", "--managed-daemon"),
        ("app-server", "daemon", "pid-update-loop"),
    ],
)
def test_a_server_shared_by_its_maker_is_spared(story: Story, words: tuple[str, ...]) -> None:
    agent, _ = codex_with_a_server(story, *words)
    owned = sight(story).owned
    assert (owned.ids, [it.why for it in owned.spared]) == ({agent}, ["a shared codex"])


def test_a_server_with_only_the_mark_of_a_pane_is_spared(story: Story) -> None:
    agent, _ = codex_with_a_server(story, *PRIVATE)
    environ = story.processes.table[agent.pid].environ
    orphan = story.processes.add("codex", *PRIVATE, environ=environ)
    owned = sight(story).owned
    assert orphan not in owned.ids
    assert orphan in {it.process.id for it in owned.spared}


@pytest.mark.parametrize("program", ["opencode", "opencode2"])
def test_the_service_that_all_panes_share_is_spared(story: Story, program: str) -> None:
    profiles = load_profiles(None)
    opencode = profiles.agents["opencode"]
    assert opencode.recognises([program], program, None)
    assert not opencode.recognises([program, "serve", "--service"], program, None)
    service = story.processes.add(program, "serve", "--service")
    world = story.app().observer.look([], 0)
    reason = spare_reason(Spares.of(*opencode.spare), world)
    assert reason(world.index.processes[service.pid]) == f"a shared {program}"


def test_a_process_that_outlived_a_respawn_of_its_pane_is_named(story: Story) -> None:
    """Another tool's row has no start of it: the agent is no proof of another, nor is it gone."""
    agent = story.agent(shell=True, ignores={Signals.SIGHUP})
    row = {"name": "acme", "status": "running", "agent": "demo"}
    row["pane"] = {"pid": agent.pane.process.pid}  # type: ignore[assignment]
    story.path.write_text("tmux_sessions:\n")
    story.add_row(row)
    story.tmux.respawn(agent.pane, "vim")
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    story.tmux.join(agent.pane, quiet)
    (drift,) = reconcile.run(story.app()).results
    assert (drift.name, story.row()["status"]) == ("acme", "running")
    assert story.processes.alive(agent.process)

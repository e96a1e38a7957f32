"""Whole endings as histories: the agent's reaction to keys and signals, and what is reported, sent
and written then."""

from __future__ import annotations

import json
from signal import SIGCONT, SIGHUP, SIGKILL, SIGSTOP, SIGTERM

import pytest

from tests.fakes import CONVERSATION, OWN_PID, Story
from tmuxreap.core.model import ProcessId, Unreachable
from tmuxreap.core.results import Result

STUBBORN = {"leaves": False, "ignores": {SIGHUP, SIGTERM}}


def only(result: Result) -> dict[str, object]:
    (item,) = result.results
    return item.as_json()


def facts(result: Result, *names: str) -> tuple[object, ...]:
    item = only(result)
    return tuple(item[name] for name in names)


def rungs(result: Result) -> dict[str, object]:
    """Return by name what each rung waited, or why it was skipped."""
    reports = only(result)["rungs"]
    assert isinstance(reports, list)
    return {rung["name"]: rung["skipped"] or rung["waited_ms"] for rung in reports}


# The rungs


def test_an_agent_exits_by_its_exit_keys(story: Story) -> None:
    agent = story.agent(exit_delay_s=0.5)
    result = story.stop()
    assert facts(result, "outcome", "stopped_by", "swept", "duration_ms") == (
        "stopped",
        "exit_keys",
        [],
        575,
    )
    assert rungs(result) == {
        "keys": 575,
        "hangup": "the agent had left; only what it left behind was swept",
        "kill": "nothing was left",
    }
    assert agent.heard == ["/exit", "Enter"]
    assert story.processes.signals == []
    row = story.row()
    assert (row["status"], row["stopped_by"], row["resumable"]) == ("stopped", "exit_keys", True)
    assert (row["demo_conversation_id_own"], row["conversation_source"]) == (
        CONVERSATION,
        "pidfile",
    )


def test_an_agent_that_ignores_keys_exits_on_hangup(story: Story) -> None:
    agent = story.agent(leaves=False)
    result = story.stop()
    assert facts(result, "outcome", "stopped_by") == ("stopped", "hangup")
    assert rungs(result) == {"keys": 3075, "hangup": 0, "kill": "nothing was left"}
    assert story.signals_to(agent.process) == []  # the hangup of its terminal was enough


def test_an_agent_that_ignores_hangup_and_term_is_killed(story: Story) -> None:
    agent = story.agent(**STUBBORN)
    result = story.stop()
    assert facts(result, "outcome", "stopped_by", "status") == ("stopped", "sigkill", "stopped")
    assert rungs(result) == {"keys": 3075, "hangup": 5000, "kill": 0}
    assert story.signals_to(agent.process) == [SIGTERM, SIGCONT, SIGKILL]


def test_a_suspended_agent_is_woken_for_its_term(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP})
    story.processes.signal(agent.process, SIGSTOP)
    assert facts(story.stop(keys_timeout_s=0), "stopped_by", "outcome") == ("hangup", "stopped")


def test_a_survivor_is_named_remembered_and_ended_the_next_time(story: Story) -> None:
    agent = story.agent(leaves=False, unkillable=True, ignores={SIGHUP, SIGTERM})
    before = story.path.read_bytes()
    result = story.stop()
    assert facts(result, "outcome", "status", "stopped_by", "resumable") == (
        "survived",
        "running",
        None,
        True,
    )
    assert (int(result.exit), only(result)["error"]["code"]) == (1, "still_running")  # type: ignore[index]
    (survivor,) = only(result)["survivors"]  # type: ignore[misc]
    assert (survivor["pid"], survivor["name"]) == (agent.process.pid, "python3")
    assert story.path.read_bytes() == before
    assert story.tmux.servers == {}  # the session is long gone, and so is the server

    story.processes.table[agent.process.pid].unkillable = False
    again = story.stop()
    assert facts(again, "outcome", "stopped_by", "survivors") == ("stopped", "sigkill", [])
    assert story.row()["status"] == "stopped"


def test_a_survivor_that_only_the_ledger_knows_is_ended_the_next_time(story: Story) -> None:
    """Its session and its parent are gone, and it has no mark: no look could identify it."""
    agent = story.agent()
    stuck = story.processes.add(
        "sleep", parent=agent.process, new_session=True, unkillable=True, ignores={SIGTERM}
    )
    story.processes.table[stuck.pid].environ = {}
    assert facts(story.stop(), "outcome", "status") == ("survived", "running")
    story.processes.table[stuck.pid].unkillable = False
    again = story.stop()
    assert facts(again, "outcome", "status", "survivors") == ("stopped", "stopped", [])
    assert [one["pid"] for one in only(again)["swept"]] == [stuck.pid]  # type: ignore[union-attr]
    assert not story.processes.alive(stuck)


def test_without_force_a_survivor_is_never_killed(story: Story) -> None:
    agent = story.agent(**STUBBORN)
    result = story.stop(force=False)
    assert facts(result, "outcome", "status") == ("survived", "running")
    assert rungs(result)["kill"] == "--no-force"
    assert SIGKILL not in story.signals_to(agent.process)
    assert only(result)["error"]["hint"] == "try again without --no-force"  # type: ignore[index]


def test_keys_without_time_are_not_sent(story: Story) -> None:
    agent = story.agent()
    assert rungs(story.stop(keys_timeout_s=0))["keys"] == "--keys-timeout 0"
    assert agent.heard == []


def test_the_time_for_keys_cuts_the_sequence(story: Story) -> None:
    agent = story.agent(state="busy", leaves=False)
    result = story.stop(keys_timeout_s=0.2)
    assert agent.heard == ["Escape", "/exit"]
    assert rungs(result)["keys"] == 200


def test_a_stop_uses_the_grace_it_was_given(story: Story) -> None:
    story.agent(**STUBBORN)
    assert rungs(story.stop(keys_timeout_s=0, grace_s=1.25))["hangup"] == 1250


def test_the_agent_leaves_and_its_shell_is_swept(story: Story) -> None:
    agent = story.agent(shell=True)
    helper = story.processes.add("npm", parent=agent.process, new_session=True, ignores={SIGHUP})
    result = story.stop()
    assert facts(result, "outcome", "stopped_by") == ("stopped", "exit_keys")
    assert not story.processes.alive(helper)
    assert [one["name"] for one in only(result)["swept"]] == ["bash", "npm"]  # type: ignore[union-attr]
    assert agent.shell is not None
    assert not story.processes.alive(agent.shell)


def test_a_shell_left_by_its_agent_counts_as_already_gone(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.put_in_front(agent.shell)  # type: ignore[arg-type]
    story.processes.die(agent.process)
    result = story.stop()
    assert facts(result, "outcome", "stopped_by") == ("stopped", "already_gone")
    assert rungs(result)["keys"] == "the agent is gone"
    assert agent.pane.typed == []


def test_a_session_that_is_gone_is_recorded_as_already_gone(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    assert facts(story.stop(), "outcome", "stopped_by", "resumable") == (
        "stopped",
        "already_gone",
        True,
    )
    assert story.row()["status"] == "stopped"
    assert story.told() == []


@pytest.mark.parametrize("status", ["stopped", "terminated", "archived"])
def test_a_stop_of_a_stopped_row_writes_nothing(story: Story, status: str) -> None:
    agent = story.agent(status=status)
    story.processes.die(agent.process)
    before = story.written()
    result = story.stop()
    assert facts(result, "outcome", "survivors") == ("already_stopped", [])
    assert int(result.exit) == 0
    assert story.written() == before


def test_an_ended_row_with_a_living_session_is_refused(story: Story) -> None:
    agent = story.agent(status="stopped")
    result = story.stop()
    assert facts(result, "outcome") == ("refused",)
    assert only(result)["error"]["code"] == "session_alive"  # type: ignore[index]
    assert story.processes.alive(agent.process)
    assert story.told() == []


def test_processes_of_an_ended_row_are_swept_and_only_stopped_by_changes(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    story.stop(force=False)
    text = story.path.read_text().replace(
        '"status": "running"', '"status": "stopped", "stopped_by": "hangup"'
    )
    story.path.write_text(text)
    result = story.stop()
    assert facts(result, "outcome", "stopped_by", "status") == ("stopped", "sigkill", "stopped")
    assert story.path.read_text() == text.replace(
        '"stopped_by": "hangup"', '"stopped_by": "sigkill"'
    )
    assert not story.processes.alive(agent.process)


def test_a_denied_signal_is_not_taken_for_a_death(story: Story) -> None:
    agent = story.agent(leaves=False, denied=True, ignores={SIGHUP})
    result = story.stop()
    assert facts(result, "outcome", "status") == ("survived", "running")
    assert (int(result.exit), only(result)["error"]["code"]) == (5, "permission_denied")  # type: ignore[index]
    assert story.processes.alive(agent.process)


def test_a_process_that_appears_after_a_clean_look_is_ended(story: Story) -> None:
    """Two looks in a row: between them a process forks that no single look can see."""
    agent = story.agent()
    late: list[ProcessId] = []
    look = story.processes.look

    def looking() -> object:
        seen = look()
        if not late and not story.processes.alive(agent.process):
            marks = {"TMUXREAP_ID": "mark-of-acme"}
            late.append(story.processes.add("sleep", new_session=True, environ=marks))
        return seen

    story.processes.look = looking  # type: ignore[method-assign,assignment]
    result = story.stop()
    assert facts(result, "outcome", "stopped_by") == ("stopped", "exit_keys")
    assert [one["pid"] for one in only(result)["swept"]] == [late[0].pid]  # type: ignore[union-attr]
    assert not story.processes.alive(late[0])


# Kill


def test_a_process_seen_earlier_is_known_when_nothing_ties_it_to_the_agent(
    story: Story,
) -> None:
    """A child that came during the keys: only the look before the hangup saw its parent."""
    agent, children = story.agent(leaves=False), list[ProcessId]()

    def bear() -> None:
        deaf = {SIGHUP, SIGTERM}
        child = story.processes.add("node", parent=agent.process, new_session=True, ignores=deaf)
        story.processes.table[child.pid].environ = {}
        children.append(child)

    story.processes.after(0.2, bear)
    assert facts(story.stop(), "outcome", "stopped_by") == ("stopped", "sigkill")
    assert [story.processes.alive(child) for child in children] == [False]


def test_kill_signals_and_closes_what_is_left(story: Story) -> None:
    agent = story.agent(ignores={SIGTERM})
    result = story.kill()
    assert facts(result, "outcome", "stopped_by", "termination_mode") == (
        "killed",
        "sigkill",
        "kill",
    )
    assert rungs(result) == {"term": 2000, "kill": 0}
    assert story.signals_to(agent.process) == [SIGTERM, SIGCONT, SIGKILL]
    assert story.row()["resumable"] is True


def test_kill_without_grace_sends_no_term(story: Story) -> None:
    agent = story.agent()
    result = story.kill(grace_s=0)
    assert rungs(result)["term"] == "--grace 0"
    assert story.signals_to(agent.process) == [SIGKILL]


def test_a_shell_that_ignores_term_goes_with_its_terminal(story: Story) -> None:
    story.agent(shell=True)
    assert facts(story.kill(), "outcome", "stopped_by") == ("killed", "sigterm")
    assert story.tmux.servers == {}


# The plan


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_dry_run_shows_the_plan_that_a_stop_records(story: Story, verb: str) -> None:
    agent = story.agent(shell=True, state="draft", draft="half a thought")
    story.processes.add("ssh-agent", parent=agent.process)
    before = story.written()
    planned = only(getattr(story, verb)(dry_run=True))
    assert planned["outcome"] == "planned"
    assert story.written() == before
    assert story.told() == []
    getattr(story, verb)()
    assert story.recorded_plans() == [json.dumps(planned["plan"])]


def test_a_spared_program_is_named_and_lives(story: Story) -> None:
    agent = story.agent()
    shared = story.processes.add("ssh-agent", parent=agent.process, new_session=True)
    result = story.stop()
    (spared,) = only(result)["spared"]  # type: ignore[misc]
    assert spared == {"pid": shared.pid, "name": "ssh-agent", "why": "a shared ssh-agent"}
    assert story.processes.alive(shared)


# A tmux that does not answer


def test_a_hung_tmux_is_not_a_dead_one(story: Story) -> None:
    agent = story.agent()
    before = story.written()
    story.tmux.hung.add(story.SOCKET)
    result = story.stop()
    assert (int(result.exit), only(result)["error"]["code"]) == (4, "tmux_unreachable")  # type: ignore[index]
    assert story.written() == before
    assert (agent.heard, story.processes.signals) == ([], [])


@pytest.mark.parametrize(
    ("missing", "denied", "code", "status"),
    [
        (True, False, "tmux_missing", 4),
        (False, True, "permission_denied", 5),
        (False, False, "tmux_unreachable", 4),
    ],
)
def test_a_stop_writes_nothing_while_tmux_cannot_be_asked(
    story: Story, missing: bool, denied: bool, code: str, status: int
) -> None:
    story.agent()
    before = story.written()
    story.tmux.answers[story.SOCKET] = Unreachable(story.SOCKET, "no", "", missing, denied)
    result = story.stop()
    assert (int(result.exit), only(result)["error"]["code"]) == (status, code)  # type: ignore[index]
    assert story.written() == before


def test_a_tmux_that_hangs_in_the_middle_proves_nothing(story: Story) -> None:
    agent = story.agent(leaves=False)
    before = story.path.read_bytes()
    story.processes.after(1.0, lambda: story.tmux.hung.add(story.SOCKET))
    result = story.stop()
    assert facts(result, "outcome", "status") == ("failed", "running")
    assert int(result.exit) == 4
    assert story.path.read_bytes() == before
    assert story.signals_to(agent.process) == []


def test_a_server_that_dies_in_the_middle_leaves_nothing_behind(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP})
    server = story.tmux.servers[story.SOCKET].process
    story.processes.after(1.0, lambda: story.processes.die(server))
    result = story.stop()
    assert facts(result, "outcome", "stopped_by") == ("stopped", "hangup")
    assert story.signals_to(agent.process) == [SIGTERM]


# What reaches tmux


def test_a_stop_sends_tmux_these_commands_only(story: Story) -> None:
    agent = story.agent()
    server = story.tmux.servers[story.SOCKET]
    story.stop()
    pane = f"#{{==:#{{pane_pid}},{agent.process.pid}}}"
    same = f"#{{==:#{{pid}},{server.process.pid}}},#{{==:#{{start_time}},{server.started}}}"
    transcript = story.told()
    assert [command[:4] for command in transcript] == [
        ("copy-mode", "-q", "-t", "%0"),
        ("set-option", "-p", "-t", "%0"),
        ("if-shell", "-F", "-t", "%0"),
        ("if-shell", "-F", "-t", "%0"),
        ("if-shell", "-F", "-t", "$0:"),
    ]
    assert transcript[1][4:] == ("--", "remain-on-exit", "on")
    assert transcript[2][5] == "send-keys -t %0 -l -- /exit"
    assert transcript[3][5] == "send-keys -t %0 -- Enter"
    assert transcript[4][5] == "kill-session -t '$0'"
    assert all(same in transcript[at][4] for at in (2, 3, 4))
    assert pane in transcript[2][4]


def test_all_targets_are_ended_at_the_same_time(story: Story) -> None:
    for name in ("a", "a-2", "b"):
        story.agent(name, exit_delay_s=1.0)
    started = story.clock.monotonic()
    result = story.stop("a", "b", "a-2")
    assert [item.as_json()["outcome"] for item in result.results] == ["stopped"] * 3
    assert story.clock.monotonic() - started == pytest.approx(1.075, abs=0.02)


def test_one_failing_target_does_not_stop_the_others(story: Story) -> None:
    story.agent("bad", leaves=False, unkillable=True, ignores={SIGHUP, SIGTERM})
    story.agent("good")
    result = story.stop("bad", "good", "nobody")
    assert [item.as_json()["outcome"] for item in result.results] == [
        "survived",
        "stopped",
        "failed",
    ]
    assert int(result.exit) == 1


def test_a_neighbour_whose_name_has_the_same_prefix_lives(story: Story) -> None:
    longer = story.agent("a-2")
    story.agent("a")
    story.stop("a")
    assert story.processes.alive(longer.process)
    assert longer.heard == []
    assert OWN_PID in story.processes.table


def test_a_kill_names_what_it_swept_beside_the_agent(story: Story) -> None:
    agent = story.agent()
    story.processes.add("node", parent=agent.process)
    assert [one["name"] for one in only(story.kill())["swept"]] == ["node"]  # type: ignore[union-attr]


def test_the_shell_of_an_agent_that_had_left_is_swept(story: Story) -> None:
    agent = story.agent(shell=True)
    story.processes.die(agent.process)
    assert [one["name"] for one in only(story.stop())["swept"]] == ["bash"]  # type: ignore[union-attr]

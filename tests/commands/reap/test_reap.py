"""`reap` as histories: what is told, what is ended, and who lives on."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes import DEMO, OWN_PID, FakeAgent, FakeSession, Story
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.reap import ReapRequest
from tmuxreap.commands.reap.verdicts import Kind, Limits
from tmuxreap.core.model import ProcessId, Unreachable
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import Heartbeat, Moment, NewEvent, NewIntent, Survivor

HOUR_S = 3600.0


def says(story: Story, kind: str, state: str, name: str = "acme") -> None:
    with story.ledger() as ledger:
        ledger.record_heartbeat(Heartbeat(name, story.clock.now(), state, kind, None, {}))


def tells(story: Story, kind: str, state: str, name: str = "acme") -> None:
    """As a hook does, by clocks that nobody sets."""
    clock = story.clock
    moment = Moment(story.BOOT, clock.uptime(), clock.monotonic())
    with story.ledger() as ledger:
        ledger.record_heartbeat(Heartbeat(name, clock.now(), state, kind, None, moment.as_data()))


def draws(story: Story, name: str = "acme") -> None:
    (session,) = (one for one in story.tmux.servers[story.SOCKET].sessions if one.name == name)
    session.activity = int(story.clock.now())


def passes(story: Story, seconds: float) -> None:
    story.processes.wait((), seconds)


def hung(story: Story, name: str = "acme") -> FakeAgent:
    """It said that a tool begins, and nothing since."""
    agent = story.agent(name, state="busy")
    says(story, "tool_before", "working", name)
    passes(story, 200)
    return agent


def reaped(story: Story, *kinds: Kind, yes: bool = True, pid: int = OWN_PID, **request: Any) -> Result:
    return reap.run(story.app(pid), ReapRequest(kinds, yes=yes, **request))


def told(result: Result) -> dict[str, tuple[object, object]]:
    facts = [item.as_json() for item in result.results]
    return {str(one["name"]): (one["verdict"], one["outcome"]) for one in facts}


def kept(result: Result, name: str = "acme") -> str:
    found = result.more["kept"]
    assert isinstance(found, list)
    return "; ".join(one["why"] for one in found if one["name"] == name)


def test_without_yes_the_plan_is_told_and_nothing_is_ended(story: Story) -> None:
    agent = hung(story)
    before = story.written()
    for request in ({"yes": False}, {"yes": True, "dry_run": True}):
        result = reaped(story, Kind.STALLED, **request)
        assert told(result) == {"acme": ("stalled", "planned")}
        assert result.exit == 0
        assert "plan" in result.results[0].as_json()
    assert story.processes.alive(agent.process)
    assert not agent.heard
    assert story.written()["agent-sessions.yaml"] == before["agent-sessions.yaml"]
    with story.ledger() as ledger:
        assert ledger.events() == []


def test_a_hung_tool_is_ended_by_the_ladder_and_can_be_resumed(story: Story) -> None:
    agent = hung(story)
    result = reaped(story, Kind.STALLED)
    assert told(result) == {"acme": ("stalled", "stopped")}
    assert not story.processes.alive(agent.process)
    row = story.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"], row["resumable"]) == (
        "stopped", "stalled", "graceful", True,
    )  # fmt: skip
    evidence = result.results[0].as_json()["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["event"], evidence["age_s"], evidence["limit_s"]) == ("tool_before", 200, 120.0)


def test_a_model_that_thinks_for_minutes_redraws_its_spinner_and_lives(story: Story) -> None:
    agent = story.agent(state="busy")
    tells(story, "prompt", "working")
    for _ in range(10):
        passes(story, 100)
        draws(story)
        assert kept(reaped(story, Kind.STALLED)) in (
            "not stalled: it drew something 0s ago",
            "not stalled: it said working 1m 40s ago",
        )
    assert story.processes.alive(agent.process)
    passes(story, 121)  # and a busy screen that is frozen is stalled
    result = reaped(story, Kind.STALLED)
    assert told(result) == {"acme": ("stalled", "stopped")}
    evidence: Any = result.results[0].as_json()["evidence"]
    assert (evidence["age_s"], evidence["screen_still_s"], evidence["state"]) == (1121, 121, "busy")


def test_who_drew_between_the_verdict_and_the_deed_lives(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = hung(story)
    sweep = reap.sweep

    def a_moment_later(*words: Any) -> Any:
        draws(story)
        return sweep(*words)

    monkeypatch.setattr(reap, "sweep", a_moment_later)
    assert "not any more: not stalled: it drew something 0s ago" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize("kind", ["tool_before", "heartbeat"])
@pytest.mark.parametrize("spoken", [tells, says])
def test_after_a_suspend_nobody_is_stalled_before_he_had_his_time(
    story: Story, kind: str, spoken: Callable[[Story, str, str], None]
) -> None:
    agent = story.agent(state="busy")
    spoken(story, kind, "working")
    passes(story, 60)
    story.clock.sleep(8 * HOUR_S)
    passes(story, 55)
    assert "it said working 1m 55s ago" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)
    passes(story, 10)
    assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}


@pytest.mark.parametrize("hours", [-5, 5])
@pytest.mark.parametrize("kind", ["tool_before", "heartbeat"])
def test_a_clock_that_is_set_makes_nobody_stalled_and_saves_nobody(story: Story, hours: int, kind: str) -> None:
    story.agent(state="busy")
    passes(story, 10)
    tells(story, kind, "working")
    passes(story, 60)
    story.clock.set_by(hours * HOUR_S)
    assert "it said working 1m ago" in kept(reaped(story, Kind.STALLED))
    passes(story, 70)
    if hours > 0 or kind == "heartbeat":
        assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}
    else:  # what it drew seems to come from the future: until that is over nobody can tell
        assert "it drew something" in kept(reaped(story, Kind.STALLED))
        passes(story, 5 * HOUR_S)
        assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}


def test_who_draws_after_the_clock_was_set_back_did_not_draw_before_it_spoke(story: Story) -> None:
    agent = story.agent(state="busy")
    tells(story, "prompt", "working")
    story.clock.set_by(-5 * HOUR_S)
    passes(story, 130)
    draws(story)
    assert "it drew something 0s ago" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)


def test_a_sleep_makes_nobody_idle_either(story: Story) -> None:
    story.agent()
    tells(story, "turn_end", "idle")
    passes(story, HOUR_S)
    story.clock.sleep(8 * HOUR_S)
    assert "it did something 1h ago" in kept(reaped(story, Kind.IDLE))
    passes(story, 1.1 * HOUR_S)
    assert told(reaped(story, Kind.IDLE)) == {"acme": ("idle", "stopped")}


def test_the_child_of_a_running_tool_keeps_its_agent(story: Story) -> None:
    agent = story.agent(state="busy")
    says(story, "tool_before", "working")
    tool = story.processes.add("bash", parent=agent.process)
    passes(story, 1200)
    assert "a child of it is at work: bash" in kept(reaped(story, Kind.STALLED))
    assert story.processes.alive(agent.process)
    story.processes.die(tool)
    assert told(reaped(story, Kind.STALLED)) == {"acme": ("stalled", "stopped")}


def test_the_servers_that_came_with_an_agent_keep_it_not(story: Story) -> None:
    agent = story.agent()
    story.processes.add("node", "mcp-server", parent=agent.process, open_files=["socket:[7]", "/dev/null"])
    passes(story, 3 * HOUR_S)
    result = reaped(story, Kind.IDLE)
    assert told(result) == {"acme": ("idle", "stopped")}
    assert "'what': 'helper'" in str(result.results[0].as_json()["evidence"])


@pytest.mark.parametrize(
    ("words", "told_of"),
    [(("bash", "-c", "make"), "(tool)"), (DEMO, "agent"), (("claude",), "agent"), (("cargo",), "started later")],
)
def test_working_children_keep_an_idle_agent(story: Story, words: tuple[str, ...], told_of: str) -> None:
    agent = story.agent()
    passes(story, 100)
    story.processes.add(*words, parent=agent.process)
    passes(story, 3 * HOUR_S)
    assert told_of.strip("()") in kept(reaped(story, Kind.IDLE))
    assert story.processes.alive(agent.process)


def test_what_came_with_an_agent_and_talks_to_nobody_keeps_it(story: Story) -> None:
    agent = story.agent()
    story.processes.add("sleep", parent=agent.process, open_files=["/dev/pts/0"])
    passes(story, 3 * HOUR_S)
    assert "background" in kept(reaped(story, Kind.IDLE))


@pytest.mark.parametrize(("launcher", "told_of"), [("node", "idle"), ("python3", "agent")])
def test_what_a_launcher_starts_at_once_is_the_agent_itself(story: Story, launcher: str, told_of: str) -> None:
    agent = story.agent()
    table = story.processes.table[agent.process.pid]
    table.now = replace(table.now, comm=launcher)
    story.processes.add(*DEMO, parent=agent.process)
    passes(story, 3 * HOUR_S)
    result = reaped(story, Kind.IDLE, yes=False)
    assert told_of in (kept(result) or str(told(result)))


def test_an_orchestrator_lives_as_long_as_a_session_that_was_started_from_within_it(story: Story) -> None:
    boss = story.agent("boss")
    worker = story.agent("worker")
    table = story.processes.table
    environ = dict(table[worker.process.pid].environ or {})
    table[worker.process.pid].environ = {**environ, "TMUXREAP_PARENT": "mark-of-boss"}
    says(story, "tool_before", "working", "boss")
    says(story, "tool_before", "working", "worker")
    story.processes.add("bash", parent=worker.process)
    passes(story, 3 * HOUR_S)
    assert "sub-agents of it live: worker" in kept(reaped(story, Kind.STALLED, Kind.IDLE), "boss")
    assert story.processes.alive(boss.process)
    story.stop("worker")
    assert told(reaped(story, Kind.STALLED)) == {"boss": ("stalled", "stopped")}


@pytest.mark.parametrize("kind", [Kind.STALLED, Kind.IDLE, Kind.EXPIRED])
def test_who_is_looked_at_lives(story: Story, kind: Kind) -> None:
    agent = hung(story)
    _ttl(story, "1m")
    passes(story, 3 * HOUR_S)
    story.tmux.servers[story.SOCKET].sessions[0].attached = 1
    assert kept(reaped(story, kind)) == "somebody is attached to it"
    assert story.processes.alive(agent.process)


def test_who_is_looked_at_through_another_session_lives(story: Story) -> None:
    agent = hung(story)
    sessions = story.tmux.servers[story.SOCKET].sessions
    twin = FakeSession("$9", "twin", 1, panes=sessions[0].panes, attached=1, grouped=True)
    sessions.append(twin)
    assert kept(reaped(story, Kind.STALLED)) == "somebody is attached to it"
    assert story.processes.alive(agent.process)
    twin.attached = 0
    assert told(reaped(story, Kind.STALLED, yes=False)) == {"acme": ("stalled", "planned")}


@pytest.mark.parametrize("kind", [Kind.STALLED, Kind.IDLE, Kind.EXPIRED])
def test_an_open_dialog_is_never_answered_by_reap(story: Story, kind: Kind) -> None:
    agent = story.agent(state="dialog")
    says(story, "tool_before", "working")
    _ttl(story, "1m")
    passes(story, 3 * HOUR_S)
    assert "it waits for a person" in kept(reaped(story, kind))
    assert not agent.heard


def test_who_said_to_be_idle_or_nothing_at_all_is_not_stalled(story: Story) -> None:
    for name in ("quiet", "done"):
        story.agent(name)
    says(story, "turn_end", "idle", "done")
    passes(story, 200)
    result = reaped(story, Kind.STALLED)
    assert not result.results
    assert (kept(result, "quiet"), kept(result, "done")) == (
        "not stalled: it never reported",
        "not stalled: it last said idle",
    )


def test_what_an_agent_said_before_it_was_started_again_counts_no_more(story: Story) -> None:
    says(story, "tool_before", "working")
    passes(story, 500)
    story.agent(state="busy")
    assert kept(reaped(story, Kind.STALLED)) == "not stalled: it never reported"


def test_a_ttl_runs_from_the_last_start(story: Story) -> None:
    agent = story.agent()
    _ttl(story, "2h")
    passes(story, 1.9 * HOUR_S)
    assert "of its ttl are left" in kept(reaped(story, Kind.EXPIRED))
    passes(story, 0.2 * HOUR_S)
    assert told(reaped(story, Kind.EXPIRED)) == {"acme": ("expired", "stopped")}
    assert not story.processes.alive(agent.process)


def test_its_own_session_is_never_reaped(story: Story) -> None:
    agent = hung(story)
    inside = story.processes.add("tmuxreap", pid=777, parent=agent.process)
    assert kept(reaped(story, pid=inside.pid)) == "you are calling from inside of it"
    assert story.processes.alive(agent.process)


def test_who_is_being_ended_by_another_is_left_to_him(story: Story) -> None:
    agent = hung(story)
    owner = story.processes.add("tmuxreap")
    intent = NewIntent("acme", "stop", "manual_stop", "agent", owner, story.BOOT, story.clock.now() + 60, (), "{}")
    with story.ledger() as ledger:
        ledger.begin_intent(intent, owner_alive=lambda _: True, take_over=False, now=story.clock.now())
    assert kept(reaped(story)) == "it is being ended by another"
    assert story.processes.alive(agent.process)


def test_a_verdict_that_holds_no_more_when_acting_is_dropped(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = hung(story)
    sweep = reap.sweep

    def a_moment_later(*words: Any) -> Any:
        says(story, "tool_after", "working")
        return sweep(*words)

    monkeypatch.setattr(reap, "sweep", a_moment_later)
    result = reaped(story, Kind.STALLED)
    assert not result.results
    assert "not any more: not stalled: it said working 0s ago" in kept(result)
    assert story.processes.alive(agent.process)


def tasks(story: Story) -> list[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(ledger_path(story.path))) as db:
        return db.execute("SELECT task_id, status, error_message FROM orchestrator_task").fetchall()


@pytest.mark.parametrize("status", ["failed", "ready"])
def test_its_task_becomes_what_was_asked_for(story: Story, status: str) -> None:
    hung(story)
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', '"agent": "demo", "task_id": "TASK-31-1"'))
    reaped(story, Kind.STALLED, task_status=status)
    assert tasks(story) == [("TASK-31-1", status, "Agent killed: stalled")]


def test_what_an_ended_session_left_says_nothing_of_its_task(story: Story) -> None:
    left_behind(story)
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', '"agent": "demo", "task_id": "TASK-31-1"'))
    assert told(reaped(story, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert tasks(story) == []


# Orphans.


def left_behind(story: Story, name: str = "acme") -> tuple[FakeAgent, ProcessId]:
    """An ended row, and a helper of it that survived."""
    agent = story.agent(name, status="stopped")
    marks = {"TMUXREAP_ID": f"mark-of-{name}", "TMUXREAP_REGISTRY": str(story.path)}
    helper = story.processes.add("node", parent=agent.process, new_session=True, environ=marks, memory=5 * 1024 * 1024)
    sessions = story.tmux.servers[story.SOCKET].sessions
    sessions[:] = [session for session in sessions if session.name != name]
    story.processes.die(agent.process)
    with story.ledger() as ledger:
        ledger.remember_mark(name, f"mark-of-{name}", 1.0)
    return agent, helper


def test_an_orphan_of_an_ended_row_is_ended_and_told_with_its_memory_and_age(story: Story) -> None:
    _, helper = left_behind(story)
    passes(story, 60)
    result = reaped(story, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    evidence: Any = result.results[0].as_json()["evidence"]
    (process,) = evidence["processes"]
    assert (process["pid"], process["name"], process["age_s"], process["memory_mb"]) == (helper.pid, "node", 60, 5.0)
    assert (evidence["memory_mb"], evidence["age_s"], evidence["registered"]) == (5.0, 60, True)
    assert not story.processes.alive(helper)


def test_an_orphan_without_a_row_is_told_by_the_name_that_it_had(story: Story) -> None:
    _, helper = left_behind(story)
    story.path.write_text("tmux_sessions: []\n")
    neighbour = story.agent("neighbour")
    result = reaped(story, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    assert not story.processes.alive(helper)
    assert story.processes.alive(neighbour.process)
    with story.ledger() as ledger:
        (event,) = [event for event in ledger.events() if event.kind == "reaped"]
    assert (event.name, event.data["verdict"]) == ("acme", "orphan")


def test_what_an_earlier_life_left_is_ended_and_the_new_one_lives(story: Story) -> None:
    _, helper = left_behind(story)
    story.path.write_text("tmux_sessions: []\n")
    agent = story.agent()
    with story.ledger() as ledger:
        ledger.remember_mark("acme", "mark-of-acme", 1.0)
    old = story.processes.table[helper.pid]
    old.environ = {**(old.environ or {}), "TMUXREAP_ID": "older-mark"}
    with story.ledger() as ledger:
        ledger.remember_mark("acme", "older-mark", 0.5)
    assert told(reaped(story, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert not story.processes.alive(helper)
    assert story.processes.alive(agent.process)
    assert story.row()["status"] == "running"


def test_what_the_ledger_and_a_mark_both_tell_of_is_told_once(story: Story) -> None:
    _, helper = left_behind(story)
    story.path.write_text("tmux_sessions: []\n")
    with story.ledger() as ledger:
        ledger.remember_survivors("acme", [Survivor(helper, story.BOOT, "node")], now=1.0)
    assert [item.as_json()["outcome"] for item in reaped(story, Kind.ORPHAN).results] == ["stopped"]


def test_a_survivor_that_only_the_ledger_remembers_is_an_orphan(story: Story) -> None:
    stray = story.processes.add("node", new_session=True, ignores=())
    again = story.processes.add("node", new_session=True)
    with story.ledger() as ledger:
        ledger.remember_survivors("gone", [Survivor(stray, story.BOOT, "node")], now=1.0)
        ledger.remember_survivors("gone", [Survivor(ProcessId(again.pid, 1), story.BOOT, "node")], now=1.0)
        ledger.remember_survivors("gone", [Survivor(again, "an-older-boot", "node")], now=1.0)
    assert told(reaped(story, Kind.ORPHAN)) == {"gone": ("orphan", "stopped")}
    assert not story.processes.alive(stray)
    assert story.processes.alive(again)  # a stranger with the pid of one


@pytest.mark.parametrize("spared", ["ssh-agent", "tmux: server"])
def test_what_is_shared_is_no_orphan(story: Story, spared: str) -> None:
    _, helper = left_behind(story)
    marks = {"TMUXREAP_ID": "lost", "TMUXREAP_REGISTRY": str(story.path)}
    shared = story.processes.add(spared, new_session=True, environ=marks)
    below = story.processes.add("bash", parent=shared, new_session=True)
    assert told(reaped(story, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert story.processes.alive(shared)
    assert story.processes.alive(below)
    assert not story.processes.alive(helper)


def strangers(story: Story) -> dict[str, ProcessId]:
    """Processes of people, each of which looks in some way like one of ours."""
    add, other = story.processes.add, "/tmp/tmux-1000/other"
    ours = {"TMUXREAP_ID": "lost", "TMUXREAP_REGISTRY": str(story.path)}
    pane = story.tmux.open(other, "mine", "zsh", environ=ours).panes[0]
    inherited = story.tmux.open("/tmp/tmux-1000/marked", "x", "zsh").panes[0]
    server = story.tmux.servers["/tmp/tmux-1000/marked"].process
    story.processes.table[server.pid].environ = ours
    tmux = f"/tmp/tmux-1000/marked,{server.pid},0"
    return {
        "an agent in a plain terminal": add("claude", tty=99, new_session=True),
        "one in a terminal that an agent opened": add("claude", tty=98, new_session=True, environ=ours),
        "another registry's": add("node", new_session=True, environ={**ours, "TMUXREAP_REGISTRY": "/else.yaml"}),
        "a mark without a registry": add("node", new_session=True, environ={"TMUXREAP_ID": "lost"}),
        "a pane on another server": pane.process,
        "a daemon of that pane": add("node", parent=pane.process, new_session=True, environ=ours),
        "a pane of a marked server": inherited.process,
        "a daemon of a closed pane there": add(
            "node", new_session=True, environ={**ours, "TMUX": tmux, "TMUX_PANE": "%77"}
        ),
    }  # fmt: skip


def test_peoples_own_agents_and_other_servers_are_never_among_the_orphans(story: Story) -> None:
    _, helper = left_behind(story)
    theirs = strangers(story)
    result = reaped(story, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    assert not story.processes.alive(helper)
    assert [name for name, process in theirs.items() if not story.processes.alive(process)] == []
    assert {pid for pid, _ in story.processes.signals} == {helper.pid}


def test_a_session_that_was_only_forgotten_is_no_orphan(story: Story) -> None:
    agent = story.agent()
    environ = story.processes.table[agent.process.pid].environ or {}
    story.processes.table[agent.process.pid].environ = {**environ, "TMUXREAP_REGISTRY": str(story.path)}
    story.path.write_text("tmux_sessions: []\n")
    assert not reaped(story).results
    assert story.processes.alive(agent.process)


def test_a_mark_that_came_from_another_server_than_its_session_is_no_orphan(story: Story) -> None:
    marks = {"TMUXREAP_ID": "m-1", "TMUXREAP_REGISTRY": str(story.path), "TMUX": "/tmp/gone,50,0", "TMUX_PANE": "%1"}
    stray = story.processes.add("node", new_session=True, environ=marks)
    with story.ledger() as ledger:
        ledger.remember_mark("old", "m-1", 1.0)
        ledger.record_event(NewEvent("old", "started", {"mark": "m-1", "tmux": "/tmp/elsewhere,51"}), 1.0)
    assert not reaped(story, Kind.ORPHAN).results
    assert story.processes.alive(stray)


def test_with_no_kind_given_all_are_meant(story: Story) -> None:
    hung(story, "hung")
    left_behind(story, "left")
    assert {verdict for verdict, _ in told(reaped(story, yes=False)).values()} == {"stalled", "orphan"}
    assert told(reaped(story, Kind.IDLE, yes=False)) == {}


def test_thresholds_can_be_given(story: Story) -> None:
    hung(story)
    assert not reaped(story, Kind.STALLED, limits=Limits(stalled_after_s=201)).results
    assert reaped(story, Kind.STALLED, yes=False, limits=Limits(stalled_after_s=199)).results


def _ttl(story: Story, span: str) -> None:
    text = story.path.read_text()
    story.path.write_text(text.replace('"agent": "demo"', f'"agent": "demo", "ttl": "{span}"'))


def test_an_ended_row_whose_session_lives_has_no_orphans(story: Story) -> None:
    agent = story.agent(status="stopped")
    helper = story.processes.add("node", parent=agent.process, new_session=True)
    assert not reaped(story).results
    assert story.processes.alive(agent.process)
    assert story.processes.alive(helper)


def test_where_tmux_cannot_be_asked_nothing_is_reaped(story: Story) -> None:
    agent = hung(story)
    _, helper = left_behind(story, "left")
    story.tmux.answers[story.SOCKET] = Unreachable(story.SOCKET, "no answer", "try again")
    result = reaped(story)
    assert not result.results
    assert kept(result) == "it could not be looked at"
    assert story.processes.alive(agent.process)
    assert story.processes.alive(helper)

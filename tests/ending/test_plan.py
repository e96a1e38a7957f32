"""What will be done, and what must not be."""

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import (
    EndVerb,
    Live,
    Pane,
    Process,
    ProcessId,
    Scope,
    Server,
    ServerSession,
    Status,
)
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import PaneOption, exits_quickly, make_plan, refusal, why_no_keys
from tmuxreap.ending.policy import Policy
from tmuxreap.proof.ownership import Belonging, Owned
from tmuxreap.proof.sight import Sight

DEMO = load_profiles(None).agents["demo"]
PANE = Pane("%0", 100, "/dev/pts/0", False, False, False, False, "@0", False, "off")
SESSION = ServerSession("$0", "acme", 1000, 1000, 0, False, (PANE,))
SERVER = Server("/tmp/s", 50, 900, (SESSION,))
AGENT = Process(ProcessId(100, 7), 50, 100, 100, 34816, 100, "S", "python3")
BEHIND = replace(AGENT, tpgid=200)
SIGHT = Sight(
    live=Live.ALIVE,
    socket="/tmp/s",
    server=SERVER,
    session=SESSION,
    pane=PANE,
    agent=(AGENT,),
    keyed=(AGENT,),
    owned=Owned((Belonging(AGENT, "pane"),)),
)
STOP, KILL = Policy(EndVerb.STOP, "manual_stop"), Policy(EndVerb.KILL, "killed")
OTHER = replace(PANE, id="%1", pid=300)


@pytest.mark.parametrize(
    ("sight", "profile", "policy", "reason"),
    [
        (SIGHT, DEMO, STOP, None),
        (SIGHT, DEMO, replace(STOP, keys_timeout_s=0.0), "--keys-timeout 0"),
        (SIGHT, None, STOP, "no keys are known for this agent"),
        (
            SIGHT,
            replace(DEMO, idle_keys=(), safe_keys=()),
            STOP,
            "no keys are known for this agent",
        ),
        (replace(SIGHT, live=Live.AGENT_GONE, agent=()), DEMO, STOP, "the agent is gone"),
        (replace(SIGHT, live=Live.GONE, session=None, pane=None), DEMO, STOP, "the agent is gone"),
        (replace(SIGHT, pane=replace(PANE, input_off=True)), DEMO, STOP, "the pane takes no input"),
        (replace(SIGHT, keyed=(BEHIND,)), DEMO, STOP, "the agent is not in front"),
        (
            replace(SIGHT, keyed=(replace(AGENT, tpgid=-1),)),
            DEMO,
            STOP,
            "the agent is not in front",
        ),
        (replace(SIGHT, keyed=()), DEMO, STOP, "the agent is not in front"),
        (replace(SIGHT, keyed=(BEHIND, AGENT)), DEMO, STOP, None),
        (SIGHT, DEMO, KILL, "a kill sends none"),
    ],
)
def test_a_plan_says_why_it_sends_no_keys(
    sight: Sight, profile: Profile | None, policy: Policy, reason: str | None
) -> None:
    assert why_no_keys(sight, profile, policy) == reason


def test_a_plan_says_what_keeps_the_keys_from_the_agent() -> None:
    plan = make_plan("acme", "demo", SIGHT, None, DEMO, STOP, held="less (300) has its terminal")
    assert plan.rungs[0].skipped == "less (300) has its terminal"


def planned(policy: Policy, **sight: object) -> list[tuple[str, object]]:
    plan = make_plan("acme", "demo", replace(SIGHT, **sight), None, DEMO, policy)  # type: ignore[arg-type]
    rungs = plan.recorded().as_json()["rungs"]
    assert isinstance(rungs, list)
    return [(rung["name"], rung["skipped"] or rung["waits_ms"]) for rung in rungs]


def test_a_stop_plans_keys_hangup_and_kill() -> None:
    assert planned(STOP) == [("keys", 3700), ("hangup", 5000), ("kill", 2000)]
    given = replace(STOP, keys_timeout_s=1.5, grace_s=0.25, force=False)
    assert planned(given) == [("keys", 1500), ("hangup", 250), ("kill", "--no-force")]


def test_a_kill_plans_term_and_kill() -> None:
    assert planned(KILL) == [("term", 2000), ("kill", 2000)]
    assert planned(replace(KILL, grace_s=0.0)) == [("term", "--grace 0"), ("kill", 2000)]


def test_options_are_changed_for_keys_only() -> None:
    option = PaneOption("/tmp/s", "%0", "remain-on-exit", None)
    assert make_plan("acme", "demo", SIGHT, None, DEMO, STOP, (option,)).options == (option,)
    assert make_plan("acme", "demo", SIGHT, None, DEMO, KILL, (option,)).options == ()
    assert make_plan("acme", None, SIGHT, None, None, STOP, (option,)).options == ()


def test_a_plan_is_recorded_as_data() -> None:
    plan = (
        make_plan("acme", "demo", SIGHT, Screen(State.DRAFT, "secret"), DEMO, STOP)
        .recorded()
        .as_json()
    )
    assert plan["processes"] == [{"pid": 100, "start": 7, "name": "python3", "why": "pane"}]
    assert (plan["session"], plan["pane"], plan["state"]) == ("$0", "%0", "draft")
    assert "secret" not in str(plan)


def code(failure: Failure | None) -> str | None:
    return failure.code.text if failure else None


TROUBLE = Failure(Code.TMUX_UNREACHABLE, "no")
AMBIGUOUS = Failure(Code.AMBIGUOUS_PANE, "no")


@pytest.mark.parametrize(
    ("sight", "status", "policy", "expected"),
    [
        (SIGHT, Status.RUNNING, STOP, None),
        (replace(SIGHT, trouble=TROUBLE), Status.RUNNING, STOP, "tmux_unreachable"),
        (replace(SIGHT, trouble=TROUBLE), Status.STOPPED, STOP, "tmux_unreachable"),
        (replace(SIGHT, trouble=AMBIGUOUS), Status.RUNNING, STOP, "ambiguous_pane"),
        (
            replace(SIGHT, trouble=AMBIGUOUS),
            Status.RUNNING,
            replace(STOP, scope=Scope.SESSION),
            None,
        ),
        (SIGHT, Status.STOPPED, STOP, "session_alive"),
        (SIGHT, Status.TERMINATED, KILL, "session_alive"),
        (replace(SIGHT, session=None, live=Live.GONE), Status.STOPPED, STOP, None),
        (replace(SIGHT, contains_caller=True), Status.RUNNING, STOP, "own_session"),
        (replace(SIGHT, contains_caller=True), Status.RUNNING, KILL, "own_session"),
        (
            replace(SIGHT, contains_caller=True),
            Status.RUNNING,
            replace(STOP, scope=Scope.SESSION),
            "own_session",
        ),
        (replace(SIGHT, foreign=(OTHER,)), Status.RUNNING, STOP, "foreign_panes"),
        (
            replace(SIGHT, foreign=(OTHER,)),
            Status.RUNNING,
            replace(STOP, scope=Scope.SESSION),
            None,
        ),
        (replace(SIGHT, foreign=(OTHER,)), Status.RUNNING, replace(STOP, scope=Scope.PANE), None),
    ],
)
def test_a_session_that_must_not_be_touched_is_refused(
    sight: Sight, status: Status, policy: Policy, expected: str | None
) -> None:
    assert code(refusal(sight, status, policy, "acme")) == expected


def test_foreign_panes_are_listed() -> None:
    failure = refusal(replace(SIGHT, foreign=(OTHER,)), Status.RUNNING, STOP, "acme")
    assert failure is not None
    assert "%1 (pid 300)" in failure.message


@pytest.mark.parametrize(
    ("screen", "quick"),
    [
        (Screen(State.IDLE), True),
        (Screen(State.IDLE, background=True), False),  # the exit command would ask
        (Screen(State.DRAFT, "x"), False),
        (Screen(State.UNKNOWN), False),
        (None, False),
    ],
)
def test_the_quick_keys_go_to_an_empty_prompt_only(screen: Screen | None, quick: bool) -> None:
    assert exits_quickly(screen, DEMO) is quick

"""Verdicts and their defenses, each as a line of facts."""

from __future__ import annotations

import pytest

from tmuxreap.agents.screens import State
from tmuxreap.commands.reap.verdicts import (
    Child,
    ChildKind,
    CloserLook,
    Kept,
    Kind,
    Limits,
    RowFacts,
    Verdict,
    judge,
    kinds_wanted,
    why_exempt,
)
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import AgentState, Live, NoServer, Pane, Server, ServerSession
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import Pulse
from tmuxreap.proof.sight import Sight

NOW = 1_795_000_000.0
ALL = (Kind.STALLED, Kind.IDLE, Kind.EXPIRED)
HOUR = 3600.0
TOOL = Child(7, "bash", ChildKind.TOOL, NOW - 199)
PANE = Pane("%1", 9, "/dev/pts/9", False, False, False, False, "@1", False, "off", "vim")
WATCHED = ServerSession("$0", "acme", 1, None, 1, False, (PANE,))
SERVER = Child(8, "mcp-server", ChildKind.HELPER, NOW - 9000)


def said(state: str, age_s: float, kind: str = "tool_before") -> Pulse:
    return Pulse(kind, state, NOW - age_s, None)


SEEN = RowFacts("acme", NOW, agent_since=NOW - 9000, output_at=NOW - 200, said=said("working", 200))
AT_WORK = CloserLook(State.BUSY, AgentState.WORKING, tool_since=NOW - 200)
QUIET = replace(SEEN, output_at=NOW - 8000, said=said("idle", 8000, "turn_end"))
AT_REST = CloserLook(State.IDLE, AgentState.IDLE, tool_since=NOW - 8000)
OLD = replace(SEEN, ttl="2h", ttl_s=2 * HOUR, ttl_since=NOW - 9000)


def judged(seen: RowFacts, closer: CloserLook, *kinds: Kind) -> Verdict | Kept:
    return judge(kinds or ALL, seen, Limits(), lambda: closer)


def why(seen: RowFacts, closer: CloserLook, kind: Kind) -> str:
    kept = judged(seen, closer, kind)
    assert isinstance(kept, Kept), kept
    return kept.why


def never() -> CloserLook:
    raise AssertionError("nobody had to look closer")


def test_a_tool_that_hangs_is_stalled_and_the_verdict_quotes_what_was_given() -> None:
    verdict = judged(SEEN, replace(AT_WORK, children=(SERVER,)), Kind.STALLED)
    assert verdict == Verdict(
        "acme",
        Kind.STALLED,
        {
            "said": "working",
            "event": "tool_before",
            "at": "2026-11-18T11:03:20Z",
            "age_s": 200,
            "limit_s": 120.0,
            "screen_still_s": 200,
            "state": "working",
            "children": [{"pid": 8, "name": "mcp-server", "what": "helper"}],
        },
    )


def test_a_healthy_tool_call_of_twenty_minutes_lives() -> None:
    seen = replace(SEEN, said=said("working", 1200), output_at=NOW - 1200)
    closer = replace(
        AT_WORK, tool_since=NOW - 1200, children=(replace(TOOL, started=NOW - 1199.9),)
    )
    assert (
        why(seen, closer, Kind.STALLED) == "not stalled: a child of it is working: bash (7, tool)"
    )


def test_a_process_older_than_the_tool_does_not_keep_a_hung_agent() -> None:
    server = replace(
        TOOL, started=NOW - 500
    )  # a development server left running by an earlier tool
    assert isinstance(judged(SEEN, replace(AT_WORK, children=(server,)), Kind.STALLED), Verdict)


@pytest.mark.parametrize(
    ("child", "sub_agents", "told"),
    [
        (
            (replace(TOOL, kind=ChildKind.AGENT, name="claude", started=NOW - 8000),),
            (),
            "claude (7, agent)",
        ),
        ((), ("acme-worker",), "sub-agents of it live: acme-worker"),
    ],
)
@pytest.mark.parametrize(
    ("seen", "closer", "kind"), [(SEEN, AT_WORK, Kind.STALLED), (QUIET, AT_REST, Kind.IDLE)]
)
def test_an_orchestrator_that_waits_for_its_sub_agents_lives(
    child: tuple[Child, ...],
    sub_agents: tuple[str, ...],
    told: str,
    seen: RowFacts,
    closer: CloserLook,
    kind: Kind,
) -> None:
    assert told in why(seen, replace(closer, children=child, sub_agents=sub_agents), kind)


@pytest.mark.parametrize(
    ("pulse", "told"),
    [
        (None, "it never reported"),
        (
            said("working", 10_000),
            "it never reported",
        ),  # by an earlier agent process
        (said("idle", 500, "turn_end"), "it last said idle"),
        (said("waiting", 500, "permission"), "it last said waiting"),
        (said("ended", 500, "session_end"), "it last said ended"),
        (said("", 500, "PreCompact"), "it last said PreCompact"),
        (said("working", 120), "it said working 2m ago"),
        (said("working", -5), "it said working 0s ago"),
    ],
)
def test_an_agent_that_did_not_report_work_is_not_stalled(pulse: Pulse | None, told: str) -> None:
    kept = judge([Kind.STALLED], replace(SEEN, said=pulse), Limits(), never)
    assert kept == Kept("acme", f"not stalled: {told}")


@pytest.mark.parametrize("state", ["working", ""])
def test_a_sender_of_heartbeats_is_judged_by_their_age(state: str) -> None:
    seen = replace(SEEN, said=said(state, 121, "heartbeat"), output_at=NOW)
    busy_child = replace(TOOL, started=NOW - 1)
    assert isinstance(
        judged(seen, CloserLook(State.IDLE, children=(busy_child,)), Kind.STALLED), Verdict
    )
    assert isinstance(
        judged(replace(seen, said=said(state, 119, "heartbeat")), AT_WORK, Kind.STALLED), Kept
    )


def test_an_agent_that_was_interrupted_has_ended_its_turn_though_no_event_says_so() -> None:
    interrupted = replace(SEEN, output_at=NOW - 150)
    assert "it has shown its prompt since" in why(interrupted, AT_REST, Kind.STALLED)
    assert isinstance(
        judged(SEEN, AT_REST, Kind.STALLED), Verdict
    )  # the prompt was there before the event
    long_ago = replace(SEEN, said=said("working", 8100), output_at=NOW - 8000)
    assert isinstance(judged(long_ago, AT_REST, Kind.IDLE), Verdict)


@pytest.mark.parametrize(
    ("seen", "kind"), [(SEEN, Kind.STALLED), (QUIET, Kind.IDLE), (OLD, Kind.EXPIRED)]
)
def test_an_agent_that_waits_for_a_person_is_kept(seen: RowFacts, kind: Kind) -> None:
    assert "it waits for a person" in why(seen, CloserLook(State.DIALOG), kind)


@pytest.mark.parametrize("state", [State.IDLE, State.BUSY, State.DIALOG])
@pytest.mark.parametrize(("seen", "kind"), [(SEEN, Kind.STALLED), (QUIET, Kind.IDLE)])
def test_a_limited_agent_is_neither_stalled_nor_idle(
    seen: RowFacts, kind: Kind, state: State
) -> None:
    closer = replace(AT_REST, state=state, limited=True)
    assert "it met a limit" in why(seen, closer, kind)


@pytest.mark.parametrize("kind", [Kind.IDLE, Kind.EXPIRED])
def test_an_agent_that_reported_waiting_is_kept(kind: Kind) -> None:
    seen = replace(OLD, output_at=NOW - 8000, said=said("waiting", 8000, "permission"))
    assert "it waits for a person" in why(seen, CloserLook(State.UNKNOWN), kind)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"session": WATCHED, "server": Server("/s", 5, 9, (WATCHED,))},
            "a client is attached to it",
        ),
        ({"contains_caller": True}, "this command runs inside it"),
        ({"live": Live.UNKNOWN}, "it could not be looked at"),
        ({"live": Live.REPLACED}, "another session has its name"),
        ({"live": Live.AGENT_GONE}, "its agent has left; what is left there is ended by stop"),
        ({"live": Live.GONE}, "its session is gone; reconcile records that"),
        ({"trouble": Failure(Code.AMBIGUOUS_PANE, "which pane?")}, "which pane?"),
        (
            {"foreign": WATCHED.panes},
            "other panes of its session are busy: vim in %1 (pid 9)",
        ),
        ({}, None),
    ],
)
def test_reap_never_touches_sessions_in_use(change: dict[str, object], told: str | None) -> None:
    sight = replace(Sight(Live.ALIVE, "/s", NoServer("/s")), **change)
    assert why_exempt(sight, under_way=False) == told
    assert why_exempt(sight, under_way=True) == "it is being ended by another"


def test_no_output_for_two_hours_means_idle() -> None:
    verdict = judged(QUIET, replace(AT_REST, children=(SERVER,)), Kind.IDLE)
    assert isinstance(verdict, Verdict)
    assert (verdict.evidence["idle_s"], verdict.evidence["limit_s"], verdict.evidence["state"]) == (
        8000,
        7200,
        "idle",
    )


@pytest.mark.parametrize(
    ("change", "closer", "told"),
    [
        ({"output_at": NOW - 7200}, AT_REST, "it did something 2h ago"),
        ({"said": said("idle", 60, "turn_end")}, AT_REST, "it did something 1m ago"),
        ({"output_at": None}, AT_REST, "its last output cannot be dated"),
        ({}, CloserLook(State.BUSY), "it is busy"),
        ({"said": said("working", 7900)}, CloserLook(State.UNKNOWN), "it is busy"),
        ({"said": None}, CloserLook(State.UNKNOWN), "its state cannot be read from its screen"),
        ({}, replace(AT_REST, children=(TOOL,)), "bash (7, tool)"),
        (
            {},
            replace(AT_REST, children=(replace(TOOL, kind=ChildKind.LATER),)),
            "bash (7, started later)",
        ),
        (
            {},
            replace(AT_REST, children=(replace(TOOL, kind=ChildKind.RUNNING),)),
            "bash (7, running)",
        ),
    ],
)
def test_sessions_in_use_are_not_idle(
    change: dict[str, object], closer: CloserLook, told: str
) -> None:
    assert told in why(replace(QUIET, **change), closer, Kind.IDLE)


def test_an_unreadable_screen_does_not_keep_an_agent_whose_turn_is_over() -> None:
    assert isinstance(judged(QUIET, CloserLook(State.UNKNOWN), Kind.IDLE), Verdict)
    assert isinstance(judged(QUIET, CloserLook(State.DRAFT), Kind.IDLE), Verdict)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ttl": None}, "it has no ttl"),
        ({"ttl": "soon", "ttl_s": None}, "its ttl 'soon' is not a duration"),
        ({"ttl_since": None}, "its start time is not known"),
        ({"ttl_since": NOW - 7000}, "3m 20s of its ttl are left"),
    ],
)
def test_sessions_within_their_ttl_are_not_expired(change: dict[str, object], told: str) -> None:
    assert why(replace(OLD, **change), AT_REST, Kind.EXPIRED) == f"not expired: {told}"


def test_a_ttl_ends_working_agents_too() -> None:
    verdict = judged(OLD, replace(AT_WORK, children=(TOOL,)), Kind.EXPIRED)
    assert isinstance(verdict, Verdict)
    facts = {name: verdict.evidence[name] for name in ("ttl", "ttl_s", "age_s")}
    assert facts == {"ttl": "2h", "ttl_s": 7200.0, "age_s": 9000}


def test_each_session_gets_the_first_verdict_that_holds() -> None:
    every = replace(OLD, said=said("working", 8000), output_at=NOW - 8000)
    for kinds, kind in [
        (ALL, Kind.STALLED),
        ((Kind.EXPIRED, Kind.STALLED), Kind.STALLED),
        ((Kind.EXPIRED,), ALL[2]),
    ]:
        verdict = judged(every, AT_WORK, *kinds)
        assert isinstance(verdict, Verdict)
        assert verdict.kind is kind


def test_every_reason_is_reported() -> None:
    kept = judge(ALL, replace(SEEN, said=None), Limits(), never)
    reasons = (
        "not stalled: it never reported; not idle: it did something 3m 20s ago; not expired: it has"
        " no ttl"
    )
    assert kept == Kept("acme", reasons)


def test_the_kinds_are_those_wanted_and_none_stands_for_all() -> None:
    assert kinds_wanted(True, False, False, True) == (Kind.STALLED, Kind.ORPHAN)
    assert kinds_wanted(False, True, True, False) == (Kind.IDLE, Kind.EXPIRED)
    assert kinds_wanted(False, False, False, False) == ()

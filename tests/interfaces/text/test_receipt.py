"""The receipt of an ending, and the plan of a dry run, as lines."""

from __future__ import annotations

from tests.ending.test_plan import DEMO, SIGHT, STOP
from tmuxreap.core.model import Outcome, Status, StoppedBy
from tmuxreap.core.results import Conversation, Draft, Ending, Process, Result, Rung
from tmuxreap.core.text import Style
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import make_plan
from tmuxreap.interfaces.text.receipt import receipt, verdict
from tmuxreap.interfaces.text.report import lines
from tmuxreap.ledger.records import RecordedPlan

DONE = Ending("acme", Outcome.STOPPED, stopped_by=StoppedBy.EXIT_KEYS, duration_ms=1234)
TALK = Conversation("id-1", "pidfile", None, exists=True)


def told(one: Ending) -> list[str]:
    return list(receipt(one, Style()))


def test_a_receipt_begins_with_the_end_in_one_line() -> None:
    assert told(DONE) == ["acme: stopped, exited on its own exit keys, 1.2 s"]
    assert told(replace(DONE, stopped_by=StoppedBy.SIGKILL))[0].endswith("ended by SIGKILL, 1.2 s")
    assert told(Ending("acme", Outcome.SURVIVED)) == ["acme: survived"]


def test_an_ended_sessions_receipt_says_when_and_why() -> None:
    before = Ending(
        "acme", Outcome.ALREADY_STOPPED, Status.TERMINATED, stop_reason="done", ended_at="noon"
    )
    assert told(before) == ["acme: already terminated (done at noon)"]


def test_every_deletion_is_named() -> None:
    gone = ["  purged        /talk.jsonl", "  removed       /tree"]
    deleted = {"purged": ("/talk.jsonl",), "removed": ("/tree",)}
    assert told(replace(DONE, **deleted))[-2:] == gone
    assert list(receipt(replace(DONE, **deleted), Style(), brief=True))[1:] == gone
    before = Ending("acme", Outcome.ALREADY_STOPPED, Status.STOPPED, removed=("/tree",))
    assert told(before)[1:] == gone[1:]
    purged = Ending("acme", Outcome.TERMINATED, **deleted, warnings=("nothing_purged: none",))
    assert told(purged) == ["acme: terminated", *gone, "  warning       nothing_purged: none"]


def test_a_receipt_names_rungs_draft_memory_and_how_to_continue() -> None:
    rungs = (
        Rung("keys", 3000),
        Rung("hangup", 250, enough=True),
        Rung("kill"),
    )
    one = replace(
        DONE,
        rungs=rungs,
        draft=Draft(4, 1, "half"),
        freed_mb=2.0,
        conversation=TALK,
        resumable=True,
    )
    assert told(one)[1:] == [
        "  step          exit keys: no exit within 3.0 s",
        "  step          hangup worked after 0.2 s",
        "  draft kept    'half'",
        "  memory freed  2 MB",
        "  conversation  id-1 (by pidfile)",
        "  resume        tmuxreap resume acme",
    ]
    lost = replace(DONE, conversation=replace(TALK, exists=False))
    assert told(lost)[-1] == "  resume        not possible: no message of it is on disk"


def test_a_receipt_names_some_of_many_swept_processes() -> None:
    swept = tuple(Process(100, "python3") for _ in range(8))
    assert told(replace(DONE, swept=swept))[1].endswith(
        "python3 (100) and 2 more, left over in its session"
    )


def test_a_plan_says_what_would_be_done() -> None:
    plan = make_plan("acme", "demo", SIGHT, None, DEMO, replace(STOP, force=False))
    lines = told(Ending("acme", Outcome.PLANNED, plan=plan.recorded().as_json()))
    assert lines[0] == "acme: would stop it (reason: manual_stop)"
    assert "  hangup        waits up to 5 s" in lines
    assert "  SIGKILL       skipped: --no-force" in lines
    assert lines[-1] == "  ends          python3 (100): pane"


def test_the_plan_of_a_purge_alone_names_no_rungs() -> None:
    plan = RecordedPlan("acme", "stop", reason="tidy", purge=True, purges=("/c.jsonl",))
    assert told(Ending("acme", Outcome.PLANNED, plan=plan.as_json())) == [
        "acme: would delete the conversation of this ended session (reason: tidy)",
        "  deletes       /c.jsonl",
    ]


def test_a_verdict_names_its_facts() -> None:
    child = {"pid": 7, "name": "npm", "what": "tool"}
    facts = {"idle_s": 60, "last_output": "noon", "yes": True, "none": "", "children": [child]}
    one = replace(DONE, verdict="idle", evidence=facts)
    assert list(verdict(one, Style())) == [
        "acme: idle: idle 1m, last output noon",
        "  children            7 npm (what tool)",
    ]


def test_a_receipt_of_many_has_a_line_each_and_names_what_needs_a_look() -> None:
    plain = [replace(DONE, name=f"s{number}", freed_mb=2.0) for number in range(4)]
    draft = Draft(4, 1, "half")
    crowd = [*plain, replace(DONE, name="odd", draft=draft, warnings=("look_here: x",))]
    said = list(lines(Result("stop", None, 0.0, crowd), Style()))
    assert said[:4] == [f"s{n}: stopped, exited on its own exit keys, 1.2 s" for n in range(4)]
    assert said[5:7] == ["  draft kept    'half'", "  warning       look_here: x"]
    assert "  memory freed  2 MB" in list(lines(Result("stop", None, 0.0, plain[:3]), Style()))

"""Who may end what: one open intent for each session."""

from __future__ import annotations

import os
from pathlib import Path

from tests.ledger_records import NOW, Ledger, begin, begun, intent, run_in_processes
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.records import (
    Begun,
    Busy,
    Closing,
    NewIntent,
    PaneOption,
)


def test_an_intent_is_kept_as_it_was_given(ledger: Ledger) -> None:
    plan = (
        '{"schema": "tmuxreap/1",\n\t"nach": "\u00fc\u2028\U0001f600 \\u00fc", "n": 1.0,  "nul":'
        ' "\x00"}\n'
    )
    options = (
        PaneOption("/tmp/s", "%3", "remain-on-exit", None),
        PaneOption("/tmp/s", "%3", "synchronize-panes", "on"),
    )
    new = NewIntent(
        "api", "stop", "tidy up", "pane", ProcessId(42, 99), "boot-1", NOW + 30, options, plan
    )
    answer = begin(ledger, new)
    assert isinstance(answer, Begun)
    assert answer.inherited is None
    kept = ledger.open_intent("api")
    assert kept == answer.intent == ledger.intent(answer.intent.id)
    assert kept is not None
    assert kept.plan.encode() == plan.encode()
    assert (kept.verb, kept.reason, kept.scope, kept.owner) == (
        "stop",
        "tidy up",
        "pane",
        ProcessId(42, 99),
    )
    assert (kept.boot_id, kept.created_at, kept.deadline, kept.options) == (
        "boot-1",
        NOW,
        NOW + 30,
        options,
    )
    assert (kept.outcome, kept.result, kept.closed_at, kept.taken_over_by) == (
        None,
        None,
        None,
        None,
    )


def test_a_row_belongs_to_its_owner_while_that_lives(ledger: Ledger) -> None:
    first = begun(ledger, intent())
    answer = begin(ledger, intent(pid=200))
    assert isinstance(answer, Busy)
    assert answer.intent.id == first
    assert [open_one.id for open_one in ledger.open_intents()] == [first]


def test_a_kill_takes_over_and_the_owner_can_see_it(ledger: Ledger) -> None:
    first = begun(ledger, intent(verb="stop"))
    answer = begin(ledger, intent(verb="kill", pid=200), take_over=True)
    assert isinstance(answer, Begun)
    assert answer.inherited is not None
    assert (answer.inherited.id, answer.inherited.reason) == (first, "stop by hand")
    seen = ledger.intent(first)
    assert seen is not None
    assert (seen.outcome, seen.taken_over_by, seen.closed_at) == (
        "taken_over",
        answer.intent.id,
        NOW,
    )
    assert seen.result == {"by_verb": "kill", "owner_was_alive": True}
    assert not ledger.still_open(first)
    assert ledger.still_open(answer.intent.id)


def test_the_intent_of_a_dead_owner_is_taken_over_with_its_reason(ledger: Ledger) -> None:
    first = begun(ledger, intent(verb="stop"))
    answer = begin(ledger, intent(verb="stop", pid=200), alive=False)
    assert isinstance(answer, Begun)
    assert answer.inherited is not None
    assert answer.inherited.reason == "stop by hand"
    seen = ledger.intent(first)
    assert seen is not None
    assert seen.result == {"by_verb": "stop", "owner_was_alive": False}


def test_rows_do_not_delay_each_other(ledger: Ledger) -> None:
    first = begun(ledger, intent("api"))
    answers = ledger.begin_intents(
        [intent("web"), intent("api", pid=200), intent("db")],
        owner_alive=lambda found: found.name == "api",
        take_over=False,
        now=NOW,
    )
    assert [type(answer) for answer in answers] == [Begun, Busy, Begun]
    assert answers[1] == Busy(ledger.open_intents()[0])
    assert [found.name for found in ledger.open_intents()] == ["api", "web", "db"]
    assert ledger.open_intents()[0].id == first


def test_a_closed_intent_has_no_effect_any_more(ledger: Ledger) -> None:
    number = begun(ledger, intent())
    assert ledger.close_intent(Closing(number, "survived", {"survivors": [5]}), NOW + 1)
    assert not ledger.close_intent(Closing(number, "stopped"), NOW + 2)
    closed = ledger.intent(number)
    assert closed is not None
    assert (closed.outcome, closed.result, closed.closed_at) == (
        "survived",
        {"survivors": [5]},
        NOW + 1,
    )
    assert ledger.open_intent("api") is None
    assert not ledger.hand_over(number, ProcessId(300, 8))
    assert isinstance(begin(ledger, intent()), Begun)


def test_the_finisher_becomes_the_owner(ledger: Ledger) -> None:
    number = begun(ledger, intent(pid=100))
    assert ledger.hand_over(number, ProcessId(300, 8))
    handed = ledger.open_intent("api")
    assert handed is not None
    assert (handed.owner, handed.handed_from, handed.boot_id) == (ProcessId(300, 8), 100, "boot-1")


def test_one_of_many_simultaneous_endings_gets_the_row(path: Path) -> None:
    def work(number: int) -> None:
        with Ledger.open(path, now=NOW, busy_s=20) as ledger:
            answer = begin(ledger, intent(pid=1000 + number))
        os._exit(3 if isinstance(answer, Begun) else 0)

    codes = run_in_processes(20, work)
    assert sorted(codes) == [0] * 19 + [3]

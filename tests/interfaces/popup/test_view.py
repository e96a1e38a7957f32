"""What the popup shows, as text."""

from __future__ import annotations

from tests.interfaces.text.test_report import SHOP
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live, Outcome, Status, StoppedBy, Verb
from tmuxreap.core.results import PlainResult, Result
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import Rung
from tmuxreap.ending.results import EndResult
from tmuxreap.interfaces.popup.view import question, receipts, screen, summary, under_way

DONE = EndResult("acme", Outcome.STOPPED, Status.STOPPED, stopped_by=StoppedBy.HANGUP)
FAILURE = Failure(Code.STILL_RUNNING, "could not stop acme: no", "try again")


def result(*items: object, failure: Failure | None = None) -> Result:
    return Result("stop", None, 0.0, items, failure=failure)  # type: ignore[arg-type]


def test_a_rung_is_told_with_its_time() -> None:
    assert under_way("stop", None, 5.0) == "stop ..."
    assert under_way("stop", (Rung.HANGUP, 3.5), 5.0) == "hanging up 1.5 s"
    assert under_way("stop", (Rung.HANGUP, 9.0), 5.0) == "hanging up 0.0 s"


def test_one_is_told_by_its_receipt_and_many_by_their_number() -> None:
    assert summary(result(DONE)).plain.startswith("acme: stopped, ended by SIGHUP or SIGTERM")
    other = replace(DONE, name="b", outcome=Outcome.KILLED)
    assert summary(result(DONE, replace(DONE, name="c"), other)).plain == "2 stopped, 1 killed"


def test_a_failure_goes_before_all_that_went_well() -> None:
    failed = PlainResult("a", {}, FAILURE)
    assert summary(result(DONE, failed, failed)).plain == "could not stop acme: no (and 1 more)"
    assert summary(result(DONE, failure=FAILURE)).plain == "could not stop acme: no"
    told = receipts(result(failed))["a"].plain
    assert told.splitlines()[-2:][0] == "could not stop acme: no"
    assert "try again" in told.splitlines()[-1]


def test_a_question_names_eight_and_counts_the_rest() -> None:
    asked = question(Verb.KILL, [f"s{number}" for number in range(10)]).plain.splitlines()
    assert asked[0] == "kill 10 sessions?"
    assert (asked[8], asked[9]) == ("  s7", "  and 2 more")
    assert len(question(Verb.STOP, ["a"]).plain.splitlines()) == 2


def test_of_a_screen_the_end_is_shown_and_nothing_commands_the_terminal() -> None:
    assert screen("one\ntwo\nthree", 2).plain == "two\nthree"
    assert "\x1b" not in screen("\x1b[2J", 5).plain
    assert SHOP.live is Live.ALIVE

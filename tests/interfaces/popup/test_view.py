"""The popup's content as text."""

from __future__ import annotations

from tests.interfaces.text.test_report import SHOP
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, Live, Outcome, Status, StoppedBy
from tmuxreap.core.results import Counts, Ending, RemoteResult, Result, problem_of
from tmuxreap.core.values import replace
from tmuxreap.ending.plan import RungKind
from tmuxreap.interfaces.popup.view import (
    COLUMNS,
    Choices,
    asked,
    columns,
    did_not_attach,
    facts,
    footer,
    help_page,
    host_messages,
    label,
    name_cells,
    question,
    receipts,
    screen,
    step_text,
    summary,
)

DONE = Ending("acme", Outcome.STOPPED, Status.STOPPED, stopped_by=StoppedBy.HANGUP)
FAILURE = Failure(Code.STILL_RUNNING, "could not stop acme: no", "try again")


def result(*items: object, failure: Failure | None = None) -> Result:
    return Result("stop", None, 0.0, items, failure=failure)  # type: ignore[arg-type]


def test_a_rung_is_reported_with_its_time() -> None:
    assert step_text(EndVerb.STOP, None, 5.0) == "stopping ..."
    assert step_text(EndVerb.STOP, (RungKind.HANGUP, 3.5), 5.0) == "hanging up 1.5 s"
    assert step_text(EndVerb.STOP, (RungKind.HANGUP, 9.0), 5.0) == "hanging up 0.0 s"


def test_the_popup_sums_up_one_ending_by_receipt_and_many_by_count() -> None:
    assert summary(result(DONE)).plain.startswith("acme: stopped, ended by SIGHUP or SIGTERM")
    other = replace(DONE, name="b", outcome=Outcome.KILLED)
    assert summary(result(DONE, replace(DONE, name="c"), other)).plain == "2 stopped, 1 killed"


def test_the_sum_of_several_endings_names_the_resume_of_their_set() -> None:
    more = {"counts": Counts(ended=2), "set": "evening"}
    again = replace(DONE, name="b", resumable=True)
    ended = replace(result(DONE, again), more=more)
    assert summary(ended).plain == ("2 stopped; to resume them: tmuxreap resume --set evening")
    lost = replace(result(DONE, replace(DONE, name="b")), more=more)
    assert summary(lost).plain == "2 stopped"


def test_a_failure_goes_before_all_that_went_well() -> None:
    failed = Ending("a", "failed", error=problem_of(FAILURE))
    assert summary(result(DONE, failed, failed)).plain == "could not stop acme: no (and 1 more)"
    assert summary(result(DONE, failure=FAILURE)).plain == "could not stop acme: no"
    told = receipts(result(failed))["a"].plain
    assert told.splitlines()[-2:][0] == "could not stop acme: no"
    assert "try again" in told.splitlines()[-1]


def test_a_question_names_eight_and_counts_the_rest() -> None:
    asked = question("kill", [f"s{number}" for number in range(10)]).plain.splitlines()
    assert asked[0] == "kill 10 sessions?"
    assert (asked[8], asked[9]) == ("  s7", "  and 2 more")
    assert len(question("stop", ["a"]).plain.splitlines()) == 2


def test_the_end_of_a_screen_is_shown_and_nothing_commands_the_terminal() -> None:
    assert screen("one\ntwo\nthree", 2).plain == "two\nthree"
    assert "\x1b" not in screen("\x1b[2J", 5).plain
    assert SHOP.live is Live.ALIVE


def test_the_most_useful_columns_are_kept_when_there_is_no_room() -> None:
    assert columns(106, tagged=True, hosted=True) == COLUMNS
    here = tuple(name for name in COLUMNS if name != "HOST")
    assert columns(106, tagged=True) == here
    assert columns(106, tagged=False) == here[:-1]
    assert columns(72, tagged=False, hosted=True) == ("", "NAME", "HOST", "STATE", "IDLE", "AGENT")
    assert columns(39, tagged=False, hosted=True) == ("", "NAME", "STATE")
    assert columns(71, tagged=True) == ("", "NAME", "STATE", "IDLE", "MEMORY", "AGENT")
    assert columns(39, tagged=True) == ("", "NAME", "STATE")
    assert columns(5, tagged=True) == ("",)


def test_the_host_is_in_its_column_or_else_in_the_name() -> None:
    there = replace(SHOP, name="web@gpu")
    assert label(there, "gpu", columns(106, tagged=False, hosted=True)) == "web"
    assert label(there, "gpu", columns(39, tagged=False, hosted=True)) == "web@gpu"
    assert label(replace(SHOP, name="a@b"), "", COLUMNS) == "a@b"  # a local name


def test_a_failure_of_hosts_is_reported_first() -> None:
    down = Failure(Code.HOST_UNREACHABLE, "could not reach gpu: \x1b[31mno route")
    told = footer(1, [SHOP, SHOP], Choices(), host_messages([down], 2)).plain
    assert (
        told
        == "asking 2 hosts ... · could not reach gpu: \\x1b[31mno route · 2 sessions, 2 alive, 4 MB"
        " · 1 ended (e shows them)"
    )
    assert host_messages([], 0) == []


def test_a_terminal_that_could_not_go_there_says_why() -> None:
    told = did_not_attach("web@gpu", 255, "Connection refused").plain.splitlines()
    assert told == [
        "could not attach to web@gpu: Connection refused",
        "hint: try it alone: tmuxreap attach web@gpu",
    ]
    assert "exit status 3" in did_not_attach("web@gpu", 3, "").plain


def test_a_summary_names_a_host_that_does_not_answer() -> None:
    down = Failure(Code.HOST_UNREACHABLE, "could not reach gpu: no route")
    assert summary(Result("stop", None, 0.0, (), others=(down,))).plain == down.message
    far = RemoteResult("web", "gpu", {"outcome": "stopped"}, ("web@gpu: stopped",))
    assert [*receipts(result(far))] == ["web@gpu"]


def test_a_long_name_pushes_no_column_out() -> None:
    shown = columns(39, tagged=False)
    assert name_cells(["a" * 90], shown, 39) == 39 - (1 + 2) - (10 + 2) - 2
    assert name_cells(["short"], shown, 39) == 5
    assert name_cells(["a" * 30], columns(106, tagged=False), 106) == 30


def test_rows_beyond_the_table_are_counted_below_it() -> None:
    sessions = [SHOP, replace(SHOP, name="b")]
    assert footer(1, sessions[:1], Choices()).plain == ""
    sums = "2 sessions, 2 alive, 4 MB"
    assert footer(2, sessions, Choices()).plain == sums
    assert footer(1, sessions, Choices()).plain == f"{sums} · 1 ended (e shows them)"
    crowd = [replace(SHOP, name=str(number)) for number in range(300)]
    told = footer(300, crowd, Choices()).plain
    assert told == "300 sessions, 300 alive, 600 MB · the first 200 of 300 (/ filters)"
    told = footer(1, sessions, Choices("name", only="sh")).plain
    assert told == "1 of 2 match 'sh' · by name"


def test_the_question_of_a_waiting_session_is_shown() -> None:
    assert asked([SHOP]).plain == ""
    waits = replace(SHOP, name="b", state="waiting", waiting_for="Allow `rm`? \x1b[31m")
    assert asked([SHOP, waits]).plain == "b waits: Allow `rm`? \\x1b[31m"
    assert asked([waits, waits]).plain.endswith("(and 1 more wait)")
    assert facts(waits).plain.startswith("asks: Allow `rm`?")


def test_the_help_has_every_key() -> None:
    page = help_page().plain
    assert all(word in page for word in ("stop it", "register an agent", "this page", "q "))

"""The ledger's values, and their JSON form."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

import tmuxreap
from tests.ledger_records import intent
from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import (
    AfterTurn,
    Intent,
    Moment,
    PaneOption,
    PlannedOption,
    PlannedProcess,
    PlannedStep,
    RecordedPlan,
    RecordedStart,
    from_json,
    moment_of,
    options_from_json,
    options_to_json,
    to_json,
    with_inherited_options,
)

OPTION = PaneOption("/tmp/s", "%1", "remain-on-exit", None)


def test_odd_yaml_rows_become_json() -> None:
    assert from_json(to_json({"on": date(2026, 11, 18), "n": 1})) == {"on": "2026-11-18", "n": 1}
    assert to_json({("a", "b"): 1, "c": 2}) == '{"c": 2}'  # type: ignore[dict-item]
    circle: dict[str, object] = {}
    circle["self"] = circle
    assert to_json(circle) == "{}"


@pytest.mark.parametrize("text", [None, "", "{", "[1]", "3"])
def test_data_that_is_no_object_counts_as_empty(text: str | None) -> None:
    assert from_json(text) == {}


def test_options_come_back_as_they_were_and_invalid_ones_are_dropped() -> None:
    assert options_from_json(options_to_json([OPTION])) == (OPTION,)
    assert options_from_json('[{"socket": "x"}]') == ()
    assert options_from_json("no") == ()


@pytest.mark.parametrize(
    ("data", "moment"),
    [
        ('{"moment": ["b", 2.0, 1.0]}', Moment("b", 2.0, 1.0)),
        ('{"moment": ["b", 2, 1.0]}', None),
        ('{"moment": ["b", 2.0]}', None),
        ('{"moment": "b"}', None),
        ("", None),
    ],
)
def test_a_moment_counts_only_when_it_is_complete(data: str, moment: Moment | None) -> None:
    assert moment_of(from_json(data)) == moment


def test_options_to_be_put_back_stay_known_however_many_owners_die() -> None:
    older = replace(OPTION, pane="%2", before="off")
    before = Intent(
        name="api",
        verb="stop",
        reason="x",
        scope="agent",
        owner=ProcessId(1, 1),
        boot_id="b",
        deadline=1.0,
        options=(replace(OPTION, before="on"), older),
        plan="{}",
        id=1,
        created_at=0.0,
        outcome=None,
        result=None,
        closed_at=None,
        taken_over_by=None,
        handed_from=None,
    )
    taken = with_inherited_options(before, replace(intent(), options=(OPTION,)))
    assert taken.options == (OPTION, older)


WHOLE = RecordedPlan(
    "acme",
    "stop",
    "agent",
    "night",
    rungs=(PlannedStep("keys", 3000, "there is no pane"),),
    options=(PlannedOption("%1", "remain-on-exit", None, "on"),),
    processes=(PlannedProcess(7, 8, "claude", "pane"),),
    purge=True,
    purges=("/a",),
    left=(),
    task_status="ready",
    cleanup=True,
    after_turn=AfterTurn(60_000),
)


def test_a_plan_comes_back_as_it_was_recorded() -> None:
    assert RecordedPlan.from_text(WHOLE.to_text()) == WHOLE
    assert RecordedPlan.from_text(RecordedPlan("acme").to_text()) == RecordedPlan("acme")
    start = RecordedStart("/tmp/s", None, "tmux", "claude", ("mark-2", "mark-1"))
    assert RecordedStart.from_text(start.to_text()) == start


@pytest.mark.parametrize("text", ["", "{", "[]", '{"processes": 7, "marks": "x", "rungs": [1]}'])
def test_a_plan_that_no_version_wrote_plans_nothing(text: str) -> None:
    assert RecordedPlan.from_text(text) == RecordedPlan()
    assert RecordedStart.from_text(text) == RecordedStart()


def test_a_plan_of_an_older_version_is_read_as_far_as_it_goes() -> None:
    text = '{"name": "acme", "processes": [{"pid": 7, "name": "sh", "why": "pane"}, {"pid": "8"}]}'
    plan = RecordedPlan.from_text(text)
    assert plan.processes == (PlannedProcess(7, None, "sh", "pane"),)
    assert (plan.purge, plan.cleanup, plan.after_turn) == (None, None, None)


def test_plans_are_read_in_one_place() -> None:
    package = Path(tmuxreap.__file__).parent
    elsewhere = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"(json\.loads|from_json|read_facts)\([^)]*\bplan\b", path.read_text("utf-8"))
    ]
    assert elsewhere == []

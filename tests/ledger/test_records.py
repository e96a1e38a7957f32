"""The ledger's values, and their JSON form."""

from __future__ import annotations

from datetime import date

import pytest

from tests.ledger_records import intent
from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import replace
from tmuxreap.ledger.records import (
    Intent,
    Moment,
    PaneOption,
    from_json,
    moment_of,
    options_from_json,
    options_to_json,
    to_json,
    with_inherited_options,
)

OPTION = PaneOption("/tmp/s", "%1", "remain-on-exit", None)


def test_rows_of_other_people_s_yaml_become_json() -> None:
    assert from_json(to_json({"on": date(2026, 11, 18), "n": 1})) == {"on": "2026-11-18", "n": 1}
    assert to_json({("a", "b"): 1, "c": 2}) == '{"c": 2}'  # type: ignore[dict-item]
    circle: dict[str, object] = {}
    circle["self"] = circle
    assert to_json(circle) == "{}"


@pytest.mark.parametrize("text", [None, "", "{", "[1]", "3"])
def test_what_is_no_object_is_empty(text: str | None) -> None:
    assert from_json(text) == {}


def test_options_come_back_as_they_were_and_anothers_hand_is_no_option() -> None:
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
def test_a_moment_is_one_only_when_it_is_whole(data: str, moment: Moment | None) -> None:
    assert moment_of(from_json(data)) == moment


def test_what_is_to_be_put_back_stays_known_however_many_die_over_it() -> None:
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

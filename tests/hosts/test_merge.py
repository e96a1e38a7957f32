"""The answers of many hosts in one envelope; none of them is trusted."""

from __future__ import annotations

import pytest

from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.hosts.choose import HostTargets, drop_matched_elsewhere, is_open, merged
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.wire import Reply, item_of, reply_of

NORTH, SOUTH = Host("north"), Host("south")
DOWN = Reply(SOUTH, failure=Failure(Code.HOST_UNREACHABLE, "could not reach south: it is down"))


def item(name: str, code: str | None = None) -> dict[str, object]:
    error = {"code": code, "message": "no", "hint": ""} if code else None
    return {"name": name, "outcome": "failed" if code else "stopped", "error": error}


def answer(host: Host, *items: dict[str, object], exit_code: int = 0, line: str = "") -> Reply:
    texts = [[line or f"{one['name']}: stopped"] for one in items]
    envelope = {"results": list(items), "exit_code": exit_code, "ok": exit_code == 0}
    return reply_of(host, {"answer": envelope, "texts": texts}, "1")


def test_each_result_has_its_host_and_people_read_it_first() -> None:
    result = merged("stop", 0.0, [answer(NORTH, item("a")), answer(SOUTH, item("a"))])
    assert [one.target for one in answer(NORTH, item("a")).items] == ["a@north"]
    assert [one.lines for one in result.results] == [("a@north: stopped",), ("a@south: stopped",)]  # type: ignore[attr-defined]
    assert result.exit is Exit.OK


def test_a_host_that_is_down_is_a_failure_beside_the_results_of_the_others() -> None:
    result = merged("stop", 0.0, [answer(NORTH, item("a")), DOWN])
    assert len(result.results) == 1
    assert [one.code for one in result.others] == [Code.HOST_UNREACHABLE]
    assert result.exit is Exit.TMUX
    hosts = result.as_json()["hosts"]
    assert [(one["host"], one["ok"], one["exit_code"]) for one in hosts] == [  # type: ignore[attr-defined]
        ("north", True, 0),
        ("south", False, 4),
    ]


@pytest.mark.parametrize(
    ("statuses", "exit_"), [((3, 3), 3), ((3, 4), 1), ((0, 4), 4), ((0, 77), 1), ((0, 0), 0)]
)
def test_the_status_is_the_one_that_all_share(statuses: tuple[int, int], exit_: int) -> None:
    every = [answer(host, exit_code=n) for host, n in zip((NORTH, SOUTH), statuses, strict=True)]
    assert int(merged("list", 0.0, every).exit) == exit_


def test_a_tag_that_one_host_does_not_know_is_no_fault_where_another_does() -> None:
    missing = answer(SOUTH, item("tag:x", Code.SESSION_NOT_REGISTERED.text), exit_code=3)
    by_host = [HostTargets(host, ("tag:x",), True) for host in (NORTH, SOUTH)]
    north, south = drop_matched_elsewhere(by_host, [answer(NORTH, item("a")), missing])
    assert len(north.items) == 1
    assert (south.items, south.answer["exit_code"]) == ((), 0)


def test_a_name_that_one_host_does_not_know_stays_a_fault() -> None:
    missing = answer(SOUTH, item("a", Code.SESSION_NOT_REGISTERED.text), exit_code=3)
    by_host = [HostTargets(host, ("a",), True) for host in (NORTH, SOUTH)]
    _, south = drop_matched_elsewhere(by_host, [answer(NORTH, item("a")), missing])
    assert len(south.items) == 1


def test_a_tag_that_no_host_knows_stays_a_fault_of_each() -> None:
    missing = [
        answer(host, item("tag:x", Code.SESSION_NOT_REGISTERED.text), exit_code=3)
        for host in (NORTH, SOUTH)
    ]
    by_host = [HostTargets(host, ("tag:x",), True) for host in (NORTH, SOUTH)]
    assert drop_matched_elsewhere(by_host, missing) == missing


def test_sessions_that_halted_resumes_left_alone_are_named_as_targets() -> None:
    halted = []
    for host in (NORTH, SOUTH):
        envelope = {"results": [], "exit_code": 1, "set": "evening", "not_tried": ["x", "y"]}
        halted.append(reply_of(host, {"answer": envelope}, "1"))
    facts = merged("resume", 0.0, halted).as_json()
    assert facts["not_tried"] == ["x@north", "y@north", "x@south", "y@south"]
    assert facts["set"] == "evening"


@pytest.mark.parametrize(
    ("sets", "found"),
    [(("a", "a"), "a"), (("a", "b"), None), ((None, "b"), "b"), ((None,) * 2, None)],
)
def test_hosts_have_a_set_in_common_or_none(
    sets: tuple[str | None, str | None], found: str | None
) -> None:
    replies = []
    for host, name in zip((NORTH, SOUTH), sets, strict=True):
        envelope = {"results": [], "exit_code": 0, "ok": True, "set": name}
        replies.append(reply_of(host, {"answer": envelope, "texts": []}, "1"))
    assert merged("stop", 0.0, replies).as_json()["set"] == found


@pytest.mark.parametrize(
    ("outcome", "code", "is_planned"),
    [
        ("planned", None, True),
        ("already_stopped", None, False),
        ("planned", "own_session", False),
    ],
)
def test_only_a_plan_without_a_mistake_is_carried_out(
    outcome: str | None, code: str | None, is_planned: bool
) -> None:
    one = item_of(NORTH, {**item("a", code), "outcome": outcome}, verb="stop")
    assert is_open(one) is is_planned


def test_a_host_that_did_not_answer_leaves_what_others_confirmed() -> None:
    envelope = {"results": [], "exit_code": 0, "ok": True, "tmux_confirmed": True}
    confirmed = reply_of(NORTH, {"answer": envelope, "texts": []}, "1")
    assert merged("list", 0.0, [confirmed, DOWN]).as_json()["tmux_confirmed"] is True

"""What a host replied; it is not trusted."""

from __future__ import annotations

import pytest

from tmuxreap.core.answers import Listed
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import RemoteResult
from tmuxreap.core.text import Style
from tmuxreap.core.values import replace
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.wire import Reply, from_here, item_of, reply_of
from tmuxreap.interfaces.popup.view import Choices, arranged
from tmuxreap.interfaces.remote.on_hosts import in_order
from tmuxreap.interfaces.text.table import table

NORTH = Host("north")


def test_an_unknown_code_of_a_newer_host_is_some_failure() -> None:
    error = {"code": "moon_fell", "message": "no", "hint": ""}
    item = item_of(NORTH, {"name": "a", "outcome": "failed", "error": error})
    assert item.error is not None
    assert int(Code.of(item.error.code).exit) == 1


def test_text_from_a_host_cannot_command_a_terminal() -> None:
    item = item_of(NORTH, {"name": "a\x1b[2J"}, ["a\x1b[2J: stopped"])
    assert "\x1b" not in "".join(item.lines)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a: stopped", "a@north: stopped"),
        ("12:00  a  started", "12:00  a@north  started"),
        ("all of it", "north: all of it"),
        ("", ""),
    ],
)
def test_users_read_the_host_first(line: str, shown: str) -> None:
    assert item_of(NORTH, {"name": "a"}, [line, "more"]).lines == (shown, "more")


@pytest.mark.parametrize("answer", [None, [], {}, {"results": None}, {"results": [1]}])
def test_an_answer_of_another_form_is_not_one_of_tmuxreap(answer: object) -> None:
    with pytest.raises(ValueError, match="not one of tmuxreap's"):
        reply_of(NORTH, {"answer": answer}, "1")


@pytest.mark.parametrize("texts", [None, [], ["line"], [["a"], ["b"]]])
def test_texts_that_fit_no_result_are_left_out(texts: object) -> None:
    facts = {"answer": {"results": [{"name": "a"}]}, "texts": texts, "identities": 7}
    reply = reply_of(NORTH, facts, "1")
    assert [(item.target, item.lines) for item in reply.items] == [("a@north", ())]
    assert (reply.identities, reply.trouble, reply.status) == ({}, None, Exit.FAILED)


def test_a_hosts_trouble_is_its_own_or_that_of_its_answer() -> None:
    down = Failure(Code.HOST_UNREACHABLE, "could not reach north: it is down")
    assert Reply(NORTH, failure=down).trouble is down
    assert Reply(NORTH, failure=down).status == Exit.TMUX
    error = {"code": "registry_invalid", "message": "no", "hint": "edit it"}
    trouble = Reply(NORTH, {"error": error, "exit_code": 6}).trouble
    assert trouble is not None
    assert (trouble.code, trouble.message) == (Code.REGISTRY_INVALID, "north: no")


def test_a_state_that_a_newer_host_names_is_unknown_and_takes_its_place_in_the_popup() -> None:
    facts = {"name": "a", "live": "undead", "status": "running", "state": "dreaming", "pid": 7}
    item = item_of(NORTH, facts, verb="list")
    assert (item.facts["state"], item.facts["live"], item.facts["pid"]) == ("unknown", "unknown", 7)
    (one,) = in_order([item], None)
    assert isinstance(one, RemoteResult)
    assert one.shown is not None
    assert [row.state for row in arranged([one.shown], Choices())] == ["unknown"]


def test_a_tree_of_another_host_stays_a_tree() -> None:
    child = Listed("child", "claude", "running", "alive", parent="boss", keep=True, depth=1)
    (one,) = in_order([item_of(NORTH, child.as_json(), verb="list")], None)
    assert isinstance(one, RemoteResult)
    assert one.shown == replace(child, name="child@north")
    line = next(line for line in table([child], Style()) if "child" in line)
    assert line.startswith("  child")


def test_a_status_that_a_newer_host_names_hides_no_session() -> None:
    facts = {"name": "a", "live": "alive", "status": "paused"}
    one = item_of(NORTH, facts, verb="list")
    assert isinstance(one, RemoteResult)
    assert isinstance(one.shown, Listed)
    assert (one.shown.status, one.shown.live) == ("unknown", "alive")


def test_a_hint_of_a_host_is_a_command_that_works_here() -> None:
    error = {
        "code": "session_not_registered",
        "message": "could not find 'z'",
        "hint": "tmuxreap list",
    }
    item = item_of(Host("gpu"), {"name": "z", "error": error})
    assert item.error is not None
    assert item.error.hint == "tmuxreap list --host gpu"
    assert item.as_json()["error"]["hint"] == "tmuxreap list --host gpu"
    assert from_here("run tmuxreap list --host gpu, or tmuxreap doctor", "gpu") == (
        "run tmuxreap list --host gpu, or tmuxreap doctor --host gpu"
    )
    assert from_here("go to it: tmuxreap help stop", "gpu") == "go to it: tmuxreap help stop"

"""Sets over several hosts: what one command ended on all of them, and how it is taken up."""

from __future__ import annotations

from typing import Any

from tests.hosts.conftest import GONE, Fleet

CONVERSATION = "0d7a6d0e-52c4-4f2e-9e5b-0a8f0c1d2e3f"


def sets_of(answer: dict[str, Any]) -> tuple[object, list[object]]:
    return answer["set"], [one["set"] for one in answer["hosts"]]


def with_conversation(fleet: Fleet, host: str, name: str) -> None:
    """Let the host have one row, whose conversation is on its disk."""
    own = {"agent": "demo", "demo_conversation_id_own": CONVERSATION}
    fleet.register(host, {name: {**GONE, **own}})
    folder = fleet.home(host) / ".tmuxreap-demo" / "conversations"
    folder.mkdir(parents=True)
    (folder / f"{CONVERSATION}.jsonl").write_text('{"role": "user", "text": "hello"}\n')


def test_a_named_set_is_in_the_envelope_and_with_each_host(fleet: Fleet) -> None:
    answer = fleet.run("stop", "all", "--yes", "--host", "a,b", "--set", "evening", "--json").json
    assert sets_of(answer) == ("evening", ["evening", "evening"])
    assert {one["set"] for one in answer["results"]} == {"evening"}


def test_each_host_has_an_id_of_its_own_without_a_name(fleet: Fleet) -> None:
    answer = fleet.run("stop", "all", "--yes", "--host", "a,b", "--json").json
    common, each = sets_of(answer)
    assert common is None
    assert len(set(each)) == 2
    assert {(one["host"], one["set"]) for one in answer["results"]} == set(
        zip("ab", each, strict=True)
    )


def test_the_id_of_a_single_host_is_that_of_the_envelope(fleet: Fleet) -> None:
    answer = fleet.run("stop", "all", "--yes", "--host", "b", "--json").json
    common, each = sets_of(answer)
    assert common is not None
    assert each == [common]


def test_a_plan_has_no_id(fleet: Fleet) -> None:
    answer = fleet.run("stop", "all", "--dry-run", "--host", "a,b", "--json").json
    assert sets_of(answer) == (None, [None, None])


def test_the_receipt_names_the_resume_of_the_very_hosts(fleet: Fleet) -> None:
    fleet.add("c")
    with_conversation(fleet, "b", "db")
    text = fleet.run("stop", "all", "--yes", "--host", "a,b,c", "--set", "evening").out
    assert "to resume them: tmuxreap resume --set evening --host a,b\n" in text


def test_without_a_name_the_newest_set_of_each_host_is_resumed(fleet: Fleet) -> None:
    with_conversation(fleet, "a", "web")
    text = fleet.run("stop", "all", "--yes", "--host", "a,b").out
    assert "to resume them: tmuxreap resume --set last --host a,b\n" in text
    words = ("--set", "last", "--host", "a,b", "--dry-run", "--json")  # else an agent would begin
    again = fleet.run("resume", *words).json
    assert sorted(one["target"] for one in again["results"]) == ["db@b", "web@a", "web@b"]
    assert again["set"] is None
    assert None not in [one["set"] for one in again["hosts"]]


def test_a_host_without_the_set_is_no_failure_beside_one_that_has_it(fleet: Fleet) -> None:
    assert fleet.run("stop", "web@a", "--set", "evening").exit == 0
    again = fleet.run("resume", "--set", "evening", "--host", "a,b", "--json").json
    assert [one["target"] for one in again["results"]] == ["web@a"]
    (other,) = [one for one in again["hosts"] if one["host"] == "b"]
    assert (other["ok"], other["exit_code"], other["error"]) == (True, 0, None)
    assert again["set"] == "evening"


def test_a_set_that_no_host_has_is_a_failure(fleet: Fleet) -> None:
    answer = fleet.run("resume", "--set", "evening", "--host", "a,b", "--json")
    assert answer.exit == 3
    assert [one["error"]["code"] for one in answer.json["hosts"]] == ["session_not_registered"] * 2


def test_the_receipt_offers_no_resume_of_what_cannot_be_resumed(fleet: Fleet) -> None:
    told = fleet.run("stop", "all", "--yes", "--host", "a,b", "--set", "evening")
    assert "3 ended" in told.out
    assert "to resume them" not in told.out

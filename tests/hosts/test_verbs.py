"""The verbs over hosts that are folders, each reached by the user's own command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.conftest import GONE, Fleet


def targets(results: list[dict[str, object]]) -> list[object]:
    return [one["target"] for one in results]


# Which hosts


def test_every_host_answers_for_itself(fleet: Fleet) -> None:
    result = fleet.run("list", "--host", "all", "--json")
    assert result.exit == 0
    assert targets(result.results) == ["web@a", "web@b", "db@b"]
    assert [one["host"] for one in result.results] == ["a", "b", "b"]
    assert result.json["registry"] is None
    ok = {"ok": True, "exit_code": 0, "error": None}
    assert result.json["hosts"] == [
        {"host": h, **ok, "registry": str(fleet.registry(h))} for h in "ab"
    ]


def test_hosts_are_named_by_lists_tags_and_local(fleet: Fleet) -> None:
    assert targets(fleet.run("list", "--host", "@big,local", "--json").results) == [
        "web@a",
        "mine@local",
    ]
    assert targets(fleet.run("list", "--host", "b", "--host", "a,b", "--json").results) == [
        "web@b",
        "db@b",
        "web@a",
    ]


def test_without_hosts_no_host_is_mentioned(fleet: Fleet) -> None:
    result = fleet.run("list", "--json").json
    assert "hosts" not in result
    assert "host" not in result["results"][0]
    assert result["registry"] == str(fleet.registry("me"))


def test_an_unknown_host_is_a_usage_error(fleet: Fleet) -> None:
    for words in (["nope"], ["@nope"], ["a,nope"], [""]):
        result = fleet.run("list", "--json", "--host", *words)
        assert (result.exit, result.json["error"]["code"]) == (2, "host_unknown")


def test_a_target_names_its_host(fleet: Fleet) -> None:
    result = fleet.run("show", "web@a", "mine", "d*@b", "--json")
    assert result.exit == 0
    assert sorted(map(str, targets(result.results))) == ["db@b", "mine@local", "web@a"]


def test_an_exact_row_of_this_machine_wins(fleet: Fleet) -> None:
    fleet.register("me", {"web@a": GONE})
    result = fleet.run("show", "web@a", "--json").json
    assert [one["name"] for one in result["results"]] == ["web@a"]
    assert "hosts" not in result


def test_an_at_without_a_known_host_is_a_name_of_this_machine(fleet: Fleet) -> None:
    result = fleet.run("show", "web@nowhere", "--json")
    assert (result.exit, result.results[0]["error"]["code"]) == (3, "session_not_registered")


def test_names_on_stdin_may_name_hosts(fleet: Fleet) -> None:
    result = fleet.run("show", "-", "--json", stdin="web@a\nmine@local\n")
    assert targets(result.results) == ["web@a", "mine@local"]


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["send", "web@a", "go on"], ""),
        (["restart", "web@a"], ""),
        (["restart", "mine", "web@a"], ""),
        (["restart", "-"], "web@a\n"),
    ],
)
def test_a_verb_of_this_machine_refuses_a_session_of_a_host(
    fleet: Fleet, words: list[str], stdin: str
) -> None:
    result = fleet.run(*words, "--json", stdin=stdin)
    assert (result.exit, result.json["error"]["code"]) == (2, "usage")
    assert result.json["error"]["message"] == (
        f"could not {words[0]} web@a: {words[0]} works on this machine only"
    )
    assert result.json["error"]["hint"] == f"run it on a: tmuxreap {words[0]} web"


def test_a_verb_of_this_machine_takes_a_row_that_is_named_like_one_of_a_host(fleet: Fleet) -> None:
    fleet.register("me", {"web@a": {**GONE, "status": "stopped"}})
    result = fleet.run("send", "web@a", "go on", "--json")
    assert (result.exit, result.results[0]["error"]["code"]) == (1, "gone")


def test_broken_hosts_are_reported(fleet: Fleet) -> None:
    fleet.file.write_text("hosts: {a: {sssh: x}}")
    result = fleet.run("list", "--host", "a", "--json")
    assert (result.exit, result.json["error"]["code"]) == (2, "config_invalid")


def test_people_read_targets(fleet: Fleet) -> None:
    result = fleet.run("list", "--host", "all")
    assert [line.split()[0] for line in result.out.splitlines()] == [
        "NAME",
        "web@a",
        "web@b",
        "db@b",
    ]


# What is done


def test_a_stop_by_name_ends_the_session_of_that_host_alone(fleet: Fleet) -> None:
    result = fleet.run("stop", "web@b", "--json")
    assert result.exit == 0
    assert [(one["target"], one["outcome"]) for one in result.results] == [("web@b", "stopped")]
    assert result.json["counts"]["ended"] == 1
    assert fleet.rows("b")["web"]["status"] == "stopped"
    assert fleet.rows("a")["web"]["status"] == fleet.rows("b")["db"]["status"] == "running"


def test_a_stop_of_all_reaches_all_hosts(fleet: Fleet) -> None:
    result = fleet.run("stop", "all", "--host", "all", "--reason", "night", "--json")
    assert result.exit == 0
    assert {one["target"]: one["outcome"] for one in result.results} == {
        "web@a": "stopped",
        "web@b": "stopped",
        "db@b": "stopped",
    }
    assert {name: one["counts"]["ended"] for name, one in result.hosts.items()} == {"a": 1, "b": 2}
    assert {row["stop_reason"] for row in fleet.rows("b").values()} == {"night"}
    assert fleet.rows("me")["mine"]["status"] == "running"


def test_a_dry_run_changes_nothing_there(fleet: Fleet) -> None:
    before = fleet.registry("a").read_bytes()
    result = fleet.run("stop", "all", "--host", "a", "--dry-run", "--json")
    assert [one["outcome"] for one in result.results] == ["planned"]
    assert fleet.registry("a").read_bytes() == before


def test_a_name_missing_on_one_host_does_not_stop_the_others(fleet: Fleet) -> None:
    result = fleet.run("stop", "db", "--host", "a,b", "--json")
    assert result.exit == 3
    assert {one["target"]: one["outcome"] for one in result.results} == {
        "db@a": "failed",
        "db@b": "stopped",
    }
    assert result.hosts["b"]["ok"]
    assert result.hosts["a"]["exit_code"] == 3


def test_a_tag_that_one_host_has_is_no_fault_of_the_others(fleet: Fleet) -> None:
    result = fleet.run("stop", "d*", "--host", "a,b", "--json")
    assert {one["target"]: one["outcome"] for one in result.results} == {"db@b": "stopped"}
    assert (result.exit, result.hosts["a"]["ok"]) == (0, True)
    result = fleet.run("stop", "x*", "--host", "a,b", "--json")  # and one that no host has
    assert (result.exit, len(result.results)) == (3, 2)
    result = fleet.run("show", "d*@a", "web@b", "--json")  # b was not asked for it
    assert (result.exit, result.results[0]["error"]["code"]) == (3, "session_not_registered")


def test_other_verbs_reach_hosts_too(fleet: Fleet) -> None:
    result = fleet.run("reconcile", "--host", "all", "--json").json
    assert {drift["host"] for drift in result["drifts"]} == {"a", "b"}
    assert result["tmux_confirmed"] is True
    assert fleet.rows("a")["web"]["status"] == "terminated"
    events = fleet.run("events", "--host", "a", "--json")
    assert {one["target"] for one in events.results} == {"web@a"}
    assert fleet.run("forget", "all", "--host", "all", "--json").exit == 0
    assert fleet.rows("b") == {}
    assert fleet.run("doctor", "--host", "b", "--json").results[0]["host"] == "b"
    assert fleet.run("reap", "--host", "b", "--json").exit == 0


@pytest.mark.skipif(
    Path("/.hermes/agent-sessions.yaml").exists(), reason="every folder here has a registry above"
)
def test_a_host_without_a_registry_says_so(fleet: Fleet) -> None:
    fleet.registry("a").unlink()
    result = fleet.run("list", "--host", "all", "--json")
    assert result.exit == 6
    assert result.hosts["a"]["error"]["code"] == "registry_not_found"
    assert targets(result.results) == ["web@b", "db@b"]


def test_a_start_refuses_a_host_in_its_name_and_names_the_flag(fleet: Fleet) -> None:
    result = fleet.run("start", "new@a", "--agent", "demo", "--json")
    assert (result.exit, result.json["error"]["code"]) == (2, "usage")
    assert "--host a" in result.json["error"]["hint"]


# The caller


def test_ended_by_names_the_host_that_asked(fleet: Fleet) -> None:
    for target, tool in (("web@a", "remote"), ("mine@local", "cli")):
        assert fleet.run("stop", target, "--json").exit == 0
        (shown,) = fleet.run("show", target, "--json").results
        assert shown["ended_by"]["tool"] == tool


def test_the_first_start_there_keeps_its_ledger(fleet: Fleet) -> None:
    """It makes the registry, and so the ledger, in which its request was not begun."""
    (fleet.home("a") / "new").mkdir()
    fleet.configure({"a": {**fleet.hosts["a"], "registry": "new/.hermes/agent-sessions.yaml"}})
    words = ("--agent", "demo", "--terminal", "none", "--host", "a")
    started = fleet.run("start", "first", *words)
    try:
        made = fleet.home("a") / "new" / ".hermes" / "agent-sessions.yaml"
        assert f"new registry on a: {made}" in started.err
        (event,) = fleet.run("events", "first@a", "--json").results
        assert (started.exit, event["kind"]) == (0, "started")
        assert not list((fleet.home("a") / "new" / ".hermes").glob("*.broken*"))
    finally:
        assert fleet.run("kill", "first@a", "--json").exit == 0


def test_an_agent_must_say_yes_for_another_host(fleet: Fleet) -> None:
    fleet.environ["TMUXREAP_ID"] = "a-mark"
    for words in (["stop", "web"], ["forget", "web"], ["reconcile"], ["stop", "all"]):
        result = fleet.run(*words, "--host", "a", "--json")
        assert (result.exit, result.json["error"]["code"]) == (2, "usage")
    assert fleet.rows("a")["web"]["status"] == "running"
    assert fleet.run("list", "--host", "a", "--json").exit == 0
    assert fleet.run("stop", "web", "--host", "a", "--yes", "--json").exit == 0


def test_the_callers_own_session_is_recognised_on_another_host(fleet: Fleet) -> None:
    from tests.ledger_records import Ledger
    from tmuxreap.ledger.database import ledger_path

    with Ledger.open(ledger_path(fleet.registry("b")), now=1.0) as ledger:
        ledger.remember_mark("web", "a-mark", 1.0)
    fleet.environ["TMUXREAP_ID"] = "a-mark"
    for words in (["web"], ["all"]):
        result = fleet.run("stop", *words, "--host", "b", "--yes", "--json")
        codes = {one["target"]: (one["error"] or {}).get("code") for one in result.results}
        assert codes["web@b"] == "own_session"
    assert fleet.rows("b")["web"]["status"] == "running"
    assert fleet.rows("b")["db"]["status"] == "stopped"
    told = fleet.run("stop", "web", "--host", "b", "--self", "--yes", "--json")
    assert (told.exit, fleet.rows("b")["web"]["status"]) == (0, "stopped")


def test_a_purge_off_a_terminal_needs_yes(fleet: Fleet) -> None:
    result = fleet.run("stop", "web@a", "--purge-conversation", "--json")
    assert (result.exit, result.json["error"]["code"]) == (2, "usage")


# The hosts themselves


def test_hosts_are_listed_with_what_they_are(fleet: Fleet) -> None:
    result = fleet.run("hosts", "--json")
    assert result.exit == 0
    assert [(one["name"], one["state"], one["sessions"]) for one in result.results] == [
        ("a", "ok", 1),
        ("b", "ok", 2),
    ]
    assert result.results[0]["version"]
    assert result.results[0]["round_trip_ms"] > 0
    assert [one["name"] for one in fleet.run("hosts", "check", "b", "--json").results] == ["b"]
    assert fleet.run("hosts").out.splitlines()[0].startswith("a: ok")


def test_a_host_without_tmux_lists_its_rows_and_says_so(fleet: Fleet) -> None:
    block = fleet.hosts["a"]
    fleet.configure({"a": {**block, "via": [*block["via"], "PATH=/nowhere"]}})
    listed = fleet.run("list", "--host", "a", "--json")
    assert (listed.exit, [one["live"] for one in listed.results]) == (4, ["unknown"])
    result = fleet.run("hosts", "check", "a", "--json")
    assert (result.exit, result.results[0]["state"]) == (4, "tmux_missing")


def test_a_list_limited_to_states_covers_every_host(fleet: Fleet) -> None:
    told = fleet.run("list", "--host", "all", "--state", "waiting,limited", "--json")
    assert (told.exit, told.json["results"]) == (0, [])
    wrong = fleet.run("list", "--host", "all", "--state", "busy", "--json")
    assert wrong.exit == 2

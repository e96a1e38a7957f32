"""The MCP server as its clients see it: the answers of the command line, many in parallel, and a
clean exit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.live.test_bulk import PROGRAM, call, herd
from tests.mcp_client import WHOLE, ByHand, calls, envelope, kept, served, together
from tests.real import Real, alive, until
from tmuxreap import __version__
from tmuxreap.interfaces.mcp.calls import BY_VERB, Calls, in_tool_calls
from tmuxreap.interfaces.mcp.tools import TOOLS

pytestmark = pytest.mark.live

WHEN = ("timestamp", "duration_ms", "waited_ms", "idle_s", "memory_mb", "set")


def timeless(told: Any) -> Any:
    """Return an answer without values that change with time, or with what other tests leave."""
    if isinstance(told, dict):
        return {key: timeless(value) for key, value in told.items() if key not in WHEN}
    if not isinstance(told, list):
        return told
    findings = [one for one in told if not (isinstance(one, dict) and one.get("name") == "leaks")]
    return [timeless(one) for one in findings]


def printed(real: Real, *words: str) -> Any:
    """Return the command line's answer, with its hints in terms of tools."""
    told = json.loads(call(real, *words, "--json").stdout)
    return timeless(in_tool_calls(told, BY_VERB[words[0]]))


def test_the_server_says_who_it_is(real: Real) -> None:
    async def talk(client: Client) -> tuple[str, str, str, set[str]]:
        who = client.server_info
        return (
            who.name,
            who.version,
            client.instructions or "",
            {one.name for one in (await client.list_tools()).tools},
        )

    name, version, instructions, tools = served(real, talk)
    assert (name, version) == ("tmuxreap", __version__)
    assert "registry" in instructions
    assert {"list_sessions", "stop_session"} <= tools


def test_every_answer_is_the_json_of_the_command_line(real: Real) -> None:
    real.start()
    real.say("hello")
    real.bystander()
    herd(real, ["gone"])
    real.stop("gone", reason="night")
    pairs: list[tuple[tuple[str, dict[str, Any]], tuple[str, ...]]] = [
        (("list_sessions", {}), ("list", "--status", "running")),
        (("list_sessions", {"status": "all"}), ("list",)),
        (("list_sessions", {"live": True, "status": "all"}), ("list", "--live")),
        (
            ("list_sessions", {"status": "stopped", "sort": "name"}),
            ("list", "--status", "stopped", "--sort", "name"),
        ),
        (("show_session", {"targets": ["acme"]}), ("show", "acme")),
        (
            ("stop_session", {"targets": ["gone"], "reason": "again"}),
            ("stop", "gone", "--reason", "again"),
        ),
        (("stop_session", {"targets": "quiet", "reason": "x"}), ("stop", "quiet", "--reason", "x")),
        (
            ("kill_session", {"targets": ["acme"], "reason": "r", "grace": 1, "dry_run": True}),
            ("kill", "acme", "--reason", "r", "--grace", "1", "--dry-run"),
        ),
        (("reconcile", {}), ("reconcile",)),
        (("doctor", {}), ("doctor",)),
        (("events", {"targets": "gone"}), ("events", "gone")),
        (
            ("wait_session", {"targets": "gone", "until": "ended", "timeout": 5}),
            ("wait", "gone", "--until", "ended", "--timeout", "5"),
        ),
        (("start_session", {"name": "a.b"}), ("start", "a.b")),
        (("adopt_session", {"name": "nobody"}), ("adopt", "nobody")),
        (
            ("reap", {"reason": "r", "expired": True, "idle_after": "1h"}),
            ("reap", "--expired", "--idle-after", "1h"),
        ),
        (("resume_session", {"targets": ["acme"], "print": True}), ("resume", "acme", "--print")),
        (("resume_session", {"targets": ["gone"]}), ("resume", "gone")),
        (("remove_session", {"targets": ["acme"], "reason": "r"}), ("forget", "acme")),
        (
            (
                "stop_session",
                {"targets": ["all"], "reason": "r", "whole_session": True, "pane_only": True},
            ),
            ("stop", "all", "--whole-session", "--pane-only"),
        ),
    ]
    answers = calls(real, *(asked for asked, _ in pairs))
    for told, (_, words) in zip(answers, pairs, strict=True):
        assert timeless(told) == printed(real, *words), words
    ends = [told["exit_code"] for told in answers]
    assert ends == [0, 0, 0, 0, 0, 0, 3, 0, 0, ends[9], 0, 0, 2, 3, 0, 1, 1, 1, 2]
    assert real.row()["status"] == "running"


def test_a_session_is_stopped_resumed_killed_and_removed(real: Real) -> None:
    real.start()
    real.say("hello")
    conversation = real.session_file()["sessionId"]
    stopped, resumed, killed, removed = calls(
        real,
        ("stop_session", {"targets": ["acme"], "reason": "  all done  "}),
        ("resume_session", {"targets": ["acme"]}),
        ("kill_session", {"targets": ["acme"], "reason": "it hangs"}),
        ("remove_session", {"targets": ["acme"], "reason": "not needed"}),
    )
    assert (stopped["results"][0]["stopped_by"], stopped["results"][0]["stop_reason"]) == (
        "exit_keys",
        "all done",
    )
    assert (resumed["results"][0]["live"], resumed["results"][0]["conversation_id"]) == (
        "alive",
        conversation,
    )
    assert (killed["results"][0]["outcome"], killed["results"][0]["stop_reason"]) == (
        "killed",
        "it hangs",
    )
    assert removed["ok"] and real.rows() == {}
    assert real.events("forgotten") == [{"reason": "not needed"}]


def test_twenty_calls_at_once_end_each_session_once(real: Real) -> None:
    names = [f"a{number}" for number in range(10)]
    pids = herd(real, names)
    wanted = [
        ("stop_session", {"targets": [name], "reason": f"reason of {name}"}) for name in names * 2
    ]
    answers = together(real, *wanted)
    assert [answer["error"] for answer in answers if answer["error"]] == []
    told = [answer["results"][0] for answer in answers]
    assert Counter(one["outcome"] for one in told if not one["joined"])["stopped"] == 10
    assert {one["outcome"] for one in told} <= {"stopped", "already_stopped"}
    assert not [pid for pid in pids.values() if alive(pid)]
    assert {name: row["stop_reason"] for name, row in real.rows().items()} == {
        n: f"reason of {n}" for n in names
    }
    assert len(real.events("stopped")) == 10


def test_a_server_keeps_nothing_open_from_call_to_call(real: Real) -> None:
    herd(real, ["acme"], "--ignore", "hup,term")
    client = ByHand(real, WHOLE)
    kept = Path(f"/proc/{client.server.pid}/fd")
    client.answer("list_sessions")
    before = len(list(kept.iterdir()))
    for _ in range(3):  # each waits in vain for a session that stays
        told = client.answer(
            "stop_session", targets="acme", reason="r", keys_timeout=0, grace=0.05, no_force=True
        )
        assert told["results"][0]["outcome"] == "survived"
    assert len(list(kept.iterdir())) == before
    assert client.answer("kill_session", targets="acme", reason="r", grace=0)["ok"]
    assert client.leaves() == (0, [])


def test_a_reap_reports_the_evidence_before_it_ends(real: Real) -> None:
    herd(real, ["idle", "young"])
    real.edit("- name: idle", "- ttl: 0s\n    name: idle")
    told, done = calls(
        real,
        ("reap", {"reason": "night", "expired": True}),
        ("reap", {"reason": "night", "expired": True, "yes": True}),
    )
    assert [(one["name"], one["outcome"], one["verdict"]) for one in told["results"]] == [
        ("idle", "planned", "expired")
    ]
    assert told["results"][0]["evidence"]
    assert [(one["name"], one["outcome"]) for one in done["results"]] == [("idle", "stopped")]
    assert (real.row("idle")["stop_reason"], real.row("young")["status"]) == (
        "expired: night",
        "running",
    )


def test_a_turn_may_be_ended_first(real: Real) -> None:
    real.start("acme", "--state", "busy")
    (told,) = calls(real, ("stop_session", {"targets": ["acme"], "reason": "r", "after_turn": 0.3}))
    (one,) = told["results"]
    assert one["outcome"] == "stopped"
    assert any(warning.startswith("turn_not_finished") for warning in one["warnings"])


# Tools that start


def test_a_session_is_started_awaited_and_its_history_read(real: Real) -> None:
    where = {"agent": "demo", "cwd": str(real.folder), "server": real.socket}
    started, idle, told = calls(
        real,
        ("start_session", {"name": "new", "tags": ["night"], **where}),
        ("wait_session", {"targets": ["new"], "until": "idle", "timeout": 10}),
        ("events", {"targets": ["new"]}),
    )
    assert (started["ok"], started["results"][0]["live"]) == (True, "alive")
    assert (idle["results"][0]["reached"], idle["results"][0]["state"]) == (True, "idle")
    assert [one["kind"] for one in told["results"]] == ["started"]
    assert real.row("new")["tags"] == ["night"]
    real.kill("new")


def test_adopt_session_registers_a_running_agent(real: Real) -> None:
    real.start()
    real.registry.write_text("tmux_sessions: []\n")
    unsure, adopted = calls(
        real,
        ("adopt_session", {}),
        ("adopt_session", {"names": ["acme"], "server": real.socket}),
    )
    assert unsure["error"]["code"] == "usage"
    assert (adopted["ok"], real.row()["agent"]) == (True, "demo")


# Long calls


def test_a_stop_of_many_shows_its_progress(real: Real) -> None:
    names = [f"a{number}" for number in range(6)]
    herd(real, names, "--exit-delay", "0.5")
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def talk(client: Client) -> dict[str, Any]:
        asked = {"targets": ["all"], "reason": "night", "yes": True}
        return envelope(await client.call_tool("stop_session", asked, progress_callback=hear))

    told = served(real, talk)
    assert [one["outcome"] for one in told["results"]] == ["stopped"] * 6
    assert len(heard) >= 2
    assert [number for number, _, _ in heard] == sorted({number for number, _, _ in heard})
    assert (heard[-1][0], heard[-1][1]) == (6.0, 6.0)
    assert any("0 of 6 ended" in str(said) and "keys" in str(said) for _, _, said in heard)


def test_a_turn_that_lasts_is_reported_as_in_progress_and_asked_again(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own limit is 28 s; here it is lower."""
    real.start("acme", "--state", "busy")
    monkeypatch.chdir(real.folder)
    asked = {"targets": ["acme"], "reason": "night", "after_turn": 600}

    async def talk() -> tuple[dict[str, Any], dict[str, Any]]:
        found = Calls(str(real.registry), hosts=False, answer_s=0.8)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                found.tasks = tasks
                first = await found.call(TOOLS["stop_session"], dict(asked), None)
                while not first["under_way"]:  # it has not got that far
                    first = await found.call(TOOLS["stop_session"], dict(asked), None)
                real.keys("acme", "Escape")
                told = first
                while told["error"] and told["error"]["code"] == "timed_out":
                    told = await found.call(TOOLS["stop_session"], dict(asked), None)
                tasks.cancel_scope.cancel()
        return first, told

    first, last = anyio.run(talk)
    assert [(one["name"], one["at"]) for one in first["under_way"]] == [("acme", "turn")]
    assert (last["ok"], last["results"][0]["outcome"]) == (True, "stopped")
    assert len(real.events("stopped")) == 1


def test_the_stop_of_a_session_that_was_started_again_stops_that_one(real: Real) -> None:
    """The first stop was cancelled by its client, and went on."""
    real.start("acme", "--exit-delay", "0.5")
    client = ByHand(real)
    asked = {"targets": ["acme"], "reason": "night"}
    client.call(1, "stop_session", **asked)
    until("the keys", lambda: kept(real))
    client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
    until("its end", lambda: real.row()["status"] == "stopped")
    real.start("acme")
    second = real.pid()
    client.call(2, "stop_session", **asked)
    answer = client.hear()
    while answer.get("id") != 2:
        answer = client.hear()
    (ended,) = answer["result"]["structuredContent"]["results"]
    assert (ended["outcome"], ended["pid"], alive(second)) == ("stopped", second, False)
    client.leaves()


def test_a_wait_ends_with_its_client(real: Real) -> None:
    real.start()
    client = ByHand(real)
    client.call(1, "wait_session", targets=["acme"], until="ended")
    client.call(2, "list_sessions")
    assert client.hear()["id"] == 2
    status, said = client.leaves()
    assert status == 0
    assert "timed_out" not in json.dumps(said)  # as after the 25 s of a wait


# Resources


def test_the_registry_and_a_screen_are_read_with_their_secrets_masked(real: Real) -> None:
    real.start()
    real.say("my key is ghp_0123456789abcdefghijABCDEFGHIJ012345")

    async def talk(client: Client) -> tuple[set[str], list[str], str, str]:
        listed = {one.uri for one in (await client.list_resources()).resources}
        templates = (await client.list_resource_templates()).resource_templates
        registry, screen = [
            (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
            for uri in ("tmuxreap://registry", "tmuxreap://sessions/acme/screen")
        ]
        with pytest.raises(MCPError):
            await client.read_resource("file:///etc/passwd")
        return listed, [one.uri_template for one in templates], registry, screen

    listed, templates, registry, screen = served(real, talk)
    assert listed == {"tmuxreap://registry", "tmuxreap://sessions/acme/screen"}
    assert templates == ["tmuxreap://sessions/{name}/screen"]
    assert registry == real.registry.read_text()
    assert "my key is" in screen
    assert "0123456789abcdef" not in screen


# Purge


def test_a_purge_needs_the_name_said_twice(real: Real) -> None:
    real.start()
    real.say("hello")
    herd(real, ["other"])
    store = real.store / "conversations"
    wrong = [
        {"targets": ["acme"]},
        {"targets": ["acme"], "confirm_purge": "other"},
        {"targets": ["acme"], "confirm_purge": "true"},
        {"targets": ["acme"], "confirm_purge": ""},
        {"targets": ["acm*"], "confirm_purge": "acm*"},
        {"targets": ["all"], "confirm_purge": "all"},
        {"targets": ["acme", "other"], "confirm_purge": "acme"},
        {"targets": [str(real.pid())], "confirm_purge": str(real.pid())},
        {"targets": ["acme"], "yes": True},
    ]
    wanted = [("stop_session", {"reason": "r", "purge_conversation": True, **one}) for one in wrong]
    right = (
        "kill_session",
        {"reason": "r", "purge_conversation": True, "targets": "acme", "confirm_purge": "acme"},
    )
    *refused, purged = calls(real, *wanted, right)
    assert {one["error"]["code"] for one in refused} == {"usage"}
    assert (purged["ok"], purged["results"][0]["outcome"]) == (True, "terminated")
    assert list(store.iterdir()) == []
    assert real.row("other")["status"] == "running"


# The extra


def test_without_the_sdk_the_extra_is_named(real: Real) -> None:
    blocked = (
        "import sys; sys.modules['mcp'] = None; from tmuxreap.__main__ import main;"
        " sys.exit(main(['mcp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, check=False, stdin=-3
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "could not serve" in done.stderr
    assert "pipx install --force '.[all]'" in done.stderr


def test_nothing_but_the_server_imports_the_sdk() -> None:
    others = (
        "import sys\nfrom tmuxreap.core.verbs import ALL\n"
        "from tmuxreap.interfaces.cli.main import program\nfrom"
        " tmuxreap.__main__ import main\nprogram(ALL)\nmain(['list',"
        " '--quiet'])\nprint(sorted({'mcp', 'mcp_types', 'pydantic', 'anyio'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", others], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]"


def test_a_server_needs_no_registry_to_begin(tmp_path: Path, no_leftovers: None) -> None:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("TMUXREAP")}
    done = subprocess.run(
        [*PROGRAM, "mcp"],
        input=b"",
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

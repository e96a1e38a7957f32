"""The MCP server as its clients see it: the answers of the command line, many in parallel, and a
clean exit."""

from __future__ import annotations

import json
import os
import signal
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
from tests.mcp_client import HELLO, WHOLE, ByHand, calls, envelope, served, together
from tests.real import DEMO, Real, alive, until
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


# The caller's own session


def inside(real: Real, name: str = "acme") -> dict[str, str]:
    """Return the environment of a process started in that session."""
    lines = Path(f"/proc/{real.pid(name)}/environ").read_bytes().decode().split("\0")
    facts = dict(line.split("=", 1) for line in lines if "=" in line)
    return {key: facts[key] for key in ("TMUX", "TMUX_PANE", "TMUXREAP_ID")}


def test_one_s_own_session_is_answered_first_and_ended_then(real: Real) -> None:
    real.start()
    real.bystander()

    async def talk(client: Client) -> tuple[dict[str, Any], str]:
        told = envelope(
            await client.call_tool("stop_session", {"targets": ["acme"], "reason": "all done"})
        )
        return told["results"][0], real.row()["status"]

    told, status = served(real, talk, inside(real), WHOLE)
    assert (told["outcome"], told["error"], status) == ("handed_over", None, "running")
    until("the end", lambda: real.row()["status"] == "stopped")
    assert real.row()["stop_reason"] == "all done"
    until("the closed session", lambda: real.sessions() == {"quiet"})


def test_a_server_that_lives_on_in_the_session_goes_with_it(real: Real) -> None:
    """Its finisher is its child, and not part of what it ends."""
    told, there = real.folder / "told", real.folder / "there"
    told.touch()
    os.mkfifo(there)
    server = (
        f"{' '.join(PROGRAM)} mcp --registry {real.registry} <{there} >{told} 2>{real.folder}/err"
    )
    real.start(command=["sh", "-c", f"{server} & exec {' '.join(DEMO)}"])
    call = {"name": "stop_session", "arguments": {"targets": ["acme"], "reason": "all done"}}
    with there.open("w") as talk:  # open until the end, like a client that keeps working
        for message in (
            {"id": 0, "method": "initialize", "params": HELLO},
            {"method": "notifications/initialized"},
            {"id": 1, "method": "tools/call", "params": call},
        ):
            talk.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        talk.flush()
        until("the answer", lambda: '"handed_over"' in told.read_text())
        until("the end", lambda: real.row()["status"] == "stopped")
    assert (real.row()["stop_reason"], real.row()["stopped_by"]) == ("all done", "exit_keys")
    assert (real.folder / "err").read_text() == ""


def test_ending_many_needs_yes_and_spares_the_caller(real: Real) -> None:
    real.start()
    herd(real, ["other"], tags=["night"])
    many: dict[str, Any] = {"reason": "night"}
    unsure, tagged, dropped, sure = calls(
        real,
        ("stop_session", {**many, "targets": ["all"]}),
        ("kill_session", {**many, "targets": ["tag:night"]}),
        ("remove_session", {**many, "targets": ["*"], "force": True}),
        ("stop_session", {**many, "targets": ["all"], "yes": True}),
        env=inside(real),
    )
    for refused in (unsure, tagged):
        assert (refused["exit_code"], refused["error"]["code"]) == (2, "usage")
    assert {one["outcome"] for one in tagged["results"]} == {"planned"}
    assert (dropped["exit_code"], dropped["error"]["code"]) == (2, "usage")
    assert {one["name"]: one["outcome"] for one in sure["results"]} == {
        "acme": "refused",
        "other": "stopped",
    }
    assert alive(real.pid("acme"))


def test_all_includes_one_s_own_session_only_on_demand(real: Real) -> None:
    real.start()
    herd(real, ["other"])
    (told,) = calls(
        real,
        ("stop_session", {"targets": ["all"], "reason": "night", "yes": True, "self": True}),
        env=inside(real),
    )
    assert {one["name"]: one["outcome"] for one in told["results"]} == {
        "acme": "handed_over",
        "other": "stopped",
    }
    until("the end", lambda: real.row()["status"] == "stopped")


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


# Hostile input


BAD: list[tuple[str, dict[str, Any]]] = [
    ("stop_session", {"targets": ["acme"]}),
    ("stop_session", {"targets": ["acme"], "reason": ""}),
    ("stop_session", {"targets": ["acme"], "reason": " \n\t "}),
    ("stop_session", {"targets": ["acme"], "reason": "x" * 1001}),
    ("stop_session", {"targets": ["acme"], "reason": "a\0b"}),
    ("stop_session", {"targets": ["acme"], "reason": "a\x1b[2Jb"}),
    ("stop_session", {"targets": ["acme"], "reason": None}),
    ("stop_session", {"targets": [], "reason": "r"}),
    ("stop_session", {"targets": None, "reason": "r"}),
    ("stop_session", {"targets": [["acme"]], "reason": "r"}),
    ("stop_session", {"targets": {"name": "acme"}, "reason": "r"}),
    ("stop_session", {"targets": ["acme"], "reason": "r", "grace": -1}),
    ("stop_session", {"targets": ["acme"], "reason": "r", "grace": "soon"}),
    ("stop_session", {"targets": ["acme"], "reason": "r", "keys_timeout": "nan"}),
    ("stop_session", {"targets": ["acme"], "reason": "r", "yes": "perhaps"}),
    ("stop_session", {"targets": ["acme"], "reason": "r", "registry": "/etc/passwd"}),
    ("kill_session", {"targets": ["acme"], "reason": "r", "task_status": "completed"}),
    ("list_sessions", {"status": "archived"}),
    ("list_sessions", {"sort": "__class__"}),
]
NOBODY = [
    "-",
    "",
    " acme",
    "acme\n",
    "acme ",
    "=acme",
    "acme:",
    "$0",
    "%0",
    "../acme",
    "acm",
    "\0",
    "a" * 100_000,
    "‮acme",
]


def test_bad_arguments_are_answered_and_touch_nothing(real: Real) -> None:
    pid = herd(real, ["acme"])["acme"]
    before = real.registry.read_bytes()
    answers = calls(
        real,
        *BAD,
        *(("kill_session", {"targets": [name], "reason": "r", "grace": 0}) for name in NOBODY),
    )
    bad, nobody = answers[: len(BAD)], answers[len(BAD) :]
    for told, asked in zip(bad, BAD, strict=True):
        assert (told["exit_code"], told["error"]["code"]) == (2, "usage"), asked
        assert told["error"]["message"].startswith(f"could not {told['command']}: ")
    for told, name in zip(nobody, NOBODY, strict=True):
        assert told["exit_code"] == 3, name
        assert told["results"][0]["error"]["code"] == "session_not_registered"
    assert alive(pid)
    assert real.registry.read_bytes() == before


def test_invalid_input_does_not_end_the_server(real: Real) -> None:
    client = ByHand(real)
    client.write(b"\xff\xfe not json\n[]\n{}\n\n")
    client.send({"id": 7, "method": "tools/call", "params": {"name": "shutdown", "arguments": {}}})
    assert "error" in client.hear()
    client.send(
        {"id": 8, "method": "tools/call", "params": {"name": "list_sessions", "arguments": [1]}}
    )
    assert "error" in client.hear()
    client.write(
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"show_session","arguments":'
        b'{"targets":["\\ud800"]}}}\n'
    )
    client.call(10, "list_sessions")
    heard = client.hear()
    heard = client.hear() if heard["id"] == 9 else heard
    assert heard["result"]["structuredContent"]["ok"]
    assert client.leaves()[0] == 0


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(real: Real) -> None:
    async def talk(client: Client) -> str:
        with pytest.raises(MCPError) as error:
            await client.call_tool("attach_session", {})
        return str(error.value)

    assert "attach_session" in served(real, talk)


def test_a_name_that_is_no_text_is_answered_nevertheless(real: Real) -> None:
    odd = os.fsencode(real.folder) + b"/odd\xff"
    os.symlink(b"/bin/sleep", odd)
    started = (
        f"for odd in {real.folder}/odd*; do $odd 600 & done; exec {sys.executable} -m"
        " tmuxreap.demo_agent"
    )
    real.start(command=["sh", "-c", started])
    until("the odd one", lambda: "odd" in str(real.show()["processes"]))
    (told,) = calls(real, ("show_session", {"targets": ["acme"]}))
    assert [
        one["name"] for one in told["results"][0]["processes"] if one["name"].startswith("odd")
    ] == ["odd?"]
    real.kill()


# The end of the server


def kept(real: Real) -> str:
    """Return our temporary changes on its pane."""
    return real.tmux("show-options", "-p", "-t", "=acme:")


def slow(real: Real) -> ByHand:
    """A client with a stop in progress: the agent is slow to exit."""
    real.start("acme", "--exit-delay", "1.5")
    client = ByHand(real, WHOLE)
    client.call(1, "stop_session", targets=["acme"], reason="night")
    until("the keys", lambda: kept(real))
    return client


def test_a_begun_ending_is_finished_when_the_client_leaves(real: Real) -> None:
    client = slow(real)
    status, _ = client.leaves()
    assert status == 0
    assert (real.row()["status"], real.row()["stopped_by"]) == ("stopped", "exit_keys")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_signal_between_the_keys_leaves_the_pane_as_it_was(
    real: Real, number: signal.Signals
) -> None:
    client = slow(real)
    client.server.send_signal(number)
    status, _ = client.leaves()
    assert status == 130
    assert (real.row()["status"], kept(real)) == ("running", "")


def test_a_stop_that_a_signal_interrupted_is_finished_by_reconcile(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term")
    pid = real.pid()
    client = ByHand(real, WHOLE)
    client.call(1, "stop_session", targets=["acme"], reason="night", keys_timeout=0, grace=60)
    until("the hangup", lambda: not real.sessions())
    client.server.terminate()
    status, _ = client.leaves()
    assert (status, alive(pid), real.row()["status"]) == (130, True, "running")
    os.kill(pid, signal.SIGKILL)
    until("its death", lambda: not alive(pid))
    assert call(real, "reconcile").returncode == 0
    assert (real.row()["status"], real.row()["stop_reason"]) == ("stopped", "night")


def test_a_signal_to_an_idle_server_ends_it(real: Real) -> None:
    client = ByHand(real, WHOLE)
    client.server.terminate()
    assert client.leaves() == (0, [])


def test_a_client_that_died_ends_the_server_in_silence(real: Real) -> None:
    client = ByHand(real)
    assert client.server.stdout
    client.call(1, "list_sessions")
    client.server.stdout.close()
    client.call(2, "list_sessions")
    status, _ = client.leaves()
    assert status in (0, 1)


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


def test_invalid_text_and_invalid_times_are_answered(real: Real) -> None:
    """Half a surrogate pair, valid in JSON but not in UTF-8; a grace longer than any clock's
    range."""
    by_hand = ByHand(real)
    told = by_hand.answer("stop_session", targets=["\ud800"], reason="night")
    assert (told["ok"], told["exit_code"]) == (False, 3)
    told = by_hand.answer("kill_session", targets=["acme"], reason="night", grace=1e308)
    assert (told["error"]["code"], told["exit_code"]) == ("usage", 2)
    assert by_hand.leaves()[0] == 0

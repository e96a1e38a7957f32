"""An MCP server inside the session that it is asked to end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.live.test_bulk import PROGRAM, herd
from tests.mcp_client import HELLO, WHOLE, calls, envelope, served
from tests.real import DEMO, Real, alive, until

pytestmark = pytest.mark.live


def inside(real: Real, name: str = "acme") -> dict[str, str]:
    """Return the environment of a process started in that session."""
    lines = Path(f"/proc/{real.pid(name)}/environ").read_bytes().decode().split("\0")
    facts = dict(line.split("=", 1) for line in lines if "=" in line)
    return {key: facts[key] for key in ("TMUX", "TMUX_PANE", "TMUXREAP_ID")}


def test_the_callers_own_session_is_answered_first_and_then_ended(real: Real) -> None:
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


def test_all_includes_the_callers_own_session_only_on_demand(real: Real) -> None:
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

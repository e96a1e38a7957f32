"""The MCP server's tools over hosts: only where enabled, with the answers of `--host`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests import warm
from tests.hosts.conftest import Fleet
from tests.mcp_client import envelope

PATIENCE_S = 90


def asked(
    fleet: Fleet, *wanted: tuple[str, Mapping[str, Any]], flags: tuple[str, ...] = ("--hosts",)
) -> list[dict[str, Any]]:
    me = fleet.home("me")
    environ = {
        key: value for key, value in os.environ.items() if not key.startswith(("TMUX", "XDG"))
    }
    environ |= {"HOME": str(me), "TMUX_TMPDIR": f"{me}/t", **fleet.environ}
    there = StdioServerParameters(command=warm.program(), args=["mcp", *flags], env=environ, cwd=me)

    async def talk() -> list[dict[str, Any]]:
        with anyio.fail_after(PATIENCE_S):
            async with Client(stdio_client(there)) as client:
                return [envelope(await client.call_tool(name, dict(what))) for name, what in wanted]

    return anyio.run(talk)


def test_a_tool_asks_hosts_and_names_them(fleet: Fleet) -> None:
    here, listed, named, stopped, gone, unknown = asked(
        fleet,
        ("list_sessions", {}),
        ("list_sessions", {"host": "all", "fields": ["status"]}),
        ("show_session", {"targets": ["web@a"]}),
        ("stop_session", {"targets": ["all"], "host": ["b"], "reason": "night"}),
        ("stop_session", {"targets": ["nobody@a"], "reason": "night"}),
        ("list_sessions", {"host": "nope"}),
    )
    assert ("hosts" in here, [one["name"] for one in here["results"]]) == (False, ["mine"])
    assert [one["target"] for one in listed["results"]] == ["web@a", "web@b", "db@b"]
    assert set(listed["results"][0]) == {"name", "status", "host", "target"}
    assert [one["target"] for one in named["results"]] == ["web@a"]
    assert {one["target"]: one["outcome"] for one in stopped["results"]} == {
        "web@b": "stopped",
        "db@b": "stopped",
    }
    assert {row["stop_reason"] for row in fleet.rows("b").values()} == {"night"}
    assert fleet.rows("a")["web"]["status"] == "running"
    assert (gone["exit_code"], gone["results"][0]["target"]) == (3, "nobody@a")
    assert unknown["error"]["code"] == "host_unknown"


def test_a_list_over_hosts_has_running_sessions_only_too(fleet: Fleet) -> None:
    assert fleet.run("stop", "db@b", "--json").exit == 0
    running, every = asked(
        fleet,
        ("list_sessions", {"host": "b"}),
        ("list_sessions", {"host": "b", "status": "all"}),
    )
    assert [one["name"] for one in running["results"]] == ["web"]
    assert [one["name"] for one in every["results"]] == ["web", "db"]


def test_a_purge_there_needs_its_name_twice(fleet: Fleet) -> None:
    purge = {"targets": ["web@a"], "reason": "r", "purge_conversation": True}
    sure = {**purge, "confirm_purge": "web@a"}
    refused, meant = asked(fleet, ("stop_session", purge), ("stop_session", sure))
    assert refused["error"]["code"] == "usage"
    assert "confirm_purge" in refused["error"]["message"]
    (one,) = meant["results"]  # a row without a conversation has nothing to delete
    assert (one["target"], "confirm_purge" in str(meant)) == ("web@a", False)


def test_an_agent_inside_a_session_says_so_for_every_host(fleet: Fleet) -> None:
    fleet.environ["TMUXREAP_ID"] = "a-mark"
    what = {"targets": ["web"], "host": "a", "reason": "r"}
    unsure, sure = asked(fleet, ("stop_session", what), ("stop_session", {**what, "yes": True}))
    assert (unsure["exit_code"], unsure["error"]["code"]) == (2, "usage")
    assert "yes: true" in unsure["error"]["hint"]
    assert sure["results"][0]["outcome"] == "stopped"


def test_without_the_flag_no_tool_reaches_another_machine(fleet: Fleet) -> None:
    extra, named = asked(
        fleet,
        ("list_sessions", {"host": "a"}),
        ("stop_session", {"targets": ["web@a"], "reason": "r"}),
        flags=(),
    )
    assert extra["error"]["code"] == "usage"
    assert named["results"][0]["error"]["code"] == "session_not_registered"
    assert fleet.rows("a")["web"]["status"] == "running"


def test_a_prompt_for_a_host_is_refused(fleet: Fleet) -> None:
    (answer,) = asked(fleet, ("send_prompt", {"name": "web@a", "text": "go on"}))
    assert answer["error"]["code"] == "usage"
    assert "works on this machine only" in answer["error"]["message"]

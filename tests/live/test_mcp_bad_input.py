"""Hostile input of an MCP client: answered, and nothing is touched."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.live.test_bulk import herd
from tests.mcp_client import ByHand, calls, served
from tests.real import Real, alive, until

pytestmark = pytest.mark.live


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


def test_a_name_that_is_no_text_is_answered(real: Real) -> None:
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


def test_invalid_text_and_invalid_times_are_answered(real: Real) -> None:
    """Half a surrogate pair, valid in JSON but not in UTF-8; a grace longer than any clock's
    range."""
    by_hand = ByHand(real)
    told = by_hand.answer("stop_session", targets=["\ud800"], reason="night")
    assert (told["ok"], told["exit_code"]) == (False, 3)
    told = by_hand.answer("kill_session", targets=["acme"], reason="night", grace=1e308)
    assert (told["error"]["code"], told["exit_code"]) == ("usage", 2)
    assert by_hand.leaves()[0] == 0

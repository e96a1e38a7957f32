"""The real MCP server from inside a test: by the SDK's own client, or by hand where the client
would be too polite."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult

from tests import warm
from tests.real import Real

T = TypeVar("T")

PATIENCE_S = 90
WHOLE = [sys.executable, "-m", "tmuxreap"]  # with its start, as a process of its own
# Many calls at once are about whom they end, not about the speed of the machine.
PATIENT = """
from tmuxreap.system import lock
lock.WAIT_S = 120.0
from tmuxreap.__main__ import run
run()
"""
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}


def served(
    real: Real,
    talk: Callable[[Client], Awaitable[T]],
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = (),
) -> T:
    """What a talk with the server comes to; the server must write nothing but the protocol."""
    command, *words = [*(program or [warm.program()]), "mcp", "--registry", str(real.registry)]
    there = StdioServerParameters(
        command=command, args=words, env={**os.environ, **(env or {})}, cwd=real.folder
    )

    async def connected() -> T:
        with (real.folder / "stderr").open("w+") as heard, anyio.fail_after(PATIENCE_S):
            async with Client(stdio_client(there, errlog=heard)) as client:
                answer = await talk(client)
            heard.seek(0)
            said = heard.read()
            assert said == ""
        return answer

    return anyio.run(connected)


def calls(
    real: Real, *wanted: tuple[str, Mapping[str, Any]], env: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """The answers to these calls, one after the other."""

    async def talk(client: Client) -> list[dict[str, Any]]:
        return [envelope(await client.call_tool(name, dict(given))) for name, given in wanted]

    # Who is inside a session is known by what his process began with.
    return served(real, talk, env, WHOLE if env else ())


def together(real: Real, *wanted: tuple[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The answers to these calls, all made at the same time."""

    async def talk(client: Client) -> list[dict[str, Any]]:
        answers: dict[int, dict[str, Any]] = {}

        async def ask(number: int, name: str, given: Mapping[str, Any]) -> None:
            answers[number] = envelope(await client.call_tool(name, dict(given)))

        async with anyio.create_task_group() as tasks:
            for number, (name, given) in enumerate(wanted):
                tasks.start_soon(functools.partial(ask, number, name, given))
        return [answers[number] for number in range(len(wanted))]

    return served(real, talk, program=[sys.executable, "-c", PATIENT])


def envelope(answer: CallToolResult) -> dict[str, Any]:
    """The same as data, as text and as the flag of the protocol."""
    told: dict[str, Any] = answer.structured_content
    (text,) = answer.content
    assert json.loads(text.text) == told  # type: ignore[union-attr]
    assert answer.is_error is not told["ok"]
    return told


class ByHand:
    """A client that can say anything, and leave in any way."""

    def __init__(self, real: Real, program: Sequence[str] = ()) -> None:
        words = [*(program or [warm.program()]), "mcp", "--registry", str(real.registry)]
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=real.folder)
        self.send({"id": 0, "method": "initialize", "params": HELLO})
        assert self.hear()["result"]["serverInfo"]["name"] == "tmuxreap"
        self.send({"method": "notifications/initialized"})

    def send(self, message: Mapping[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.server.stdin
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.send(
            {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        )

    def hear(self) -> dict[str, Any]:
        assert self.server.stdout
        message: dict[str, Any] = json.loads(self.server.stdout.readline())
        return message

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.call(1, tool, **arguments)
        told: dict[str, Any] = self.hear()["result"]["structuredContent"]
        return told

    def leaves(self) -> tuple[int, list[dict[str, Any]]]:
        """Its exit status, and what it said to the last."""
        out, err = self.server.communicate(timeout=PATIENCE_S)
        assert err == b""
        return self.server.returncode, [json.loads(line) for line in out.splitlines()]


def kept(real: Real) -> str:
    """Return our temporary changes on its pane."""
    return real.tmux("show-options", "-p", "-t", "=acme:")

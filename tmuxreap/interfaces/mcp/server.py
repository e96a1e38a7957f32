"""`tmuxreap mcp`: the verbs as tools of an MCP server on stdin and stdout, by the official SDK.

Owns the protocol, a worker thread for each call, and the end of the server. Prints nothing: stdout
is the protocol's. Imported for `tmuxreap mcp` alone, for the SDK takes half a second; `import mcp`
in here is the SDK, not this module."""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections.abc import Collection
from functools import partial
from signal import SIGHUP, SIGINT, SIGTERM
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolTold
from pydantic import ValidationError

from tmuxreap import __version__
from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Result
from tmuxreap.core.schema import answer_schema
from tmuxreap.interfaces.cli.boundary import answered
from tmuxreap.interfaces.mcp.tools import TOOLS, Arguments, Tool
from tmuxreap.interfaces.mcp.wire import Lines
from tmuxreap.system.environment import Settings

INSTRUCTIONS = (
    "tmuxreap ends, resumes and watches over AI coding agents that run in tmux sessions, and keeps"
    " the registry (.hermes/agent-sessions.yaml) true. Call list_sessions first; a session is named"
    " exactly as listed there. stop_session ends one properly and keeps its conversation, so that"
    " resume_session can take it up; kill_session is for one that hangs. Both can be called again."
    " Every answer is the JSON of the command line: `ok` tells whether all of it was done,"
    " `results` what became of each session, an `error` its code, reason and hint; a hint's"
    " --some-flag is the argument some_flag here. Your own session is answered first (handed_over)"
    " and ended seconds later: say what you have to say and finish. Deleting a conversation needs"
    " confirm_purge; ask the person before."
)
CALLS = 32  # at the same time; more wait their turn
LOOK_S = 0.1  # how soon one who waits hears that the server has to leave
LEAVE_S = 10.0  # what is under way by then is as good as killed: its intent stays for `reconcile`


def serve(registry: str | None) -> None:
    """Until stdin ends, when what was begun is finished first; or until a signal, when it is
    interrupted."""
    anyio.run(partial(_serve, Calls(registry)))


async def _serve(calls: Calls) -> None:
    server: Server[Any] = Server(
        "tmuxreap",
        version=__version__,
        title="tmuxreap: agent sessions in tmux",
        instructions=INSTRUCTIONS,
        on_list_tools=_told,
        on_call_tool=calls.call,
    )
    async with (
        stdio_server(cast(Any, Lines())) as (requests, answers),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_leave_when_told, calls)
        await server.run(requests, answers, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _leave_when_told(calls: Calls) -> None:
    with anyio.open_signal_receiver(SIGTERM, SIGINT, SIGHUP) as signals:
        async for _ in signals:
            with anyio.CancelScope(shield=True):  # from an end of stdin in the same moment
                interrupted = await calls.interrupt()
                # Not by the way of exceptions: the SDK's reader sits in a read that nothing
                # interrupts.
                os._exit(Exit.INTERRUPTED if interrupted else Exit.OK)


class Calls:
    """The calls under way, each in a thread and with an App of its own: a ledger belongs to one
    thread."""

    def __init__(self, registry: str | None) -> None:
        self._registry = registry
        self._leaving = threading.Event()
        self._limiter = anyio.CapacityLimiter(CALLS)
        self._under_way = 0

    async def call(
        self, _: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"could not call {params.name!r}: there is no such tool")
        self._under_way += 1
        try:
            work = partial(self._answer, tool, params.arguments or {})
            return told(await anyio.to_thread.run_sync(work, limiter=self._limiter))
        finally:
            self._under_way -= 1

    async def interrupt(self) -> bool:
        """Was any call under way? Each puts back what it had changed on a pane, and leaves its
        intent open."""
        self._leaving.set()
        busy = self._under_way > 0
        with anyio.move_on_after(LEAVE_S):
            while self._under_way:
                await anyio.sleep(LOOK_S / 10)
        return busy

    def _answer(self, tool: Tool, arguments: dict[str, Any]) -> Result:
        app = real_app(Settings.from_environment(), self._registry, "mcp")
        app.processes = cast(Processes, Interruptible(app.processes, self._leaving))
        try:
            return answered(tool.verb, app, lambda one: _asked(tool, arguments).run(one))
        except Exception as error:  # noqa: BLE001 - the boundary of a call: the others go on
            traceback.print_exception(error)
            message = f"could not go on: {type(error).__name__}: {error}"
            bug = Failure(
                Code.BUG,
                message,
                "this is a bug: please report it with what the server wrote to stderr",
            )
            return Result(tool.verb, app.registry_name, app.clock.now(), failure=bug)


class Interruptible:
    """The processes of this machine. Whoever waits for them hears that the server has to leave, as
    by a Ctrl-C: signal handlers run in the main thread alone."""

    def __init__(self, real: Processes, leaving: threading.Event) -> None:
        self._real = real
        self._leaving = leaving

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        left_s = timeout_s
        while True:
            if self._leaving.is_set():
                raise KeyboardInterrupt
            gone = self._real.wait(processes, min(left_s, LOOK_S))
            left_s -= LOOK_S
            if gone or left_s <= 0:
                return gone


def _asked(tool: Tool, arguments: dict[str, Any]) -> Arguments:
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors(include_input=False)
        )
        reason = f"could not {tool.verb}: {wrong}"
        raise Failure(Code.USAGE, reason, f"see the input schema of {tool.name}") from None


async def _told(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[as_told(tool) for tool in TOOLS.values()])


def as_told(tool: Tool) -> ToolTold:
    return ToolTold(
        name=tool.name,
        title=tool.title,
        description=" ".join((tool.arguments.__doc__ or "").split()),
        input_schema=_untitled(tool.arguments.model_json_schema()),
        output_schema=answer_schema(tool.verb),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.read_only,
            open_world_hint=False,
        ),
    )


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the titles that pydantic makes of names: the names are there."""
    properties = {
        name: {k: v for k, v in one.items() if k != "title"}
        for name, one in schema["properties"].items()
    }
    kept = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return {**kept, "properties": properties}


def told(result: Result) -> CallToolResult:
    """The very JSON that the command line prints, as text and as data."""
    # A name may hold bytes that are no text: the command line escapes them, a protocol in UTF-8 has
    # no way to.
    text = (
        json.dumps(result.as_json(), default=str, ensure_ascii=False)
        .encode(errors="replace")
        .decode()
    )
    envelope = json.loads(text)
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=envelope,
        is_error=not envelope["ok"],
    )

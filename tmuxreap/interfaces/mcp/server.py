"""Owns the MCP server: the protocol on stdin and stdout by the official SDK, the resources that a
client may read, and the shutdown. Never prints: stdout is the protocol's. Imported only for this
verb, because the SDK takes half a second to import."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from signal import SIGHUP, SIGINT, SIGTERM
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as sdk
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import Resource, ResourceTemplate
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import NullableSchema, WithDefaultSchema

from tmuxreap import __version__
from tmuxreap.commands import show
from tmuxreap.commands.schema import answer_schema
from tmuxreap.core.answers import Shown
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.interfaces.mcp.calls import Calls
from tmuxreap.interfaces.mcp.tools import Tool, tools
from tmuxreap.sessions.context import Context

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
)
_LONE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class Lines:
    """The lines of stdin; from then on no other code of this process can read it."""

    def __init__(self) -> None:
        private = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._lines = anyio.wrap_file(
            os.fdopen(private, encoding="utf-8", errors="replace", closefd=False)
        )

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield without_lone_surrogates(line)


def without_lone_surrogates(line: str) -> str:
    return _ESCAPE.sub(lambda match: r"\ufffd" if _LONE.fullmatch(match[0]) else match[0], line)


REGISTRY = "tmuxreap://registry"
SCREEN = "tmuxreap://sessions/{name}/screen"
TEXT = "text/plain"
YAML = "application/yaml"
MOST = 100  # running sessions that are listed
ABOUT_A_SCREEN = "What a session's pane shows now; secrets are masked."
SCREENS = ResourceTemplate(
    uri_template=SCREEN, name="screen", description=ABOUT_A_SCREEN, mime_type=TEXT
)


def readable(context: Context) -> list[Resource]:
    """Return the registry, and the screen of each running session."""
    about = "agent-sessions.yaml: every session, also ended ones."
    registry = Resource(uri=REGISTRY, name="registry", description=about, mime_type=YAML)
    try:
        rows = context.registry.look().usable
    except Failure:
        return [registry]
    names = [row.name for row in rows if not row.status.ended][:MOST]
    return [registry, *map(_screen_resource, names)]


def _screen_resource(name: str) -> Resource:
    uri = SCREEN.format(name=quote(name, safe=""))
    return Resource(uri=uri, name=f"{name}: screen", description=ABOUT_A_SCREEN, mime_type=TEXT)


def read(context: Context, uri: str) -> tuple[str, str]:
    """Return the resource's MIME type and its text."""
    if uri == REGISTRY:
        return YAML, context.registry.look().document.text
    before, after = SCREEN.split("{name}")
    if not (uri.startswith(before) and uri.endswith(after) and len(uri) > len(before + after)):
        raise Failure(Code.USAGE, f"could not read {uri!r}: there is no such resource", SCREEN)
    return TEXT, _screen(context, unquote(uri[len(before) : -len(after)]))


def _screen(context: Context, name: str) -> str:
    """Return the screen of one session, given its exact name: patterns and tags have no screen."""
    if not any(row.name == name for row in context.registry.look().usable):
        reason = f"could not read the screen of {name!r}: there is no such session"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")
    (session,) = show.run(context, [name]).results
    if isinstance(session, Shown):
        return session.screen or ""
    return ""


INSTRUCTIONS = (
    "tmuxreap starts, ends, resumes and monitors AI coding agents in tmux sessions, and keeps"
    " the registry (.hermes/agent-sessions.yaml) true. Call list_sessions first; name a session as"
    " it is listed. `ok`: everything was done. `results`: what happened to each session. `error`:"
    " code, reason and hint. timed_out with `under_way`: the work continues; call the same"
    " tool again with the same arguments. If you stop your own session, the answer comes first"
    " (handed_over) and the end seconds later: say what is left to say and finish. Ask the person"
    " before a conversation is deleted (confirm_purge)."
)
T = TypeVar("T")
Asked = ServerRequestContext[Any]
Page = sdk.PaginatedRequestParams | None


def serve(registry: str | None, *, hosts: bool = False) -> None:
    """Serve until stdin ends, then finish the work in progress; a signal interrupts it instead."""
    try:
        anyio.run(_serve, Calls(registry, hosts=hosts), tools(hosts=hosts))
    except Exception as error:
        if not _is_only_broken_pipe(error):
            raise


def _is_only_broken_pipe(error: BaseException) -> bool:
    """Tell whether only a broken pipe failed: a client may exit during an answer."""
    parts = getattr(error, "exceptions", ())
    if parts:
        return all(map(_is_only_broken_pipe, parts))
    return isinstance(error, BrokenPipeError)


async def _serve(calls: Calls, known: Mapping[str, Tool]) -> None:
    handlers = Handlers(calls, known)
    server: Server[Any] = Server(
        "tmuxreap",
        version=__version__,
        title="tmuxreap: agent sessions in tmux",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.tools,
        on_call_tool=handlers.call,
        on_list_resources=handlers.resources,
        on_list_resource_templates=handlers.templates,
        on_read_resource=handlers.read,
    )
    async with (
        stdio_server(cast(Any, Lines())) as (requests, answers),
        anyio.create_task_group() as tasks,
    ):
        calls.tasks = tasks
        tasks.start_soon(_exit_on_signal, calls)
        try:
            await server.run(requests, answers, server.create_initialization_options())
        finally:
            calls.interrupt_lookups()
            tasks.cancel_scope.cancel()  # waits for the threads


async def _exit_on_signal(calls: Calls) -> None:
    with anyio.open_signal_receiver(SIGTERM, SIGINT, SIGHUP) as signals:
        async for _ in signals:
            with anyio.CancelScope(shield=True):  # stdin may end at the same moment
                interrupted = await calls.interrupt()
                # Not by an exception: the SDK's reader thread sits in a read that cannot be
                # interrupted.
                os._exit(Exit.INTERRUPTED if interrupted else Exit.OK)


class Handlers:
    """Answers the client's requests."""

    def __init__(self, calls: Calls, known: Mapping[str, Tool]) -> None:
        self._calls = calls
        self._known = known

    async def tools(self, _: Asked, __: Page) -> sdk.ListToolsResult:
        return sdk.ListToolsResult(tools=[described(tool) for tool in self._known.values()])

    async def call(self, asked: Asked, params: sdk.CallToolRequestParams) -> sdk.CallToolResult:
        tool = self._known.get(params.name)
        if tool is None:
            raise _refused(f"could not call {params.name!r}: there is no such tool")
        wants_progress = asked.meta is not None and asked.meta.get("progress_token") is not None
        report = None
        if wants_progress:
            report = asked.session.report_progress
        answer = await self._calls.call(tool, params.arguments or {}, report)
        return sdk.CallToolResult(
            content=[sdk.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error=not answer["ok"],
        )

    async def resources(self, _: Asked, __: Page) -> sdk.ListResourcesResult:
        return sdk.ListResourcesResult(resources=await self._look(readable))

    async def templates(self, _: Asked, __: Page) -> sdk.ListResourceTemplatesResult:
        return sdk.ListResourceTemplatesResult(resource_templates=[SCREENS])

    async def read(self, _: Asked, params: sdk.ReadResourceRequestParams) -> sdk.ReadResourceResult:
        try:
            kind, text = await self._look(partial(read, uri=params.uri))
        except Failure as failure:
            raise _refused(failure.message) from None
        contents = sdk.TextResourceContents(uri=params.uri, mime_type=kind, text=_encodable(text))
        return sdk.ReadResourceResult(contents=[contents])

    async def _look(self, look: Callable[[Context], T]) -> T:
        """Look in a thread of its own, as a call that looks does."""

        def work() -> T:
            context = self._calls.context(looks=True)
            try:
                context.configure(lenient=True)
                return look(context)
            finally:
                context.close()

        return await anyio.to_thread.run_sync(work)


def _encodable(text: str) -> str:
    """Replace bytes of a name that are not text: UTF-8 has none for them."""
    return text.encode(errors="replace").decode()


def _refused(reason: str) -> MCPError:
    return MCPError(sdk.INVALID_PARAMS, reason)


def described(tool: Tool) -> sdk.Tool:
    return sdk.Tool(
        name=tool.name,
        title=tool.title,
        description=" ".join((tool.arguments.__doc__ or "").split()),
        input_schema=_input(tool),
        output_schema=_output(tool),
        annotations=sdk.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.read_only,
            open_world_hint=False,
        ),
    )


def _output(tool: Tool) -> dict[str, Any]:
    """Return the answer's schema; without required fields if the caller may select fields."""
    schema = dict(answer_schema(tool.verb))
    if "fields" in tool.arguments.model_fields:
        properties = cast(dict[str, Any], schema["properties"])
        items = {**properties["results"]["items"], "required": []}
        schema["properties"] = {**properties, "results": {"type": "array", "items": items}}
    return schema


def _input(tool: Tool) -> dict[str, Any]:
    schema = tool.arguments.model_json_schema(schema_generator=Plain)
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key not in ("title", "description"):
            found[key] = value
    return found


class Plain(GenerateJsonSchema):
    """Leaves out what goes without saying: titles, `null`, and the obvious defaults."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def nullable_schema(self, schema: NullableSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: WithDefaultSchema) -> dict[str, Any]:
        field = super().default_schema(schema)
        if field.get("default") in (None, False, []):
            field.pop("default", None)
        return field

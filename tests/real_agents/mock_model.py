"""A model of our own on loopback, as far as the agents need one: Anthropic messages, OpenAI
responses and chat completions, Gemini generateContent; streamed where asked for.

The last word of the person decides: with RUN_A_TOOL in it the agent is told to run a command (which
asks the person first), with BE_SLOW it waits, with STREAM_IT it talks until a stop has answered,
for a minute at most, and runs the command then, with ASK_THE_PERSON it asks by the agent's own tool
for that, with MEET_A_LIMIT it is refused as one whose quota is used up, all else is answered.
It keeps what it was asked, and never asks anybody itself."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

TOOL, SLOW, STREAM, LIMIT = "RUN_A_TOOL", "BE_SLOW", "STREAM_IT", "MEET_A_LIMIT"
ASK = "ASK_THE_PERSON"
ANSWER = "The mock has read it."
SLOW_S = 60.0
RESET_S = 3 * 3600  # from a limit to the time when it is lifted
CLAIM = {"representative-claim": "five_hour", "overage-status": "rejected"}
TALK, TALK_S = (
    ("The teapot is blue, ", "as was said before, ", "and so it goes on ", "for a while. "),
    12.0,
)
SHELLS = (
    "Bash",
    "bash",
    "run_shell_command",
    "shell_command",
    "exec_command",
    "shell",
    "local_shell",
    "terminal",
)
DEFERRED = "ToolSearch"  # there are tools that are not in the request
ASKING = ("justification", "sandbox_permissions")  # only where a person is to be asked

Event = tuple[str, dict[str, Any]]
PAUSE: Event = ("pause", {})  # between two pieces of a talk: nothing is sent


@dataclass(frozen=True, slots=True)
class Reply:
    text: str = ANSWER
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    wait: bool = False
    limit: bool = False  # 429, as the provider of that protocol says it
    talk: tuple[str, ...] = ()  # said before the text, piece by piece, in TALK_S

    @property
    def pieces(self) -> tuple[str, ...]:
        """What it says, as it is streamed: one that talks ends its sentence at once."""
        return (*self.talk, self.text)


class MockModel:
    def __init__(self, command: str, *, asks: bool = True, spoken: str = "") -> None:
        """`asks`: the agent is to ask a person first, where a tool call itself can make it.
        `spoken`: how a command is said to an agent that offers no tools."""
        self.command, self.asks, self.spoken = command, asks, spoken
        self.question: tuple[str, dict[str, Any]] = ("", {})  # the tool that asks, what it is given
        self.asked: list[str] = []  # the body of every request
        self.closing = threading.Event()
        self.may_finish = threading.Event()  # a talk: only then it comes to its end
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.closing.set()
        self.may_finish.set()
        self._server.shutdown()
        self._server.server_close()

    def prompted(self, text: str) -> int:
        """How often a person said that in the conversation that was sent last or longest."""
        return max((_said(json.loads(body), text) for body in self.asked), default=0)

    def reply(self, body: dict[str, Any]) -> Reply:
        tools = tools_of(body)
        said = _last_words(body) if tools or self.spoken else ""
        talk = TALK if STREAM in said else ()
        if self.spoken and (TOOL in said or talk):
            return Reply(self.spoken.format(command=self.command), talk=talk)
        if ASK in said and (self.question[0] in tools or DEFERRED in tools):
            return Reply("I ask.", *self.question)
        shell = next((name for name in SHELLS if name in tools), None)
        if shell and (TOOL in said or STREAM in said):
            return Reply(
                "I will run it.",
                shell,
                _arguments(tools[shell], self.command, self.asks),
                talk=talk,
            )
        return Reply(wait=SLOW in said, limit=LIMIT in said)


def _last_words(body: dict[str, Any]) -> str:
    """What the person said last; nothing when a tool has answered since."""
    turns = body.get("messages") or body.get("input") or body.get("contents") or []
    if not isinstance(turns, list):
        return ""
    turns = [one for one in turns if not isinstance(one, dict) or one.get("role") != "system"]
    if not turns:
        return ""
    last = json.dumps(turns[-1])
    answered = re.search(
        r'"(?:tool_result|function_call_output|functionResponse)"|"role": "tool"', last
    )
    return "" if answered else last


def _said(body: dict[str, Any], text: str) -> int:
    turns = body.get("messages") or body.get("input") or body.get("contents") or []
    persons = [one for one in turns if isinstance(one, dict) and one.get("role") == "user"]
    return sum(text in json.dumps(one) for one in persons)


def tools_of(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            schema = (
                one.get("input_schema")
                or one.get("parameters")
                or one.get("parametersJsonSchema")
                or {}
            )
            found[str(one.get("name") or one.get("type"))] = schema.get("properties") or {}
        if tool.get("type") == "namespace":  # of codex: the tools of one server
            found |= {f"{tool['name']}.{name}": one for name, one in tools_of(tool).items()}
    return found


def _arguments(properties: dict[str, Any], command: str, asks: bool = True) -> dict[str, Any]:
    name = "cmd" if "cmd" in properties else "command"
    words: object = (
        ["sh", "-c", command] if properties.get(name, {}).get("type") == "array" else command
    )
    given = {name: words}
    for wanted, value in (
        ("description", "prove that it ran"),
        ("justification", "prove that it ran"),
        ("sandbox_permissions", "require_escalated"),
    ):
        if wanted in properties and (asks or wanted not in ASKING):
            given[wanted] = value
    return given


# Each protocol: a reply as events, (name, data).


def anthropic(reply: Reply) -> Iterator[Event]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": "mock",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    words = [{"type": "text_delta", "text": piece} for piece in reply.pieces]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"type": "text", "text": ""}, words)
    ]
    if reply.tool:
        call = {"type": "tool_use", "id": _id("toolu"), "name": reply.tool, "input": {}}
        blocks.append(
            (call, [{"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}])
        )
    yield "message_start", {"message": message}
    for index, (block, deltas) in enumerate(blocks):
        yield "content_block_start", {"index": index, "content_block": block}
        for piece, delta in enumerate(deltas):
            if piece:
                yield PAUSE
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    reason = "tool_use" if reply.tool else "end_turn"
    yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield "message_stop", {}


def responses(reply: Reply) -> Iterator[Event]:
    answer = _id("resp")
    text = {
        "type": "message",
        "id": _id("msg"),
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "".join(reply.pieces), "annotations": []}],
    }
    items: list[dict[str, Any]] = [text]
    if reply.tool:
        space, _, name = reply.tool.rpartition(".")
        call = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "name": name}
        call |= {"namespace": space} if space else {}
        items.append({**call, "arguments": json.dumps(reply.arguments), "status": "completed"})
    usage = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": None,
        "output_tokens_details": None,
    }
    yield (
        "response.created",
        {"response": {"id": answer, "object": "response", "status": "in_progress"}},
    )
    for index, item in enumerate(items):
        begun = {**item, "content": [], "status": "in_progress"} if item is text else item
        yield "response.output_item.added", {"output_index": index, "item": begun}
        for piece in reply.talk if item is text else ():
            where = {"item_id": text["id"], "output_index": index, "content_index": 0}
            yield "response.output_text.delta", {**where, "delta": piece}
            yield PAUSE
        yield "response.output_item.done", {"output_index": index, "item": item}
    done = {
        "id": answer,
        "object": "response",
        "status": "completed",
        "output": items,
        "usage": usage,
    }
    yield "response.completed", {"response": done}


def chat(reply: Reply) -> Iterator[Event]:
    parts: list[tuple[dict[str, Any], str | None]] = [
        ({"role": "assistant", "content": piece}, None) for piece in reply.pieces
    ]
    if reply.tool:
        call = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
        parts[-1][0]["tool_calls"] = [
            {"index": 0, "id": _id("call"), "type": "function", "function": call}
        ]
    for place, (part, reason) in enumerate([*parts, ({}, "tool_calls" if reply.tool else "stop")]):
        if 0 < place < len(parts):
            yield PAUSE
        choice = {"index": 0, "delta": part, "finish_reason": reason}
        yield (
            "",
            {
                "id": _id("chat"),
                "object": "chat.completion.chunk",
                "model": "mock",
                "choices": [choice],
                "created": 1,
            },
        )


def gemini(reply: Reply) -> Iterator[Event]:
    for piece in reply.talk:
        spoken = {"content": {"parts": [{"text": piece}], "role": "model"}, "index": 0}
        yield "", {"candidates": [spoken], "modelVersion": "mock"}
        yield PAUSE
    parts: list[dict[str, Any]] = [{"text": reply.text}]
    if reply.tool:
        parts.append(
            {"functionCall": {"id": _id("fc"), "name": reply.tool, "args": reply.arguments}}
        )
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "mock"}


def _whole(path: str, reply: Reply) -> dict[str, Any]:
    """The same, not streamed."""
    if "generateContent" in path:
        return next(gemini(reply))[1]
    if path.endswith("/messages"):
        events = list(anthropic(reply))
        return {
            **events[0][1]["message"],
            "content": [{"type": "text", "text": reply.text}],
            "stop_reason": "end_turn",
        }
    if path.endswith("/responses"):
        whole: dict[str, Any] = list(responses(reply))[-1][1]["response"]
        return whole
    message = {"role": "assistant", "content": reply.text}
    return {
        "id": _id("chat"),
        "object": "chat.completion",
        "model": "mock",
        "created": 1,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


# What a provider answers when the quota is used up: headers and body.


def refusal(path: str) -> tuple[dict[str, str], dict[str, Any]]:
    again = int(time.time()) + RESET_S
    if "enerateContent" in path:
        return {}, {"error": _quota_of_google()}
    if path.endswith("/messages"):
        unified = {"status": "rejected", "reset": str(again), **CLAIM}
        headers = {f"anthropic-ratelimit-unified-{key}": word for key, word in unified.items()}
        message = "This request would exceed your account's rate limit. Please try again later."
        error = {"type": "rate_limit_error", "message": message}
        return {**headers, "x-should-retry": "false"}, {"type": "error", "error": error}
    if path.endswith("/responses"):
        kind = {"type": "usage_limit_reached", "plan_type": "plus"}
        return {}, {
            "error": {**kind, "message": "The usage limit has been reached", "resets_at": again}
        }
    message = "You exceeded your current quota, please check your plan and billing details."
    return {"retry-after": str(RESET_S)}, {
        "error": {"message": message, "type": "insufficient_quota", "code": "insufficient_quota"}
    }


def _quota_of_google() -> dict[str, Any]:
    kinds = "type.googleapis.com/google.rpc."
    metric = "generativelanguage.googleapis.com/generate_content_paid_tier_requests"
    which = {"quotaMetric": metric, "quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
    return {
        "code": 429,
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": f"{kinds}QuotaFailure", "violations": [which]},
            {"@type": f"{kinds}RetryInfo", "retryDelay": f"{RESET_S}s"},
        ],
    }


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def _events_of(path: str, reply: Reply) -> Iterator[Event]:
    if "streamGenerateContent" in path:
        return gemini(reply)
    if path.endswith("/messages"):
        return anthropic(reply)
    return responses(reply) if path.endswith("/responses") else chat(reply)


def _handler(model: MockModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._json(
                {"object": "list", "data": [{"id": "mock", "object": "model"}], "models": []}
            )

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode(
                "utf-8", "replace"
            )
            path = self.path.partition("?")[0]
            model.asked.append(raw)
            try:
                body = json.loads(raw)
            except ValueError:
                body = {}
            if path.endswith(("count_tokens", ":countTokens")):
                self._json({"input_tokens": 1, "totalTokens": 1})
                return
            reply = model.reply(body)
            try:
                if reply.limit:
                    headers, refused = refusal(path)
                    self._json(refused, 429, headers)
                elif body.get("stream") or "streamGenerateContent" in path:
                    self._stream(path, reply)
                else:
                    self._json(_whole(path, reply))
            except OSError:
                return  # the agent has hung up

        def _json(
            self, data: object, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
        ) -> None:
            text = json.dumps(data).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _stream(self, path: str, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            if reply.wait:
                self.wfile.write(b": wait\n\n")
                self.wfile.flush()
                model.closing.wait(SLOW_S)
            pauses = 0
            for name, data in _events_of(path, reply):
                if name == PAUSE[0]:
                    pauses += 1
                    if pauses == len(TALK):
                        model.may_finish.wait(SLOW_S)
                    model.closing.wait(TALK_S / len(TALK))
                    continue
                head = f"event: {name}\n" if name else ""
                typed = {"type": name, **data} if name else data
                self.wfile.write(f"{head}data: {json.dumps(typed)}\n\n".encode())
                self.wfile.flush()
            if path.endswith("/completions"):
                self.wfile.write(b"data: [DONE]\n\n")

    return Handler

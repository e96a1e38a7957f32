"""Owns the calls of tools, each in a thread with its own context. A long call is answered as in
progress; the same call again joins it while it lasts. Hints name tools instead of shell commands.
Never cancels work because the caller stopped waiting, and never answers with what an earlier call
found."""

from __future__ import annotations

import io
import json
import re
import shlex
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Result
from tmuxreap.core.values import field, slotted
from tmuxreap.core.verbs import VERBS
from tmuxreap.interfaces.cli.boundary import run_work
from tmuxreap.interfaces.mcp.arguments import Arguments, flags_of
from tmuxreap.interfaces.mcp.tools import TOOLS, Tool
from tmuxreap.interfaces.text.progress import ProgressText
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

BY_VERB = {tool.verb: tool for tool in TOOLS.values()}
TEXT_KEYS = ("message", "hint")  # keys of text for the reader, besides `warnings`
MANY = ("targets", "names", "tags", "host")
PARTS = {"adopt": "names", "start": "name"}  # where a bare word goes; elsewhere to the targets
_WORD = r"(?:'[^']*'|\"[^\"]*\"|[^\s,;()'\"])+"
# A command is its verb and the words after it, up to the next word of the sentence.
_STOPS = r"(?:or|then|and|if|when|with|for|again|to)\b"
_COMMAND = re.compile(rf"tmuxreap (?P<verb>[a-z]+)(?P<rest>(?: (?!{_STOPS}|#){_WORD})*)")
_FLAG = re.compile(r"(?<![\w-])(?P<flag>--[a-z][a-z-]*)(?: (?P<value>\d[\w.]*|[A-Z]+\b))?")
_KEPT = "\0\0"  # marks the flags of commands that stay
REPLACEMENTS = {
    "stop it first with --replace": "stop it first with stop_session",
    "; or give a command after --, as in: tmuxreap start NAME --agent AGENT -- COMMAND": "",
}


def in_tool_calls(answer: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """Return the answer with hints and messages in terms of tools."""
    translated = {key: _translated(key, value, tool) for key, value in answer.items()}
    return {**translated, "warnings": [translate(text, tool) for text in answer["warnings"]]}


def _translated(key: str, value: Any, tool: Tool) -> Any:
    if isinstance(value, dict):
        return {name: _translated(name, entry, tool) for name, entry in value.items()}
    if isinstance(value, list):
        return [_translated("", entry, tool) for entry in value]
    if key in TEXT_KEYS and isinstance(value, str):
        return translate(value, tool)
    return value


def translate(text: str, tool: Tool) -> str:
    for shell, replacement in REPLACEMENTS.items():
        text = text.replace(shell, replacement)
    if "tmuxreap " in text:
        text = _COMMAND.sub(_call, text)
    if "--" in text:
        text = _FLAG.sub(lambda match: _argument(match, tool), text)
    return text.replace(_KEPT, "--")


def _call(found: re.Match[str]) -> str:
    if found["verb"] not in VERBS:
        return found[0]
    tool = BY_VERB.get(found["verb"])
    given = None
    if tool is not None:
        given = _given(tool, found["rest"])
    if tool is None or given is None:
        return f"(in a shell) {found[0].replace('--', _KEPT)}"
    if given:
        return f"{tool.name} {json.dumps(given, ensure_ascii=False)}"
    return tool.name


def _given(tool: Tool, rest: str) -> Mapping[str, object] | None:
    """Return the arguments; None if a word does not fit the tool."""
    try:
        words = iter(shlex.split(rest))
    except ValueError:
        return None
    flags = flags_of(tool.arguments)
    arguments: dict[str, Any] = {}
    for word in words:
        if not word.startswith("--"):
            _add_argument(arguments, PARTS.get(tool.verb, "targets"), word)
        elif word == "--host":
            _add_argument(arguments, "host", next(words, "HOST"))
        elif word not in flags:
            return None
        else:
            name, is_switch = flags[word]
            _add_argument(arguments, name, True if is_switch else next(words, True))
    if "reason" in tool.arguments.model_fields:  # needed by a tool, and by no command line
        arguments.setdefault("reason", "WHY")
    return arguments


def _add_argument(arguments: dict[str, Any], name: str, value: object) -> None:
    if name in MANY:
        arguments.setdefault(name, []).append(value)
    else:
        arguments[name] = value


def _argument(found: re.Match[str], tool: Tool) -> str:
    """Turn `--grace 0` into `grace: 0`; leave a flag without an argument as it is."""
    name, is_switch = flags_of(tool.arguments).get(found["flag"], ("", False))
    if not name:
        return found[0]
    value = found["value"] or ("true" if is_switch else None)
    return name if value is None else f"{name}: {value}"


AT_ONCE = 32  # changing calls, as many that look, and as many that wait; further ones queue
LOOK_S = 0.1  # how soon a waiting call notices that the server has to exit
LEAVE_S = 10.0  # then the rest counts as killed: its intent stays open for `reconcile`
ANSWER_S = 28.0  # some clients give up on a call after thirty seconds; a wait lasts 25
PROGRESS_S = 0.2
Report = Callable[[float, float | None, str | None], Any]


@slotted
class ToolCall:
    """A call in progress, with its answer at the end."""

    tool: Tool
    raw: dict[str, Any]
    began: float
    progress: ProgressText
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: dict[str, Any] | None = None
    reported: float = 0.0

    @property
    def key(self) -> str:
        return f"{self.tool.name} {json.dumps(self.raw, sort_keys=True)}"

    def in_progress(self, now: float) -> list[dict[str, object]]:
        """Return each session that is being ended, with its rung and how long it has been there."""
        # Copies: the thread that ends the sessions writes meanwhile.
        at = dict(self.progress.at)
        turns = dict(self.progress.turns)
        steps = {name: (rung.value, since) for name, (rung, since) in at.items()}
        steps |= {name: ("turn", since) for name, since in turns.items()}
        found: list[dict[str, object]] = []
        for name, (step, since) in steps.items():
            found.append({"name": name, "at": step, "for_s": round(now - since, 1)})
        return found


class Calls:
    """All calls of one client."""

    def __init__(self, registry: str | None, *, hosts: bool, answer_s: float = ANSWER_S) -> None:
        self._registry = registry
        self._hosts = hosts
        self._answer_s = answer_s
        self._leaving = threading.Event()
        self._client_gone = threading.Event()
        kinds = ("looks", "waits", "changes")
        self._limiters = {kind: anyio.CapacityLimiter(AT_ONCE) for kind in kinds}
        self._under_way: dict[str, ToolCall] = {}  # told so to their callers, who may ask again
        self._busy = 0
        self.tasks: TaskGroup  # runs work beyond the answer to its call

    async def call(self, tool: Tool, raw: dict[str, Any], report: Report | None) -> dict[str, Any]:
        """Return the tool's answer or, if it takes long, what is in progress."""
        call = ToolCall(
            tool, raw, time.monotonic(), ProgressText(io.StringIO(), time.monotonic, False)
        )
        joined = self._under_way.pop(call.key, None)
        if joined is None:
            self.tasks.start_soon(self._work, call)
        else:
            call = joined
        with anyio.move_on_after(self._answer_s):
            await _await_result(call, report)
        if call.answer is not None:
            return call.answer
        if not tool.read_only:  # a look that was begun earlier is no answer
            self._under_way[call.key] = call
        return self._in_progress_answer(call)

    async def _work(self, call: ToolCall) -> None:
        limiter = self._limiters[_kind(call.tool)]
        self._busy += 1
        try:
            call.answer = await anyio.to_thread.run_sync(self._answer, call, limiter=limiter)
        finally:
            self._busy -= 1
        if self._under_way.get(call.key) is call:
            del self._under_way[call.key]
        call.done.set()

    def interrupt_lookups(self) -> None:
        """Interrupt the calls that only look: the client is gone."""
        self._client_gone.set()

    async def interrupt(self) -> bool:
        """Interrupt all calls, and tell whether there were any. Each restores the panes that it
        changed, and leaves its intent open."""
        self._leaving.set()
        self._client_gone.set()
        busy = self._busy > 0
        with anyio.move_on_after(LEAVE_S):
            while self._busy:
                await anyio.sleep(LOOK_S / 10)
        return busy

    def context(self, *, looks: bool, progress: ProgressText | None = None) -> Context:
        context = real_app(Settings.from_environment(), self._registry, "mcp", progress=progress)
        leaving = self._client_gone if looks else self._leaving
        return context.with_own(processes=Interruptible(context.processes, leaving))

    def _answer(self, call: ToolCall) -> dict[str, Any]:
        tool = call.tool
        context = self.context(looks=tool.read_only, progress=call.progress)
        try:
            result = run_work(tool.verb, context, lambda one: self._run(tool, call.raw, one))
            return as_answer(tool, call.raw, result)
        except Exception as error:  # noqa: BLE001 - the boundary of a call: others go on
            traceback.print_exception(error)
            message = f"could not continue: {type(error).__name__}: {error}"
            hint = "this is a bug: please report it with what the server wrote to stderr"
            return _failed(tool, context, Failure(Code.BUG, message, hint)).as_json()

    def _run(self, tool: Tool, raw: dict[str, Any], context: Context) -> Result:
        given = parse_arguments(tool, raw)
        if not self._hosts:
            return given.run(context)
        from tmuxreap.interfaces.remote.near import run_on_hosts

        elsewhere = run_on_hosts(context, tool.verb, getattr(given, "host", []), given.words())
        if elsewhere is None:
            return given.run(context)
        return elsewhere

    def _in_progress_answer(self, call: ToolCall) -> dict[str, Any]:
        in_progress = call.in_progress(time.monotonic())
        steps = "; ".join(f"{it['name']}: {it['at']} for {it['for_s']} s" for it in in_progress)
        if steps:
            ended = f", {call.progress.ended} of {call.progress.total} ended"
        else:
            ended = ""
        failure = Failure(
            Code.TIMED_OUT,
            f"could not finish {call.tool.verb} in {time.monotonic() - call.began:.0f} s: it is"
            f" in progress{ended}{': ' + steps if steps else ''}",
            _call_again(call.tool),
        )
        context = self.context(looks=True)
        result = _failed(call.tool, context, failure, under_way=in_progress)
        context.close()
        return as_answer(call.tool, call.raw, result)


def _kind(tool: Tool) -> str:
    """Return what shares a limit: who waits for sessions must not hold up who looks at them."""
    if tool.verb == "wait":
        return "waits"
    return "looks" if tool.read_only else "changes"


def _call_again(tool: Tool) -> str:
    if tool.read_only:
        return f"call {tool.name} again, for fewer sessions"
    return f"call {tool.name} again with the same arguments: it joins the one in progress"


async def _await_result(call: ToolCall, report: Report | None) -> None:
    """Wait for the result, and report progress if the client asked for it."""
    while report is not None and not call.done.is_set():
        with anyio.move_on_after(PROGRESS_S):
            await call.done.wait()
        await _report_progress(call, report)
    await call.done.wait()


async def _report_progress(call: ToolCall, report: Report) -> None:
    """Report progress, by a growing number (the protocol's rule) below the next ended session."""
    progress = call.progress
    now = time.monotonic()
    steps = call.in_progress(now)
    shown = ", ".join(f"{entry['name']}: {entry['at']} {entry['for_s']} s" for entry in steps[:3])
    more = f", {len(steps) - 3} more" if len(steps) > 3 else ""
    total = progress.total or None
    if total:
        count = f"{progress.ended} of {total} ended"
    else:
        count = f"{now - call.began:.0f} s"
    step = max(float(progress.ended), call.reported + 0.001)
    if total is None or step <= total:
        call.reported = step
        await report(step, total, f"{call.tool.verb}: {count}{'; ' if shown else ''}{shown}{more}")


def parse_arguments(tool: Tool, raw: dict[str, Any]) -> Arguments:
    try:
        return tool.arguments.model_validate(raw)
    except ValidationError as error:
        reasons = "; ".join(map(_wrong, error.errors(include_input=False)))
        reason = f"could not {tool.verb}: {reasons}"
        raise Failure(Code.USAGE, reason, f"see the input schema of {tool.name}") from None


def _wrong(detail: ErrorDetails) -> str:
    """Say which argument is wrong, and what is."""
    name = ".".join(map(str, detail["loc"]))
    if detail["type"] == "missing":
        return f"the argument {name} is missing"
    if detail["type"] == "extra_forbidden":
        return f"there is no argument {name}"
    return f"{name}: {detail['msg']}"


def as_answer(tool: Tool, raw: dict[str, Any], result: Result) -> dict[str, Any]:
    """Return the JSON that the command line prints, with hints in terms of tools."""
    # A name may have bytes that are not text: the command line escapes them, UTF-8 cannot.
    text = json.dumps(result.as_json(), default=str, ensure_ascii=False)
    answer = in_tool_calls(json.loads(text.encode(errors="replace").decode()), tool)
    try:
        return parse_arguments(tool, raw).trimmed(answer)
    except Failure:
        return answer


def _failed(tool: Tool, context: Context, failure: Failure, **more: object) -> Result:
    name = context.registry_name
    now = context.clock.now()
    return Result(tool.verb, name, now, failure=failure, more=more)


class Interruptible:
    """The processes of this machine, with a `wait` that notices when the server has to exit and
    raises as on Ctrl-C: signal handlers run only in the main thread."""

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

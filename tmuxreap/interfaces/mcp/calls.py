"""Owns the calls of tools, each in a thread with its own context, because a ledger belongs to one
thread. A long call is answered as in progress; the same call again gets its result.

Knows no protocol messages, and never cancels work because the caller stopped waiting."""

from __future__ import annotations

import io
import json
import threading
import time
import traceback
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from pydantic import ValidationError

from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Result
from tmuxreap.core.values import field, slotted
from tmuxreap.interfaces.cli.boundary import answered
from tmuxreap.interfaces.mcp.arguments import Arguments
from tmuxreap.interfaces.mcp.hints import in_tools
from tmuxreap.interfaces.mcp.tools import Tool
from tmuxreap.interfaces.text.progress import Progress
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

AT_ONCE = 32  # changing calls, and as many that look; further ones wait
LOOK_S = 0.1  # how soon a waiting call notices that the server has to exit
LEAVE_S = 10.0  # then the rest counts as killed: its intent stays open for `reconcile`
ANSWER_S = 25.0  # clients give up on a call after a minute, some after thirty seconds
KEPT_S = 120.0  # how long a result waits for the next call
TELL_S = 0.2
Tell = Callable[[float, float | None, str | None], Any]


@slotted
class Going:
    """A call in progress, or a result that no caller has received yet."""

    tool: Tool
    asked: dict[str, Any]
    began: float
    progress: Progress
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: dict[str, Any] | None = None
    told: float = 0.0

    @property
    def key(self) -> str:
        return f"{self.tool.name} {json.dumps(self.asked, sort_keys=True)}"

    def under_way(self, now: float) -> list[dict[str, object]]:
        """Return each session that is being ended, with its rung and how long it has been there."""
        at, turning = dict(self.progress.at), dict(self.progress.turns)  # copies, for thread safety
        steps = {name: (rung.value, since) for name, (rung, since) in at.items()}
        turns = {name: ("turn", since) for name, since in turning.items()}
        return [
            {"name": name, "at": step, "for_s": round(now - since, 1)}
            for name, (step, since) in {**steps, **turns}.items()
        ]


class Calls:
    """All calls of one client."""

    def __init__(self, registry: str | None, *, hosts: bool, answer_s: float = ANSWER_S) -> None:
        self._registry = registry
        self._hosts = hosts
        self._answer_s = answer_s
        self._leaving = threading.Event()
        self._unheard = threading.Event()
        self._limiters = {
            True: anyio.CapacityLimiter(AT_ONCE),
            False: anyio.CapacityLimiter(AT_ONCE),
        }
        self._kept: dict[str, Going] = {}
        self._busy = 0
        self.tasks: TaskGroup  # runs work beyond the answer to its call

    async def call(self, tool: Tool, asked: dict[str, Any], tell: Tell | None) -> dict[str, Any]:
        """Return the tool's answer or, if it takes long, what is in progress."""
        going = Going(tool, asked, time.monotonic(), Progress(io.StringIO(), time.monotonic, False))
        kept = self._kept.pop(going.key, None)
        if kept is None:
            self.tasks.start_soon(self._work, going)
        else:
            going = kept
        try:
            with anyio.move_on_after(self._answer_s):
                await _ended(going, tell)
        finally:
            if going.answer is None:
                self._kept[going.key] = going
        return going.answer if going.answer is not None else self._goes_on(going)

    async def _work(self, going: Going) -> None:
        work = partial(self._answer, going)
        self._busy += 1
        try:
            limiter = self._limiters[going.tool.read_only]
            going.answer = await anyio.to_thread.run_sync(work, limiter=limiter)
        finally:
            self._busy -= 1
        going.done.set()
        if self._kept.get(going.key) is going:
            await anyio.sleep(KEPT_S)
            if self._kept.get(going.key) is going:
                del self._kept[going.key]

    def unheard(self) -> None:
        """Interrupt the calls that only look: the client is gone."""
        self._unheard.set()

    async def interrupt(self) -> bool:
        """Interrupt all calls, and tell whether there were any. Each restores the panes that it
        changed, and leaves its intent open."""
        self._leaving.set()
        self._unheard.set()
        busy = self._busy > 0
        with anyio.move_on_after(LEAVE_S):
            while self._busy:
                await anyio.sleep(LOOK_S / 10)
        return busy

    def context(self, *, looks: bool, progress: Progress | None = None) -> Context:
        context = real_app(Settings.from_environment(), self._registry, "mcp", progress=progress)
        leaving = self._unheard if looks else self._leaving
        return context.with_own(processes=Interruptible(context.processes, leaving))

    def _answer(self, going: Going) -> dict[str, Any]:
        tool = going.tool
        context = self.context(looks=tool.read_only, progress=going.progress)
        try:
            result = answered(tool.verb, context, lambda one: self._run(tool, going.asked, one))
            return told(tool, going.asked, result)
        except Exception as error:  # noqa: BLE001 - the boundary of a call: others go on
            return _bug(tool, context, error).as_json()

    def _run(self, tool: Tool, asked: dict[str, Any], context: Context) -> Result:
        given = given_to(tool, asked)
        if not self._hosts:
            return given.run(context)
        from tmuxreap.interfaces.remote.near import over_hosts

        elsewhere = over_hosts(context, tool.verb, getattr(given, "host", []), given.words())
        return given.run(context) if elsewhere is None else elsewhere

    def _goes_on(self, going: Going) -> dict[str, Any]:
        context = self.context(looks=True)
        under_way = going.under_way(time.monotonic())
        steps = "; ".join(f"{it['name']}: {it['at']} for {it['for_s']} s" for it in under_way)
        ended = f", {going.progress.ended} of {going.progress.total} ended" if steps else ""
        failure = Failure(
            Code.TIMED_OUT,
            f"could not finish {going.tool.verb} in {time.monotonic() - going.began:.0f} s: it is"
            f" under way{ended}{': ' + steps if steps else ''}",
            f"call {going.tool.name} again with the same arguments: it answers what came of it",
        )
        name, now = context.registry_name, context.clock.now()
        result = Result(going.tool.verb, name, now, failure=failure, more={"under_way": under_way})
        context.close()
        return told(going.tool, going.asked, result)


async def _ended(going: Going, tell: Tell | None) -> None:
    """Wait for the result, and report progress if the client asked for it."""
    while tell is not None and not going.done.is_set():
        with anyio.move_on_after(TELL_S):
            await going.done.wait()
        await _tell(going, tell)
    await going.done.wait()


async def _tell(going: Going, tell: Tell) -> None:
    """Report progress, by a growing number (the protocol's rule) below the next ended session."""
    progress, now = going.progress, time.monotonic()
    steps = going.under_way(now)
    shown = ", ".join(f"{entry['name']}: {entry['at']} {entry['for_s']} s" for entry in steps[:3])
    more = f", {len(steps) - 3} more" if len(steps) > 3 else ""
    total = progress.total or None
    count = f"{progress.ended} of {total} ended" if total else f"{now - going.began:.0f} s"
    step = max(float(progress.ended), going.told + 0.001)
    if total is None or step <= total:
        going.told = step
        await tell(step, total, f"{going.tool.verb}: {count}{'; ' if shown else ''}{shown}{more}")


def given_to(tool: Tool, asked: dict[str, Any]) -> Arguments:
    try:
        return tool.arguments.model_validate(asked)
    except ValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
            for detail in error.errors(include_input=False)
        )
        reason = f"could not {tool.verb}: {reasons}"
        raise Failure(Code.USAGE, reason, f"see the input schema of {tool.name}") from None


def told(tool: Tool, asked: dict[str, Any], result: Result) -> dict[str, Any]:
    """Return the JSON that the command line prints, with hints in terms of tools."""
    # A name may have bytes that are not text: the command line escapes them, UTF-8 cannot.
    text = json.dumps(result.as_json(), default=str, ensure_ascii=False)
    answer = in_tools(json.loads(text.encode(errors="replace").decode()), tool)
    try:
        return given_to(tool, asked).trimmed(answer)
    except Failure:
        return answer


def _bug(tool: Tool, context: Context, error: Exception) -> Result:
    traceback.print_exception(error)
    message = f"could not go on: {type(error).__name__}: {error}"
    hint = "this is a bug: please report it with what the server wrote to stderr"
    failure = Failure(Code.BUG, message, hint)
    return Result(tool.verb, context.registry_name, context.clock.now(), failure=failure)


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

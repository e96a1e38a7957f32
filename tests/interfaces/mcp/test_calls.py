"""A long call: what is in progress is reported, the same call again joins it, its steps go to
clients that want progress. No call is answered with what an earlier one found."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from tmuxreap.core.results import Ending, Result
from tmuxreap.ending.plan import RungKind
from tmuxreap.interfaces.mcp import calls
from tmuxreap.interfaces.mcp.arguments import Arguments
from tmuxreap.interfaces.mcp.calls import Calls
from tmuxreap.interfaces.mcp.tools import Tool
from tmuxreap.sessions.context import Context

PATIENCE_S = 60


class Slow(Arguments):
    """A call that ends when the test allows it."""

    verb = "stop"
    name: str = "acme"
    let: ClassVar[threading.Event]
    runs: ClassVar[list[str]]

    def run(self, context: Context) -> Result:
        self.runs.append(self.name)
        assert context.progress is not None
        context.progress.begin(2)
        context.progress.rung(self.name, RungKind.KEYS)
        while not self.let.is_set():
            context.processes.wait((), 0.01)
        context.progress.done(self.name)
        return Result("stop", None, 0.0, [Ending(self.name, "stopped")])


class Looks(Slow):
    verb = "list"


class Waits(Slow):
    verb = "wait"


TOOL = Tool("stop_session", "Stop", Slow)
LOOKS = Tool("list_sessions", "List", Looks, read_only=True)
WAITS = Tool("wait_session", "Wait", Waits, read_only=True)


@pytest.fixture(autouse=True)
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Slow.let, Slow.runs = threading.Event(), []


def talk(work: Callable[[Calls], Awaitable[None]], answer_s: float = 0.05) -> None:
    async def run() -> None:
        found = Calls(None, hosts=False, answer_s=answer_s)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                found.tasks = tasks
                try:
                    await work(found)
                finally:
                    Slow.let.set()
                    tasks.cancel_scope.cancel()

    anyio.run(run)


async def begun(found: Calls, tool: Tool = TOOL) -> dict[str, Any]:
    """Return the answer to a call that is at its first rung."""
    told = await found.call(tool, {}, None)
    while not told["under_way"]:
        told = await found.call(tool, {}, None)
    return told


async def ended(found: Calls, tool: Tool = TOOL) -> dict[str, Any]:
    told = await found.call(tool, {}, None)
    while told["error"] and told["error"]["code"] == "timed_out":
        told = await found.call(tool, {}, None)
    return told


async def once(found: Calls, number: int) -> None:
    """Wait until so many calls were begun."""
    while len(Slow.runs) < number:
        await anyio.sleep(0.01)


def test_a_long_call_reports_progress_and_a_second_one_joins_it() -> None:
    async def work(found: Calls) -> None:
        first = await begun(found)
        assert (first["ok"], first["exit_code"], first["results"]) == (False, 1, [])
        assert first["error"]["code"] == "timed_out"
        assert "in progress, 0 of 2 ended: acme: keys" in first["error"]["message"]
        assert "stop_session again with the same arguments" in first["error"]["hint"]
        (one,) = first["under_way"]
        assert (one["name"], one["at"]) == ("acme", "keys")
        again = await found.call(TOOL, {}, None)
        assert again["under_way"]
        found._answer_s = PATIENCE_S
        last: list[dict[str, Any]] = []

        async def ask() -> None:
            last.append(await found.call(TOOL, {}, None))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.sleep(0.05)
            Slow.let.set()
        assert (last[0]["ok"], last[0]["results"][0]["outcome"]) == (True, "stopped")
        assert Slow.runs == ["acme"]

    talk(work)


def test_a_call_that_has_finished_is_made_again() -> None:
    async def work(found: Calls) -> None:
        await begun(found)
        Slow.let.set()
        while found._busy:
            await anyio.sleep(0.01)
        found._answer_s = PATIENCE_S
        assert (await found.call(TOOL, {}, None))["ok"]
        assert Slow.runs == ["acme", "acme"]

    talk(work)


@pytest.mark.parametrize("tool", [TOOL, LOOKS])
def test_a_call_that_was_cancelled_is_done_again(tool: Tool) -> None:
    async def work(found: Calls) -> None:
        with anyio.move_on_after(0.05):
            await found.call(tool, {}, None)
        await once(found, 1)
        Slow.let.set()
        assert (await found.call(tool, {}, None))["ok"]
        assert Slow.runs == ["acme", "acme"]

    talk(work, answer_s=10)


def test_a_slow_look_never_answers_the_next_call() -> None:
    async def work(found: Calls) -> None:
        first = await begun(found, LOOKS)
        assert "again, for fewer sessions" in first["error"]["hint"]
        await once(found, len(Slow.runs))
        before = len(Slow.runs)
        await found.call(LOOKS, {}, None)
        await once(found, before + 1)

    talk(work)


def test_many_waiting_calls_do_not_delay_a_look() -> None:
    async def work(found: Calls) -> None:
        for number in range(calls.AT_ONCE + 8):
            found.tasks.start_soon(found.call, WAITS, {"name": str(number)}, None)
        await once(found, calls.AT_ONCE)
        found.tasks.start_soon(found.call, LOOKS, {}, None)
        await once(found, calls.AT_ONCE + 1)
        assert Slow.runs[-1] == "acme"

    talk(work, answer_s=PATIENCE_S)


def test_other_arguments_make_another_call() -> None:
    async def work(found: Calls) -> None:
        await begun(found)
        while len(Slow.runs) < 2:
            await found.call(TOOL, {"name": "other"}, None)
        assert Slow.runs == ["acme", "other"]

    talk(work)


def test_progress_is_reported_with_growing_numbers() -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))
        if "keys" in str(message) and len(heard) > 2:
            Slow.let.set()

    async def work(found: Calls) -> None:
        assert (await found.call(TOOL, {}, tell))["ok"]

    talk(work, answer_s=10)
    numbers = [number for number, _, _ in heard]
    assert numbers == sorted(set(numbers))
    assert {total for _, total, _ in heard} <= {None, 2}
    assert any("0 of 2 ended; acme: keys" in str(said) for _, _, said in heard)
    assert "1 of 2 ended" in (heard[-1][2] or "")


def test_a_client_that_leaves_interrupts_its_call() -> None:
    async def work(found: Calls) -> None:
        await begun(found)
        assert await found.interrupt()
        assert (await ended(found))["error"]["code"] == "interrupted"

    talk(work)


def test_a_read_only_call_is_dropped_when_its_client_leaves() -> None:
    async def work(found: Calls) -> None:
        await begun(found, LOOKS)
        found.interrupt_lookups()
        assert (await ended(found, LOOKS))["error"]["code"] == "interrupted"

    talk(work)


def test_a_fault_of_tmuxreap_is_an_answer(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(Slow):
        def run(self, context: Context) -> Result:
            raise ZeroDivisionError

    async def work(found: Calls) -> None:
        tool = Tool("stop_session", "Stop", Broken)
        assert (await found.call(tool, {}, None))["error"]["code"] == "bug"

    talk(work, answer_s=10)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_arguments_that_cannot_be_read_are_an_answer() -> None:
    async def work(found: Calls) -> None:
        told = await found.call(TOOL, {"colour": "red"}, None)
        assert (told["exit_code"], told["error"]["code"]) == (2, "usage")
        assert "colour" in told["error"]["message"]

    talk(partial(work), answer_s=10)

"""`hooks install` and `stop --after-turn` with real agents, in the middle of a tool call: that call
ends, no other begins, the model is not asked again, and the conversation is whole."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.real_agents.bench import MESSAGE, NAME, Bench
from tests.real_agents.cases import by_hand
from tests.real_agents.jobs import Job
from tests.real_agents.mock_model import TOOL, Reply, _arguments, tools_of
from tmuxreap.agents.screens import State

TOOL_S = 3
PATIENCE_S = 30  # of --after-turn: what ends it is the end of the turn
ASKED = ("claude", "qwen", "gemini")


def jobs() -> Iterator[Job]:
    for agent in ASKED:
        yield Job(agent, "after its turn", _started)
    for agent in ASKED:
        yield Job(agent, "after its turn, by another tool", _by_hand)


def _started(bench: Bench) -> str:
    bench.reap("hooks", "install", bench.agent)
    bench.start()
    return _played(bench)


def _by_hand(bench: Bench) -> str:
    """Its registry lies where a project has it, and nothing is marked."""
    bench.registry = bench.place.project / ".hermes" / "agent-sessions.yaml"
    bench.registry.parent.mkdir()
    bench.reap("hooks", "install", bench.agent)
    by_hand(bench)
    return _played(bench)


def _played(bench: Bench) -> str:
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    bench.say(MESSAGE)
    bench.settle(2.0)
    ended, other = bench.folder / "ended", bench.folder / "other"
    bench.model.command = f"touch {bench.proof}; sleep {TOOL_S}; touch {ended}"
    bench.say(f"{TOOL} please")
    bench.becomes(State.DIALOG, "the dialog")
    time.sleep(1.0)
    bench.keys("Enter")
    bench.until("the tool", bench.proof.exists)
    bench.model.reply = lambda body: _another(body, f"touch {other}")  # type: ignore[method-assign]
    asked = len(bench.model.asked)
    item = bench.reap("stop", NAME, "--after-turn", str(PATIENCE_S))
    late_s = time.time() - _halted(bench)
    assert item["outcome"] == "stopped", item
    assert not item["warnings"], item["warnings"]
    assert ended.exists(), "the tool call was cut off"
    assert not other.exists(), "another tool was started"
    assert not bench.turns(asked), "the model was asked again"
    assert item["resumable"], "the conversation cannot be taken up"
    assert item["conversation"]["source"] == "hook", item["conversation"]
    assert b"ended" in Path(item["conversation"]["path"]).read_bytes(), (
        "the tool call is not in the conversation"
    )
    assert late_s < PATIENCE_S, f"it took {late_s:.2f} s"
    return f"{late_s:.2f} s"


def _halted(bench: Bench) -> float:
    """When its hook was answered that it should go on no further."""
    books = sqlite3.connect(bench.registry.with_suffix(".db"))
    try:
        ((at,),) = books.execute(
            "select max(at) from heartbeats where data like '%halted%'"
        ).fetchall()
    finally:
        books.close()
    assert at is not None, "no hook was asked to halt"
    return float(at)


def _another(body: dict[str, Any], command: str) -> Reply:
    """A model that never comes to an end."""
    tools = tools_of(body)
    shell = next((name for name in ("Bash", "run_shell_command") if name in tools), None)
    return Reply("And again.", shell, _arguments(tools[shell], command)) if shell else Reply()

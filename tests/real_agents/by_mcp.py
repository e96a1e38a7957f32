"""A real agent as the client of our MCP server: it ends another session, then its own, and is taken
up again.

python -m tests.real_agents.by_mcp FOLDER

FOLDER/claude is where it is installed. Exit 0 when all went as it must."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.real_agents.bench import NAME, Bench
from tests.real_agents.mock_model import ANSWER, Reply, tools_of
from tests.real_agents.setups import SETUPS, program_of
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State

WORD, OTHER, REASON = "CALL_IT_NOW", "other", "all done"
TOOLS = "mcp__tmuxreap__"


def said(body: dict[str, Any]) -> str:
    """The last of the person, or of a tool; claude tells more of its own after it."""
    return next(
        (json.dumps(one) for one in reversed(body.get("messages", [])) if one["role"] == "user"), ""
    )


class Caller:
    """What the model has the agent call when the person says the word."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.reply = bench, bench.model.reply
        self.next = Reply()
        bench.model.reply = self.answer  # type: ignore[method-assign]

    def answer(self, body: dict[str, Any]) -> Reply:
        return (
            self.next
            if WORD in said(body) and self.next.tool in tools_of(body)
            else self.reply(body)
        )

    def calls(self, tool: str, **arguments: Any) -> str:
        """What the agent tells the model of the answer."""
        self.next = Reply("I will call it.", TOOLS + tool, arguments)
        asked = len(self.bench.model.asked)
        self.bench.say(f"{WORD} {tool}")
        self.bench.until("the answer of the tool", lambda: self._results(asked))
        return self._results(asked)[0]

    def _results(self, asked: int) -> list[str]:
        told = [said(json.loads(raw)) for raw in self.bench.model.asked[asked:]]
        return [text for text in told if '"tool_result"' in text]


def rows(bench: Bench) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in yaml.safe_load(bench.registry.read_text())["tmux_sessions"]}


def as_documented(bench: Bench) -> None:
    """claude mcp add tmuxreap -- tmuxreap mcp"""
    ours = [sys.executable, "-m", "tmuxreap", "mcp"]
    words = [str(bench.program), "mcp", "add", "--scope", "user", "tmuxreap", "--", *ours]
    subprocess.run(
        words,
        env=bench.environ,
        cwd=bench.place.project,
        check=True,
        capture_output=True,
        timeout=60,
    )


def told(result: str) -> dict[str, Any]:
    """The envelope in what the model heard."""
    content = json.loads(result)["content"]
    parts = next(part for part in content if part["type"] == "tool_result")["content"]
    text = parts if isinstance(parts, str) else parts[0]["text"]
    envelope: dict[str, Any] = json.loads(text)
    return envelope


def play(bench: Bench) -> None:
    as_documented(bench)
    bench.environ["ENABLE_TOOL_SEARCH"] = (
        "false"  # else a model has to look for the tools first, and ours knows no way to
    )
    where = ("--agent", "demo", "--server", bench.socket, "--cwd", str(bench.place.project))
    bench.start(bench.setup.program, *bench.setup.options, "--allowedTools", TOOLS.rstrip("_"))
    bench.reap("start", OTHER, *where, "--", sys.executable, "-m", "tmuxreap.demo_agent")
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    bench.until(
        "our server", lambda: any("tmuxreap mcp" in words for words in bench.left().values())
    )
    bench.settle(3.0)  # it is connected to after the prompt is there
    caller = Caller(bench)
    listed = told(caller.calls("list_sessions", live=True))
    assert {one["name"]: one["live"] for one in listed["results"]} == {
        NAME: "alive",
        OTHER: "alive",
    }, listed
    idle(bench)
    many = told(caller.calls("stop_session", targets=["all"], reason=REASON))
    assert (many["error"]["code"], rows(bench)[OTHER]["status"]) == ("usage", "running"), many
    idle(bench)
    (other,) = told(caller.calls("stop_session", targets=[OTHER], reason=REASON))["results"]
    assert (other["outcome"], other["stopped_by"]) == ("stopped", "exit_keys"), other
    assert (rows(bench)[OTHER]["status"], rows(bench)[OTHER]["stop_reason"]) == ("stopped", REASON)
    idle(bench)
    (own,) = told(caller.calls("stop_session", targets=[NAME], reason=REASON))["results"]
    assert (own["outcome"], own["error"]) == ("handed_over", None), own
    bench.until("the end of its own session", lambda: rows(bench)[NAME]["status"] == "stopped")
    row = rows(bench)[NAME]
    assert (row["stop_reason"], row["stopped_by"], row["resumable"]) == (
        REASON,
        "exit_keys",
        True,
    ), row
    bench.until(
        "nothing left",
        lambda: not [one for one in bench.left().values() if not one.startswith("tmux ")],
    )
    assert bench.reap("resume", NAME)["live"] == "alive"
    bench.until("the empty prompt, after the resume", lambda: bench.seen().state is State.IDLE)
    bench.reap("kill", NAME)


def idle(bench: Bench) -> None:
    bench.until(
        "the empty prompt, after an answer",
        lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE,
    )
    bench.settle()


def main(folder: Path) -> int:
    setup = SETUPS["claude"]
    program = program_of(folder, "claude")
    with Bench("claude", setup, load_profiles(None).agents["claude"], program) as bench:
        try:
            play(bench)
        except AssertionError as fault:
            asked = [
                json.dumps(json.loads(raw).get("messages", []))[-3000:]
                for raw in bench.model.asked[-3:]
            ]
            print(fault, bench.screen(), *asked, sep="\n")
            return 1
    print("claude ended another session and its own by the MCP server, and was taken up again")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

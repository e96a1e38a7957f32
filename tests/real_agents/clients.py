"""Real agents as clients of our MCP server, each run without a terminal: they list the sessions,
stop one, and stop another after its turn, which lasts longer than a call.

python -m tests.real_agents.clients FOLDER [CLIENT]...

FOLDER/CLIENT/node_modules/.bin holds each program. Prints what each was told to call and what it
heard. Exit 0 when all went as it must."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.real import until
from tests.real_agents.mock_model import ANSWER, MockModel, Reply, tools_of
from tests.real_agents.setups import SETUPS, Place

SERVER = [sys.executable, "-m", "tmuxreap", "mcp"]
NEVER = {"XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"}
WAITS = "WaitForMcpServers"  # of claude, while they are being started
REASON = "asked to by a client"
STOP_BUSY = ("stop_session", {"targets": ["busy"], "reason": REASON, "after_turn": 600})
STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_sessions", {"fields": ["state", "live"]}),
    ("stop_session", {"targets": ["other"], "reason": REASON}),
    STOP_BUSY,  # answered as under way; then the person ends the turn
    STOP_BUSY,
)


@dataclass(frozen=True)
class Client:
    words: tuple[str, ...]
    configure: Callable[[Place], None]
    environ: tuple[tuple[str, str], ...] = ()


def _claude(place: Place) -> None:
    place.json(
        "project.mcp.json",
        {"mcpServers": {"tmuxreap": {"command": SERVER[0], "args": SERVER[1:]}}},
    )


def _codex(place: Place) -> None:
    path = place.home / ".codex" / "config.toml"
    passed = '["TMUX_TMPDIR", "TMUXREAP_REGISTRY", "PYTHONPATH", "HOME"]'
    path.write_text(
        f"{path.read_text()}\n[mcp_servers.tmuxreap]\ncommand = {json.dumps(SERVER[0])}\nargs ="
        f" {json.dumps(SERVER[1:])}\nenv_vars = {passed}\nrequired = true\n"
    )


def _opencode(place: Place) -> None:
    path = place.home / ".config" / "opencode" / "opencode.json"
    found = json.loads(path.read_text())
    found["mcp"] = {"tmuxreap": {"type": "local", "command": SERVER, "enabled": True}}
    path.write_text(json.dumps(found))


CLIENTS = {
    "claude": Client(
        (
            "-p",
            "Go.",
            "--mcp-config",
            "{home}/project.mcp.json",
            "--allowedTools",
            "mcp__tmuxreap",
        ),
        _claude,
        (("ENABLE_TOOL_SEARCH", "false"),),
    ),
    "codex": Client(
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Go."),
        _codex,
    ),
    "opencode": Client(("run", "Go."), _opencode),
}


class Play:
    """The steps, one after the other, and what the model heard of each."""

    def __init__(self, model: MockModel, on_under_way: Callable[[], None]) -> None:
        self.heard: list[dict[str, Any]] = []
        self._asked = 0
        self._on_under_way = on_under_way
        model.reply = self.reply  # type: ignore[method-assign]

    def reply(self, body: dict[str, Any]) -> Reply:
        names = _names(body)
        if not any(name.endswith("list_sessions") for name in names):
            return Reply("I will wait.", WAITS) if WAITS in tools_of(body) else Reply()
        if len(found := _envelopes(body)) > len(self.heard):
            self._take(found[-1])
        if len(self.heard) < self._asked or self._asked == len(STEPS):
            return Reply()
        tool, arguments = STEPS[self._asked]
        self._asked += 1
        name = next(name for name in names if name.endswith(tool))
        return Reply("I will call it.", name, arguments)

    def _take(self, answer: dict[str, Any]) -> None:
        self.heard.append(answer)
        if answer.get("under_way"):
            self._on_under_way()


def _names(body: dict[str, Any]) -> list[str]:
    return [name for name in tools_of(body) if "tmuxreap" in name]


def _envelopes(found: object) -> list[dict[str, Any]]:
    """Every answer of ours anywhere in a request, in its order."""
    if isinstance(found, dict):
        if found.get("schema") == "tmuxreap/1":
            return [found]
        return [one for value in found.values() for one in _envelopes(value)]
    if isinstance(found, list):
        return [one for value in found for one in _envelopes(value)]
    if isinstance(found, str) and "tmuxreap/1" in found:
        return _in_text(found)
    return []


def _in_text(text: str) -> list[dict[str, Any]]:
    for start in (at for at, sign in enumerate(text) if sign in "{["):
        try:
            inner, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            continue
        return _envelopes(inner)
    return []


class World:
    """Two demo agents in a tmux of their own, and a HOME for the client."""

    def __init__(self, folder: Path, url: str) -> None:
        self.place = Place(folder / "home", folder / "project", url)
        for path in (self.place.home, self.place.project, folder / "t"):
            path.mkdir()
        subprocess.run(["git", "init", "-q", str(self.place.project)], check=True)
        self.registry = folder / "agent-sessions.yaml"
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TMUX")}
        self.environ = {key: value for key, value in kept.items() if key not in NEVER} | {
            "HOME": str(self.place.home),
            "TMUX_TMPDIR": str(folder / "t"),
            "TMUXREAP_REGISTRY": str(self.registry),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def reap(self, *words: str) -> None:
        command = [sys.executable, "-m", "tmuxreap", *words]
        subprocess.run(command, env=self.environ, cwd=self.place.project, check=True, timeout=60)

    def tmux(self, *words: str) -> None:
        subprocess.run(["tmux", *words], env=self.environ, check=False, capture_output=True)

    def rows(self) -> dict[str, dict[str, Any]]:
        found = yaml.safe_load(self.registry.read_text())["tmux_sessions"]
        return {row["name"]: row for row in found}


def play(name: str, program: Path, folder: Path) -> None:
    client, setup = CLIENTS[name], SETUPS[name]
    model = MockModel("true")
    world = World(folder, model.url)
    environ = {**world.environ, **setup.seed(world.place), **dict(client.environ)}
    client.configure(world.place)
    demo = ("--agent", "demo", "--", sys.executable, "-m", "tmuxreap.demo_agent")
    try:
        world.reap("start", "other", *demo)
        world.reap("start", "busy", *demo, "--state", "busy")
        script = Play(model, lambda: world.tmux("send-keys", "-t", "=busy:", "Escape"))
        words = [one.format(home=world.place.home) for one in client.words]
        done = subprocess.run(
            [str(program), *words],
            env=environ,
            cwd=world.place.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        _tell(name, script)
        assert len(script.heard) == len(STEPS), (done.stdout[-2000:], done.stderr[-2000:])
        _check(script.heard)
        until("both rows", lambda: {r["status"] for r in world.rows().values()} == {"stopped"})
        assert {row["stop_reason"] for row in world.rows().values()} == {REASON}
        assert ANSWER in done.stdout, done.stdout[-2000:]
    finally:
        world.tmux("kill-server")
        model.close()


def _check(heard: list[dict[str, Any]]) -> None:
    listed, other, under_way, busy = heard
    assert [one["name"] for one in listed["results"]] == ["other", "busy"], listed
    assert [one["outcome"] for one in other["results"]] == ["stopped"], other
    assert [one["at"] for one in under_way["under_way"]] == ["turn"], under_way
    assert [one["outcome"] for one in busy["results"]] == ["stopped"], busy


def _tell(name: str, script: Play) -> None:
    for (tool, arguments), answer in zip(STEPS, script.heard, strict=False):
        kept = {key: answer[key] for key in ("ok", "under_way") if key in answer}
        error = (answer.get("error") or {}).get("message")
        results = [
            {key: one[key] for key in ("name", "outcome", "stopped_by", "state") if key in one}
            for one in answer["results"]
        ]
        print(f"{name} -> {tool} {json.dumps(arguments)}")
        print(f"{name} <- {json.dumps({**kept, 'results': results, 'error': error})}")


def main(folder: Path, names: list[str]) -> int:
    for name in names or list(CLIENTS):
        program = folder / name / "node_modules" / ".bin" / SETUPS[name].program
        with tempfile.TemporaryDirectory(
            prefix="trc", dir="/tmp", ignore_cleanup_errors=True
        ) as at:
            play(name, program, Path(at).resolve())
        print(f"{name} stopped two sessions by the MCP server")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

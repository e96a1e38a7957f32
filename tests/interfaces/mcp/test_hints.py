"""Hints in terms of tools: no shell command is left for what a tool can do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tmuxreap
from tmuxreap.interfaces.mcp.arguments import flags_of
from tmuxreap.interfaces.mcp.calls import BY_VERB, in_tool_calls, translate
from tmuxreap.interfaces.mcp.tools import TOOLS

STOP, START = TOOLS["stop_session"], TOOLS["start_session"]


@pytest.mark.parametrize(
    ("shell", "ours"),
    [
        ("see all rows with: tmuxreap list", "see all rows with: list_sessions"),
        ("check with --dry-run, then add --yes", "check with dry_run: true, then add yes: true"),
        (
            "tmuxreap adopt 'my agent' --agent claude --server work",
            'adopt_session {"names": ["my agent"], "agent": "claude", "server": "work"}',
        ),
        (
            "attach to it: tmuxreap attach x; or register it: tmuxreap adopt x",
            "attach to it: (in a shell) tmuxreap attach x; or register it: adopt_session"
            ' {"names": ["x"]}',
        ),
        (
            "create one with: tmuxreap start NAME --agent AGENT, or point to one with --registry P",
            'create one with: start_session {"name": "NAME", "agent": "AGENT"}, or point to one'
            " with --registry P",
        ),
        ("tmuxreap list --host gpu", 'list_sessions {"host": ["gpu"]}'),
        (
            "run tmuxreap reconcile when that is repaired",
            "run reconcile when that is repaired",
        ),
        (
            "see it there with: tmuxreap stop a --registry /x/y.yaml",
            "see it there with: (in a shell) tmuxreap stop a --registry /x/y.yaml",
        ),
        ("its tmuxreap is another version", "its tmuxreap is another version"),
        ("finish it with: tmuxreap kill 'a b' --grace 0", None),
    ],
)
def test_a_command_becomes_a_call(shell: str, ours: str | None) -> None:
    ours = (
        ours or 'finish it with: kill_session {"targets": ["a b"], "grace": "0", "reason": "WHY"}'
    )
    assert translate(shell, STOP) == ours


def test_a_call_that_needs_a_reason_has_one() -> None:
    ours = translate("stop it first: tmuxreap stop x", START)
    tool, _, given = ours.removeprefix("stop it first: ").partition(" ")
    TOOLS[tool].arguments.model_validate_json(given)


def test_flags_are_those_of_the_tool_that_was_called() -> None:
    assert translate("name another with --cwd", START) == "name another with cwd"
    assert translate("name another with --cwd", STOP) == "name another with --cwd"
    assert (
        translate("--self ends it, --grace 0 at once", STOP)
        == "self: true ends it, grace: 0 at once"
    )


def test_every_hint_of_an_answer_is_marked_and_nothing_else_is_touched() -> None:
    answer = {
        "command": "stop",
        "warnings": ["first: tmuxreap reconcile"],
        "results": [
            {"resume_command": "tmuxreap list", "error": {"message": "needs --yes", "hint": ""}}
        ],
        "error": {"code": "x", "message": "m", "hint": "tmuxreap doctor"},
    }
    told = in_tool_calls(answer, STOP)
    assert told["warnings"] == ["first: reconcile"]
    assert told["error"] == {"code": "x", "message": "m", "hint": "doctor"}
    (one,) = told["results"]
    assert one == {
        "resume_command": "tmuxreap list",
        "error": {"message": "needs yes: true", "hint": ""},
    }


def texts() -> set[str]:
    """Return the hints in the source that may name other commands."""
    package = Path(tmuxreap.__file__).parent
    found: set[str] = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts: list[ast.expr] = []
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Failure":
                parts = [*node.args[2:3], *(key.value for key in node.keywords)]
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "hint":
                parts = [node.value]
            for part in parts:
                found |= {
                    one.value
                    for one in ast.walk(part)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return {one for one in found if "tmuxreap " in one or "--" in one}


def test_no_hint_of_the_package_speaks_to_a_shell_of_what_a_tool_can_do() -> None:
    assert len(texts()) > 30
    verbs = re.compile(rf"(?<!\(in a shell\) )\btmuxreap (?:{'|'.join(BY_VERB)})\b")
    flags = set(flags_of(STOP.arguments))
    for text in texts():
        ours = translate(text, STOP)
        assert not verbs.search(ours), ours
        kept = ours.split("(in a shell)")[0]
        assert not flags & set(re.findall(r"--[a-z-]+", kept)), ours

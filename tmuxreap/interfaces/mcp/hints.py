"""Translates shell commands in hints and messages into tool calls: the reader may have no shell.

Knows the verbs with a tool; other commands stay, marked as for a shell. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from tmuxreap.interfaces.completion.vocabulary import VERBS
from tmuxreap.interfaces.mcp.arguments import flags_of
from tmuxreap.interfaces.mcp.tools import TOOLS, Tool

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
    return translate(value, tool) if key in TEXT_KEYS and isinstance(value, str) else value


def translate(text: str, tool: Tool) -> str:
    for shell, replacement in REPLACEMENTS.items():
        text = text.replace(shell, replacement)
    text = _COMMAND.sub(_call, text) if "tmuxreap " in text else text
    text = _FLAG.sub(lambda match: _argument(match, tool), text) if "--" in text else text
    return text.replace(_KEPT, "--")


def _call(found: re.Match[str]) -> str:
    if found["verb"] not in VERBS:
        return found[0]
    tool = BY_VERB.get(found["verb"])
    given = _given(tool, found["rest"]) if tool is not None else None
    if tool is None or given is None:
        return f"(in a shell) {found[0].replace('--', _KEPT)}"
    return f"{tool.name} {json.dumps(given, ensure_ascii=False)}" if given else tool.name


def _given(tool: Tool, rest: str) -> Mapping[str, object] | None:
    """Return the arguments; None if a word does not fit the tool."""
    try:
        words = iter(shlex.split(rest))
    except ValueError:
        return None
    flags, arguments = flags_of(tool.arguments), dict[str, Any]()
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

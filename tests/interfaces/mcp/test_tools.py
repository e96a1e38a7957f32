"""The tools as listed: schemas, annotations and their page, without a server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import codes, section, table
from tmuxreap.commands.send import CONFIRM_S
from tmuxreap.core.verbs import VERBS
from tmuxreap.ending.ladder.prompts import SHOWN_S
from tmuxreap.interfaces.mcp.calls import ANSWER_S
from tmuxreap.interfaces.mcp.server import described
from tmuxreap.interfaces.mcp.tools import LONGEST_IDLE_S, TOOLS, tools

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
DESTRUCTIVE = {"stop_session", "kill_session", "reap", "remove_session"}
READ_ONLY = {"list_sessions", "show_session", "events", "wait_session", "doctor"}
BEGINS = {"start_session", "resume_session", "send_prompt"}
MOST_TOKENS = 4500
COUNTED_SIGNS = 3.6  # characters a token of this text, by the tokenizers of two vendors
SIGNS_A_TOKEN = 3  # so that another vendor's count fits, too


def told(name: str) -> dict[str, Any]:
    return described(TOOLS[name]).model_dump(by_alias=True, exclude_none=True)


def test_all_tools_are_offered() -> None:
    others = {"adopt_session", "interrupt_session", "reconcile"}
    assert set(TOOLS) == DESTRUCTIVE | READ_ONLY | BEGINS | others


def size_of_descriptions(hosts: bool) -> int:
    told = [
        described(tool).model_dump(by_alias=True, exclude_none=True, exclude={"output_schema"})
        for tool in tools(hosts=hosts).values()
    ]
    parts = [{key: one[key] for key in ("name", "description", "inputSchema")} for one in told]
    return len(json.dumps(parts))


@pytest.mark.parametrize("hosts", [False, True])
def test_tool_descriptions_fit_the_token_budget(hosts: bool) -> None:
    assert size_of_descriptions(hosts) / SIGNS_A_TOKEN < MOST_TOKENS


def test_the_page_tells_how_many_tokens_they_take() -> None:
    said = re.search(r"take about ([\d,]+) tokens \(([\d,]+) with `--hosts`\)", PAGE)
    assert said
    for number, hosts in zip(said.groups(), (False, True), strict=True):
        measured = size_of_descriptions(hosts) / COUNTED_SIGNS
        assert int(number.replace(",", "")) == pytest.approx(measured, abs=75)


def test_a_host_is_an_argument_only_where_that_was_asked_for() -> None:
    assert not any("host" in tool.arguments.model_fields for tool in TOOLS.values())
    with_hosts = tools(hosts=True)
    assert list(with_hosts) == list(TOOLS)
    for tool in with_hosts.values():
        assert ("host" in tool.arguments.model_fields) is VERBS[tool.verb].on_hosts, tool.name
    assert not VERBS[TOOLS["send_prompt"].verb].on_hosts


def test_a_prompt_is_answered_before_a_client_gives_up() -> None:
    """Who called again would have it typed twice."""
    assert LONGEST_IDLE_S + SHOWN_S + CONFIRM_S + 2 < ANSWER_S


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_what_it_takes_and_what_it_may_do(name: str) -> None:
    tool = told(name)
    schema, hints = tool["inputSchema"], tool["annotations"]
    assert tool["description"].endswith(".")
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    for argument, one in schema["properties"].items():
        assert one["description"], argument
        assert "title" not in one
    assert (hints["destructiveHint"], hints["readOnlyHint"]) == (
        name in DESTRUCTIVE,
        name in READ_ONLY,
    )
    assert hints["openWorldHint"] is False
    assert hints["idempotentHint"] is (name not in BEGINS)
    assert ("reason" in schema.get("required", [])) is (name in DESTRUCTIVE)


def test_the_page_lists_every_tool_and_each_of_its_arguments() -> None:
    rows = table(section(PAGE, "Tools"))
    assert list(rows) == list(TOOLS)
    for name, (verb, arguments, changes) in rows.items():
        assert codes(verb) == [TOOLS[name].verb]
        assert set(codes(arguments)) == set(told(name)["inputSchema"]["properties"])
        assert ("destructive" in changes) is (name in DESTRUCTIVE)
        assert (changes == "nothing") is (name in READ_ONLY)

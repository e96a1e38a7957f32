"""The tools as they are told: schemas, promises and the page about them, without a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.fakes import Story
from tests.test_docs import SHOP, codes, section, table
from tmuxreap.commands import show
from tmuxreap.commands.reconcile.drift import Drift, DriftKind
from tmuxreap.core.model import Outcome
from tmuxreap.core.results import PlainResult, Result
from tmuxreap.ending.results import EndResult, Reaped
from tmuxreap.interfaces.mcp.schemas import END, MORE, RESULTS, SESSION
from tmuxreap.interfaces.mcp.server import INSTRUCTIONS, as_told
from tmuxreap.interfaces.mcp.tools import TOOLS

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
DESTRUCTIVE = {"stop_session", "kill_session", "reap", "remove_session"}
READ_ONLY = {"list_sessions", "show_session"}


def told(name: str) -> dict[str, Any]:
    return as_told(TOOLS[name]).model_dump(by_alias=True, exclude_none=True)


def test_all_tools_are_there() -> None:
    assert set(TOOLS) == DESTRUCTIVE | READ_ONLY | {"reconcile", "resume_session"}


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_what_it_takes_and_what_it_may_do(name: str) -> None:
    tool = told(name)
    schema, hints = tool["inputSchema"], tool["annotations"]
    assert tool["description"].endswith(".")
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    for argument, one in schema["properties"].items():
        assert one["description"], argument
        assert "title" not in one
    assert (hints["destructiveHint"], hints["readOnlyHint"]) == (name in DESTRUCTIVE, name in READ_ONLY)
    assert hints["openWorldHint"] is False
    assert hints["idempotentHint"] is (name != "resume_session")
    assert ("reason" in schema.get("required", [])) is (name in DESTRUCTIVE)


def test_a_schema_tells_types_and_limits() -> None:
    given = told("stop_session")["inputSchema"]["properties"]
    assert given["targets"]["items"] == {"type": "string"}
    assert given["reason"]["minLength"] == 1
    assert {"minimum": 0, "type": "number"} in given["grace"]["anyOf"]
    assert {"enum": ["running", "stopped", "terminated"], "type": "string"} in (
        told("list_sessions")["inputSchema"]["properties"]["status"]["anyOf"]
    )


def test_one_session_may_be_called_by_its_name() -> None:
    def given(tool: str, **words: Any) -> Any:
        return TOOLS[tool].arguments.model_validate(words)

    assert given("stop_session", name="shop", reason="done").targets == ["shop"]
    assert given("list_sessions", name="shop").targets == ["shop"]
    with pytest.raises(ValidationError, match="Extra inputs"):
        given("show_session", name="shop", targets=["cart"])
    with pytest.raises(ValidationError, match="Extra inputs"):
        given("reconcile", name="shop")


def test_the_answers_have_the_fields_of_the_command_line(story: Story) -> None:
    assert set(END) == {*EndResult("a", Outcome.STOPPED).as_json(), "plan"}
    assert set(SESSION) == set(SHOP.as_json()) - {"error"}
    story.agent("shop")
    (shown,) = show.run(story.app(), ["shop"]).results
    assert set(RESULTS["show"]) == {*shown.as_json(), "error"}
    assert set(RESULTS["reconcile"]) == set(PlainResult("a", Drift("a", DriftKind.DEAD, "").as_json()).as_json())
    reaped = Reaped(EndResult("a", Outcome.STOPPED), "idle", {}).as_json()
    assert set(RESULTS["reap"]) == {*reaped, "plan"}
    for name, tool in TOOLS.items():
        schema = told(name)["outputSchema"]
        assert set(schema["required"]) == set(Result(tool.verb, None, 0.0).as_json())
        assert set(schema["properties"]) == set(schema["required"]) | set(MORE.get(tool.verb, ()))


def test_the_page_tells_every_tool_and_each_of_its_arguments() -> None:
    rows = table(section(PAGE, "Tools"))
    assert list(rows) == list(TOOLS)
    for name, (verb, arguments, changes) in rows.items():
        assert codes(verb) == [TOOLS[name].verb]
        assert set(codes(arguments)) == set(told(name)["inputSchema"]["properties"])
        assert ("destructive" in changes) is (name in DESTRUCTIVE)
        assert (changes == "nothing") is (name in READ_ONLY)


def test_the_instructions_name_tools_that_are_there() -> None:
    named = set(re.findall(r"\b[a-z]+_sessions?\b", INSTRUCTIONS))
    assert named <= set(TOOLS)
    assert len(INSTRUCTIONS) < 1000

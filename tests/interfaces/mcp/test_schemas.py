"""The schemas of tools and answers: types, limits, and the fields of the command line."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tmuxreap.commands.schema import answer_schema
from tmuxreap.core.results import Result
from tmuxreap.core.times import LONGEST_S
from tmuxreap.interfaces.mcp.server import described
from tmuxreap.interfaces.mcp.tools import TOOLS


def told(name: str) -> dict[str, Any]:
    return described(TOOLS[name]).model_dump(by_alias=True, exclude_none=True)


def test_a_schema_has_types_and_limits() -> None:
    given = told("stop_session")["inputSchema"]["properties"]
    assert given["targets"]["items"] == {"type": "string"}
    assert given["reason"]["minLength"] == 1
    about = {"description": "Seconds before SIGKILL."}
    assert given["grace"] == {"minimum": 0, "maximum": LONGEST_S, "type": "number", **about}
    status = told("list_sessions")["inputSchema"]["properties"]["status"]
    assert status["enum"] == ["running", "stopped", "terminated", "all"]


def test_one_session_may_be_called_by_its_name() -> None:
    def given(tool: str, **words: Any) -> Any:
        return TOOLS[tool].arguments.model_validate(words)

    assert given("stop_session", name="shop", reason="done").targets == ["shop"]
    assert given("list_sessions", name="shop").targets == ["shop"]
    assert given("adopt_session", name="shop").names == ["shop"]
    with pytest.raises(ValidationError, match="Extra inputs"):
        given("show_session", name="shop", targets=["cart"])
    with pytest.raises(ValidationError, match="Extra inputs"):
        given("reconcile", name="shop")


def test_the_answers_are_described_as_those_of_the_command_line() -> None:
    for name, tool in TOOLS.items():
        schema = told(name)["outputSchema"]
        if name != "list_sessions":
            assert schema == answer_schema(tool.verb)
        assert set(schema["required"]) == set(Result(tool.verb, None, 0.0).as_json())


def test_a_list_may_leave_fields_out() -> None:
    items = told("list_sessions")["outputSchema"]["properties"]["results"]["items"]
    assert items["required"] == []
    whole: Any = answer_schema("list")
    assert items["properties"] == whole["properties"]["results"]["items"]["properties"]

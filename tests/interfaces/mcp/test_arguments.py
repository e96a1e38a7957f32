"""A tool's arguments as those of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxreap.core.verbs import VERBS
from tmuxreap.interfaces.cli.commands import defaults
from tmuxreap.interfaces.mcp.arguments import flags_of, with_host
from tmuxreap.interfaces.mcp.tools import TOOLS

OURS = {  # only tools have these; the remote host does not see them
    "list_sessions": {"limit", "fields"},
    "events": {"limit"},
    "stop_session": {"confirm_purge"},
    "kill_session": {"confirm_purge"},
    "reap": {"reason"},
    "remove_session": {"reason"},
}
GIVEN: dict[str, dict[str, Any]] = {
    "stop_session": {"targets": ["a"], "reason": "r", "grace": 2.5, "self": True},
    "wait_session": {"targets": "a", "until": "idle", "timeout": "10m"},
    "adopt_session": {"all": True, "tags": ["x"]},
    "resume_session": {"targets": "a", "print": True},
    "start_session": {"name": "a", "agent": "claude", "tags": "x"},
}
SAID: dict[str, dict[str, Any]] = {
    "stop_session": {
        "targets": ["a"],
        "reason": "r",
        "grace": "2.5",
        "itself": True,
        "yes": False,
    },
    "wait_session": {"targets": ["a"], "until": "idle", "timeout": "25"},
    "adopt_session": {"everything": True, "tag": ["x"]},
    "resume_session": {"targets": ["a"], "print_only": True},
    "start_session": {"name": "a", "agent": "claude", "tag": ["x"]},
}


@pytest.mark.parametrize("tool", GIVEN)
def test_a_given_flag_is_named_as_on_the_command_line(tool: str) -> None:
    arguments = TOOLS[tool].arguments.model_validate(GIVEN[tool])
    assert arguments.words() == SAID[tool]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_argument_exists_on_the_command_line(tool: str) -> None:
    known = set(defaults(VERBS[TOOLS[tool].verb]))
    arguments = TOOLS[tool].arguments
    named = {
        {"purge_conversation": "purge", "any": "anyone", "all": "everything", "tags": "tag"}.get(
            name, name
        )
        for name in arguments.model_fields
    }
    assert named - known == OURS.get(tool, set())


@pytest.mark.parametrize("tool", TOOLS)
def test_a_flag_that_is_not_given_is_reported_as_the_command_takes_it(tool: str) -> None:
    """Only what was given is passed on: a default that the schema tells must be the command's."""
    taken = defaults(VERBS[TOOLS[tool].verb])
    fields = TOOLS[tool].arguments.model_fields
    told = {name: field.default for name, field in fields.items() if field.annotation is bool}
    assert told.items() <= {**taken, **dict.fromkeys(OURS.get(tool, ()))}.items()


def test_hosts_add_one_argument_to_a_tool() -> None:
    arguments = with_host(TOOLS["list_sessions"].arguments)
    given = arguments.model_validate({"host": "gpu", "live": True})
    assert getattr(given, "host") == ["gpu"]  # noqa: B009 - created at run time
    assert given.words() == {"live": True, "status": "running"}
    assert arguments.__doc__ == TOOLS["list_sessions"].arguments.__doc__


def test_every_flag_of_a_verb_has_its_argument() -> None:
    flags = flags_of(TOOLS["stop_session"].arguments)
    assert flags["--self"] == ("self", True)
    assert flags["--whole-session"] == ("whole_session", True)
    assert flags_of(TOOLS["resume_session"].arguments)["--print"] == ("print", True)
    assert flags["--grace"] == ("grace", False)

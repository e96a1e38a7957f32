"""From parsed data to a row: what is accepted, what is tolerated, what is not a row."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxreap.core.model import RecordedPane, RecordedTmux, Status, Terminal
from tmuxreap.core.values import replace
from tmuxreap.registry.rows import cached_row, conversation_field, read_row, recorded_conversation

PLAIN: dict[str, Any] = {"name": "a", "status": "running"}


def test_a_full_row_is_read() -> None:
    row = read_row(
        3,
        {
            **PLAIN,
            "agent": "claude",
            "terminal": "kitty",
            "tags": ["x", 7],
            "task_id": 12,
            "tmux_server": "agents",
            "start_command": "claude -c",
            "claude_session_id_own": "c-1",
            "pane": {
                "pid": 5,
                "cmd": "claude",
                "cwd": "/x",
                "id": "%3",
                "created_epoch": 1.5,
                "start_ticks": 9,
            },
            "tmux": {
                "socket": "/s",
                "host": "h",
                "boot_id": "b",
                "server_pid": 1,
                "server_started": 2,
                "session_id": "$3",
                "session_created": 4,
            },
            "resumable": False,
            "stop_reason": "r",
            "unknown": {"kept": 1},
        },
    )
    assert (row.index, row.name, row.status, row.agent) == (3, "a", Status.RUNNING, "claude")
    assert (row.terminal, row.tags, row.task_id, row.tmux_server) == (
        Terminal.KITTY,
        ("x", "7"),
        "12",
        "agents",
    )
    assert row.pane == RecordedPane(5, "claude", "/x", "%3", 1.5, 9)
    assert row.tmux == RecordedTmux("/s", "h", "b", 1, 2, "$3", 4)
    assert row.tmux.known
    assert row.conversations == (("claude_session_id_own", "c-1"),)
    assert (row.resumable, row.stop_reason) == (False, "r")
    assert row.data["unknown"] == {"kept": 1}


def test_a_row_of_another_tool_is_enough() -> None:
    row = read_row(
        0, {**PLAIN, "pane": {"pid": 7, "cmd": "bash", "cwd": "/x"}, "claude_session_id_own": None}
    )
    assert row.pane == RecordedPane(7, "bash", "/x")
    assert not row.tmux.known
    assert row.conversations == (("claude_session_id_own", None),)
    assert (row.terminal, row.tags, row.agent, row.resumable) == (Terminal.TMUX, (), None, None)


@pytest.mark.parametrize("missing", ["session_id", "session_created", "server_pid"])
def test_half_an_identity_does_not_count(missing: str) -> None:
    whole: dict[str, object] = {"session_id": "$1", "session_created": 2, "server_pid": 3}
    assert read_row(0, {**PLAIN, "tmux": whole}).tmux.known
    assert not read_row(0, {**PLAIN, "tmux": {**whole, missing: None}}).tmux.known


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"status": "running"}, "it has no name"),
        ({"name": "", "status": "running"}, "it has no name"),
        ({"name": None, "status": "running"}, "it has no name"),
        ({"name": ["a"], "status": "running"}, "it has no name"),
        ({"name": True, "status": "running"}, "it has no name"),
        ({"name": 12, "status": "running"}, "its name 12 is a number in YAML; put it in quotes"),
        ({"name": 1.5, "status": "running"}, "its name 1.5 is a number in YAML; put it in quotes"),
        ({"name": "a\0b", "status": "running"}, "NUL"),
        ({"name": "a"}, "its status None is not one of running, stopped, terminated, archived"),
        ({"name": "a", "status": "Running"}, "'Running' is not one of"),
        ({"name": "a", "status": True}, "True is not one of"),
        ({"name": "a", "status": ["running"]}, "is not one of"),
        (
            {"name": "a", "status": "running", "terminal": "screen"},
            "'screen' is not one of tmux, none, kitty, wezterm",
        ),
    ],
)
def test_an_entry_that_is_no_mapping_is_an_error(data: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_row(0, data)


@pytest.mark.parametrize("odd", ["text", 7, None, [1], True])
def test_a_field_that_should_be_a_mapping_and_is_not_says_nothing(odd: object) -> None:
    row = read_row(0, {**PLAIN, "pane": odd, "tmux": odd})
    assert (row.pane, row.tmux) == (RecordedPane(), RecordedTmux())


@pytest.mark.parametrize(
    ("value", "pid"),
    [(7, 7), ("7", 7), (None, None), ("", None)],
)
def test_a_pid_is_a_whole_number(value: object, pid: int | None) -> None:
    assert read_row(0, {**PLAIN, "pane": {"pid": value}}).pane.pid == pid


@pytest.mark.parametrize("value", ["x", True, 1.5, float("inf"), [7], {"a": 1}, 0, -4, 10**30])
def test_an_invalid_pid_is_not_taken_for_absent(value: object) -> None:
    """Without a pid a session is identified by its name alone: too little for a row that names
    more."""
    with pytest.raises(ValueError, match=r"its pane.pid .* is not a process ID"):
        read_row(0, {**PLAIN, "pane": {"pid": value}})


@pytest.mark.parametrize(
    ("value", "tags"),
    [("x", ("x",)), (["x", "y"], ("x", "y")), (None, ()), ({"x": 1}, ()), (7, ())],
)
def test_odd_tags_are_read_as_far_as_they_are_words(value: object, tags: tuple[str, ...]) -> None:
    assert read_row(0, {**PLAIN, "tags": value}).tags == tags


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude", "claude_session_id_own"),
        ("codex", "codex_session_id_own"),
        ("gemini", "gemini_conversation_id_own"),
        ("my-agent", "my_agent_conversation_id_own"),
    ],
)
def test_each_agents_conversation_has_its_own_field(agent: str, name: str) -> None:
    assert conversation_field(agent) == name


def test_a_rows_conversation_is_that_of_its_agent() -> None:
    both = read_row(0, {**PLAIN, "claude_session_id_own": "c", "gemini_conversation_id_own": "g"})
    assert recorded_conversation(both, "claude") == "c"
    assert recorded_conversation(both, "gemini") == "g"
    assert recorded_conversation(both, "codex") is None
    assert recorded_conversation(both, None) is None  # two: ambiguous
    one = read_row(0, {**PLAIN, "claude_session_id_own": None, "gemini_conversation_id_own": "g"})
    assert recorded_conversation(one, None) == "g"
    assert recorded_conversation(one, "claude") is None


def test_an_id_that_looks_like_a_number_is_a_text() -> None:
    assert read_row(0, {**PLAIN, "codex_session_id_own": 42}).conversations == (
        ("codex_session_id_own", "42"),
    )


def test_a_cached_row_equals_the_row_that_was_read() -> None:
    data = {**PLAIN, "agent": "codex", "pane": {"pid": 12}}
    assert read_row(3, data) == cached_row(3, data)
    assert cached_row(3, data) == read_row(3, data)
    assert cached_row(3, data) != read_row(4, data)
    assert hash(cached_row(3, data)) == hash(read_row(3, data))
    changed = replace(cached_row(3, data), agent="claude")
    assert changed.agent == "claude"
    assert changed.pane.pid == 12
    assert changed == replace(read_row(3, data), agent="claude")

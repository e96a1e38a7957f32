"""What agents record of themselves while they live: pid files, and turns in a conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tmuxreap.agents.conversations.records import (
    NO_RECORD,
    TAIL_BYTES,
    Record,
    RecordFiles,
    is_turn_open,
    read_record,
)
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State
from tmuxreap.core.model import ProcessId

AGENTS = load_profiles(None).agents
CLAUDE, CODEX, AGY = AGENTS["claude"], AGENTS["codex"], AGENTS["agy"]
AGENT = ProcessId(42, 777)
BEGAN = '{"type":"event_msg","payload":{"type":"task_started"}}\n'
ENDED = '{"type":"event_msg","payload":{"type":"task_complete"}}\n'


def files(store: Path, *turns: Path) -> RecordFiles:
    return RecordFiles(store, (AGENT,), turns)


def pid_file(store: Path, start: str = "777", **facts: str) -> None:
    (store / "sessions").mkdir(exist_ok=True)
    (store / "sessions" / "42.json").write_text(json.dumps({"procStart": start, **facts}))


@pytest.mark.parametrize(
    ("word", "record"),
    [
        ("busy", Record(State.BUSY)),
        ("waiting", Record(State.DIALOG, "dialog open")),
        ("idle", Record(State.IDLE)),
        ("shell", Record(State.IDLE, background=True)),
        ("of a later version", NO_RECORD),
    ],
)
def test_the_pid_file_tells_what_the_agent_does(tmp_path: Path, word: str, record: Record) -> None:
    pid_file(tmp_path, status=word, waitingFor="dialog open")
    assert read_record(CLAUDE, files(tmp_path)) == record


def test_the_pid_file_of_another_process_says_nothing(tmp_path: Path) -> None:
    pid_file(tmp_path, start="778", status="busy")
    assert read_record(CLAUDE, files(tmp_path)) == NO_RECORD
    assert read_record(AGY, files(tmp_path)) == NO_RECORD


def test_an_open_turn_in_any_possible_conversation_means_busy(tmp_path: Path) -> None:
    over, under_way = tmp_path / "over", tmp_path / "under-way"
    over.write_text(BEGAN + ENDED)
    under_way.write_text(BEGAN)
    assert read_record(CODEX, files(tmp_path, over)) == NO_RECORD
    assert read_record(CODEX, files(tmp_path, over, under_way)) == Record(State.BUSY)


def test_a_record_that_was_written_again_has_another_stamp(tmp_path: Path) -> None:
    before = files(tmp_path).stamps(CLAUDE)
    pid_file(tmp_path, status="busy")
    assert files(tmp_path).stamps(CLAUDE) != before
    assert files(tmp_path).stamps(AGY) == []


def test_the_end_of_a_long_conversation_decides_about_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    assert CODEX.goes_on is not None
    padding = '{"type":"event_msg"}\n' * (TAIL_BYTES // 20)
    for text, is_open in ((ENDED + padding + BEGAN, True), (BEGAN + padding + ENDED, False)):
        path.write_text(text)
        assert is_turn_open(CODEX.goes_on, path) is is_open
    assert not is_turn_open(CODEX.goes_on, tmp_path / "gone.jsonl")

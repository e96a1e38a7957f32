"""Conversations in a database: queried, awaited briefly, and never trusted when broken."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tmuxreap.agents.conversations import find
from tmuxreap.agents.conversations.find import (
    NONE,
    AgentProcess,
    Clues,
    locate,
    with_path,
)
from tmuxreap.agents.load import load_profiles
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Conversation


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for folder in ("sessions", "conversations"):
        (tmp_path / folder).mkdir()
    return tmp_path


KEPT = """
    create table session (id text, directory text, parent_id text, time_updated integer);
    create table message (session_id text);
    insert into session values
        ('ses_mine', '/w', null, 2000000), ('ses_old', '/w', null, 999999),
        ('ses_elsewhere', '/w/A', null, 2000000), ('ses_of_a_helper', '/w', 'ses_mine', 2000000);
    insert into message values ('ses_mine'), ('ses_old');
"""
OPENCODE = load_profiles(None).agents["opencode"]
TUI = AgentProcess(ProcessId(42, 777), ("opencode",), 1000.0)


def database(store: Path, more: str = "") -> Clues:
    with closing(sqlite3.connect(store / "opencode.db")) as books:
        books.executescript(KEPT + more)
    return Clues((TUI,), store=store, cwd="/w")


def test_the_only_conversation_of_a_folder_is_found_in_a_database(tmp_path: Path) -> None:
    clues = database(tmp_path, "insert into session values ('ses_new', '/w', null, 1000000);")
    assert locate(OPENCODE, clues).candidates == ("ses_mine", "ses_new")
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as books, books:
        books.execute("delete from session where id = 'ses_new'")
    path = str(tmp_path / "opencode.db")
    assert locate(OPENCODE, clues).conversation == Conversation(
        "ses_mine", "sole-candidate", path, exists=True
    )


@pytest.mark.parametrize("text", [b"", b"no database", None])
def test_a_database_that_cannot_be_read_says_nothing(tmp_path: Path, text: bytes | None) -> None:
    if text is not None:
        (tmp_path / "opencode.db").write_bytes(text)
    assert locate(OPENCODE, Clues((TUI,), store=tmp_path, cwd="/w")).conversation == NONE
    assert not with_path(OPENCODE, tmp_path, "ses_mine", None).exists


def test_a_database_that_is_being_written_is_waited_for_but_not_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "PATIENCE_S", 0.01)
    clues = database(tmp_path)
    with closing(sqlite3.connect(tmp_path / "opencode.db", isolation_level=None)) as writer:
        writer.execute("begin exclusive")
        assert locate(OPENCODE, clues).conversation == NONE

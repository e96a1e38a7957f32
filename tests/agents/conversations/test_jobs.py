"""The values of sessions in an agent's own daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tmuxreap.agents.conversations.jobs import Job, Jobs, Served, filled, own_way, value_at, word_at
from tmuxreap.agents.load import load_profiles
from tmuxreap.core.model import ProcessId

AGENTS = load_profiles(None).agents
STORE = Path("/store")
SERVER = ProcessId(7, 70)
TREE = {"a": {"b": [{"id": "first"}, {"id": "last"}]}, "n": 7}


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("a.b.0.id", "first"),
        ("a.b.-1.id", "last"),
        ("a.b.2.id", None),
        ("a.b.-3.id", None),
        ("a.b.id", None),
        ("a.x.y", None),
        ("n", 7),
    ],
)
def test_a_key_path_reaches_through_mappings_and_lists(key: str, found: object) -> None:
    assert value_at(TREE, key) == found


def test_a_word_is_text_and_needs_a_key() -> None:
    assert (word_at(TREE, "a.b.0.id"), word_at(TREE, "n"), word_at(TREE, None)) == ("first", "", "")


def test_a_session_without_a_process_lives_by_its_server() -> None:
    job = Job("opencode", STORE, "ses_1", server=SERVER, url="http://127.0.0.1:4096")
    assert (job.lives, job.processes) == (True, ())
    assert not Job("opencode", STORE, "ses_1").lives
    assert filled(("attach", "{url}", "{id}"), job) == ("attach", "http://127.0.0.1:4096", "ses_1")
    assert own_way(AGENTS["opencode"], job).startswith("opencode attach http://127.0.0.1:4096")
    assert own_way(AGENTS["claude"], Job("claude", STORE, "1a2b3c4d")) == "claude stop 1a2b3c4d"


def test_work_at_a_server_belongs_to_the_pane_of_its_conversation() -> None:
    job = Job("codex", STORE, "t1", conversation="t1", server=SERVER, began=100.0)
    assert Served("codex", STORE, "t1").among(Jobs((job,))) is job
    assert Served("codex", STORE, "t2").among(Jobs((job,))) is None
    assert Served("codex", STORE, "t1").among(Jobs((Job("codex", STORE, "t1"),))) is None


def test_a_conversation_that_is_a_guess_must_have_begun_in_the_pane() -> None:
    job = Job("codex", STORE, "t1", conversation="t1", server=SERVER, began=100.0)
    assert Served("codex", STORE, "t1", since=99.0).among(Jobs((job,))) is job
    assert Served("codex", STORE, "t1", since=101.0).among(Jobs((job,))) is None

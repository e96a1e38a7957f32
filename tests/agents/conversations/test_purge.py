"""Deletes one conversation and nothing else; an uncertain one is refused before any key is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tmuxreap.agents.conversations.find import GUESS
from tmuxreap.agents.conversations.purge import purge, why_not_purgeable, would_purge
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import replace

ONE = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"
TWO = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a12"
DEMO = Profile(
    "demo", purge=("talks/{id}.jsonl", "files/{id}", "short/{id8}.txt"), shared=("history",)
)


def talk(number: str | None = ONE, source: str = "pidfile") -> Conversation:
    return Conversation(number, source, None, exists=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for folder in ("talks", f"files/{ONE}", f"files/{TWO}", "short"):
        (tmp_path / folder).mkdir(parents=True)
    for number in (ONE, TWO):
        (tmp_path / "talks" / f"{number}.jsonl").write_text("{}")
        (tmp_path / "files" / number / "draft").write_text("x")
    (tmp_path / "short" / f"{ONE[:8]}.txt").write_text(f"about {TWO}")
    (tmp_path / "history").write_text(f"{ONE}\n{TWO}\n")
    return tmp_path


def test_a_purge_deletes_the_files_of_one_conversation_only(store: Path) -> None:
    planned = would_purge(DEMO, store, talk())
    done = purge("acme", DEMO, store, talk())
    assert done == planned
    assert done.paths == (str(store / "files" / ONE), str(store / "talks" / f"{ONE}.jsonl"))
    assert done.left == (str(store / "history"),)
    assert not (store / "files" / ONE).exists()
    left = {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}
    assert left == {f"talks/{TWO}.jsonl", f"files/{TWO}/draft", f"short/{ONE[:8]}.txt", "history"}


def test_a_file_beside_the_store_that_speaks_of_it_is_left(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    profile = replace(DEMO, shared=("../of-all.json", "of-all.json"))
    (tmp_path / "of-all.json").write_text(f"last: {ONE}\n")
    assert would_purge(profile, store, talk()).left == (str(tmp_path / "of-all.json"),)
    assert would_purge(profile, store, talk(TWO)).left == ()


def test_a_second_purge_changes_nothing(store: Path) -> None:
    purge("acme", DEMO, store, talk())
    again = purge("acme", DEMO, store, talk())
    assert (again.paths, again.failure) == ((), None)


@pytest.mark.parametrize(
    ("profile", "conversation", "why"),
    [
        (None, talk(), "the files that this agent keeps of a conversation are not known"),
        (
            Profile("other"),
            talk(),
            "the files that this agent keeps of a conversation are not known",
        ),
        (DEMO, talk(None), "which one is its own is not certain"),
        (DEMO, talk(source=GUESS), "is only the likeliest"),
        (DEMO, talk("../../etc"), "is not a conversation ID"),
        (DEMO, talk("*"), "is not a conversation ID"),
    ],
)
def test_an_uncertain_conversation_is_refused(
    store: Path, profile: Profile | None, conversation: Conversation, why: str
) -> None:
    failure = why_not_purgeable("acme", profile, store, conversation)
    assert failure is not None
    assert why in failure.message
    assert failure.code.text == "ambiguous_conversation"


def test_a_link_out_of_the_store_is_refused_before_anything_goes(
    store: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / f"{ONE}.jsonl").write_text("mine")
    (store / "talks" / f"{ONE}.jsonl").unlink()
    (store / "talks" / f"{ONE}.jsonl").symlink_to(outside / f"{ONE}.jsonl")
    refused = purge("acme", DEMO, store, talk())
    assert refused.failure is not None
    assert "leads out of the store" in refused.failure.message
    assert (
        refused.paths,
        (outside / f"{ONE}.jsonl").exists(),
        (store / "files" / ONE).exists(),
    ) == ((), True, True)


def test_without_a_known_store_nothing_is_deleted() -> None:
    refused = why_not_purgeable("acme", DEMO, None, talk())
    assert refused is not None
    assert refused.message.endswith("where this agent keeps its conversations is not known")
    assert purge("acme", DEMO, None, talk()).failure is not None

"""The words that start and resume an agent."""

from __future__ import annotations

import sys

import pytest

from tmuxreap.agents.conversations.command_lines import (
    launch_words,
    launched_with,
    resume_line,
    resume_words,
)
from tmuxreap.agents.profiles import Profile

ID = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"
OLD = "ffffffff-6d0c-4f63-9b53-1d5f0c6f2a11"
FLAGS = Profile(
    "one",
    process=("one",),
    command=("one",),
    launch=("--session-id", "{id}"),
    resume=("--resume", "{id}"),
)
EQUALS = Profile(
    "two", process=("two",), command=("two", "-q"), launch=("--id={id}",), resume=("--resume={id}",)
)
VERB = Profile("three", process=("three",), command=("three",), resume=("resume", "{id}"))


@pytest.mark.parametrize(
    ("profile", "command", "words"),
    [
        (FLAGS, ["one", "--model", "x"], ["one", "--model", "x", "--session-id", ID]),
        (EQUALS, ["two"], ["two", f"--id={ID}"]),
        (FLAGS, ["one", "--resume", OLD], ["one", "--resume", OLD]),
        (FLAGS, ["one", f"--session-id={OLD}"], ["one", f"--session-id={OLD}"]),
        (VERB, ["three"], ["three"]),
        (FLAGS, ["my-script"], ["my-script"]),
        (FLAGS, ["sh", "-c", "one; date"], ["sh", "-c", "one; date"]),
        (None, ["one"], ["one"]),
    ],
)
def test_an_id_is_given_where_it_is_taken(
    profile: Profile | None, command: list[str], words: list[str]
) -> None:
    assert launch_words(profile, command, ID) == words


@pytest.mark.parametrize(
    ("profile", "command", "words"),
    [
        (FLAGS, "one --model x", ["one", "--model", "x", "--resume", ID]),
        (FLAGS, f"one --session-id {OLD} -v", ["one", "-v", "--resume", ID]),
        (FLAGS, f"one --resume={OLD}", ["one", "--resume", ID]),
        (EQUALS, f"two --id={OLD} --x 'a b'", ["two", "--x", "a b", f"--resume={ID}"]),
        (VERB, f"three resume {OLD} -m x", ["three", "-m", "x", "resume", ID]),
        (FLAGS, "cd /x && one", ["one", "--resume", ID]),
        (FLAGS, "one 'unclosed", ["one", "--resume", ID]),
        (FLAGS, "run-it one", ["one", "--resume", ID]),
        (EQUALS, None, ["two", "-q", f"--resume={ID}"]),
    ],
)
def test_a_conversation_is_resumed_with_the_flags_of_the_start(
    profile: Profile, command: str | None, words: list[str]
) -> None:
    assert resume_words(profile, command, ID) == words


def test_only_an_id_of_ours_counts_as_launched() -> None:
    assert launched_with(FLAGS, launch_words(FLAGS, ["one"], ID), ID)
    assert not launched_with(FLAGS, ["one", "--session-id", OLD], ID)
    assert not launched_with(VERB, ["three"], ID)


def test_the_line_can_be_typed_into_a_shell() -> None:
    assert (
        resume_line([sys.executable, "a b"], {"HOME_OF_IT": "/x y"})
        == f"HOME_OF_IT='/x y' {sys.executable} 'a b'"
    )

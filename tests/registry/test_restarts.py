"""The restart fields of a row: limits that make sense, and values of other tools."""

from __future__ import annotations

import pytest

from tmuxreap.core.model import Row
from tmuxreap.registry.rows import (
    Limit,
    Restart,
    loss_key,
    parse_limit,
    parse_restart,
    pause_s,
    policy_of,
    read_row,
    wants_restart,
)
from tmuxreap.registry.transitions import is_lost


def row(**data: object) -> Row:
    return read_row(0, {"name": "acme", "status": "terminated", **data})


@pytest.mark.parametrize(
    ("text", "limit"),
    [("5/10m", Limit()), ("1/1s", Limit(1, 1.0)), (" 3 / 2h ", Limit(3, 7200.0))],
)
def test_a_limit_is_a_number_within_a_time(text: str, limit: Limit) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "5/",
        "/10m",
        "0/10m",
        "-1/10m",
        "5/0",
        "5/0.1s",
        "5/-1m",
        "5/inf",
        "5/nan",
        "5/200y",
        "1.5/10m",
        "5/10m/2",
        "99999999999999999999/1m",
        "1001/1m",
        "five/10m",
        "\u0665/x",
        "5/1e308",
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"use|longer|less|allows"):
        parse_limit(text)


def test_an_unknown_restart_word_is_refused() -> None:
    assert parse_restart("on-failure") is Restart.ON_FAILURE
    with pytest.raises(ValueError, match="never, on-failure, always"):
        parse_restart("sometimes")


@pytest.mark.parametrize("word", [None, "", False, "never"])
def test_a_row_without_restart_needs_no_further_reading(word: object) -> None:
    assert not wants_restart(row(restart=word, restart_limit="nonsense"))
    assert policy_of(row(restart=word, restart_limit="nonsense")) is None


def test_the_words_of_a_row_are_read_when_they_are_needed() -> None:
    policy = policy_of(row(restart="always", restart_limit="2/1h"))
    assert policy is not None
    assert (policy.when, policy.limit) == (Restart.ALWAYS, Limit(2, 3600.0))
    for bad in ({"restart": True}, {"restart": "always", "restart_limit": [1]}):
        with pytest.raises(ValueError, match=r"'True' is not|is no limit"):
            policy_of(row(**bad))


def test_only_what_was_found_dead_is_lost_and_each_loss_is_its_own() -> None:
    first = row(termination_mode="lost", terminated_at_epoch=5, pane={"pid": 1})
    assert is_lost(first)
    assert not is_lost(row(termination_mode="purge"))
    assert not is_lost(row(termination_mode="lost", status="running"))
    again = row(termination_mode="lost", terminated_at_epoch=5, pane={"pid": 2})
    assert loss_key(first) != loss_key(again)


def test_pauses_double_up_to_five_minutes() -> None:
    assert [pause_s(tried) for tried in (0, 1, 2, 8, 9, 5000)] == [1, 2, 4, 256, 300, 300]

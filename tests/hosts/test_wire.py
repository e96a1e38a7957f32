"""The lines between two tmuxreaps: valid ones, noise, and other versions of the protocol."""

from __future__ import annotations

import json

import pytest

from tmuxreap.core.results import SCHEMA
from tmuxreap.hosts.wire import (
    LONGEST_ITEM,
    Line,
    OtherSchemaError,
    Say,
    WireRequest,
    parse_line,
    request_of,
    say,
)

ASKED = WireRequest(
    "7", "stop", {"targets": ["acme"]}, "/r.yaml", "mark", {"acme": {"agent": "demo"}}
)


@pytest.mark.parametrize("request_", [ASKED, WireRequest("8", "list", here=True)])
def test_a_request_comes_back_as_it_was(request_: WireRequest) -> None:
    assert "\n" not in request_.line()
    assert request_of(request_.line()) == request_


@pytest.mark.parametrize(
    "changed",
    [{"schema": "tmuxreap/2"}, {"words": []}, {"identities": "all"}, {"verb": 3}, {"registry": []}],
)
def test_an_unknown_request_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no "):
        request_of(json.dumps({**json.loads(ASKED.line()), **changed}))


def test_a_line_that_was_written_can_be_read() -> None:
    line = parse_line(say(Say.ANSWER, id="7"))
    assert line == Line(Say.ANSWER, {"schema": SCHEMA, "at": "answer", "id": "7"})


@pytest.mark.parametrize(
    "noise",
    [
        "",
        "Welcome to Debian",
        "{",
        '{"at": "hello"}',
        '{"schema": "other/1"}',
        "[1]",
        "{" * 100_000,
    ],
)
def test_a_banner_is_noise(noise: str) -> None:
    assert parse_line(noise) is None


def test_a_line_of_tmuxreap_with_too_many_levels_is_refused() -> None:
    deep = f'{{"schema": "{SCHEMA}", "at": "answer", "answer": {"[" * 950}{"]" * 950}}}'
    with pytest.raises(OtherSchemaError, match="levels"):
        parse_line(deep)
    assert parse_line(deep.replace(SCHEMA, "other/1")) is None


def test_an_event_that_is_too_long_to_wait_in_a_queue_is_noise() -> None:
    item = {"schema": SCHEMA, "at": "item", "item": {"kind": "x" * LONGEST_ITEM}}
    assert parse_line(json.dumps(item)) is None
    assert parse_line(json.dumps({**item, "at": "answer"})) is not None


def test_a_line_of_tmuxreap_that_says_nothing_known_is_noise() -> None:
    assert parse_line(json.dumps({"schema": SCHEMA, "at": "sing"})) is None


def test_another_schema_of_tmuxreap_is_distinguished_from_noise() -> None:
    with pytest.raises(OtherSchemaError, match="tmuxreap/9"):
        parse_line(json.dumps({"schema": "tmuxreap/9", "at": "hello"}))

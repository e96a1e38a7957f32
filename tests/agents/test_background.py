"""The block `background` of a profile."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tmuxreap.agents.blocks import Block, Misplaced
from tmuxreap.agents.build import background_of

LEAST = {"file": "list.json", "entries": "all", "end": ["x", "stop", "{id}"]}


def test_a_missing_key_has_its_default() -> None:
    found = background_of(Block(LEAST))
    assert found is not None
    assert (found.pid, found.started, found.state) == ("pid", "started", "state")


SERVER = {
    "transport": "http",
    "program": {"program": "x", "arguments": "serve"},
    "list": "GET /all",
    "entry": {"GET /one/{id}": {"folder": "{folder}"}},
    "end": "POST /one/{id}/end",
    "by_hand": "open {id}",
}


def test_a_server_has_its_calls() -> None:
    found = background_of(Block({"server": SERVER}))
    assert found is not None
    server = found.server
    assert server is not None
    assert (server.list.name, server.list.parameters) == ("GET /all", {})
    assert server.entry.parameters == {"folder": "{folder}"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"transport": "pigeon"},
        {"transport": "socket"},  # and says not where
        {"transport": "socket", "socket": "/run/x"},
        {"program": {"program": "x"}},
        {"list": None},
        {"end": ["POST", "/end"]},
        {"entry": {"a": {}, "b": {}}},
        {"by_hand": None},
        {"colour": "red"},
    ],
)
def test_a_server_that_cannot_be_asked_is_refused(wrong: Mapping[str, object]) -> None:
    with pytest.raises(Misplaced):
        background_of(Block({"server": {**SERVER, **wrong}}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"file": "/etc/passwd"},
        {"state_file": "../x"},
        {"end": []},
        {"entries": None},
        {"colour": "red"},
        {"respawn_s": -1},
    ],
)
def test_a_block_that_leads_nowhere_is_refused(wrong: Mapping[str, object]) -> None:
    with pytest.raises(Misplaced):
        background_of(Block({**LEAST, **wrong}))


def test_an_id_has_the_form_that_its_block_names() -> None:
    least = background_of(Block(LEAST))
    numbered = background_of(Block({**LEAST, "id": r"\d+"}))
    assert least.id.fullmatch("a-1")
    assert not least.id.fullmatch("-x")
    assert numbered.id.fullmatch("12")
    assert not numbered.id.fullmatch("a-1")


@pytest.mark.parametrize("key", ["pid", "started", "state"])
def test_a_key_that_is_given_replaces_its_default(key: str) -> None:
    assert getattr(background_of(Block({**LEAST, key: "other"})), key) == "other"

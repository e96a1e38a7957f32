"""The block `background` of a profile."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tmuxreap.agents.blocks import Block, Misplaced
from tmuxreap.agents.daemons import background_of

LEAST = {"file": "list.json", "entries": "all", "end": ["x", "stop", "{id}"]}


def test_a_missing_key_has_its_default() -> None:
    found = background_of(Block(LEAST))
    assert (found.pid, found.started, found.state) == ("pid", "started", "state")


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

"""The `hooks` block of a profile, checked."""

from __future__ import annotations

import pytest

from tmuxreap.agents.blocks import Block, Misplaced
from tmuxreap.agents.hooks.blocks import Hooks, hooks_of

GOOD = {"file": "settings.json", "events": ["Stop"], "entry": {"command": "{command}"}}


def test_a_block_becomes_what_an_agent_takes() -> None:
    assert hooks_of(Block(GOOD)) == Hooks("settings.json", ("Stop",), {"command": "{command}"})
    assert hooks_of(Block({})) is None
    named = hooks_of(Block({**GOOD, "named": False, "base": {"version": 1}}))
    assert named is not None
    assert (named.named, named.base) == (False, {"version": 1})


@pytest.mark.parametrize(
    ("over", "path"),
    [
        ({"file": ""}, "file"),
        ({"events": []}, "file"),
        ({"entry": {}}, "file"),
        ({"file": "/etc/passwd"}, "file"),
        ({"file": "~/x"}, "file"),
        ({"file": "a/../../x"}, "file"),
        ({"named": "yes"}, "named"),
        ({"evnets": []}, "evnets"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(over: dict[str, object], path: str) -> None:
    with pytest.raises(Misplaced) as caught:
        hooks_of(Block({**GOOD, **over}, ("agents", "demo", "hooks")))
    assert caught.value.path == ("agents", "demo", "hooks", path)

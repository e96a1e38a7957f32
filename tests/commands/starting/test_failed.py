"""What is reported about a failed start."""

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.commands.starting.launch import agent_failed
from tmuxreap.commands.starting.row import Launch
from tmuxreap.registry.transitions import RowEvent


@pytest.mark.parametrize(
    ("gone", "screen", "said"),
    [
        (True, "", "could not start acme: its command ended within 1 s"),
        (
            True,
            "no key\n",
            "could not start acme: its command ended within 1 s; its last screen:\nno key",
        ),
        (
            False,
            "",
            "could not start acme: no demo was recognised in it within 1 s (a demo is recognised"
            " by: tmuxreap.demo_agent, tmuxreap-demo)",
        ),
    ],
)
def test_it_says_what_was_seen(gone: bool, screen: str, said: str) -> None:
    wish = Launch("acme", "demo", ("a b",), None, "/", None, "/s", RowEvent.STARTED)
    failure = agent_failed(wish, load_profiles(None).of("demo"), gone, screen)
    assert (failure.code.text, failure.message) == ("start_failed", said)
    assert failure.hint == "try the command by hand: 'a b'"

"""The keys of all profiles that end a turn or leave a dialog."""

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Key, Profile
from tmuxreap.agents.screens import State

AGENTS = {
    name: profile
    for name, profile in load_profiles(None).agents.items()
    if State.DIALOG in profile.screens
}
# The first C-c of cn is half of an exit, and grok goes on in its turn whatever the answer.
OWN_ANSWER = {"cn": [Key("Escape")], "grok": []}
ANNOUNCED = {"opencode", "kilo"}  # the first Escape only announces the second


@pytest.mark.parametrize("name", AGENTS)
def test_interrupt_leaves_a_dialog_by_the_key_with_which_a_stop_begins(name: str) -> None:
    profile = AGENTS[name]
    left = [*profile.turn_keys_in(State.DIALOG)]
    assert left == OWN_ANSWER.get(name, [*profile.safe_keys[:1]])


def test_the_key_of_a_turn_is_sent_again_only_to_agents_that_announce_it() -> None:
    assert {name for name, profile in AGENTS.items() if profile.turn_again} == ANNOUNCED


@pytest.mark.parametrize("profile", AGENTS.values(), ids=AGENTS)
def test_no_key_of_a_turn_is_an_exit_when_it_is_doubled(profile: Profile) -> None:
    assert not profile.turn_again or Key("C-c") not in profile.turn_keys

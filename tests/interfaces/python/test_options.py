"""Options of the Python interface, and the names that they have elsewhere."""

from __future__ import annotations

import pytest

from tmuxreap.core.model import EndVerb
from tmuxreap.ending.policy import EndingOptions
from tmuxreap.interfaces.python.options import StopOptions, UsageError, options_of, seconds


def test_names_become_the_options_that_all_interfaces_have() -> None:
    given: StopOptions = {"grace": "2s", "force": False, "purge_conversation": True, "yes": True}
    assert options_of(EndVerb.STOP, given) == EndingOptions(grace="2s", no_force=True, purge=True)
    assert options_of(EndVerb.KILL, {}) == EndingOptions()


def test_a_misspelled_option_is_refused() -> None:
    with pytest.raises(TypeError, match="got an unexpected option: gracee"):
        options_of(EndVerb.STOP, {"gracee": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got an unexpected option: after_turn"):
        options_of(EndVerb.KILL, {"after_turn": 1})


def test_a_length_of_time_is_a_number_or_text() -> None:
    assert (seconds(None), seconds(3), seconds("15m")) == (None, 3, 900.0)
    with pytest.raises(UsageError):
        seconds("soon")

"""The types have the words that the program says."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from tmuxreap.core.model import AgentState, Live, LiveName, Outcome, OutcomeName, StateName
from tmuxreap.core.values import Word


@pytest.mark.parametrize(
    ("names", "words"), [(OutcomeName, Outcome), (LiveName, Live), (StateName, AgentState)]
)
def test_a_type_checker_knows_each_word(names: Any, words: type[Word]) -> None:
    assert get_args(names) == tuple(word.value for word in words)

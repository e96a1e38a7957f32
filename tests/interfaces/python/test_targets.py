"""The targets in Python, and the words that they become."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.interfaces.python.calls import listed, name_of, words_of
from tmuxreap.interfaces.python.options import UsageError


def test_a_name_returns_one_result_and_a_list_returns_a_list() -> None:
    assert listed("acme") == (["acme"], False)
    assert listed(["acme", "b*"]) == (["acme", "b*"], True)
    assert listed(("all",)) == (["all"], True)


@pytest.mark.parametrize("word", ["all", "b*"])
def test_a_word_for_several_needs_a_list(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        listed(word)
    assert caught.value.hint == f"give it in a list: [{word!r}]"


def test_a_target_that_is_no_text_is_a_type_error(story: Story) -> None:
    assert words_of(story.app(), ["a", "tag:x"]) == ("a", "tag:x")
    with pytest.raises(TypeError, match="not int"):
        words_of(story.app(), [7])  # type: ignore[list-item]
    assert name_of(7) == "7"

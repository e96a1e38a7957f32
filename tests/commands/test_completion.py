"""`completion`: the script for each shell, and the error for unknown ones."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands import completion
from tmuxreap.core.errors import Failure


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete "), ("zsh", "#compdef"), ("fish", "complete ")]
)
def test_each_shell_gets_its_own(story: Story, shell: str, sign: str) -> None:
    (told,) = completion.run(story.app(), shell).results
    script = "\n".join(told.as_json()["script"])  # type: ignore[arg-type]
    assert sign in script
    assert "tmuxreap" in script


def test_another_shell_is_refused_with_those_that_are_known(story: Story) -> None:
    with pytest.raises(Failure) as caught:
        completion.run(story.app(), "csh")
    assert (caught.value.code.text, caught.value.hint) == ("usage", "give bash, zsh, fish")

"""A command's context, even without a registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.core.errors import Code, Failure


def test_without_a_registry_there_is_no_name_and_no_trouble(story: Story) -> None:
    story.path.unlink()
    assert story.app().with_registry_or_new().look_if_there() is None
    missing = story.app()
    missing.given_registry = str(Path("/nonexistent") / "r.yaml")
    assert missing.registry_name in (None, "/nonexistent/r.yaml")


@pytest.mark.parametrize("lenient", [True, False])
def test_an_invalid_variable_hinders_no_ending(story: Story, lenient: bool) -> None:
    app = story.app()
    app.settings.environ["TMUXREAP_GRACE"] = "soon"  # type: ignore[index]
    if lenient:
        app.configure(lenient=True)
        (warning,) = app.warnings
        assert warning.startswith("config_invalid: ")
        assert warning.endswith("; the built-in defaults are used")
        return
    with pytest.raises(Failure, match="TMUXREAP_GRACE") as refused:
        app.configure()
    assert refused.value.code is Code.CONFIG_INVALID

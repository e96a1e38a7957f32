"""A command's context, even without a registry."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import Story


def test_without_a_registry_there_is_no_name_and_no_trouble(story: Story) -> None:
    story.path.unlink()
    assert story.app().with_registry_or_new().look_if_there() is None
    missing = story.app()
    missing.given_registry = str(Path("/nonexistent") / "r.yaml")
    assert missing.registry_name in (None, "/nonexistent/r.yaml")

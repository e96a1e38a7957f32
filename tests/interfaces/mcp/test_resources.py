"""The resources: the registry, and the screens of running sessions."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.core.errors import Code, Failure
from tmuxreap.interfaces.mcp.server import REGISTRY, read, readable


def test_the_registry_and_each_running_session_are_reported(story: Story) -> None:
    story.agent("acme")
    story.agent("gone")
    story.stop("gone")
    assert [one.uri for one in readable(story.app())] == [
        REGISTRY,
        "tmuxreap://sessions/acme/screen",
    ]


def test_the_registry_is_read_unchanged(story: Story) -> None:
    story.agent()
    kind, text = read(story.app(), REGISTRY)
    assert (kind, text) == ("application/yaml", story.path.read_text())


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:///etc/passwd",
        "tmuxreap://sessions//screen",
        "tmuxreap://sessions/acme",
        "tmuxreap://sessions/all/screen",
        "tmuxreap://sessions/%2A/screen",
        "tmuxreap://sessions/nobody/screen",
    ],
)
def test_no_other_resource_can_be_read(story: Story, uri: str) -> None:
    story.agent()
    with pytest.raises(Failure) as caught:
        read(story.app(), uri)
    assert caught.value.code in (Code.USAGE, Code.SESSION_NOT_REGISTERED)

"""`attach`: finds the session by its IDs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes import Story
from tmuxreap.commands import attach
from tmuxreap.core.errors import Failure
from tmuxreap.core.values import replace


def refused(story: Story, name: str, resume: Callable[[], bool] | None = None) -> tuple[str, str]:
    with pytest.raises(Failure) as caught:
        attach.run(story.app(), name, resume)
    return caught.value.code.text, caught.value.hint


def test_outside_tmux_attach_makes_this_terminal_a_client(story: Story) -> None:
    story.agent()
    words = ("tmux", "-S", story.SOCKET, "attach-session", "-t", "$0")
    assert attach.run(story.app(), "acme") == words


def test_inside_tmux_attach_switches_the_client(story: Story) -> None:
    story.agent()
    app = story.app()
    app.settings = replace(
        app.settings, environ={**app.settings.environ, "TMUX": f"{story.SOCKET},1,0"}
    )
    assert attach.run(app, "acme") is None
    assert any("switch-client" in word for command in story.told() for word in command)


def test_attach_resumes_an_ended_session_only_on_consent(story: Story) -> None:
    story.agent()
    story.stop()
    ended = ("session_not_registered", "resume it with: tmuxreap resume acme")
    assert refused(story, "acme") == ended
    assert refused(story, "acme", lambda: False) == ended
    assert refused(story, "nobody")[0] == "session_not_registered"

"""What a start left whose owner died before it wrote its row."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story
from tmuxreap.commands.reconcile.drift import DriftKind, RowDrift, drift_of_start
from tmuxreap.commands.starting.row import Launch, open_start
from tmuxreap.core.model import Server, ServerLook, UnreadSession
from tmuxreap.core.values import replace
from tmuxreap.registry.transitions import RowEvent


def left(story: Story, *, mark: str = "m1", made_by: str | None = None) -> RowDrift | None:
    """Return the drift of a start with this mark that died; `made_by`: the mark of a session of its
    name."""
    spec = Launch("acme", "demo", ("it",), None, "/", None, story.SOCKET, RowEvent.STARTED)
    with pytest.raises(RuntimeError), open_start(story.app(), spec, mark):
        raise RuntimeError("it died")
    if made_by is not None:
        story.tmux.open(story.SOCKET, "acme", *DEMO, environ={"TMUXREAP_ID": made_by})
    app = story.app()
    return drift_of_start(app, app.registry.look().usable, app.books.open_intents()["acme"])


def test_an_unrecorded_starts_session_is_reported_with_the_adopt_command(story: Story) -> None:
    story.agent("neighbour")
    drift = left(story, made_by="m1")
    assert drift is not None
    assert (drift.kind, drift.intent) == (DriftKind.UNREGISTERED, None)
    assert drift.hint == "tmuxreap adopt acme --agent demo"


def test_a_start_over_an_ended_row_has_revived_it(story: Story) -> None:
    story.agent(status="stopped")
    story.tmux.servers[story.SOCKET].sessions.clear()
    drift = left(story, made_by="m1")
    assert drift is not None
    assert drift.kind is DriftKind.REVIVED


@pytest.mark.parametrize("made_by", [None, "m2"])
def test_a_start_without_a_session_of_its_own_is_closed(story: Story, made_by: str | None) -> None:
    story.agent("neighbour")
    drift = left(story, made_by=made_by)
    assert drift is not None
    assert (drift.kind, drift.changes) == (DriftKind.INTENT, {})
    assert drift.intent is not None


def test_a_start_stays_open_while_tmux_cannot_be_asked(story: Story) -> None:
    story.agent("neighbour")
    story.tmux.hung.add(story.SOCKET)
    assert left(story) is None


def test_a_recorded_start_is_closed(story: Story) -> None:
    """It died between the write of its row and the end of its intent."""
    story.agent()
    drift = left(story, mark="mark-of-acme")
    assert drift is not None
    assert (drift.kind, drift.changes) == (DriftKind.INTENT, {})


def test_a_start_stays_open_while_an_unreadable_line_may_hide_its_session(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent("neighbour")
    look = story.tmux.look

    def odd(socket: str) -> ServerLook:
        server = look(socket)
        assert isinstance(server, Server)
        return replace(server, unread=(UnreadSession(None, "acme"),))

    monkeypatch.setattr(story.tmux, "look", odd)
    assert left(story) is None


def test_a_start_that_recorded_nothing_useful_is_closed(story: Story) -> None:
    story.agent("neighbour")
    assert left(story) is not None
    app = story.app()
    intent = replace(app.books.open_intents()["acme"], plan="{}")
    drift = drift_of_start(app, app.registry.look().usable, intent)
    assert drift is not None
    assert (drift.kind, drift.intent) == (DriftKind.INTENT, intent)

"""The row of a running session: a new one, or the ended one of that name."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.starting.row import Launch, Start, record_session, registered
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row, Server
from tmuxreap.registry.transitions import RowEvent


def recorded(story: Story, event: RowEvent, **wish: object) -> None:
    app = story.app()
    server = app.tmux.look(story.SOCKET)
    assert isinstance(server, Server)
    session = server.named("acme")
    assert session is not None
    row = Row("acme", agent="demo", tmux=app.place.identity_of(server, session))
    ((sight, _),) = app.sights.with_pasts([row])
    launch = Launch("acme", "demo", ("x",), None, "/", None, story.SOCKET, event, **wish)  # type: ignore[arg-type]
    record_session(app, row, sight, launch, Start("m1"))


def test_a_new_row_begins_with_its_name_and_ends_with_its_places(story: Story) -> None:
    story.agent()
    story.path.write_text("tmux_sessions: []\n")
    recorded(story, RowEvent.STARTED, conversation="id-1", source="launch", fields={"tags": ("a",)})
    row = story.row()
    assert list(row)[:4] == ["name", "status", "demo_conversation_id_own", "conversation_source"]
    assert list(row)[-2:] == ["pane", "tmux"]
    assert (row["tags"], row["status"]) == (["a"], "running")
    with story.ledger() as ledger:
        assert ledger.mark_of("acme") == "m1"
        (event,) = ledger.events()
    assert (event.kind, event.data["mark"], event.before) == ("started", "m1", None)


def test_an_adopted_row_keeps_what_is_known_and_a_started_row_starts_over(story: Story) -> None:
    story.agent(status="stopped")
    known = story.row()["demo_conversation_id_own"]
    recorded(story, RowEvent.ADOPTED)
    assert (story.row()["status"], story.row()["demo_conversation_id_own"]) == ("running", known)
    recorded(story, RowEvent.STARTED)
    assert story.row()["demo_conversation_id_own"] is None


@pytest.mark.parametrize(
    ("event", "verb"),
    [
        (RowEvent.STARTED, "start"),
        (RowEvent.ADOPTED, "adopt"),
        (RowEvent.RESUMED, "resume"),
        (RowEvent.RESTARTED, "restart"),
    ],
)
def test_a_running_row_that_nobody_has_judged_stays(
    story: Story, event: RowEvent, verb: str
) -> None:
    story.agent()
    story.path.write_text("tmux_sessions: []\n")
    theirs = {"name": "acme", "status": "running", "pane": {"pid": 4711}}
    story.add_row(theirs)
    with pytest.raises(Failure, match=f"could not {verb} acme: another session was recorded"):
        recorded(story, event)
    assert story.row() == theirs
    judged = story.app().registry.look().named("acme")
    recorded(story, event, replaces=judged)
    assert story.row()["tmux"]


def test_a_bad_row_of_that_name_is_in_the_way(story: Story) -> None:
    story.add_row({"name": "bad", "status": "odd"})
    look = story.app().registry.look()
    assert registered(look, "nobody") is None
    assert registered(None, "bad") is None
    with pytest.raises(Failure) as caught:
        registered(look, "bad")
    assert caught.value.code.text == "row_invalid"

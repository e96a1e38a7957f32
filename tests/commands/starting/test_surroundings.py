"""The environment of a restarted session: its own, never that of the watch."""

from __future__ import annotations

import pytest

from tests.fakes import Story, row_of
from tests.restarting import lost, wanting, write
from tmuxreap.commands.starting import row as module
from tmuxreap.commands.starting.row import save_environment, surroundings
from tmuxreap.commands.watch.restarting import bring_back
from tmuxreap.core.errors import Failure
from tmuxreap.core.ports import Surroundings
from tmuxreap.ledger import surroundings as stored
from tmuxreap.registry.rows import loss_key


def test_the_sessions_environment_is_kept_without_variables_of_the_pane(story: Story) -> None:
    row = wanting(story)
    save_environment(story.app(), row)
    kept = stored.kept(story.app().books, "acme")
    assert kept == {"TMUXREAP_DEMO_HOME": str(story.store)} or kept == {}
    assert not {"TMUX", "TMUX_PANE", "TMUXREAP_ID"} & set(kept or {})


def test_the_next_tmux_client_runs_in_the_kept_environment(story: Story) -> None:
    row = lost(story)
    stored.keep(story.app().books, "acme", {"TOKEN": "mine", "PATH": "/its/bin"})
    bring_back(story.app(), "acme", loss_key(row), 0)
    assert story.tmux.within[-1] == Surroundings({"TOKEN": "mine", "PATH": "/its/bin"})


def test_a_session_without_restarts_keeps_no_environment(story: Story) -> None:
    row = wanting(story)
    save_environment(story.app(), row)
    write(story, "acme", restart="never")
    save_environment(story.app(), row_of(story))
    assert stored.kept(story.app().books, "acme") is None


def test_an_unseen_session_gets_the_environment_of_its_server(story: Story) -> None:
    row = wanting(story)
    assert set(surroundings(story.app(), row, story.SOCKET).environ) == {"HOME"}


@pytest.mark.parametrize(
    ("kept", "way", "why"),
    [
        (None, (), "the environment that it had is not known"),
        ({"A": "1"}, None, "would end with the watch's control group"),
        ({"A": "1"}, ("out", "--"), None),
    ],
)
def test_a_server_is_made_outside_or_not_at_all(
    story: Story,
    monkeypatch: pytest.MonkeyPatch,
    kept: dict[str, str] | None,
    way: tuple[str, ...] | None,
    why: str | None,
) -> None:
    row = lost(story)
    del story.tmux.servers[story.SOCKET]
    monkeypatch.setattr(module, "escape_prefix", lambda uid, environ: way)
    stored.keep(story.app().books, "acme", kept)
    if why is None:
        assert surroundings(story.app(), row, story.SOCKET) == Surroundings({"A": "1"}, way or ())
        return
    with pytest.raises(Failure, match=why) as caught:
        surroundings(story.app(), row, story.SOCKET)
    assert caught.value.hint == "resume it from a terminal: tmuxreap resume acme"

"""Where a row's server listens, and the names of servers on a command line."""

from __future__ import annotations

from tests.fakes import Story, row_of
from tmuxreap.core.values import replace

WORK = f"/tmp/tmux-{Story.UID}/work"


def test_a_socket_counts_as_recorded_while_this_boot_lasts(story: Story) -> None:
    story.agent()
    row, app = row_of(story), story.app()
    moved = replace(row, tmux=replace(row.tmux, socket="/tmp/other"))
    assert app.servers.of(moved) == "/tmp/other"
    before = replace(moved, tmux=replace(moved.tmux, boot_id="an-older-boot"))
    assert app.servers.of(before) == story.SOCKET
    assert app.servers.of(replace(before, tmux_server="work")) == WORK


def test_a_server_that_is_a_path_is_recorded_whole(story: Story) -> None:
    app = story.app()
    assert app.servers.named("run/s") == str(story.folder / "run" / "s")
    assert (app.servers.named("work"), app.servers.named(None)) == ("work", None)


def test_a_flag_names_every_server_but_the_default_one(story: Story) -> None:
    servers = story.app().servers
    assert servers.flag(story.SOCKET) == ()
    assert servers.flag(WORK) == ("--server", "work")
    assert servers.flag("/elsewhere/work") == ("--server", "/elsewhere/work")
    assert servers.default_sockets("work") == [story.SOCKET, WORK]

"""Who ended a session, as recorded and shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import Story
from tests.real import DEMO, Real, until
from tmuxreap.commands import show

START = "%s -m tmuxreap start child --agent demo --registry %s; sleep 600"


def ended_by(real: Real, name: str) -> str | None:
    """Wait for the end to be recorded, and return from which session it came."""
    until(f"{name} ended", lambda: real.show(name)["ended_by"] is not None)
    found: str | None = real.show(name)["ended_by"]["session"]
    return found


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    new.close()


def test_ended_by_is_in_the_event_and_in_show(story: Story) -> None:
    story.agent()
    app = story.app(tool="mcp")
    from tmuxreap.commands import stop
    from tmuxreap.core.model import EndVerb
    from tmuxreap.ending.policy import Policy

    stop.run(app, stop.EndRequest(("acme",), Policy(EndVerb.STOP, "why")))
    (answer,) = (item.as_json() for item in show.run(story.app(), ["acme"]).results)
    by = answer["ended_by"]
    assert isinstance(by, dict)
    assert (by["host"], by["tool"], by["session"]) == (story.HOST, "mcp", None)
    assert by["user"]
    assert "ended_by" not in story.row()


def test_a_later_end_is_not_ascribed_to_the_restart_before_it(story: Story) -> None:
    """Another tool records its end later, without an event."""
    story.comes_back()
    story.agent("acme")
    story.restart("acme")
    story.path.write_text(story.path.read_text().replace('"running"', '"stopped"'))
    (answer,) = (item.as_json() for item in show.run(story.app(), ["acme"]).results)
    assert (answer["status"], answer["ended_by"]) == ("stopped", None)


def test_the_caller_in_any_window_of_any_kind_of_row_is_in_that_session(real: Real) -> None:
    real.tmux("new-session", "-d", "-s", "theirs", "-c", str(real.folder), *DEMO)
    real.shows("theirs", "demo agent")
    pane = {"pid": real.pid("theirs"), "cmd": "python", "cwd": str(real.folder)}
    row = {"name": "theirs", "status": "running", "tmux_server": real.socket, "pane": pane}
    real.registry.write_text(f"tmux_sessions:\n- {json.dumps(row)}\n")
    real.tmux("new-session", "-d", "-s", "ours", "-c", str(real.folder), *DEMO)
    real.shows("ours", "demo agent")
    real.adopt("ours")
    real.start("victim")
    real.start("other")
    line = f"{sys.executable} -m tmuxreap stop %s --registry {real.registry}; sleep 600"
    for boss, target in (("theirs", "victim"), ("ours", "other")):
        real.tmux("new-window", "-d", "-t", f"={boss}:", line % target)
        assert ended_by(real, target) == boss
    real.tmux("new-window", "-d", "-t", "=theirs:", START % (sys.executable, real.registry))
    until("the child", lambda: "child" in real.rows())
    assert real.row("child")["parent"] == "theirs"


def test_a_caller_in_an_unregistered_session_is_in_no_row(real: Real) -> None:
    real.start()
    line = f"{sys.executable} -m tmuxreap stop acme --registry {real.registry}; sleep 600"
    real.tmux("new-session", "-d", "-s", "mine", line)
    assert ended_by(real, "acme") is None


@pytest.mark.parametrize("where", ["its pane", "another pane of it", "another session", "ended"])
def test_a_caller_is_in_the_running_row_whose_pane_it_has(story: Story, where: str) -> None:
    agent = story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    pane = agent.pane
    if where == "another pane of it":
        pane = story.tmux.split(story.SOCKET, session, "bash")
    if where == "another session":
        pane = story.tmux.open(story.SOCKET, "quiet", "bash").panes[0]
    if where == "ended":
        text = story.path.read_text().replace('"status": "running"', '"status": "stopped"')
        story.path.write_text(text)
    own = story.processes.add("tmuxreap", parent=pane.process)
    app = story.app(own.pid)
    environ = story.processes.environ(pane.process)
    assert environ is not None
    for name in ("TMUX", "TMUX_PANE"):
        app.settings.environ[name] = environ[name]  # type: ignore[index]
    inside = where in ("its pane", "another pane of it")
    assert app.caller.session() == ("acme" if inside else None)

"""Agents that live on without a terminal and without a row: reap names them, and ends none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import DEMO, Story
from tests.reaping import passes, reaped
from tmuxreap.commands.reap import leaks
from tmuxreap.commands.reap.leaks import find_leaks
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.core.model import ProcessId


def leaked(story: Story) -> list[int]:
    context = story.app()
    rows = context.registry.look().usable
    return [leak.pid for leak in find_leaks(context, context.sights.of(rows))]


def stray(story: Story, environ: dict[str, str] | None = None, **more: Any) -> ProcessId:
    """Add an agent without a terminal."""
    marks = {"TMUXREAP_DEMO_HOME": str(story.store), **(environ or {})}
    return story.processes.add(*DEMO, new_session=True, environ=marks, cwd="/home/me", **more)


def of_pane(story: Story, pane: str) -> dict[str, str]:
    server = story.tmux.servers[story.SOCKET]
    return {"TMUX": f"{story.SOCKET},{server.process.pid},0", "TMUX_PANE": pane}


def test_an_agent_whose_pane_is_gone_is_named_and_left_alone(story: Story) -> None:
    story.agent("acme")
    stray_one = stray(story, of_pane(story, "%99"))
    passes(story, 60)
    result = reaped(story, Kind.ORPHAN)
    (one,) = result.as_json()["leaked"]  # type: ignore[misc]
    assert (one["agent"], one["pid"], one["cwd"]) == ("demo", stray_one.pid, "/home/me")
    pid = stray_one.pid
    assert one["command"] == f"tmuxreap adopt demo-{pid} --agent demo --pid {pid}"
    assert list(result.results) == []
    assert story.processes.alive(stray_one)


def test_an_agent_that_init_took_over_is_named(story: Story) -> None:
    story.agent("acme")
    orphan = stray(story)
    assert leaked(story) == [orphan.pid]


def test_an_agent_that_the_users_systemd_took_over_is_named(story: Story) -> None:
    story.agent("acme")
    manager = story.processes.add("systemd", new_session=True)
    orphan = stray(story, parent=manager)
    assert leaked(story) == [orphan.pid]


@pytest.mark.parametrize(
    ("group", "is_named"),
    [
        ("/user.slice/user@1000.service/app.slice/run-7.scope", True),
        ("/user.slice/user@1000.service/app.slice/nightly.service", False),
        ("/system.slice/agent.service", False),
    ],
)
def test_an_agent_in_a_service_of_its_own_is_meant_to_be_there(
    story: Story, monkeypatch: pytest.MonkeyPatch, group: str, is_named: bool
) -> None:
    monkeypatch.setattr(leaks, "group_of", lambda pid: group)
    story.agent("acme")
    orphan = stray(story)
    assert leaked(story) == ([orphan.pid] if is_named else [])


def test_an_agent_in_a_living_pane_or_of_a_row_is_not_named(story: Story) -> None:
    agent = story.agent("acme")
    helper = stray(story, of_pane(story, agent.pane.now.id), parent=agent.process)
    assert leaked(story) == []
    assert story.processes.alive(helper)


def test_children_of_an_agent_are_counted_with_it(story: Story) -> None:
    story.agent("acme")
    first = stray(story, of_pane(story, "%99"))
    stray(story, of_pane(story, "%99"), parent=first)
    assert leaked(story) == [first.pid]


def test_a_server_that_cannot_be_asked_says_nothing(story: Story) -> None:
    story.agent("acme")
    story.tmux.open("/tmp/other", "x", "bash")
    environ = {"TMUX": f"/tmp/other,{story.tmux.servers['/tmp/other'].process.pid},0"}
    keeper = story.processes.add("keeper", new_session=True)
    stray(story, {**environ, "TMUX_PANE": "%99"}, parent=keeper)
    assert len(leaked(story)) == 1
    story.tmux.hung.add("/tmp/other")
    assert leaked(story) == []


# Agents' own daemons that another one has replaced


def service(story: Story, home: Path) -> ProcessId:
    words = ("opencode2", "serve", "--service")
    story.clock.sleep(1.0)
    return story.processes.add(
        *words, new_session=True, environ={"HOME": str(home)}, memory=700 << 20
    )


def test_an_old_daemon_is_named_with_what_is_below_it_and_never_ended(
    story: Story, tmp_path: Path
) -> None:
    """As opencode 2 may leave it: an old service and its helpers, after a restart."""
    story.agent("acme")
    old = service(story, tmp_path)
    helpers = [story.processes.add("npm", "exec", "mcp", parent=old, memory=90 << 20)]
    helpers.append(story.processes.add("mcp", parent=helpers[0], memory=10 << 20))
    new = service(story, tmp_path)
    record = tmp_path / ".local/state/opencode/service.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"pid": new.pid}))
    result = reaped(story, Kind.ORPHAN)
    (one,) = result.as_json()["leaked"]  # type: ignore[misc]
    assert (one["agent"], one["pid"], one["memory_mb"]) == ("opencode", old.pid, 800.0)
    assert one["command"] == f"kill {old.pid}"
    assert f"opencode ({old.pid}) and 2 below it: " in str(result.remark)
    assert f"it is an old daemon: {new.pid} is in use; if nothing runs in it" in str(result.remark)
    assert list(result.results) == []
    assert all(story.processes.alive(it) for it in (old, new, *helpers))
    assert story.processes.signals == []


def test_a_marked_old_daemon_is_named_and_not_ended_with_its_row(
    story: Story, tmp_path: Path
) -> None:
    """The first pane starts the service, which has its mark from there."""
    agent = story.agent("acme")
    environ = {**story.processes.table[agent.process.pid].environ, "HOME": str(tmp_path)}
    old = story.processes.add("opencode2", "serve", "--service", new_session=True, environ=environ)
    new = service(story, tmp_path)
    record = tmp_path / ".local/state/opencode/service.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"pid": new.pid}))
    assert leaked(story) == [old.pid]
    assert list(reaped(story, Kind.ORPHAN).results) == []
    assert story.processes.alive(old)


@pytest.mark.parametrize(
    ("more", "first", "last"),
    [
        (1 - leaks.MOST, "1 agent lives on", "; to end it: "),
        (0, "8 agents live on", "; to end it: "),
        (2, "10 agents live on", "and 2 more: tmuxreap doctor"),
    ],
)
def test_many_leaks_are_named_in_part(story: Story, more: int, first: str, last: str) -> None:
    story.agent("acme")
    for _ in range(leaks.MOST + more):
        stray(story)
    context = story.app()
    found = find_leaks(context, context.sights.of(context.registry.look().usable))
    lines = leaks.told(found).splitlines()
    assert lines[0].startswith(first)
    assert last in lines[-1]
    assert sum("; to end it: " in line for line in lines) == min(leaks.MOST, leaks.MOST + more)

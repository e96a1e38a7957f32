"""What `doctor` finds on the machine: tmux, its sockets, its sessions, the agents."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tests.doctor_answers import BIN, REGISTRY, TRIED, contents, doctor, of, program, the_only
from tests.fakes import Story
from tests.real import until
from tmuxreap.commands.doctor import machine
from tmuxreap.core.model import Usage


def test_without_tmux_doctor_checks_the_rest(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.write_text(REGISTRY + "  - name: web\n    status: running\n")
    monkeypatch.setenv("PATH", "/nowhere")
    answer = doctor()
    monkeypatch.setenv("PATH", BIN)
    assert answer.exit == 1
    assert "no tmux" in the_only(answer, "tmux")["message"]
    assert "web" in the_only(answer, "sessions")["message"]
    assert of(answer, "registry", "ok")


def test_a_folder_of_sockets_that_is_not_there_is_reported(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(registry.parent / "gone"))
    assert "tmux uses /tmp" in doctor().json["results"][1]["message"]


@pytest.fixture
def server(place: Path) -> Iterator[Path]:
    """Start a private server with one session; return its socket, the default under this
    TMUX_TMPDIR."""
    subprocess.run(
        ["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "quiet", "sleep 600"], check=True
    )
    yield Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}" / "default"


@pytest.mark.live
def test_a_server_whose_socket_was_deleted_is_found_and_fixed_as_the_hint_says(
    server: Path,
) -> None:
    server.unlink()
    (found,) = [one for one in of(doctor(), "sockets") if str(server) in one["message"]]
    assert found["hint"].startswith("kill -USR1 ")
    subprocess.run(found["hint"].split(), check=True)
    until("the socket is there again", server.exists)
    assert [one for one in of(doctor(), "sockets", "ok") if str(server) in one["message"]]


@pytest.mark.live
def test_an_unregistered_agent_is_found_even_without_a_registry(server: Path) -> None:
    environ = ["-e", f"PYTHONPATH={Path(__file__).parents[3]}"]
    words = [
        "tmux",
        "new-session",
        "-d",
        "-s",
        "lost",
        *environ,
        sys.executable,
        "-m",
        "tmuxreap.demo_agent",
    ]
    subprocess.run(words, check=True)
    until("the agent is seen", lambda: of(doctor(), "sessions", "note"))
    found = the_only(doctor(), "sessions", "note")
    assert found["message"] == "lost: a demo runs in it and is not registered"
    assert found["hint"] == "tmuxreap adopt lost --agent demo"
    assert tmuxreap(*found["hint"].split()[1:], "--json").exit == 0
    assert not of(doctor(), "sessions", "note")


def test_hooks_that_are_not_installed_are_a_note_and_fixed_as_the_hint_says(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(place / "bin", "claude", f"echo {TRIED}")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    home = contents(Path(os.environ["HOME"]))
    found = the_only(doctor(), "hooks", "note")
    assert found["hint"] == "tmuxreap hooks install claude"
    assert contents(Path(os.environ["HOME"])) == home
    assert tmuxreap(*found["hint"].split()[1:], "--json").exit == 0
    assert of(doctor(), "hooks", "ok")


def test_processes_that_use_a_processor_or_listen_are_reported(story: Story) -> None:
    agent = story.agent()
    server = story.processes.add("node", parent=agent.process)
    story.processes.used = {
        agent.process.pid: Usage(1.0, 89.0),
        server.pid: Usage(900.0, 98.6, (3000, 8080)),
    }
    app = story.app()
    busy, listening = machine.check_load(machine.Setup(app, app.registry.look()))
    who = f"acme: {story.processes.table[server.pid].now.comm} (pid {server.pid})"
    assert (busy.level, busy.message) == ("note", f"{who} uses 99 % of a processor")
    assert busy.hint == "tmuxreap show acme"
    assert (listening.level, listening.message) == ("ok", f"{who} listens on 3000 8080")


def test_nothing_is_measured_without_a_living_session(story: Story) -> None:
    story.agent()
    story.stop()
    app = story.app()
    assert list(machine.check_load(machine.Setup(app, app.registry.look()))) == []


def test_a_record_of_a_daemon_that_is_gone_is_reported_with_the_command_that_mends_it(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = registry.parent / "a store"
    monkeypatch.setenv("CODEX_HOME", str(store))
    record = store / "app-server-daemon" / "daemon.pid"
    record.parent.mkdir(parents=True)
    record.write_text('{"pid": 4194303}')  # beyond what a kernel gives
    note = the_only(doctor(), "daemons", "note")
    assert note["message"].endswith("the daemon of codex that it names (pid 4194303) is gone")
    record.write_text(json.dumps({"pid": os.getpid(), "processStartTime": "Fri Nov 20 2026"}))
    found = the_only(doctor(), "daemons")
    assert found["message"].endswith("another process has that pid: a new one may not start")
    assert found["hint"] == f"rm '{record}'"
    subprocess.run(shlex.split(found["hint"]), check=True)
    assert [one for one in doctor().json["results"] if one["name"] == "daemons"] == []

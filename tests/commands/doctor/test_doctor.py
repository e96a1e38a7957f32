"""`doctor`: what is wrong is found, with the command that mends it, and nothing is changed by looking."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Answer, tmuxreap
from tests.real import Real, alive, until
from tmuxreap.commands.doctor import registry as checks_registry
from tmuxreap.commands.doctor import versions
from tmuxreap.commands.doctor.findings import problem
from tmuxreap.core.results import PlainResult, Result
from tmuxreap.core.text import Voice
from tmuxreap.interfaces.text.report import lines

BIN = "/usr/bin:/bin"
REGISTRY = "tmux_sessions:\n  - name: shop\n    status: stopped\n"


@pytest.fixture
def place(tmux_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a registry, and a PATH without an agent."""
    monkeypatch.chdir(tmp_path)
    for name in ("TMUXREAP_REGISTRY", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", BIN)
    return tmp_path


@pytest.fixture
def registry(place: Path) -> Path:
    path = place / ".hermes" / "agent-sessions.yaml"
    path.parent.mkdir()
    path.write_text(REGISTRY)
    path.chmod(0o600)
    return path


def doctor(*words: str) -> Answer:
    return tmuxreap("doctor", "--json", *words)


def of(answer: Answer, check: str, level: str = "problem") -> list[dict[str, Any]]:
    return [one for one in answer.json["results"] if (one["name"], one["level"]) == (check, level)]


def the_only(answer: Answer, check: str, level: str = "problem") -> dict[str, Any]:
    (one,) = of(answer, check, level)
    return one


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


# Where all is well.


def test_without_a_registry_it_tells_the_next_step_and_all_is_well(place: Path) -> None:
    answer = doctor()
    assert (answer.exit, answer.json["error"]) == (0, None)
    assert "tmuxreap start NAME" in the_only(answer, "registry", "note")["hint"]
    assert contents(place) == {}


def test_a_registry_that_is_named_has_to_be_there(place: Path) -> None:
    answer = doctor("--registry", "other.yaml")
    assert answer.exit == 1
    assert the_only(answer, "registry")["message"].startswith("could not find the registry")


def test_what_is_well_is_told_too(registry: Path) -> None:
    answer = doctor()
    assert answer.exit == 0
    assert {one["name"] for one in answer.json["results"] if one["level"] == "ok"} >= {"tmux", "registry", "ledger"}


# The registry, its lock and its ledger.


def test_a_broken_registry_is_told_with_line_and_column(registry: Path) -> None:
    registry.write_text(REGISTRY + "  - name: [\n")
    answer = doctor()
    assert answer.exit == 1
    assert "line 5, column 1" in the_only(answer, "registry")["message"]


def test_a_registry_that_is_a_pipe_is_not_waited_for(registry: Path) -> None:
    registry.unlink()
    os.mkfifo(registry)
    assert "no regular file" in the_only(doctor(), "registry")["message"]


def test_where_no_file_can_be_made_the_rest_is_looked_at(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object, **__: object) -> object:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", nowhere)
    answer = doctor()
    assert "no usable temporary directory" in the_only(answer, "place")["message"]
    assert of(answer, "registry", "ok")


def test_a_registry_that_others_may_read_is_told_and_keeps_its_mode(registry: Path) -> None:
    registry.chmod(0o644)
    found = the_only(doctor(), "registry", "note")
    assert found["message"] == f"{registry} can be read by others, and holds the last screens of sessions"
    assert found["hint"] == f"chmod 600 {registry}"
    assert registry.stat().st_mode & 0o777 == 0o644
    registry.chmod(0o600)
    assert not of(doctor(), "registry", "note")


def test_a_bad_row_is_told_with_line_and_column(registry: Path) -> None:
    registry.write_text(REGISTRY + "  - name: b\n    status: gone\n")
    found = the_only(doctor(), "registry")
    assert "'b'" in found["message"]
    assert "line 4, column 5" in found["message"]
    assert found["hint"].startswith("mend line 4")


def test_a_lock_that_somebody_keeps_is_told_with_who(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks_registry, "HELD_LONG_S", 0.05)
    lock = registry.with_name(registry.name + ".lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = doctor()
        assert f"by process {os.getpid()}" in the_only(answer, "lock")["message"]
    assert of(doctor(), "lock", "ok")


def test_a_ledger_that_is_behind_is_found_and_left_alone(registry: Path) -> None:
    assert tmuxreap("reconcile", "--json").exit == 0
    assert tmuxreap("forget", "shop", "--json").exit == 0
    registry.write_text(REGISTRY)
    before = contents(registry.parent)
    found = the_only(doctor(), "ledger")
    assert (found["message"].endswith("mirrors another state of the registry"), found["hint"]) == (
        True,
        "tmuxreap reconcile",
    )
    assert contents(registry.parent) == before
    assert tmuxreap("reconcile", "--json").exit == 0
    assert of(doctor(), "ledger", "ok")


@pytest.mark.parametrize("rubbish", [b"no database", b"SQLite format 3\0" + b"\xff" * 2000])
def test_a_broken_ledger_is_found_and_not_set_aside(registry: Path, rubbish: bytes) -> None:
    ledger = registry.with_name("agent-sessions.db")
    ledger.write_bytes(rubbish)
    before = contents(registry.parent)
    assert "cannot be read" in the_only(doctor(), "ledger")["message"]
    assert contents(registry.parent) == before


def test_what_stands_in_its_wal_alone_is_read_and_nothing_appears_beside_it(registry: Path) -> None:
    registry.write_text(REGISTRY + "  - name: web\n    status: stopped\n")
    assert tmuxreap("forget", "shop", "--json").exit == 0
    reader = sqlite3.connect(registry.with_name("agent-sessions.db"), isolation_level=None)
    reader.execute("BEGIN")  # as long as this looks at what was, what comes stays in the -wal
    reader.execute("SELECT count(*) FROM events").fetchone()
    assert tmuxreap("forget", "web", "--json").exit == 0
    before = contents(registry.parent)
    assert of(doctor(), "ledger", "ok")
    assert contents(registry.parent) == before
    reader.close()


def test_what_a_killed_writer_left_is_found(registry: Path) -> None:
    left = registry.parent / ".agent-sessions.yaml.999999999.abc.tmp"
    left.write_text("x")
    assert str(left) in the_only(doctor(), "registry", "note")["message"]
    assert left.exists()


# tmux.


def test_without_tmux_all_the_rest_is_looked_at(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.write_text(REGISTRY + "  - name: web\n    status: running\n")
    monkeypatch.setenv("PATH", "/nowhere")
    answer = doctor()
    monkeypatch.setenv("PATH", BIN)
    assert answer.exit == 1
    assert "no tmux" in the_only(answer, "tmux")["message"]
    assert "web" in the_only(answer, "sessions")["message"]
    assert of(answer, "registry", "ok")


def test_a_folder_of_sockets_that_is_not_there_is_told(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(registry.parent / "gone"))
    assert "tmux uses /tmp" in doctor().json["results"][1]["message"]


@pytest.fixture
def server(place: Path) -> Iterator[Path]:
    """The socket of a private server with one session, on the default name under this TMUX_TMPDIR."""
    subprocess.run(["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "quiet", "sleep 600"], check=True)
    yield Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}" / "default"


@pytest.mark.live
def test_a_server_whose_socket_was_deleted_is_found_and_mended_as_told(server: Path) -> None:
    server.unlink()
    (found,) = [one for one in of(doctor(), "sockets") if str(server) in one["message"]]
    assert found["hint"].startswith("kill -USR1 ")
    subprocess.run(found["hint"].split(), check=True)
    until("the socket is there again", server.exists)
    assert [one for one in of(doctor(), "sockets", "ok") if str(server) in one["message"]]


@pytest.mark.live
def test_an_agent_that_nobody_registered_is_found_also_without_a_registry(server: Path) -> None:
    environ = ["-e", f"PYTHONPATH={Path(__file__).parents[3]}"]
    words = ["tmux", "new-session", "-d", "-s", "lost", *environ, sys.executable, "-m", "tmuxreap.demo_agent"]
    subprocess.run(words, check=True)
    until("the agent is seen", lambda: of(doctor(), "sessions", "note"))
    found = the_only(doctor(), "sessions", "note")
    assert found["message"] == "lost: a demo runs in it, and it has no row"
    assert found["hint"] == "tmuxreap adopt lost --agent demo"
    assert tmuxreap(*found["hint"].split()[1:], "--json").exit == 0
    assert not of(doctor(), "sessions", "note")


# Sessions.


@pytest.mark.live
def test_a_session_that_is_dead_is_found_and_not_written(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", BIN)
    real.start()
    pid = real.pid()
    assert doctor("--registry", str(real.registry)).exit == 0
    os.kill(pid, 9)
    until("it is dead", lambda: not alive(pid) and "acme" not in real.sessions())
    before = real.registry.read_bytes()
    answer = doctor("--registry", str(real.registry))
    found = the_only(answer, "sessions")
    assert (answer.exit, found["hint"]) == (1, "tmuxreap reconcile")
    assert found["message"].startswith("acme: dead: ")
    assert real.registry.read_bytes() == before


# Agents.


def test_no_program_is_run_that_was_never_tried(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(place / "bin", "droid", f"touch {place}/ran; echo 1.2.3")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    found = the_only(doctor(), "agents", "note")
    assert "never tried" in found["message"]
    assert not (place / "ran").exists()


def test_a_version_is_asked_for_in_a_world_of_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        place / "bin", "claude", 'touch "$HOME/seen" ./here; [ "$1" = --version ] && echo "$HOME 2.1.326 (Claude Code)"'
    )
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    before, home = contents(place), contents(Path(os.environ["HOME"]))
    found = the_only(doctor(), "agents", "ok")
    assert found["message"].startswith("claude 2.1.326, ")
    assert contents(place) == before
    assert contents(Path(os.environ["HOME"])) == home


def test_another_version_than_the_one_that_was_tried_is_a_note(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(place / "bin", "claude", "echo 9.9.9")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    answer = doctor()
    assert answer.exit == 0
    assert "its profile was tried on 2.1" in the_only(answer, "agents", "note")["message"]


def test_a_program_that_does_not_answer_is_ended_with_all_that_it_began(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(place / "bin", "claude", f"sleep 600 & echo $! > {place}/child; wait")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    monkeypatch.setattr(versions, "TIMEOUT_S", 0.3)
    assert "no answer in 0.3 s" in the_only(doctor(), "agents", "note")["message"]
    child = int((place / "child").read_text())
    until("its child is gone", lambda: not alive(child))


def test_what_a_program_leaves_behind_ends_with_the_question(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(place / "bin", "claude", f"sleep 600 >/dev/null 2>&1 & echo $! > {place}/child; echo 2.1.326")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    assert of(doctor(), "agents", "ok")
    child = int((place / "child").read_text())
    until("its child is gone", lambda: not alive(child))


def test_hooks_that_are_not_installed_are_a_note_and_mended_as_told(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(place / "bin", "claude", "echo 2.1.326")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    home = contents(Path(os.environ["HOME"]))
    found = the_only(doctor(), "hooks", "note")
    assert found["hint"] == "tmuxreap hooks install claude"
    assert contents(Path(os.environ["HOME"])) == home
    assert tmuxreap(*found["hint"].split()[1:], "--json").exit == 0
    assert of(doctor(), "hooks", "ok")


def test_blocks_of_the_user_that_are_broken_stop_nothing(registry: Path) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap" / "agents.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("agents: [")
    answer = doctor()
    assert answer.exit == 1
    assert str(own) in the_only(answer, "profiles")["message"]
    assert of(answer, "registry", "ok")


# How it is told.


def test_a_check_that_fails_is_a_finding(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tmuxreap.commands.doctor import machine

    def broken(*_: object) -> object:
        raise RuntimeError("no luck")

    monkeypatch.setattr(machine, "lost_servers", broken)
    answer = doctor()
    assert "RuntimeError: no luck" in the_only(answer, "sockets")["message"]
    assert of(answer, "ledger", "ok")


def test_people_read_what_is_wrong_and_the_command_beside_it() -> None:
    finding = problem("lock", "it is held", "ps -p 1")
    told = Result("doctor", None, 0.0, [PlainResult(finding.check, finding.as_json())])
    assert list(lines(told, Voice())) == ["problem  lock      it is held", "         mend: ps -p 1"]
    narrow = list(lines(told, Voice(width=24)))
    assert narrow == ["problem  lock      it is", "         held", "         mend: ps -p 1"]

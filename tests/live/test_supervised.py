"""What a supervisor leaves to its children: an ignored SIGCHLD, open locks."""

from __future__ import annotations

import shlex
import signal
import subprocess

import pytest

from tests.real import Real, alive
from tmuxreap.system.whereabouts import own_command

pytestmark = pytest.mark.live


def shell(real: Real, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = shlex.join(own_command(*words, "--registry", str(real.registry)))
    return subprocess.run(
        ["bash", "-c", f"{text}; {command}"], capture_output=True, text=True, check=False
    )


def test_a_session_is_started_and_stopped_under_an_ignored_sigchld(real: Real) -> None:
    ignored = "trap '' CHLD"
    begun = shell(real, ignored, "start", "acme", "--agent", "demo", "--server", real.socket)
    assert begun.returncode == 0, begun.stderr
    kept = shell(real, ignored, "start", "logged", "--agent", "demo", "--terminal", "none")
    assert kept.returncode == 0, kept.stderr
    listed = shell(real, ignored, "list")
    assert "acme" in listed.stdout
    pid = real.pid()
    ended = shell(real, ignored, "stop", "acme", "logged")
    assert (ended.returncode, alive(pid)) == (0, False), ended.stderr
    assert real.row()["status"] == "stopped"


def test_a_program_that_ignores_sigchld_stops_by_the_python_interface(real: Real) -> None:
    real.start()
    pid = real.pid()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ended = real.stop()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert [one.as_json()["outcome"] for one in ended.results] == ["stopped"]
    assert not alive(pid)


def test_the_server_that_a_start_makes_keeps_no_lock_of_the_caller(real: Real) -> None:
    lock = real.folder / "lock"
    new = real.folder / "s"
    words = ("start", "acme", "--agent", "demo", "--server", str(new))
    try:
        begun = shell(real, f"exec 9>{lock}; flock -n 9", *words)
        assert begun.returncode == 0, begun.stderr
        free = subprocess.run(["flock", "-n", str(lock), "true"], check=False)
        assert free.returncode == 0
    finally:
        shell(real, ":", "kill", "acme", "--yes")

"""`watch` stops an idle session, and attaching to it resumes it."""

from __future__ import annotations

import sys

import pytest

from tests.live.test_watch import watching
from tests.real import Real, until

pytestmark = pytest.mark.live
STAGE = "stage"


class Terminal:
    """A user's terminal, in which `attach` runs."""

    def __init__(self, real: Real, name: str) -> None:
        self.real = real
        self.socket = f"{real.socket}-stage"
        command = f"{sys.executable} -m tmuxreap attach {name} --registry {real.registry}"
        words = f"env -u TMUX -u TMUX_PANE {command}; sleep 600"
        real.tmux(
            "new-session", "-d", "-s", STAGE, "-x", "120", "-y", "20", words, socket=self.socket
        )

    def shows(self, text: str) -> None:
        until(
            f"{text!r} in the terminal",
            lambda: (
                text in self.real.tmux("capture-pane", "-p", "-t", f"={STAGE}:", socket=self.socket)
            ),
        )

    def types(self, *keys: str) -> None:
        self.real.tmux("send-keys", "-t", f"={STAGE}:", *keys, socket=self.socket)

    def close(self) -> None:
        self.real.tmux("kill-server", socket=self.socket)


def put_to_rest(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    real.bystander()
    real.start(restart="always")
    real.say("remember me")
    monkeypatch.setenv("TMUXREAP_REAP_IDLE_AFTER", "1s")
    with watching(real, "--interval", "1", "--reap", "idle") as watch:
        assert watch.first("reaped")["verdict"] == "idle"
        watch.switches(after_s=2.0)
        assert watch.quiet()  # a hibernated session is not lost: nothing restarts it
    row = real.row()
    assert (row["status"], row["resumable"], row["termination_mode"]) == (
        "stopped",
        True,
        "graceful",
    )


def test_attach_resumes_a_hibernated_session(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    put_to_rest(real, monkeypatch)
    terminal = Terminal(real, "acme")
    try:
        terminal.shows("acme has ended; resume it?")
        terminal.types("y", "Enter")
        terminal.shows("You said: remember me")
        assert real.row()["status"] == "running"
    finally:
        terminal.close()


def test_declining_leaves_a_session_hibernated(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    put_to_rest(real, monkeypatch)
    terminal = Terminal(real, "acme")
    try:
        terminal.shows("acme has ended; resume it?")
        terminal.types("n", "Enter")
        terminal.shows("could not attach: the answer was no; nothing was done")
        assert real.row()["status"] == "stopped"
        assert real.sessions() == {"quiet"}
    finally:
        terminal.close()

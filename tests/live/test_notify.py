"""`watch --notify`: attached clients see the notices, and tmux interprets nothing in them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.live.test_watch import watching
from tests.real import DEMO, Real, until
from tests.tmux_language import words_of
from tmuxreap.core.model import Server, ServerSession
from tmuxreap.system.tmux.client import notice

pytestmark = pytest.mark.live
STAGE = "stage"


class Seat:
    """A user attached to a session, in a terminal that a test can read."""

    def __init__(self, real: Real, name: str) -> None:
        self.real = real
        self.socket = f"{real.socket}-stage"
        attach = f"env -u TMUX -u TMUX_PANE tmux -u -S {real.socket} attach -t ={name}"
        real.tmux(
            "new-session", "-d", "-s", STAGE, "-x", "150", "-y", "20", attach, socket=self.socket
        )
        until("a client", lambda: real.tmux("list-clients", "-t", f"={name}") != "")

    def screen(self) -> str:
        return self.real.tmux("capture-pane", "-p", "-t", f"={STAGE}:", socket=self.socket)

    def leave(self) -> None:
        self.real.tmux("kill-server", socket=self.socket)


@pytest.fixture
def seat(real: Real) -> Seat:
    """A seat where a message stays until it is read."""
    real.tmux(
        "new-session", "-d", "-s", "acme", *DEMO, ";", "set-option", "-g", "display-time", "60000"
    )
    return Seat(real, "acme")


def looked(real: Real, name: str) -> tuple[Server, ServerSession]:
    with real.app() as app:
        server = app.tmux.look(real.socket)
        assert isinstance(server, Server)
        session = server.named(name)
        assert session is not None
        return server, session


def notify(real: Real, text: str, name: str = "acme") -> None:
    server, session = looked(real, name)
    with real.app() as app:
        app.tmux.notify(real.socket, server, session, text)


@pytest.mark.parametrize(
    "text",
    [
        'plain: it\'s "quoted" $HOME ~ \\ ; kill-server',
        "#(touch {ran}) #{pid} #S %H:%M",
        "##(touch {ran}) ###(touch {ran}) #[fg=red]x ##[fg=red]y #{{E:status-left}}",
        "-c -N --",
    ],
)
def test_a_text_is_shown_as_it_is(real: Real, seat: Seat, text: str) -> None:
    ran = Path(real.socket).with_name("ran")
    text = text.replace("{ran}", str(ran)).replace("{{", "{").replace("}}", "}")
    try:
        notify(real, text)
        # Versions show different numbers of them before a `[`, and 3.2 cuts by its own count.
        plain = text.replace("#", "").replace("[fg=red]", "")[:40]
        until(
            "the text",
            lambda: plain in seat.screen().replace("#", "").replace("[fg=red]", ""),
        )
        if "[" not in text:
            assert text in seat.screen()
        assert not ran.exists()
    finally:
        seat.leave()


@pytest.mark.parametrize(
    ("display_time", "own"),
    [("0", True), ("1", False), ("750", False), ("3999", False), ("4000", True), ("60000", True)],
)
def test_a_notice_stays_for_4_seconds_or_as_long_as_the_user_has_set(
    real: Real, seat: Seat, display_time: str, own: bool
) -> None:
    """0: until a key is pressed."""
    real.tmux("set-option", "-g", "display-time", display_time)
    server, session = looked(real, "acme")
    line = notice(server, session, "/dev/pts/1", "hello")[-1]
    while line.startswith("if-shell"):
        words = words_of(line)
        shown = real.tmux("display-message", "-p", "-t", "=acme:", words[2])
        line = words[3] if shown not in ("", "0") else words[4]
    try:
        timed = words_of(line)[1:3]
        assert (timed == ["-d", "4000"]) is not own, line
        assert words_of(line)[-1] == "hello"
        assert ("-d" in words_of(line)) is not own
    finally:
        seat.leave()


def test_a_text_is_shown_long_enough_to_be_read(real: Real, seat: Seat) -> None:
    real.tmux("set-option", "-g", "display-time", "750")  # what tmux has by default
    text = "a notice to be read"

    def is_shown_for_a_second() -> bool:
        notify(real, text)
        until("the text", lambda: text in seat.screen())
        time.sleep(1.0)
        return text in seat.screen()

    try:
        until("a notice that stays", is_shown_for_a_second)
    finally:
        seat.leave()


def test_a_change_of_state_is_shown_to_those_who_look_at_that_session(
    real: Real, seat: Seat
) -> None:
    other = real.tmux("new-session", "-d", "-P", "-s", "other", "sleep", "600")
    assert other
    try:
        real.adopt()
        with watching(real, "--interval", "0.5", "--notify") as watch:
            until("idle known", lambda: watch.switches() == watch.switches(after_s=0.2))
            watch.switches(after_s=1.2)
            real.submit("/ask")
            event = watch.first("state")
            assert event["state"] == "waiting", event
            until("the notice", lambda: "acme: state: idle -> waiting" in seat.screen())
    finally:
        seat.leave()


def test_a_session_that_was_replaced_gets_no_message(real: Real, seat: Seat) -> None:
    with real.app() as app:
        server = app.tmux.look(real.socket)
        assert isinstance(server, Server)
        session = server.named("acme")
        assert session is not None
        from tmuxreap.core.values import replace

        app.tmux.notify(real.socket, server, replace(session, created=session.created - 5), "boo")
        notify(real, "after it")
    until("the second", lambda: "after it" in seat.screen())
    assert "boo" not in seat.screen()
    seat.leave()

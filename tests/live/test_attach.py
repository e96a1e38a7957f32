"""`attach` by a user at a terminal: from outside tmux, from inside, and to an ended session."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.live.test_plugin import OUTER, Seat
from tests.real import Real, until

pytestmark = pytest.mark.live


@pytest.fixture
def seat(real: Real) -> Iterator[Seat]:
    """A shell in its own terminal, which is no client of the agents' server."""
    real.bystander()
    words = [*OUTER, "new-session", "-d", "-s", "seat", "-x", "100", "-y", "30", "exec sh -i"]
    subprocess.run(words, check=True)
    seat = Seat(real)
    seat.keys("unset TMUX TMUX_PANE; PS1='ready '", "Enter")
    seat.shows("ready")
    yield seat
    subprocess.run([*OUTER, "kill-server"], capture_output=True, check=False)


def command(real: Real, *words: str) -> str:
    given = [sys.executable, "-m", "tmuxreap", *words, "--registry", str(real.registry)]
    return shlex.join(given)


def clients(real: Real) -> list[str]:
    return real.tmux("list-clients", "-F", "#{session_name}").split()


def test_attach_from_outside_makes_the_terminal_a_client_and_returns(
    real: Real, seat: Seat
) -> None:
    real.start("acme")
    seat.keys(command(real, "attach", "acme"), "Enter")
    until("a client of it", lambda: clients(real) == ["acme"])
    seat.shows("demo agent · conversation")
    seat.keys("C-b", "d")
    until("no client", lambda: clients(real) == [])
    seat.keys("echo back=$?", "Enter")
    seat.shows("back=0")


def test_a_name_is_not_taken_for_the_beginning_of_another(real: Real, seat: Seat) -> None:
    real.start("acme-2")
    seat.keys(command(real, "attach", "acme"), "Enter")
    seat.shows("error: could not find 'acme'", "acme-2")
    assert clients(real) == []


def test_attach_from_inside_switches_the_client(real: Real, seat: Seat) -> None:
    real.start("acme")
    real.tmux("new-session", "-d", "-s", "mine", "-c", str(real.folder), "exec sh -i")
    seat.keys(f"tmux -u -S {real.socket} attach -t =mine", "Enter")
    until("a client", lambda: clients(real) == ["mine"])
    real.keys("mine", command(real, "attach", "acme"), "Enter")
    until("it went there", lambda: clients(real) == ["acme"])
    seat.shows("demo agent · conversation")


@pytest.mark.parametrize("answer", ["y", "n"])
def test_attach_offers_to_resume_an_ended_session(real: Real, seat: Seat, answer: str) -> None:
    real.start("acme")
    real.say("remember me")
    real.stop("acme")
    seat.keys(command(real, "attach", "acme"), "Enter")
    seat.shows("resume it? [y/N]")
    seat.keys(answer, "Enter")
    if answer == "n":
        seat.shows("could not attach: the answer was no; nothing was done")
        assert real.row("acme")["status"] == "stopped"
        return
    until("a client of it", lambda: clients(real) == ["acme"])
    seat.shows("remember me")

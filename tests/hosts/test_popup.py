"""Other hosts in the popup: real ones by ssh and a container's stand-in, on a real terminal; and
what the popup requests from them."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hosts.conftest import PROGRAM, Fleet
from tests.hosts.test_morning import Morning, begun
from tests.live.test_carriers import skip_without_terminals
from tmuxreap.app import real_app
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import EndVerb, Live
from tmuxreap.interfaces.popup.actions import Desk, HostAnswer, silent_progress
from tmuxreap.system.environment import Settings

PATIENCE_S = 60.0  # each look starts Python over a connection


def desk_of(fleet: Fleet) -> Desk:
    me = fleet.home("me")
    environ = fleet.environment()
    settings = Settings(environ, me, os.getuid(), os.getpid(), "linux")
    return Desk(lambda **more: real_app(settings, None, "popup", **more))


# The requests


def test_each_host_is_asked_by_itself_and_names_its_sessions(fleet: Fleet) -> None:
    desk = desk_of(fleet)
    assert desk.hosts() == ("a", "b")
    there = desk.look_at_host("b", HostAnswer())
    assert ([one.name for one in there.sessions], there.failure) == (["web@b", "db@b"], None)


def test_sessions_of_an_unreachable_host_are_unknown(fleet: Fleet) -> None:
    desk = desk_of(fleet)
    before = desk.look_at_host("b", HostAnswer())
    fleet.configure({"b": {"via": ["false"], "program": str(PROGRAM)}})
    there = desk.look_at_host("b", before)
    assert [(one.name, one.live) for one in there.sessions] == [
        ("web@b", Live.UNKNOWN),
        ("db@b", Live.UNKNOWN),
    ]
    assert there.failure is not None
    assert there.failure.code.text == "host_unreachable"
    fleet.file.write_text("hosts: [")
    broken = desk.look_at_host("b", before)
    assert broken.failure is not None
    assert broken.failure.code.text == "host_unreachable"  # the host as it was last read well
    listed = desk.hosts()
    assert not isinstance(listed, Failure)
    assert "b" in listed


def test_without_hosts_the_popup_says_where_they_are_listed(fleet: Fleet) -> None:
    fleet.file.unlink()
    found = desk_of(fleet).hosts()
    assert isinstance(found, Failure)
    assert str(fleet.file) in found.message


def test_an_ending_there_is_reported_by_its_target_and_ends_nothing_else(fleet: Fleet) -> None:
    result = desk_of(fleet).end("b", EndVerb.STOP, ["web@b"], silent_progress())
    assert [one.as_json()["target"] for one in result.results] == ["web@b"]
    assert fleet.rows("b")["web"]["status"] == "stopped"
    assert fleet.rows("b")["db"]["status"] == "running"
    assert fleet.rows("a")["web"]["status"] == "running"


def test_a_row_there_that_is_called_like_a_word_of_tmuxreap_ends_nothing(fleet: Fleet) -> None:
    result = desk_of(fleet).end("b", EndVerb.KILL, ["all@b"], silent_progress())
    assert result.failure is not None
    assert result.failure.code.text == "row_invalid"
    assert {row["status"] for row in fleet.rows("b").values()} == {"running"}


def test_attach_over_a_host_gives_a_terminal_command_or_the_reason(fleet: Fleet) -> None:
    fleet.configure({"far": {"ssh": "far-1"}})
    desk = desk_of(fleet)
    way = desk.attach_command("web@far")
    assert isinstance(way, tuple)
    assert way[:2] == ("ssh", "-t")
    refused = desk.attach_command("web@a")
    assert isinstance(refused, Failure)
    assert "not reached by ssh" in refused.message


# On a terminal


class Seat:
    """A user's terminal."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._tmux = ["tmux", "-u", "-f", "/dev/null", "-S", str(fleet.folder / "seat")]

    def run(self, *words: str) -> None:
        place = ["-d", "-s", "seat", "-x", "100", "-y", "30", "-c", str(self.fleet.home("me"))]
        environ = {**self.fleet.environment(), "TERM": "xterm-256color"}
        for size in ("COLUMNS", "LINES"):  # the terminal's own variables are used
            environ.pop(size, None)
        command = [*self._tmux, "new-session", *place, shlex.join(words)]
        subprocess.run(command, env=environ, check=True)

    def leave(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def keys(self, *pressed: str) -> None:
        subprocess.run([*self._tmux, "send-keys", "-t", "seat:", *pressed], check=True)

    def screen(self) -> str:
        words = [*self._tmux, "capture-pane", "-p", "-t", "seat:"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def until(self, what: str, found: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not found(screen := self.screen()):
            assert time.monotonic() < deadline, f"never came: {what}, but:\n{screen}"
            time.sleep(0.05)

    def shows(self, *texts: str) -> None:
        self.until(f"{texts}", lambda screen: all(text in screen for text in texts))

    def becomes(self, name: str, *words: str) -> None:
        """Wait for its row in the table."""

        def holds(screen: str) -> bool:
            lines = [line.split() for line in screen.splitlines()]
            return any(line[:1] == [name] and set(words) <= set(line) for line in lines)

        self.until(f"{name}: {words}", holds)


@pytest.fixture
def morning(tmp_path: Path) -> Iterator[Morning]:
    with begun(tmp_path) as found:
        found.fleet.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
        yield found


@pytest.fixture
def seat(morning: Morning) -> Iterator[Seat]:
    skip_without_terminals()  # it goes to a host
    found = Seat(morning.fleet)
    found.run(str(PROGRAM), "popup")
    yield found
    found.leave()


def test_a_person_sees_all_hosts_goes_there_and_back_and_stops_one(
    morning: Morning, seat: Seat
) -> None:
    fleet = morning.fleet
    seat.shows("no sessions yet", "q Close")
    seat.keys("h")
    seat.becomes("docs", "dev", "waiting")
    seat.becomes("train", "gpu", "working")
    seat.becomes("site", "build-1", "idle")
    seat.becomes("sweep", "spare", "idle")

    seat.keys("/", *"train", "Enter")
    seat.shows("1 of 5 match 'train'", "demo agent · conversation")  # as on the host
    seat.keys("Enter")
    seat.until("its own status line", lambda screen: "[train]" in screen)
    seat.keys("C-b", "d")
    seat.shows("1 of 5 match 'train'")

    seat.keys("/", *["BSpace"] * 5, *"docs", "Enter")
    seat.shows("1 of 5 match 'docs'")
    seat.keys("Enter")
    seat.shows("dev is not reached by ssh")

    seat.keys("/", "Escape")
    morning.relay.refusing = True
    morning.relay.cut()
    seat.shows("reach spare: ")
    seat.becomes("sweep", "spare", "unknown")
    seat.becomes("train", "gpu", "working")  # a host that is down delays no other

    seat.keys("/", *"site", "Enter")
    seat.shows("1 of 5 match 'site'")
    seat.keys("s")
    seat.shows("site@build-1: stopped")
    assert fleet.rows("build-1")["site"]["status"] == "stopped"
    assert fleet.rows("build-1")["api"]["status"] == "running"
    seat.keys("q")

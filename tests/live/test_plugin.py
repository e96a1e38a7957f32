"""The plugin on a real server, through a real client: one key, one popup, one agent less."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real import Real, alive, until
from tmuxreap.commands.watch.watch import Segment
from tmuxreap.core.model import Row
from tmuxreap.proof.sight import Sight
from tmuxreap.system.tmux.client import STATUS, STATUS_ASKED

pytestmark = pytest.mark.live

PLUGIN = Path(__file__).parent.parent.parent / "tmuxreap.tmux"
OUTER = [
    "tmux",
    "-u",
    "-f",
    "/dev/null",
    "-L",
    "outer",
]  # a server whose only pane is the client's terminal
COLOURS = re.compile(r"\x1b\[[0-9;]*?(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;)[0-9;]*m")


class Seat:
    """A user's terminal, attached to one session of the server."""

    def __init__(self, real: Real) -> None:
        self.real = real

    def attach(self, name: str, size: tuple[int, int] = (100, 30)) -> None:
        words = f"exec env -u TMUX -u TMUX_PANE tmux -u -S {self.real.socket} attach -t ={name}"
        place = ["-d", "-s", "seat", "-x", str(size[0]), "-y", str(size[1])]
        subprocess.run([*OUTER, "new-session", *place, words], check=True)
        subprocess.run(
            [*OUTER, "resize-window", "-t", "seat:", *place[3:]], check=True
        )  # 3.2a accepts no larger size
        until("a client", lambda: self.real.tmux("list-clients"))

    def keys(self, *keys: str) -> None:
        subprocess.run([*OUTER, "send-keys", "-t", "seat:", *keys], check=True)

    def screen(self, *flags: str) -> str:
        told = subprocess.run(
            [*OUTER, "capture-pane", "-p", *flags, "-t", "seat:"], capture_output=True, text=True
        )
        return told.stdout

    def shows(self, *texts: str) -> None:
        try:
            until(f"{texts} on the screen", lambda: all(text in self.screen() for text in texts))
        except AssertionError:
            raise AssertionError(f"{texts}, but:\n{self.screen()}") from None

    def opens(self) -> None:
        self.keys("C-b", "A")


@pytest.fixture
def seat(real: Real) -> Iterator[Seat]:
    real.tmux("new-session", "-d", "-s", "mine", "-c", str(real.folder), "sleep 600")
    words = f"env PYTHONPATH={PLUGIN.parent} {sys.executable} -m tmuxreap"
    real.tmux("set-option", "-g", "@tmuxreap-command", words)
    real.tmux("set-option", "-g", "@tmuxreap-registry", str(real.registry))
    seat = Seat(real)
    yield seat
    subprocess.run([*OUTER, "kill-server"], capture_output=True, check=False)


def plugin(real: Real, *words: str) -> None:
    real.tmux("run-shell", " ".join([str(PLUGIN), *words]))


def plain_popups(real: Real) -> None:
    """Remove the colors that next-3.8 gives a popup; 3.2a has no such options."""
    for option in ("popup-style", "popup-border-style"):
        words = ["tmux", "-S", real.socket, "set-option", "-gw", option, "fg=default,bg=default"]
        subprocess.run(words, capture_output=True, check=False)


def options(real: Real) -> str:
    return real.tmux("show-options", "-g")


def keys_of(real: Real) -> str:
    return real.tmux("list-keys")


def popups(real: Real) -> list[str]:
    """Return the popups on that server."""
    lines = {pid: _command_line(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    return [
        pid for pid, line in lines.items() if b"\0popup\0" in line and real.socket.encode() in line
    ]


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_one_key_opens_the_popup_and_another_stops_the_agent(seat: Seat) -> None:
    real = seat.real
    real.start("acme")
    pid = real.pid("acme")
    plugin(real)
    seat.attach("mine")
    seat.opens()
    seat.shows("NAME", "acme", "idle", "demo agent · conversation")
    seat.keys("s")
    seat.shows("acme: stopped, exited on its own exit keys", "acme  stopped", "step ")
    assert not alive(pid)
    assert real.row("acme")["status"] == "stopped"
    assert real.sessions() == {"mine"}
    seat.keys("q")
    until("the popup closed", lambda: "NAME" not in seat.screen())


def test_the_session_under_the_popup_is_stopped_to_the_end(seat: Seat) -> None:
    """The client leaves with the session, and the popup's terminal with the client."""
    real = seat.real
    real.start("acme")
    plugin(real)
    seat.attach("acme")
    seat.opens()
    seat.shows("acme", "idle")
    seat.keys("s")
    until("the row is stopped", lambda: real.row("acme")["status"] == "stopped")
    until("the popup is gone", lambda: not popups(real))
    (ended,) = real.events("stopped")
    assert ended["stopped_by"] == "exit_keys"
    assert real.show("acme")["processes"] == []
    with real.app() as app:
        assert not app.books.open_intents()


def test_enter_goes_to_the_session(seat: Seat) -> None:
    real = seat.real
    real.start("acme")
    plugin(real)
    plain_popups(real)
    seat.attach("mine", (40, 12))
    real.tmux("set-environment", "-g", "NO_COLOR", "1")
    seat.opens()
    seat.shows("acme", "idle")
    assert not COLOURS.search(seat.screen("-e").partition("└")[0])
    seat.keys("Enter")
    until(
        "the client is there", lambda: real.tmux("list-clients", "-F", "#{session_name}") == "acme"
    )
    until("the popup closed", lambda: not popups(real))


def test_loading_the_plugin_twice_adds_nothing_and_unloading_removes_all(seat: Seat) -> None:
    real = seat.real
    options_before, keys_before = options(real), keys_of(real)
    plugin(real)
    options_once, keys_once = options(real), keys_of(real)
    assert set(keys_once.splitlines()) - set(keys_before.splitlines())
    plugin(real)
    assert (options(real), keys_of(real)) == (options_once, keys_once)
    real.tmux("set-option", "-g", "@tmuxreap-key", "M-a")
    plugin(real)
    bound = [line for line in keys_of(real).splitlines() if "tmuxreap.tmux" in line]
    assert len(bound) == 1
    assert "M-a" in bound[0]
    real.tmux("set-option", "-gu", "@tmuxreap-key")
    plugin(real, "unload")
    assert (options(real), keys_of(real)) == (options_before, keys_before)


def test_a_key_that_is_taken_is_left(seat: Seat) -> None:
    real = seat.real
    real.tmux("bind-key", "-T", "prefix", "A", "display-message", "mine")
    before = keys_of(real)
    plugin(real)
    assert keys_of(real) == before


def without_textual(folder: Path) -> str:
    (folder / "textual.py").write_text("raise ModuleNotFoundError('as if', name='textual')\n")
    return f"env PYTHONPATH={folder}:{PLUGIN.parent} {sys.executable} -m tmuxreap"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (without_textual, "pipx install --force '.[all]'"),
        (lambda _: "no-such-tmuxreap", "no-such-tmuxreap"),
    ],
)
def test_a_missing_program_is_named_in_the_popup(
    seat: Seat, command: Callable[[Path], str], told: str, tmp_path: Path
) -> None:
    real = seat.real
    real.tmux("set-option", "-g", "@tmuxreap-command", command(tmp_path))
    plugin(real)
    seat.attach("mine")
    seat.opens()
    seat.shows(told)
    seat.keys("Escape")
    until("the popup closed", lambda: told not in seat.screen())


def test_the_segment_is_reported_where_it_is_asked_for(real: Real) -> None:
    real.start("acme")
    real.tmux("new-session", "-d", "-s", "mine", "sleep 600")

    def status() -> str:
        return real.tmux("show-options", "-gqv", STATUS)

    with real.app() as app:

        def sights() -> list[tuple[Row, Sight]]:
            rows = [row for row in app.registry.look().usable if row.status.value == "running"]
            return [
                (row, sight)
                for row, (sight, _) in zip(rows, app.sights.with_pasts(rows), strict=True)
            ]

        segment = Segment(app)
        segment.show(sights(), again=True)
        assert status() == ""
        real.tmux("set-option", "-g", STATUS_ASKED, "on")
        segment.show(sights(), again=False)
        assert status() == ""  # nothing changed: no tmux client ran
        segment.show(sights(), again=True)
        assert status() == "1 idle"
        os.kill(real.pid(), 9)
        until("the session closed", lambda: "acme" not in real.sessions())
        segment.show(sights(), again=False)
        assert status() == "no agents !1"
        real.tmux("set-option", "-g", "@tmuxreap-registry", "/else,where}/#{pid}")
        segment.unset()
        assert status() == "no agents !1"  # another registry's
        real.tmux("set-option", "-gu", "@tmuxreap-registry")
        segment.unset()
        assert status() == ""
        assert STATUS not in options(real)


def test_a_registry_with_any_path_is_the_same_registry(real: Real, tmp_path: Path) -> None:
    real.folder = tmp_path / "a,b}#{pid}#[x]"
    real.folder.mkdir()
    real.registry = real.folder / "agents.yaml"
    real.registry.write_text("tmux_sessions: []\n")
    real.start("acme")
    real.tmux("set-option", "-g", STATUS_ASKED, "on")
    real.tmux("set-option", "-g", "@tmuxreap-registry", str(real.registry))
    with real.app() as app:
        segment = Segment(app)
        (row,) = app.registry.look().usable
        segment.show([(row, sight) for sight, _ in app.sights.with_pasts([row])], again=True)
    assert real.tmux("show-options", "-gqv", STATUS) == "1 idle"


def test_the_plugin_is_valid_shell_and_executable() -> None:
    subprocess.run(["sh", "-n", str(PLUGIN)], check=True)
    assert os.access(PLUGIN, os.X_OK)


def test_a_stop_that_takes_its_time_is_hurried_by_a_kill(seat: Seat) -> None:
    real = seat.real
    real.start("acme", "--exit-delay", "60", "--ignore", "hup,term")
    plugin(real)
    seat.attach("mine")
    seat.opens()
    seat.shows("acme", "idle")
    seat.keys("s")
    seat.shows("exit keys")
    seat.keys("x")
    seat.shows("acme: killed, ended by SIGKILL")
    (ended,) = real.events("killed")
    assert ended["stopped_by"] == "sigkill"
    assert real.row("acme")["termination_mode"] == "kill"
    assert real.sessions() == {"mine"}

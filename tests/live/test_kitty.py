"""Panes of a real kitty, drawn in software on an X server without a screen. If these two are not
installed, tests/live/test_headless.py has stand-ins that answer in the same way."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GUARD
from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.commands import adopt
from tmuxreap.core.model import EndVerb

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        not (shutil.which("kitty") and shutil.which("Xvfb")), reason="no kitty, or no Xvfb"
    ),
]


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Real:
    return Real(tmux_socket, tmp_path)


# The environment of the test that opens a window: kitty itself was started earlier.
OF_THE_TEST = (GUARD, "HOME", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "SHELL", "PYTHONPATH")


class Kitty:
    """One OS window of kitty, with an agent in its own window next to a neighbor's."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, *words: str) -> str:
        told = subprocess.run(
            ["kitty", "@", "--to", self.address, *words], capture_output=True, text=True, check=True
        )
        return told.stdout.strip()

    def tell(self, command: str, **payload: str) -> str:
        """Do what `kitty @` does, without its startup: the requests are frequent."""
        asked = {"cmd": command, "version": [0, 20, 0], "payload": payload}
        with socket.socket(socket.AF_UNIX) as there:
            there.connect(self.address.removeprefix("unix:"))
            there.sendall(f"\x1bP@kitty-cmd{json.dumps(asked)}\x1b\\".encode())
            heard = b""
            while not heard.endswith(b"\x1b\\") and (part := there.recv(65536)):
                heard += part
        told = json.loads(heard.removeprefix(b"\x1bP@kitty-cmd").removesuffix(b"\x1b\\"))
        assert told["ok"], told
        return str(told["data"])

    def answers(self) -> bool:
        try:
            return bool(self.windows())
        except OSError:  # not listening yet
            return False

    def open(self, *words: str) -> str:
        known = [f"--env={name}={os.environ[name]}" for name in OF_THE_TEST if name in os.environ]
        return self.ask("launch", "--type=window", *known, *words)

    def windows(self) -> dict[str, int]:
        """Return each window's number, and the process that kitty started in it."""
        return {
            str(window["id"]): int(window["pid"])
            for os_window in json.loads(self.tell("ls"))
            for tab in os_window["tabs"]
            for window in tab["windows"]
        }

    def shows(self, window: str, text: str) -> bool:
        return text in self.tell("get-text", match=f"id:{window}")


# It takes a second to start: one worker runs all its tests (tests/together.py).
@pytest.fixture(scope="module")
def begun() -> Iterator[str]:
    """Return the address of a kitty with the neighbor's window."""
    folder = tempfile.mkdtemp(prefix="tk", dir="/tmp")
    of_nobody = {name: value for name, value in os.environ.items() if name != GUARD}
    told, telling = os.pipe()
    xvfb = subprocess.Popen(
        ["Xvfb", "-displayfd", str(telling), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=(telling,),
        env=of_nobody,
        stderr=subprocess.DEVNULL,
    )
    os.close(telling)
    with os.fdopen(told) as display:
        screen = f":{display.readline().strip()}"
    kitty, log = Kitty(f"unix:{folder}/k"), Path(folder, "kitty.log")
    environ = {**of_nobody, "DISPLAY": screen, "LIBGL_ALWAYS_SOFTWARE": "1", "LANG": "C.UTF-8"}
    words = ["-o", "allow_remote_control=yes", "-o", "linux_display_server=x11"]
    with log.open("wb") as said:
        program = subprocess.Popen(
            ["kitty", "--listen-on", kitty.address, *words, "sleep", "6000"],
            env={**environ, "HOME": folder, "XDG_RUNTIME_DIR": folder},
            stdout=said,
            stderr=said,
        )
    try:
        until(f"kitty: {log.read_text()}", kitty.answers)
        yield kitty.address
    finally:
        for process in (program, xvfb):
            process.terminate()
            process.wait()
        shutil.rmtree(folder)


@pytest.fixture
def kitty(real: Real, begun: str) -> Iterator[Kitty]:
    """Return the kitty, restored after each test."""
    one = Kitty(begun)
    neighbours = one.windows()
    yield one
    after = Kitty(begun)
    for window in after.windows().keys() - neighbours.keys():
        after.ask("close-window", "--match", f"id:{window}")
    until("the neighbour alone", lambda: after.windows() == neighbours)


def adopted(
    real: Real, kitty: Kitty, window: str, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> dict[str, Any]:
    with monkeypatch.context() as within:
        within.setenv("KITTY_LISTEN_ON", kitty.address)
        with real.app() as app:
            return answer(
                adopt.run(app, adopt.AdoptRequest("acme", "demo", pane=f"kitty:{window}", **more))
            )


@pytest.mark.parametrize("verb", [EndVerb.STOP, EndVerb.KILL], ids=lambda verb: verb.value)
def test_an_agent_in_a_kitty_window_is_adopted_and_ended_with_it(
    real: Real, kitty: Kitty, verb: EndVerb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From elsewhere, through the address in its row. The neighbor's window stays."""
    window = kitty.open(*DEMO, "--spawn", "1")
    until("the agent", lambda: kitty.shows(window, "demo agent"))
    pid = kitty.windows()[window]
    told = adopted(real, kitty, window, monkeypatch)
    assert (told["live"], told["pid"], told["pane_id"]) == ("alive", pid, window)
    row = real.row()
    assert (row["terminal"], row["pane"]["listen_on"]) == ("kitty", kitty.address)
    helpers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    result = real.stop() if verb is EndVerb.STOP else real.kill()
    assert (int(result.exit), answer(result)["error"]) == (0, None)
    assert not any(alive(one) for one in (pid, *map(int, helpers)))
    assert list(kitty.windows().values()) == [pid for pid in kitty.windows().values() if alive(pid)]
    assert window not in kitty.windows() and len(kitty.windows()) == 1
    assert real.row()["status"] == "stopped"


def test_a_window_that_stays_open_is_closed(
    real: Real, kitty: Kitty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared daemon started in it keeps its terminal open, and lives on: kitty closes it."""
    daemon = real.folder / "ssh-agent"
    daemon.write_text(f"#!/bin/sh\necho $$ >{real.folder}/pid\nsleep 600\n")
    daemon.chmod(0o755)
    window = kitty.open("sh", "-c", f"setsid {daemon} & exec {' '.join(DEMO)}")
    until("the agent", lambda: kitty.shows(window, "demo agent"))
    adopted(real, kitty, window, monkeypatch)
    result = real.kill()
    assert (int(result.exit), answer(result)["error"]) == (0, None)
    shared = int((real.folder / "pid").read_text())
    until("the end of the window", lambda: window not in kitty.windows())  # kitty answers before
    assert alive(shared)
    os.killpg(shared, 9)


def test_a_window_reused_by_another_is_left_alone(
    real: Real, kitty: Kitty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number is in the row, but its process is not the recorded one."""
    window = kitty.open(*DEMO)
    until("the agent", lambda: kitty.shows(window, "demo agent"))
    adopted(real, kitty, window, monkeypatch)
    agent = kitty.windows()[window]
    os.kill(agent, 9)
    until("its end", lambda: not alive(agent) and window not in kitty.windows())
    (other,) = kitty.windows()
    real.edit(f'id: "{window}"', f'id: "{other}"')
    assert answer(real.kill())["stopped_by"] == "already_gone"
    assert list(kitty.windows()) == [other]


def test_no_such_window_and_no_such_kitty_are_reported(
    real: Real, kitty: Kitty, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = real.fails(lambda: adopted(real, kitty, "99", monkeypatch))
    assert (failure.code.text, "has no such pane" in failure.message) == ("no_tracked_pid", True)
    kitty.address += "-elsewhere"
    failure = real.fails(lambda: adopted(real, kitty, "1", monkeypatch))
    assert (failure.code.text, "kitty said" in failure.message) == ("no_tracked_pid", True)


def test_a_session_in_kitty_is_not_started_a_second_time(
    real: Real, kitty: Kitty, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = kitty.open(*DEMO)
    until("the agent", lambda: kitty.shows(window, "demo agent"))
    adopted(real, kitty, window, monkeypatch)
    failure = real.fails(real.start)
    assert (failure.code.text, real.sessions()) == ("session_exists", set())
    real.kill()


def test_a_person_adopts_from_within(real: Real, kitty: Kitty) -> None:
    """In a window next to it, where kitty itself provides the address."""
    window = kitty.open(*DEMO)
    until("the agent", lambda: kitty.shows(window, "demo agent"))
    words = [sys.executable, "-m", "tmuxreap", "adopt", "acme", "--agent", "demo", "--json"]
    call = " ".join([*words, "--pane", f"kitty:{window}", "--registry", str(real.registry)])
    out = real.folder / "out"
    kitty.open("sh", "-c", f"cd {os.getcwd()}; {call} >{out}.new 2>&1; mv {out}.new {out}")
    until("its answer", out.exists)
    assert json.loads(out.read_text())["ok"], out.read_text()
    assert real.row()["pane"]["listen_on"].startswith("unix:")
    assert answer(real.stop())["outcome"] == "stopped"
    assert window not in kitty.windows()

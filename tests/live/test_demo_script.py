"""`scripts/demo` does what it says, fails visibly if the promise is broken, and leaves nothing
behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DEMO = ROOT / "scripts" / "demo"
LIMIT_S = 180

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        not (ROOT / ".venv" / "installed-from").exists(), reason="./scripts/test makes the venv"
    ),
]


class Show:
    """A running demo, read line by line."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [DEMO],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []

    def until(self, beginning: str) -> Show:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith(beginning):
                return self
        raise AssertionError(f"{beginning!r} never came:\n" + "\n".join(self.lines))

    def end(self) -> int:
        rest, _ = self.process.communicate(timeout=LIMIT_S)
        self.lines += rest.splitlines()
        return self.process.returncode

    @property
    def world(self) -> Path:
        """Return the folder of the demo."""
        (folder,) = {
            match
            for line in self.lines
            for match in re.findall(r"folder +(/tmp/tmuxreap\.\w+)/shop", line)
        }
        return Path(folder)


@pytest.fixture
def show(no_leftovers: None) -> Iterator[Show]:
    """Run the demo. The guard checks for leftover processes, including those of the demo's tmux
    server."""
    show = Show()
    yield show
    if show.process.poll() is None:
        os.killpg(show.process.pid, signal.SIGKILL)
    show.process.communicate()


def test_the_demo_does_what_it_says_and_leaves_nothing(show: Show) -> None:
    assert show.end() == 0, "\n".join(show.lines)
    text = "\n".join(show.lines)
    for line in (
        "shop: running, alive",
        "  | assistant: You said: remember: the tests need a database",
        "-    status: running",
        "+    status: stopped",
        "+    stopped_by: exit_keys",
        "+    resumable: true",
        "  | user: remember: the tests need a database",
    ):
        assert line in show.lines, text
    assert (
        len(
            re.findall(
                r"^shop: stopped, exited on its own exit keys, \d+\.\d s$", text, re.MULTILINE
            )
        )
        == 2
    )
    assert "hanging up" not in text  # it had exited: only its session is closed
    assert "shop: already stopped (manual_stop at " in text
    before, after = re.findall(r"\| demo agent · conversation (\S+)", text)
    assert before == after
    assert not show.world.exists()


def test_an_interrupted_demo_leaves_nothing(show: Show) -> None:
    show.until("  | assistant: You said")
    os.killpg(show.process.pid, signal.SIGINT)
    assert show.end() == 130
    assert not show.world.exists()


def test_a_conversation_that_is_lost_is_a_loud_failure(show: Show) -> None:
    show.until("  | assistant: You said")
    shutil.rmtree(show.world / "home" / ".tmuxreap-demo" / "conversations")
    assert show.end() == 1
    assert "demo: FAILED" in show.lines[-1]
    assert not show.world.exists()

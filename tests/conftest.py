"""What tests stand on: a story told with fakes; for the real thing a private tmux server, and a
guard against processes left behind."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import warm, workers
from tests.fakes import Story
from tests.real import Real
from tmuxreap.system.processes import procfs

GUARD = "TESTED_BY"
LEAVING_S = 20.0


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("workers")
    group._addoption("-n", dest="workers", type=int, default=0, help="so many tests at a time")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    how_many = session.config.getoption("workers")
    if not how_many or session.testsfailed or session.config.option.collectonly:
        return None
    workers.run(session, how_many)
    return True


def pytest_unconfigure() -> None:
    warm.end()


def pytest_collection_finish() -> None:
    """What was read in so far is never garbage: not searched again and again, not copied by each
    fork that searches."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    _hear_signals()
    warm.begin()


def _hear_signals() -> None:
    """Who begins this in the background, or with nohup, lets it ignore these, and each program that
    a test interrupts would, too."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(
                number,
                signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL,
            )


@pytest.fixture(scope="session", autouse=True)
def own_world() -> Iterator[None]:
    """Gives each run, and each worker of a run, its own HOME and its own place for tmux servers."""
    home = tempfile.mkdtemp(prefix="tw", dir=os.environ.get("TMUX_TMPDIR", "/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "TMUX_TMPDIR"):
            patch.setenv(name, home)
        yield
    shutil.rmtree(home)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """The whole program, on fakes."""
    told = Story(tmp_path)
    yield told
    told.close()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where one may be made, in the working directory; no tmux server runs, and nothing is set."""
    folder = tempfile.mkdtemp(prefix="tr", dir="/tmp")
    for name in ("TMUX", "TMUX_PANE", "TMUXREAP_REGISTRY", "TMUXREAP_FAULT", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("TMUX_TMPDIR", "HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, folder)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".hermes").mkdir()
    yield tmp_path / ".hermes" / "agent-sessions.yaml"
    shutil.rmtree(folder)


@pytest.fixture
def no_leftovers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test that leaves a process behind, and ends the process: found by a mark in the
    environment."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(GUARD, mark)
    yield
    left = has_left(mark)
    for pid in left:
        os.kill(pid, 9)
    assert not left, f"left behind: {left}"


def has_left(mark: str) -> dict[int, str]:
    """Who has not left in the time that leaving takes."""
    until = time.monotonic() + LEAVING_S
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def marked(mark: str) -> dict[int, str]:
    """Living processes with that mark, and what they are."""
    wanted, found = f"{GUARD}={mark}".encode(), {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = procfs.read(f"/proc/{name}/environ")  # of all processes, after each test
            if wanted in environ and wanted in environ.split(b"\0") and int(name) != os.getpid():
                found[int(name)] = " ".join(procfs.argv_in(f"/proc/{name}"))
        except OSError:
            continue
    return found


@pytest.fixture
def tmux_socket(no_leftovers: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The path of a socket for a private server: short, for sun_path; no configuration of a user's
    is read."""
    folder = tempfile.mkdtemp(prefix="tr", dir="/tmp")
    socket = f"{folder}/s"
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("TMUX_PANE", raising=False)
    monkeypatch.setenv("TMUX_TMPDIR", folder)
    monkeypatch.setenv("HOME", folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield socket
    for private in [socket, *map(str, Path(folder).glob("tmux-*/*"))]:
        subprocess.run(
            ["tmux", "-N", "-S", private, "kill-server"],
            capture_output=True,
            timeout=60,
            check=False,
        )
        after = subprocess.run(
            ["tmux", "-N", "-S", private, "list-sessions"],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert after.returncode != 0, f"the server on {private} lives on"
    has_left(os.environ[GUARD])  # an agent that is leaving tidies up in here, too
    shutil.rmtree(folder)


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Real:
    """The whole program on that server; agents are started in other folders than this."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    return Real(tmux_socket, tmp_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "LONG" not in os.environ:
        left_out = [item for item in items if item.get_closest_marker("only_long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if item.get_closest_marker("live") and isinstance(item, pytest.Function):
            item.fixturenames.insert(0, "no_leftovers")

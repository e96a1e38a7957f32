"""Shared fixtures: a whole program on fakes; for live tests a private tmux server, and a guard
against leftover processes."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import warm
from tests.fakes import Story
from tests.kinds import RealKind
from tests.real import Real, until
from tests.together import order_of
from tmuxreap.system import files, whereabouts
from tmuxreap.system.processes import procfs

GUARD = "TESTED_BY"
LEAVING_S = 20.0
COLLECTED_AT = (50_000, 50, 50)  # rarely: a worker lives for three minutes


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was skipped and for what: a quick run must not look complete."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
    )
    if reasons:
        each = ", ".join(f"{why} ({count})" for why, count in reasons.most_common())
        terminalreporter.write_line(f"{reasons.total()} tests skipped, for: {each}")


def pytest_unconfigure() -> None:
    warm.end()


def pytest_collection_finish() -> None:
    if "hypothesis" in sys.modules:
        _make_properties_patient()
    _freeze()


def _make_properties_patient() -> None:
    """Let no property fail because the machine is slow: only CI has this by default."""
    from hypothesis import HealthCheck, settings  # few files need it

    slow = [HealthCheck.too_slow]
    settings.register_profile("patient", settings(), deadline=None, suppress_health_check=slow)
    settings.load_profile("patient")


def _freeze() -> None:
    """Exempt everything imported so far from garbage collection, which would traverse it repeatedly
    and copy its pages in each fork."""
    gc.freeze()
    gc.set_threshold(*COLLECTED_AT)
    gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin only where no registry is found upwards: each test in an empty folder would use it."""
    if _is_worker(session.config):
        return
    if above := _registries_above(session.config):
        pytest.exit(f"could not begin: {above[0]} is above the tests; move it away", returncode=2)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that wrote a registry above its own folder."""
    if _is_worker(session.config):
        return
    if above := _registries_above(session.config):
        pytest.exit(f"a test has written {above[0]}, above its own folder", returncode=1)


def _is_worker(config: pytest.Config) -> bool:
    """Tell whether this process is one of several that share the tests."""
    return hasattr(config, "workerinput")


def _registries_above(config: pytest.Config) -> list[Path]:
    base = Path(config.option.basetemp or tempfile.gettempdir()).resolve()
    named = [folder / whereabouts.REGISTRY for folder in (base, *base.parents)]
    return [registry for registry in named if os.path.lexists(registry)]


def pytest_configure(config: pytest.Config) -> None:
    if not config.option.numprocesses:  # who only hands out tests collects none
        gc.disable()
    _hear_signals()
    warm.begin()


def _hear_signals() -> None:
    """Reset signals ignored because of `&` or nohup: programs that a test interrupts would inherit
    that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(
                number,
                signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL,
            )


@pytest.fixture(scope="session", autouse=True)
def own_world() -> Iterator[None]:
    """Give each run, and each of its workers, its own HOME and tmux socket folder."""
    home = tempfile.mkdtemp(prefix="tw", dir=os.environ.get("TMUX_TMPDIR", "/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "TMUX_TMPDIR"):
            patch.setenv(name, home)
        # Broken registries that tests have just written are answered at once.
        patch.setattr(files, "SETTLES_S", 0.0)
        yield
    shutil.rmtree(home)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Return the whole program, on fakes."""
    told = Story(tmp_path)
    yield told
    told.close()


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the test a working directory, home and tmux folder of its own."""
    folder = tempfile.mkdtemp(prefix="tr", dir="/tmp")  # short: sockets have short names
    for name in ("TMUX", "TMUX_PANE", "TMUXREAP_REGISTRY", "TMUXREAP_FAULT", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("TMUX_TMPDIR", "HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, folder)
    monkeypatch.chdir(tmp_path)
    yield
    shutil.rmtree(folder)


@pytest.fixture
def registry(apart: None, tmp_path: Path) -> Path:
    """Return a path for a registry in the working directory, without tmux servers or settings."""
    (tmp_path / ".hermes").mkdir()
    return tmp_path / ".hermes" / "agent-sessions.yaml"


@pytest.fixture
def no_leftovers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[int, str]]]:
    """Fail a test that leaves a process behind, and end it. A mark in the environment identifies
    the process. Who has waited for the end of all adds what it has found."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(GUARD, mark)
    looks: list[dict[int, str]] = []
    yield looks
    left = has_left(mark) if {} not in looks else {}
    for pid in left:
        os.kill(pid, 9)
    assert not left, f"left behind: {left}"


def has_left(mark: str) -> dict[int, str]:
    """Return the processes with the mark that have not exited within `LEAVING_S`."""
    until = time.monotonic() + LEAVING_S
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def marked(mark: str) -> dict[int, str]:
    """Return the live processes with the mark, and their command lines."""
    wanted, found = f"{GUARD}={mark}".encode(), {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = procfs.read(f"/proc/{name}/environ")  # of each process, after each test
            if wanted in environ and wanted in environ.split(b"\0") and int(name) != os.getpid():
                found[int(name)] = " ".join(procfs.argv_in(f"/proc/{name}"))
        except OSError:
            continue
    return found


def is_served(path: str) -> bool:
    """Tell whether a server listens there, without starting a client."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def end_server(path: str) -> None:
    words = ["tmux", "-N", "-S", path, "kill-server"]
    subprocess.run(words, capture_output=True, timeout=60, check=False)
    until(f"the end of the server on {path}", lambda: not is_served(path))


@pytest.fixture
def tmux_socket(
    no_leftovers: list[dict[int, str]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Return the socket path for a private server without user configuration; short, for
    sun_path."""
    folder = tempfile.mkdtemp(prefix="tr", dir="/tmp")
    path = f"{folder}/s"
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("TMUX_PANE", raising=False)
    monkeypatch.setenv("TMUX_TMPDIR", folder)
    monkeypatch.setenv("HOME", folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield path
    for private in [path, *map(str, Path(folder).glob("tmux-*/*"))]:
        if is_served(private):
            end_server(private)
    # An exiting agent still cleans up in here.
    no_leftovers.append(has_left(os.environ[GUARD]))
    shutil.rmtree(folder)


@pytest.fixture
def real(
    request: pytest.FixtureRequest,
    tmux_socket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Real:
    """Return the whole program on that server; agents are started in other folders. A test of
    several kinds of agents gets one for each."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    kind = getattr(request, "param", None)
    return Real(tmux_socket, tmp_path) if kind is None else RealKind(kind, tmux_socket, tmp_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "LONG" not in os.environ:
        left_out = [item for item in items if item.get_closest_marker("only_long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if _is_worker(config):
        workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        items[:] = [items[number] for number in order_of([item.nodeid for item in items], workers)]
    for item in items:
        if item.get_closest_marker("live") and isinstance(item, pytest.Function):
            item.fixturenames.insert(0, "no_leftovers")

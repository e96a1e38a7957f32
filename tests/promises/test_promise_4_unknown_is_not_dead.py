"""Promise 4: "no such session", "no server" and "could not be asked" differ: on the last nothing is
written."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kinds import FEW, for_each
from tests.real import Real, alive, answer, freeze, until
from tmuxreap.core.results import Result
from tmuxreap.system.tmux.server import RealTmux

pytestmark = pytest.mark.live


def files(real: Real) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in real.folder.iterdir() if file.is_file()}


def server_pid(real: Real) -> int:
    return int(real.tmux("display-message", "-p", "#{pid}"))


def refuses(real: Real, code: str, status: int) -> None:
    """Stop, kill, list and show: nothing is ended and nothing is written."""
    before = files(real)
    ends: list[Callable[[], Result]] = [real.stop, real.kill]
    for end in ends:
        result = end()
        item = answer(result)
        assert (item["error"]["code"], int(result.exit)) == (code, status)
        assert item["status"] in ("running", None)
    (listed,) = real.list()
    assert (listed["live"], listed["drift"]) == ("unknown", None)
    assert files(real) == before


@pytest.fixture
def agent(real: Real) -> Iterator[int]:
    real.start()
    pid = real.pid()
    with real.app() as app:  # the ledger exists, with its journal
        app.books.heartbeats()
    yield pid
    assert alive(pid)
    real.other_tmux = None
    assert answer(real.stop())["outcome"] == "stopped"


def test_a_missing_tmux_program_does_not_mean_dead(real: Real, agent: int) -> None:
    real.other_tmux = RealTmux(os.environ, program="no-such-tmux")
    refuses(real, "tmux_missing", 4)


def test_a_deleted_socket_of_a_living_server_does_not_mean_dead(real: Real, agent: int) -> None:
    server = server_pid(real)
    Path(real.socket).unlink()
    refuses(real, "tmux_unreachable", 4)
    os.kill(server, signal.SIGUSR1)
    until("the socket", lambda: Path(real.socket).exists() and real.sessions() == {"acme"})


@for_each(FEW)
def test_a_server_that_hangs_does_not_mean_dead(real: Real, agent: int) -> None:
    server = server_pid(real)
    freeze(server)
    try:
        real.other_tmux = RealTmux(os.environ, timeout_s=0.2)
        refuses(real, "tmux_unreachable", 4)
    finally:
        os.kill(server, signal.SIGCONT)


def test_a_file_in_place_of_the_socket_is_unreachable_not_dead(real: Real, agent: int) -> None:
    Path(real.socket).rename(f"{real.socket}.moved")
    Path(real.socket).write_text("")
    refuses(real, "tmux_unreachable", 4)
    Path(f"{real.socket}.moved").rename(real.socket)


def test_a_row_of_another_host_is_refused(real: Real, agent: int) -> None:
    text = real.registry.read_text()
    with real.app() as app:
        host = app.place.host
    real.edit(f"host: {host}", "host: elsewhere")
    refuses(real, "tmux_unreachable", 4)
    real.registry.write_text(text)


def test_no_server_and_no_session_are_answers(real: Real) -> None:
    real.start("one")
    real.start("two")
    one = real.pid("one")
    os.kill(one, signal.SIGKILL)
    until("its end", lambda: real.sessions() == {"two"})
    assert {row["name"]: row["live"] for row in real.list()} == {"one": "gone", "two": "alive"}
    assert answer(real.stop("one"))["stopped_by"] == "already_gone"
    two = real.pid("two")
    real.tmux("kill-server")
    until("the end of the server", lambda: not alive(two) and not real.sessions())
    assert answer(real.stop("two"))["stopped_by"] == "already_gone"
    assert {row["status"] for row in real.list()} == {"stopped"}

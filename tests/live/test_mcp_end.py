"""The end of an MCP server, by its client or a signal: what was begun is finished."""

from __future__ import annotations

import os
import signal

import pytest

from tests.live.test_bulk import call
from tests.mcp_client import WHOLE, ByHand, kept
from tests.real import Real, alive, until

pytestmark = pytest.mark.live


def slow(real: Real) -> ByHand:
    """A client with a stop in progress: the agent is slow to exit."""
    real.start("acme", "--exit-delay", "1.5")
    client = ByHand(real, WHOLE)
    client.call(1, "stop_session", targets=["acme"], reason="night")
    until("the keys", lambda: kept(real))
    return client


def test_a_begun_ending_is_finished_when_the_client_leaves(real: Real) -> None:
    client = slow(real)
    status, _ = client.leaves()
    assert status == 0
    assert (real.row()["status"], real.row()["stopped_by"]) == ("stopped", "exit_keys")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_signal_between_the_keys_leaves_the_pane_as_it_was(
    real: Real, number: signal.Signals
) -> None:
    client = slow(real)
    client.server.send_signal(number)
    status, _ = client.leaves()
    assert status == 130
    assert (real.row()["status"], kept(real)) == ("running", "")


def test_a_stop_that_a_signal_interrupted_is_finished_by_reconcile(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term")
    pid = real.pid()
    client = ByHand(real, WHOLE)
    client.call(1, "stop_session", targets=["acme"], reason="night", keys_timeout=0, grace=60)
    until("the hangup", lambda: not real.sessions())
    client.server.terminate()
    status, _ = client.leaves()
    assert (status, alive(pid), real.row()["status"]) == (130, True, "running")
    os.kill(pid, signal.SIGKILL)
    until("its death", lambda: not alive(pid))
    assert call(real, "reconcile").returncode == 0
    assert (real.row()["status"], real.row()["stop_reason"]) == ("stopped", "night")


def test_a_signal_to_an_idle_server_ends_it(real: Real) -> None:
    client = ByHand(real, WHOLE)
    client.server.terminate()
    assert client.leaves() == (0, [])


def test_a_client_that_died_ends_the_server_in_silence(real: Real) -> None:
    client = ByHand(real)
    assert client.server.stdout
    client.call(1, "list_sessions")
    client.server.stdout.close()
    client.call(2, "list_sessions")
    status, _ = client.leaves()
    assert status in (0, 1)

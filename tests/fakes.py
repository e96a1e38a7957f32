"""The three seams as histories, true to what was measured: tests/contract holds fakes and real ones to the same."""

from tests.fake_processes import OWN_PID, FakeClock, FakeProcess, FakeProcesses
from tests.fake_tmux import FakePane, FakeServer, FakeSession, FakeTmux

__all__ = [
    "OWN_PID",
    "FakeClock",
    "FakePane",
    "FakeProcess",
    "FakeProcesses",
    "FakeServer",
    "FakeSession",
    "FakeTmux",
]

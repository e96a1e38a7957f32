"""What processes use: processor time and ports."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.real import until
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.system.processes.linux import real_processes
from tmuxreap.system.processes.portable import usage_of

BUSY = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("", 0)) as other:
    print(server.getsockname()[1], other.getsockname()[1], flush=True)
    while True: pass
"""


def identity(seam: Processes, pid: int) -> ProcessId:
    found = seam.identify(pid)
    assert found is not None
    return found


def test_processor_time_and_ports_are_reported() -> None:
    seam = real_processes()
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as busy:
        try:
            assert busy.stdout is not None
            ports = sorted(map(int, busy.stdout.readline().split()))
            known = identity(seam, busy.pid)
            stranger = ProcessId(os.getpid(), 1)  # our pid, but started at another time
            # On a busy machine it may get no processor within a sample.
            until("its processor time", lambda: seam.usage([known])[known].cpu_percent > 0)
            used = seam.usage([known, stranger])
        finally:
            busy.kill()
    assert used.keys() == {known}
    assert list(used[known].ports) == ports
    assert used[known].cpu_s > 0
    assert seam.usage([known]) == {}


def test_no_processes_means_nothing_is_measured() -> None:
    assert usage_of([]) == {}

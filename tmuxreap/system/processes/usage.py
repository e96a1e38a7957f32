"""Measures by psutil what processes use: processor time, and the ports they listen on. For `show`
and `doctor` alone, of a session's processes: a look at all of them is far slower than by /proc.

Never decides whether a pid is still the same process: the caller does."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

import psutil

from tmuxreap.core.model import Usage

SAMPLE_S = 0.1  # the kernel counts in hundredths of a second


def usage_of(pids: Iterable[int]) -> dict[int, Usage]:
    """Return what each of these uses now; what is gone or not readable is missing."""
    handles: dict[int, psutil.Process] = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            handles[pid] = psutil.Process(pid)
            handles[pid].cpu_percent()  # the beginning of the sample
    if not handles:
        return {}
    time.sleep(SAMPLE_S)
    used: dict[int, Usage] = {}
    for pid, handle in handles.items():
        with contextlib.suppress(psutil.Error):
            used[pid] = _usage(handle)
    return used


def _usage(handle: psutil.Process) -> Usage:
    percent = handle.cpu_percent()
    times = handle.cpu_times()
    return Usage(round(times.user + times.system, 2), percent, _ports(handle))


def _ports(handle: psutil.Process) -> tuple[int, ...]:
    """Return the TCP ports that it listens on; none where they may not be read."""
    try:
        connections = handle.net_connections("tcp")
    except psutil.AccessDenied:
        return ()
    return tuple(sorted({it.laddr.port for it in connections if it.status == psutil.CONN_LISTEN}))

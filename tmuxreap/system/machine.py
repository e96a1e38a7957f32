"""Owns the real clock, the deferring of interrupts, and the control group that we run in: ending a
group ends everything in it. Never sleeps: the processes port does the waiting. Never creates or
ends a group."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

# Linux has its own clock for it; on macOS the monotonic clock goes on while the machine sleeps.
BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> float:
        return time.clock_gettime(BOOT_CLOCK)


UNIFIED = "0::"
NAMED = "name=systemd:"
INIT = 1
BUS = "systemd/private"  # where systemd listens
SYSTEM_BUS = "/run/systemd/private"


def group_of(pid: int | str) -> str | None:
    """Return the path of a process's control group as systemd sees it; None without one."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    named = (line.partition(NAMED)[2] for line in lines if NAMED in line)
    unified = (line.removeprefix(UNIFIED) for line in lines if line.startswith(UNIFIED))
    return next((path for path in (*unified, *named) if path), None)


def is_alone() -> bool:
    """Tell whether our group can be ended without ending the whole machine or container."""
    group = group_of("self")
    return group not in (None, "/", group_of(INIT))


def escape_prefix(uid: int, environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the command prefix that runs a command outside of our group: empty where that is the
    machine's own; None where systemd cannot be used."""
    if not is_alone():
        return ()
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{uid}"
    words = ("systemd-run", "--scope", "--quiet", "--collect")
    if uid and Path(runtime, BUS).exists():
        return ("env", f"XDG_RUNTIME_DIR={runtime}", words[0], "--user", *words[1:], "--")
    if not uid and Path(SYSTEM_BUS).exists():
        return (*words, "--")
    return None


INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_library_calls: list[None] = []  # one item per call in progress from a host program's main thread


@contextlib.contextmanager
def keep_signal_handlers() -> Iterator[None]:
    """Leave all signal handlers alone in here: they belong to the program that imports us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _library_calls.append(None)
    try:
        yield
    finally:
        _library_calls.pop()


def may_handle_signals() -> bool:
    """Tell whether handlers are ours to set: Python runs them in the main thread only, and in a
    library call they belong to the host program."""
    return not _library_calls and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer interrupts for some milliseconds and raise them afterwards.

    Replaces handlers rather than blocking signals: a mask applies to one thread, while a signal to
    the process may reach any; and a tmux server started meanwhile would inherit the mask."""
    if not may_handle_signals():
        yield
        return
    deferred: list[int] = []

    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    handled = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in handled:
            signal.signal(number, lambda signum, _: deferred.append(signum))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for signum in deferred:
            signal.raise_signal(signum)

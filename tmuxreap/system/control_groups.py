"""The control group that we run in, and how to leave it: ending a group ends everything in it.

Reads /proc/PID/cgroup and builds systemd-run command lines. Never creates or ends a group."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

UNIFIED, NAMED = "0::", "name=systemd:"
INIT = 1
BUS, SYSTEM_BUS = "systemd/private", "/run/systemd/private"  # where systemd listens


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
    return (*words, "--") if not uid and Path(SYSTEM_BUS).exists() else None

"""The control group that we run in, and the way out of it: whoever ends a group ends all in it.

Owns the reading of /proc/PID/cgroup and the words of systemd-run. Makes no group and ends none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

UNIFIED, NAMED = "0::", "name=systemd:"
INIT = 1
BUS, SYSTEM_BUS = "systemd/private", "/run/systemd/private"  # where a manager listens


def group_of(pid: int | str) -> str | None:
    """The path of its group as systemd counts; None where the kernel has none."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    named = (line.partition(NAMED)[2] for line in lines if NAMED in line)
    unified = (line.removeprefix(UNIFIED) for line in lines if line.startswith(UNIFIED))
    return next((path for path in (*unified, *named) if path), None)


def is_alone() -> bool:
    """Whether our group can be ended without the whole machine, or container."""
    ours = group_of("self")
    return ours not in (None, "/", group_of(INIT))


def way_out(uid: int, environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Words before a command that run it outside of our group: none are needed where that is
    everybody's; None where there is no way."""
    if not is_alone():
        return ()
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{uid}"
    words = ("systemd-run", "--scope", "--quiet", "--collect")
    if uid and Path(runtime, BUS).exists():
        return ("env", f"XDG_RUNTIME_DIR={runtime}", words[0], "--user", *words[1:], "--")
    return (*words, "--") if not uid and Path(SYSTEM_BUS).exists() else None

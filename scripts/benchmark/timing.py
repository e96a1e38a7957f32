"""Timing in one run: contenders take turns, so that other load affects all of them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ENOUGH = 20  # samples, for a 95th percentile


@dataclass
class Samples:
    """Samples in seconds; `less` is the agent's own time, which nothing can save."""

    seconds: list[float] = field(default_factory=list)
    less: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) - self.less

    @property
    def p95(self) -> float | None:
        """Return None where it would only be the slowest of a few."""
        if len(self.seconds) < ENOUGH:
            return None
        return statistics.quantiles(self.seconds, n=20)[-1] - self.less


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def in_turns(
    contenders: Mapping[str, Callable[[], object]],
    turns: int,
    less: float = 0.0,
    before: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, Samples]:
    """Time the contenders in turn; `before` runs before each turn, untimed."""
    samples = {name: Samples(less=less) for name in contenders}
    for turn in range(turns):
        names = list(contenders)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if before and name in before:
                before[name]()
            samples[name].seconds.append(timed(contenders[name]))
    return samples


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """Return what a process holds now, or with `VmHWM` the most that it ever held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def peak_mb(command: Sequence[str], env: Mapping[str, str], folder: Path) -> float:
    """Return the program's peak memory, as the kernel reports it at exit."""
    program = (
        "import os, subprocess, sys, resource;"
        " subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command],
        env=dict(env),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / (1024 if os.uname().sysname == "Linux" else 1024 * 1024)

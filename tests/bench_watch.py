"""What `watch` costs and how soon it knows, on a private server: python -m tests.bench_watch
[deaths] [idle sessions].

Latency: from `kill -9` of the agent to the row in the file. At rest: CPU, wake-ups and memory over
a minute."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.fault_matrix import Bench, bench
from tests.real import until

PROFILE = "agents:\n  toy:\n    process: [sleep]\n    command: [sleep, '3600']\n"
TICKS = os.sysconf("SC_CLK_TCK")
REST_S = float(os.environ.get("REST_S", "60"))


def fill(made: Bench, count: int) -> list[str]:
    (made.folder / "tmuxreap" / "agents.yaml").write_text(PROFILE)
    made.registry.parent.mkdir(exist_ok=True)
    made.registry.write_text("tmux_sessions: []\n")
    names = [f"agent-{number}" for number in range(count)]
    for name in names:
        made.done("start", name, "--agent", "toy", "--confirm", "0", "--server", made.socket)
    return names


def watch(made: Bench) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "HOME": str(made.folder), "XDG_CONFIG_HOME": str(made.folder)}
    words = [sys.executable, "-m", "tmuxreap", "watch", "--json", "--registry", str(made.registry)]
    return subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL)


def status(pid: int, name: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(name)).split()[1])


def cpu_s(pid: int) -> float:
    """With the children that it waited for (tmux clients)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def latencies(made: Bench, names: list[str]) -> list[float]:
    found = []
    pids = {
        name: int(made.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_pid}"))
        for name in names
    }  # one by one: a pane's format is asked of a target
    for name in names:
        time.sleep(0.4)
        began = time.perf_counter()
        os.kill(pids[name], signal.SIGKILL)
        mark = f"name: {name}\n    status: terminated"
        until(f"{name} in the file", lambda mark=mark: mark in made.registry.read_text())  # type: ignore[misc]
        found.append((time.perf_counter() - began) * 1000)
    return found


def at_rest(pid: int) -> str:
    cpu, switches, began = cpu_s(pid), status(pid, "voluntary_ctxt"), time.monotonic()
    quiet, last = 0, switches
    while time.monotonic() < began + REST_S:
        time.sleep(0.5)
        now = status(pid, "voluntary_ctxt")
        quiet += now == last
        last = now
    spent = (cpu_s(pid) - cpu) / REST_S * 100
    return (
        f"CPU {spent:.2f} %, {last - switches} voluntary switches, "
        f"{quiet} of {REST_S * 2:.0f} half seconds without one, "
        f"RSS {status(pid, 'VmRSS') // 1024} MB (peak {status(pid, 'VmHWM') // 1024})"
    )


def main(words: list[str]) -> int:
    deaths, idle = [*map(int, words), *[50, 100][len(words) :]]
    with bench() as made:
        names = fill(made, idle)
        watching = watch(made)
        try:
            time.sleep(3)
            print(f"at rest, {idle} sessions: {at_rest(watching.pid)}", flush=True)
            found = latencies(made, names[:deaths])
            ranked = sorted(found)
            p95 = ranked[int(len(ranked) * 0.95) - 1]
            print(
                f"{len(found)} deaths: median {statistics.median(found):.0f} ms, p95 {p95:.0f},"
                f" worst {ranked[-1]:.0f}"
            )
        finally:
            watching.terminate()
            watching.wait(timeout=10)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

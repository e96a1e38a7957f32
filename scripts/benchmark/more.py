"""Further cases: registries just written by another tool, ten thousand rows, waiting, and other
hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmark import hosts
from benchmark.cases import CHANGE_PY, LIST_LS, LIST_PY, STOP_PY, Case, Line
from benchmark.timing import Samples, peak_mb, timed

PER_HUNDRED = 2.0  # py that a cold registry may cost per 100 rows
PAUSE_S, PROOF_S = 1.0, 1.0  # before the first restart; how long a new agent must live
TICKS = os.sysconf("SC_CLK_TCK")
HOOK = json.dumps({"hook_event_name": "PostToolUse", "session_id": "none", "cwd": "/"})


def lines(case: Case) -> Iterator[Line]:
    yield from foreign(case)
    yield from cold_list(case)
    yield from ten_thousand(case)
    yield from waiting(case)
    yield from restarting(case)
    yield from hosts.lines(case)


def written_by_another(case: Case, rows: int) -> Callable[[], None]:
    """Return a function that writes the registry like another tool, and removes the ledger: the
    user's next call is *cold*."""
    panes = [line.split()[:2] for line in case.world.panes()]
    more = [(f"x{number}", str(4_194_305 + number)) for number in range(rows - len(panes))]
    text = "tmux_sessions:\n" + "".join(
        f"  - name: {name}\n    status: {status}\n    pane: {{pid: {pid}, cmd: sh, cwd: /}}\n"
        for status, found in (("running", panes), ("stopped", more))
        for name, pid in found
    )

    def write() -> None:
        for ledger in case.world.registry.parent.glob("*.db*"):
            ledger.unlink()
        case.world.registry.write_text(text)

    return write


def foreign(case: Case) -> Iterator[Line]:
    """Measure heartbeat, hook and stop of another tool's rows, cold and warm."""
    rows, turns = 100, 3 if case.quick else 9
    stops = iter(range(2 * turns))
    names = [f"f{number}" for number in range(2 * turns)]
    case.world.sessions(names, f"{case.world.agent} 0.1")
    write = written_by_another(case, rows)
    told = {**case.world.env, "TMUX": f"{case.world.socket},1,0", "TMUX_PANE": "%0"}

    def hook() -> None:
        subprocess.run(
            ["tmuxreap", "hook", "claude"], env=told, cwd=case.world.folder, input=HOOK,
            text=True, capture_output=True, check=True,
        )  # fmt: skip

    def stop() -> None:
        case.spawn(["tmuxreap", "stop", f"f{next(stops)}"])

    ways = {
        "heartbeat": lambda: case.spawn(["tmuxreap", "heartbeat", "f0"]),
        "hook": hook,
        "stop one, agent takes 100 ms": stop,
    }
    limits = {"heartbeat": 4.0, "hook": 4.0, "stop one, agent takes 100 ms": STOP_PY}
    write()
    case.world.run("list")
    warm = case.turns(ways, turns)
    warm_py = case.py
    before = dict.fromkeys(ways, _rewritten(case, write))
    cold = case.turns(ways, turns, before=before)
    cold_py, free = case.py, PER_HUNDRED * rows / 100
    for state, samples, more, case.py in (
        ("warm", warm, 0.0, warm_py),
        ("cold", cold, free, cold_py),
    ):
        for name, found in samples.items():
            found.less = 0.1 if name.startswith("stop") else 0.0
            what = f"{name}, row of another tool among {rows}, {state}"
            yield case.line(what, "tmuxreap", found, limits[name] + more)
    case.world.clear()


def _rewritten(case: Case, write: Callable[[], None]) -> Callable[[], None]:
    """Rewrite the registry; sessions stopped meanwhile stay stopped."""

    def again() -> None:
        text = case.world.registry.read_text()
        write()
        case.world.registry.write_text(text)

    return again


def cold_list(case: Case) -> Iterator[Line]:
    count, turns = (100, 3) if case.quick else (1000, 5)
    names = [f"c{number}" for number in range(count)]
    case.world.sessions(names, f"{case.world.sleeper} 1000", prompt=False)
    write = written_by_another(case, count)
    ways = {
        "tmux ls": lambda: case.spawn(["tmux", "ls"]),
        "list": lambda: case.spawn(["tmuxreap", "list", "--json"]),
    }
    for state, more in (("cold", PER_HUNDRED * count / 100), ("warm", 0.0)):
        before = {"list": write} if state == "cold" else None
        samples = case.turns(ways, turns, before=before)
        found, ls = samples["list"], samples["tmux ls"].median
        limit = LIST_LS + (LIST_PY + more) * case.py / ls if count == 1000 else None
        what = f"list --json, {count} sessions in rows of another tool, {state}"
        times = (found.median * 1000, found.p95 * 1000)
        yield Line(what, "tmuxreap", *times, found.median / ls, "tmux ls", limit)
    case.world.clear()


def ten_thousand(case: Case) -> Iterator[Line]:
    count, turns = (1000, 3) if case.quick else (10_000, 5)
    case.world.register({f"r{number}": "bench" for number in range(count)})
    names = iter(f"r{number}" for number in range(2 * turns + 1))

    def forget() -> None:
        case.world.run("forget", next(names))

    cold = Samples([timed(forget)])
    warm = case.turns({"t": forget}, turns)["t"]
    limit = CHANGE_PY + PER_HUNDRED * count / 100
    yield case.line(f"one row changed among {count}, cold", "tmuxreap", cold, limit)
    yield case.line(f"one row changed among {count}, warm", "tmuxreap", warm, CHANGE_PY)
    peak = peak_mb(["tmuxreap", "forget", next(names)], case.world.env, case.world.folder)
    what = f"one row changed among {count}, warm"
    yield Line(what, "peak memory (MB)", peak, peak, peak / 80, "of 80 MB", 1.0)
    yield from _at_rest(case, count)
    text = case.world.registry.read_text().replace("status: stopped", "status: running")
    case.world.registry.write_text(text)
    dead = Samples([timed(lambda: case.spawn(["tmuxreap", "reconcile", "--quiet"]))])
    what, times = f"{count} dead at once, recorded by reconcile", (dead.median * 1000, 0.0)
    yield Line(what, "tmuxreap", *times, dead.median, "of 1 s", 1.0)


def _at_rest(case: Case, count: int) -> Iterator[Line]:
    """Wait for the first look, which belongs to the start."""
    watch = subprocess.Popen(
        ["tmuxreap", "watch", "--json"],
        env=case.world.env,
        cwd=case.world.folder,
        stdout=subprocess.DEVNULL,
    )
    rest_s = 20 if case.quick else 40
    try:
        time.sleep(12)
        before = _cpu_s(watch.pid)
        time.sleep(rest_s)
        share = 100 * (_cpu_s(watch.pid) - before) / rest_s
        pages = int(Path(f"/proc/{watch.pid}/statm").read_text().split()[1])
    finally:
        watch.terminate()
        watch.wait()
    held = pages * os.sysconf("SC_PAGE_SIZE") / 1024**2
    what = f"watch at rest, {count} rows"
    yield Line(what, "CPU (% of one core)", share, share, share / 0.5, "of 0.5 %", 1.0)
    yield Line(what, "memory (MB)", held, held, held / 60, "of 60 MB", 1.0)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def waiting(case: Case) -> Iterator[Line]:
    """Time from the last of many deaths until `wait` reports it, beyond tmux's own time to close
    the sessions: until then it lists them."""
    turns = 1 if case.quick else 3
    for count in (1, 10 if case.quick else 100):
        what = f"{count} that die together"
        ours, tmux = Samples(), Samples()
        for turn in range(turns):
            names = [f"w{turn}-{number}" for number in range(count)]
            tmux.seconds.append(_killed(case, names, wait=False))
            ours.seconds.append(_killed(case, names, wait=True))
        ours.less = tmux.median
        times = (tmux.median * 1000, tmux.p95 * 1000)
        yield Line(f"{what}, until it lists none of them", "tmux itself", *times, None, "")
        times = (ours.median * 1000, ours.p95 * 1000)
        told = f"wait --until gone: {what}, from then on until it says so"
        yield Line(told, "tmuxreap", *times, ours.median / 0.05, "of 50 ms", 1.0)


def _killed(case: Case, names: list[str], *, wait: bool) -> float:
    case.world.sessions(names, f"{case.world.sleeper} 1000", prompt=False)
    case.world.register()
    pids = [int(line.split()[1]) for line in case.world.panes()]
    command = ["tmuxreap", "wait", "all", "--until", "gone", "--quiet"]
    waiting = wait and subprocess.Popen(command, env=case.world.env, cwd=case.world.folder)
    time.sleep(3)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    taken = timed(waiting.wait if waiting else lambda: _closed(case))
    case.world.clear()
    return taken


def _closed(case: Case) -> None:
    while case.world.panes():
        pass


def restarting(case: Case) -> Iterator[Line]:
    """Time from an agent's death until a new one has resumed its conversation, and lives."""
    names = [f"r{number}" for number in range(2 if case.quick else 8)]
    case.world.registry.unlink(missing_ok=True)
    for name in names:
        case.world.run("start", name, "--agent", "demo", "--restart", "on-failure")
        case.world.say(name, "hello")
    listed = json.loads(case.world.run("list", "--json").stdout)["results"]
    pids = {one["name"]: one["pid"] for one in listed}
    words = ["tmuxreap", "watch", "--json"]
    env, folder = case.world.env, case.world.folder
    samples = Samples(less=PAUSE_S + PROOF_S)
    with subprocess.Popen(words, env=env, cwd=folder, stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        time.sleep(2)
        for name in names:
            begun = time.monotonic()
            os.kill(pids[name], signal.SIGKILL)
            told = (json.loads(line) for line in watch.stdout)
            while (event := next(told))["event"] != "restarted":
                assert event["event"] != "restart_given_up", event
            samples.seconds.append(time.monotonic() - begun)
        watch.terminate()
        watch.stdout.read()
    yield case.line(
        "death of an agent until it runs again, beyond its pause and proof", "watch", samples
    )
    case.world.clear()

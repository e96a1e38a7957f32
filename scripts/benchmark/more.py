"""Further cases: registries just written by another tool, ten thousand rows, thousands of deaths,
waiting, restarts, and the test command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmark.cases import CHANGE_PY, LIST_LS, LIST_PY, STOP_PY, Case, Line, line_of
from benchmark.timing import Samples, memory_mb, peak_mb, timed

PER_HUNDRED = 2.0  # py that a cold registry may cost per 100 rows
CROWD, DEATHS, WARM_DEATHS = 100, 5000, 1500
CORES, TESTS_S = 2, 180.0
SHOWN = 3000  # characters of a failed run
ROOT = Path(__file__).parent.parent.parent
PAUSE_S, PROOF_S = 1.0, 1.0  # before the first restart; how long a new agent must live
TICKS = os.sysconf("SC_CLK_TCK")
HOOK = json.dumps({"hook_event_name": "PostToolUse", "session_id": "none", "cwd": "/"})


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
        yield line_of(what, "tmuxreap", found, found.median / ls, "tmux ls", limit)
    case.world.clear()


def ten_thousand(case: Case) -> Iterator[Line]:
    count, turns = (1000, 3) if case.quick else (10_000, 5)
    write = written_by_another(case, count)
    ways = {"t": lambda: case.world.run("forget", "x1")}
    cold = case.turns(ways, turns, before={"t": write})["t"]
    yield case.line(f"one row changed among {count}, cold", "tmuxreap", cold)
    case.world.register({f"r{number}": "bench" for number in range(count)})
    names = iter(f"r{number}" for number in range(2 * turns + 1))
    warm = case.turns({"t": lambda: case.world.run("forget", next(names))}, turns)["t"]
    yield case.line(f"one row changed among {count}, warm", "tmuxreap", warm, CHANGE_PY)
    peak = peak_mb(["tmuxreap", "forget", next(names)], case.world.env, case.world.folder)
    what = f"one row changed among {count}, warm"
    yield Line(what, "peak memory", peak, "MB", limit=80.0)
    yield from _at_rest(case, count)
    text = case.world.registry.read_text().replace("status: stopped", "status: running")
    case.world.registry.write_text(text)
    dead = Samples([timed(lambda: case.spawn(["tmuxreap", "reconcile", "--quiet"]))])
    what = f"{count} dead at once, recorded by reconcile"
    yield line_of(what, "tmuxreap", dead, limit=1000.0)


def _at_rest(case: Case, count: int) -> Iterator[Line]:
    """Wait for the first look, which belongs to the start."""
    rest_s = 20 if case.quick else 40
    with case.watch() as pid:
        time.sleep(12)
        before = _cpu_s(pid)
        time.sleep(rest_s)
        share = 100 * (_cpu_s(pid) - before) / rest_s
        held = memory_mb(pid)
    what = f"watch at rest, {count} rows"
    yield Line(what, "CPU, of one core", share, "%", limit=0.5)
    yield Line(what, "memory", held, "MB", limit=60.0)


def deaths(case: Case) -> Iterator[Line]:
    """Measure how `watch` grows while agents of another tool die, a hundred at a time."""
    seen = {}
    case.world.register()
    with case.watch() as pid:
        for died in range(CROWD, DEATHS + 1, CROWD):
            names = [f"d{died}-{number}" for number in range(CROWD)]
            case.world.sessions(names, f"{case.world.sleeper} 1000", prompt=False)
            case.world.replace(case.world.rows_by_hand())
            _until_rest(pid)
            case.world.clear()
            _until_recorded(case)
            seen[died] = memory_mb(pid)
    what = f"watch, {DEATHS} deaths"
    yield Line(what, "memory at the end", seen[DEATHS], "MB", limit=60.0)
    grown = seen[DEATHS] - seen[WARM_DEATHS]
    yield Line(what, f"memory grown since the first {WARM_DEATHS}", grown, "MB", limit=1.0)


def _until_rest(pid: int) -> None:
    """Wait until it has used no CPU for half a second: then it has seen what is there."""
    spent, since = _cpu_s(pid), time.monotonic()
    while time.monotonic() < since + 0.5:
        time.sleep(0.05)
        if (now := _cpu_s(pid)) != spent:
            spent, since = now, time.monotonic()


def _until_recorded(case: Case) -> None:
    until = time.monotonic() + 60
    while case.world.registry.read_text().count("terminated_at:") < CROWD:
        assert time.monotonic() < until, "deaths are not recorded"
        time.sleep(0.05)


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
        yield line_of(f"{what}, until it lists none of them", "tmux itself", tmux)
        told = f"wait --until gone: {what}, from then on until it says so"
        yield line_of(told, "tmuxreap", ours, limit=50.0)


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


def test_command(case: Case) -> Iterator[Line]:
    """Run all tests on two cores. Their CPU is that of all processes that somebody waited for."""
    cores = ["taskset", "-c", "0,1"] if (os.cpu_count() or 1) > CORES else []
    before = os.times()
    begun = time.monotonic()
    words = [*cores, str(ROOT / "scripts" / "test")]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    taken, after = time.monotonic() - begun, os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    if done.returncode:
        print(done.stdout[-SHOWN:].decode(errors="replace"), file=sys.stderr)
    what = f"the whole test command, on {CORES} cores"
    yield Line(what, "./scripts/test", taken, "s", limit=TESTS_S)
    yield Line(what, "its CPU", spent, "s")
    yield Line(what, "its exit status", done.returncode, "", limit=0.0)

"""How long a stop of each real agent feels, beside a hand that types the same keys as fast as the
agent takes them: each key when the screen shows what the one before it was to bring.

python -m tests.real_agents.felt FOLDER [--times=N] [--state=NAME]... [AGENT...]"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from tests.real_agents.bench import MESSAGE, NAME, Bench
from tests.real_agents.mock_model import ANSWER
from tests.real_agents.setups import SETUPS, program_of, version_of
from tests.real_agents.states import SITUATIONS
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Key, KeyStep, Text
from tmuxreap.agents.screens import State

AGENTS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "pi")
STATES = ("idle", "draft", "busy")
TIMES = 9
STARTS = 3  # of Python, beside each stop
LOOK_S = 0.01
LEAVES_S, HEARD_S = 60.0, 10.0
CLEARS = Key("C-c")
RESTING = (State.IDLE, State.DRAFT)


def main(folder: Path, words: list[str]) -> int:
    times = [int(word.partition("=")[2]) for word in words if word.startswith("--times=")]
    states = [word.partition("=")[2] for word in words if word.startswith("--state=")]
    agents = [word for word in words if not word.startswith("--")]
    print("| agent | state | by hand, s | stop, s | py, ms | more, py | n |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for agent in agents or AGENTS:
        for line in _measured(agent, folder, states or STATES, times[0] if times else TIMES):
            print(line, flush=True)
    return 0


def _measured(
    agent: str, folder: Path, states: tuple[str, ...] | list[str], times: int
) -> Iterator[str]:
    """Measure the start of Python beside each stop: the load of the machine changes meanwhile."""
    profile = load_profiles(None).agents[agent]
    with Bench(agent, SETUPS[agent], profile, program_of(folder, agent)) as bench:
        for state in states:
            by_hand, by_us, pythons = [], [], []
            for _ in range(times):
                by_hand.append(_played(bench, state, by_hand_of))
                bench.answer("kill", NAME)
                by_us.append(_played(bench, state, _stop))
                pythons += [_took_s(_start_python) for _ in range(STARTS)]
            hand_s, our_s, py_s = median(by_hand), median(by_us), median(pythons)
            more = f"{(our_s - hand_s) / py_s:.0f}"
            head = f"{agent} {version_of(folder, agent)}"
            took = f"{hand_s:.2f} | {our_s:.2f} | {py_s * 1000:.0f}"
            yield f"| {head} | {state} | {took} | {more} | {times} |"


def _start_python() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def _played(bench: Bench, state: str, leave: Callable[[Bench], None]) -> float:
    bench.start()
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    bench.say(MESSAGE)
    bench.until("the answer", lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE)
    bench.settle()
    situation = SITUATIONS[state]
    situation.bring(bench)
    if situation.becomes:
        due = situation.becomes
        bench.until(f"the state {state}", lambda: bench.seen().state is due)
    return _took_s(lambda: leave(bench))


def _took_s(play: Callable[[], object]) -> float:
    began = time.monotonic()
    play()
    return time.monotonic() - began


def _stop(bench: Bench) -> None:
    item = bench.reap("stop", NAME)
    assert item["outcome"] == "stopped", item
    rungs = [round(rung["waited_ms"]) for rung in item["rungs"] if rung["name"] == "keys"]
    told = (item["duration_ms"], "ms, keys", *rungs, item["stopped_by"])
    print("  ", bench.agent, *told, file=sys.stderr, flush=True)


def by_hand_of(bench: Bench) -> None:
    """End the turn, empty the input, leave: each key when the screen shows what it waits for."""
    pid = int(bench.row()["pane"]["pid"])
    until = time.monotonic() + LEAVES_S
    ended = False
    while _lives(pid) and time.monotonic() < until:
        seen = bench.seen()
        if seen.state is State.BUSY and not ended:
            ended = True
            _press(bench, bench.profile.interrupt_keys or bench.profile.turn_keys)
            _soon(pid, lambda: bench.seen().state in RESTING)
        elif seen.state is State.DRAFT:
            _press(bench, (CLEARS,))
            _soon(pid, lambda: not bench.seen().draft)
        elif seen.state is State.IDLE:
            _leave(bench, pid)
    assert not _lives(pid), bench.screen()


def _leave(bench: Bench, pid: int) -> None:
    for step in bench.profile.idle_keys:
        if isinstance(step, Text):
            typed = step.text
            bench.tmux("send-keys", "-l", "-t", f"={NAME}:", typed)
            _soon(pid, lambda: bench.seen().draft.strip() == typed)  # noqa: B023
    bench.keys("Enter")
    _soon(pid, lambda: False, HEARD_S)  # an Enter may be lost on a busy machine


def _press(bench: Bench, steps: tuple[KeyStep, ...]) -> None:
    for step in steps:
        if isinstance(step, Key):
            bench.keys(step.name)


def _soon(pid: int, holds: Callable[[], bool], seconds: float = 3.0) -> None:
    until = time.monotonic() + seconds
    while _lives(pid) and not holds() and time.monotonic() < until:
        time.sleep(LOOK_S)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

"""Many stops of a real agent, one after the other, in states and conversations by chance: what it
was made to begin, and what was lost.

python -m tests.real_agents.loop FOLDER N [AGENT[:SEED]]...   Exit 0 when nothing was."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real_agents.bench import NAME, Bench
from tests.real_agents.setups import SETUPS, program_of
from tests.real_agents.states import SITUATIONS, WATCHED_S, Situation
from tests.real_agents.stops import conversation_holds, lost
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State

USUAL = ("claude", "codex", "gemini")
STATES = [name for name, one in SITUATIONS.items() if not (one.silent or one.below_shell)]
RESUMED = 0.4  # of them go on with the conversation of the one before
HURRY_S = 1.0  # at most, from the state to the stop


@dataclass
class Toll:
    """What the stops of one agent did."""

    states: Counter[str] = field(default_factory=Counter)
    rungs: Counter[str] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    unbrought: list[str] = field(default_factory=list)  # states that never came, and were no stop
    said_lost: int = 0
    too_late: int = 0  # stops that came when the tool had begun

    def told(self, agent: str) -> str:
        kinds = Counter(one.partition(":")[0] for one in self.faults)
        counts = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)
        ways = ", ".join(f"{count} {way}" for way, count in self.rungs.most_common())
        states = ", ".join(f"{count} {state}" for state, count in self.states.most_common())
        return (
            f"{agent}: {sum(self.states.values())} stops of {len(set(self.ids))} conversations"
            f" ({ways}; {states}): {counts}; {self.said_lost} said that a part was not kept;"
            f" {len(self.unbrought)} times a state never came, {self.too_late} times a tool"
            " had begun before the stop"
        )


KINDS = ("tools begun", "prompts sent", "drafts lost", "conversations lost", "mixed", "not ended")


def looped(agent: str, count: int, folder: Path, seed: int) -> Toll:
    setup, chance, toll = SETUPS[agent], random.Random(seed), Toll()
    profile = load_profiles(None).agents[agent]
    with Bench(agent, setup, profile, program_of(folder, agent)) as bench:
        while sum(toll.states.values()) < count and len(toll.unbrought) < count:
            state = chance.choice(STATES)
            try:
                _round(bench, state, chance, toll)
            except AssertionError as error:
                toll.unbrought.append(f"{state}: {error}")
                print(agent, state, "never came", str(error)[:3000], file=sys.stderr, flush=True)
                bench.answer("kill", NAME)
        time.sleep(WATCHED_S)
        _at_last(bench, toll)
    return toll


def _round(bench: Bench, state: str, chance: random.Random, toll: Toll) -> None:
    situation, token = SITUATIONS[state], f"teapot{chance.randrange(10**9)}"
    again = _running(bench, situation, chance, toll)
    asked = len(bench.model.asked)
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle(3.0 if again else 1.0)  # who is taken up empties the input late
    bench.say(f"please remember the {token}")
    bench.until("the question", lambda: any(token in one for one in bench.model.asked[asked:]))
    bench.becomes(State.IDLE, "the answer")
    bench.settle()
    situation.bring(bench)
    if situation.becomes:
        bench.becomes(situation.becomes, f"the state {state}")
    time.sleep(chance.random() * HURRY_S)
    kept = len(bench.drafts())
    answer = bench.answer("stop", NAME)
    number = sum(toll.states.values())
    toll.states[state] += 1
    first_s = time.time() - answer["results"][0]["duration_ms"] / 1000
    if bench.proof.exists() and bench.proof.stat().st_mtime < first_s:
        toll.too_late += 1
        bench.proof.unlink()
    _judge(bench, f"{number} {state}", situation, answer["results"][0], kept, token, again, toll)


def _running(bench: Bench, situation: Situation, chance: random.Random, toll: Toll) -> str | None:
    """A new conversation, or that of the last one, whose ID is the answer."""
    allowed = situation.allowed
    same = bench.allowed is allowed and toll.ids
    if same and chance.random() < RESUMED and bench.row()["status"] == "stopped":
        bench.reap("resume", NAME)
        bench.tmux("resize-window", "-t", f"={NAME}:", "-x", "120", "-y", "40")
        return toll.ids[-1]
    bench.allow(allowed)
    bench.start()
    return None


def _judge(
    bench: Bench,
    where: str,
    situation: Situation,
    item: dict[str, Any],
    kept: int,
    token: str,
    again: str | None,
    toll: Toll,
) -> None:
    """What can be told at once."""
    said = "\n".join(bench.drafts()[kept:])
    toll.rungs[str(item["stopped_by"])] += 1
    toll.said_lost += lost(item)
    own = str(item["conversation"]["id"])
    missing = [one for one in situation.typed if one not in said]
    if item["outcome"] != "stopped":
        toll.faults.append(f"not ended: {where} {item}")
    if missing and not lost(item):
        toll.faults.append(f"drafts lost: {where} {said!r}")
    if not item["resumable"] or not conversation_holds(item, token):
        toll.faults.append(f"conversations lost: {where} {item}")
    elif (again is None and own in toll.ids) or (again is not None and own != again):
        toll.faults.append(f"mixed: {where} {own} after {again}")
    toll.ids.append(own)
    print(bench.agent, where, item["stopped_by"], item["duration_ms"], file=sys.stderr, flush=True)


def _at_last(bench: Bench, toll: Toll) -> None:
    """What may have come late."""
    if bench.proof.exists():
        toll.faults.append("tools begun: its proof is there")
    typed = {one for name in STATES for one in SITUATIONS[name].typed}
    own, later = bench.model.asked[0], "".join(bench.model.asked[1:])  # "/exit" is in some manuals
    sent = [one for one in (*typed, "/exit") if one in later and one not in own]
    toll.faults += [f"prompts sent: {one}" for one in sent]


def main(folder: Path, count: int, words: list[str]) -> int:
    asked = [word.partition(":") for word in words or USUAL]
    jobs = [(agent, int(seed or 1)) for agent, _, seed in asked]
    with ThreadPoolExecutor(len(jobs)) as pool:
        tolls = list(pool.map(lambda job: looped(job[0], count, folder, job[1]), jobs))
    for (agent, seed), toll in zip(jobs, tolls, strict=True):
        print(toll.told(agent), f"(seed {seed})", *toll.faults, sep="\n  ", flush=True)
    return 1 if any(toll.faults for toll in tolls) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))

"""`python -m tests.simulation SECONDS|SEED...`: plays histories on all cores, or these seeds.

A number below 1000 is a time in seconds (or with s, m, h); others are seeds. A failing seed is
printed with its history, shrunk. Exit status 1 if one failed."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.queues import Queue
from random import SystemRandom

from tests.simulation.history import draw
from tests.simulation.shrink import failure_of, kind_of, shrink

UNITS = {"s": 1, "m": 60, "h": 3600}
FEW = 3  # histories shown of each kind of failure
Played = tuple[int, str | None] | None


def seconds_in(word: str) -> float | None:
    if word[-1] in UNITS and word[:-1].isdigit():
        return float(word[:-1]) * UNITS[word[-1]]
    return float(word) if word.isdigit() and int(word) < 1000 else None


def play_on(first: int, step: int, until: float, answers: Queue[Played]) -> None:
    """Play every `step`th seed until then; answer each."""
    seed = first
    while time.monotonic() < until:
        answers.put((seed, failure_of(draw(seed))))
        seed += step
    answers.put(None)


def told(seed: int, failure: str) -> str:
    """Return the failure with its history, shrunk."""
    steps = shrink(draw(seed), failure)
    lines = [f"seed {seed}: {failure_of(steps) or failure}", *(f"    {step!r}" for step in steps)]
    return "\n".join(lines)


def for_so_long(seconds: float) -> int:
    kinds: Counter[str] = Counter()
    first, cores = SystemRandom().randrange(1_000, 1_000_000_000), os.cpu_count() or 1
    print(f"from seed {first} on", flush=True)
    began, played = time.monotonic(), 0
    context = multiprocessing.get_context("fork")
    answers: Queue[Played] = context.Queue()
    for core in range(cores):
        words = first + core, cores, began + seconds, answers
        context.Process(target=play_on, args=words, daemon=True).start()
    playing = cores
    while playing:
        answer = answers.get()
        if answer is None:
            playing -= 1
            continue
        played += 1
        seed, failure = answer
        if failure is not None:
            kinds[kind_of(failure)] += 1
            if kinds[kind_of(failure)] <= FEW:
                print(told(seed, failure), flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"{played} histories, {played / minutes:.0f} a minute, {kinds.total()} failed")
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    return 1 if kinds else 0


def main(words: Sequence[str]) -> int:
    if len(words) == 1 and (seconds := seconds_in(words[0])) is not None:
        return for_so_long(seconds)
    found = 0
    for seed in map(int, words):
        failure = failure_of(draw(seed))
        print(f"seed {seed} holds" if failure is None else told(seed, failure))
        found += failure is not None
    return 1 if found or not words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

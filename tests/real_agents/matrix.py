"""The real agents against the mock model: all that is played with them, and its table.

python -m tests.real_agents.matrix FOLDER [--write] [--at-once=N] [--vary] [--seed=N]
                                   [AGENT[:ROW]...]

FOLDER/AGENT is where each is installed. --vary draws the conditions of each cell by chance: size,
start or adopt, prompts, quick or frozen, load; all doors are asked for its state. The seed is
printed, and --seed=N draws the same again. --write puts the cells into the table of
docs/reports/real-agents.md.
Exit 0 when every cell is as it must be, 1 when one is not."""

from __future__ import annotations

import secrets
import signal
import sys
from itertools import chain
from pathlib import Path

from tests.real_agents import (
    cases,
    dialogs,
    interrupts,
    purges,
    restarts,
    seats,
    sends,
    served,
    stops,
    turns,
)
from tests.real_agents.jobs import AT_ONCE, Cell, played, wanted
from tests.real_agents.tables import found_by, write


def main(folder: Path, words: list[str]) -> int:
    rooms = (stops, cases, dialogs, purges, interrupts, turns, sends, restarts, seats, served)
    every = list(chain.from_iterable(room.jobs() for room in rooms))
    jobs = wanted(every, [word for word in words if not word.startswith("--")])
    at_once = [int(word.partition("=")[2]) for word in words if word.startswith("--at-once=")]
    seeds = [int(word.partition("=")[2]) for word in words if word.startswith("--seed=")]
    if "--vary" in words and not seeds:
        seeds = [secrets.randbelow(10**6)]
    seed = seeds[0] if seeds else None
    if seed is not None:
        print(f"conditions by --seed={seed}", file=sys.stderr, flush=True)
    found: list[Cell] = []
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts what it does not wait for deaf
        signal.signal(number, signal.default_int_handler)
    try:
        for cell in played(jobs, folder, *(at_once or [AT_ONCE]), seed=seed):
            found.append(cell)
            said = (cell.agent, cell.row, cell.fault or cell.word)
            print(*said, sep=": ", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: the table is that of the cells before it", file=sys.stderr)
    table, due = found_by(found, folder), wanted(every, [])
    print(table.text([job for job in every if job.row in {cell.row for cell in found}], due))
    if "--write" in words and seed is None:
        write(table, every, due)
    return 1 if len(found) < len(jobs) or any(cell.fault for cell in found) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

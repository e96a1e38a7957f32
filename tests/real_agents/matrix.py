"""The real agents against the mock model: all that is played with them, and its table.

python -m tests.real_agents.matrix FOLDER [--write] [--at-once=N] [AGENT[:ROW]...]

FOLDER/AGENT is where each is installed; --write puts the cells into the table of
docs/reports/real-agents.md.
Exit 0 when every cell is as it must be, 1 when one is not."""

from __future__ import annotations

import signal
import sys
from itertools import chain
from pathlib import Path

from tests.real_agents import cases, interrupts, purges, sends, stops, turns
from tests.real_agents.jobs import Cell, played, wanted
from tests.real_agents.tables import found_by, write


def main(folder: Path, words: list[str]) -> int:
    rooms = (stops, cases, purges, interrupts, turns, sends)
    every = list(chain.from_iterable(room.jobs() for room in rooms))
    jobs = wanted(every, [word for word in words if not word.startswith("--")])
    at_once = [int(word.partition("=")[2]) for word in words if word.startswith("--at-once=")]
    found: list[Cell] = []
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts what it does not wait for deaf
        signal.signal(number, signal.default_int_handler)
    try:
        for cell in played(jobs, folder, *at_once):
            found.append(cell)
            said = (cell.agent, cell.row, cell.fault or cell.word)
            print(*said, sep=": ", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: the table is that of the cells before it", file=sys.stderr)
    table, due = found_by(found, folder), wanted(every, [])
    print(table.text([job for job in every if job.row in {cell.row for cell in found}], due))
    if "--write" in words:
        write(table, every, due)
    return 1 if len(found) < len(jobs) or any(cell.fault for cell in found) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

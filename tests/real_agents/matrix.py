"""The real agents against the mock model: all that is played with them, and its table.

python -m tests.real_agents.matrix FOLDER [--write] [--at-once=N] [AGENT[:ROW]...]

FOLDER/AGENT is where each is installed; --write puts the table into docs/agents.md. Exit
0 when every cell is as it must be, 1 when one is not."""

from __future__ import annotations

import signal
import sys
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

from tests.real_agents import cases, interrupts, stops, turns
from tests.real_agents.jobs import Cell, played, table, wanted

PAGE = Path(__file__).parent.parent.parent / "docs" / "agents.md"
BEGIN, END = "<!-- the run -->\n", "<!-- its end -->\n"


def write(text: str) -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{text}\n{END}{after}")


def main(folder: Path, words: list[str]) -> int:
    every = chain(stops.jobs(), cases.jobs(), interrupts.jobs(), turns.jobs())
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
    text = table(found, folder)
    print(text)
    if "--write" in words:
        share = f"{len(found)} cells" + (f" of {len(jobs)}" if len(found) < len(jobs) else "")
        write(f"One run, {share}, on {datetime.now(timezone.utc):%Y-%m-%d}.\n\n{text}")
    return 1 if len(found) < len(jobs) or any(cell.fault for cell in found) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

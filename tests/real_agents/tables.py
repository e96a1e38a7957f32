"""The table of docs/reports/real-agents.md: what a run has found takes its place among the cells of
those before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.real_agents.jobs import Cell, Job
from tests.real_agents.setups import SETUPS, program_of, version_of
from tests.scripts import script

measured = script("measured.py")

PAGE = Path(__file__).parent.parent.parent / "docs" / "reports" / "real-agents.md"
BEGIN, END = "<!-- the run -->\n", "<!-- its end -->\n"
HEAD, NOT_FOR_IT = "| ", "-"


@dataclass(frozen=True, slots=True)
class Table:
    versions: dict[str, str] = field(default_factory=dict)
    words: dict[tuple[str, str], str] = field(default_factory=dict)  # by row and agent

    def with_those_of(self, later: Table) -> Table:
        """Of another version of an agent nothing is kept."""
        kept = {
            (row, agent): word
            for (row, agent), word in self.words.items()
            if later.versions.get(agent, self.versions[agent]) == self.versions[agent]
        }
        return Table({**self.versions, **later.versions}, {**kept, **later.words})

    def text(self, every: Sequence[Job], due: Sequence[Job]) -> str:
        """In the order of all jobs; those that are not due are not for that agent."""
        columns = [agent for agent in SETUPS if agent in self.versions]
        there = {(job.row, job.agent): "" for job in due}
        heads = [f"{agent} {self.versions[agent]}" for agent in columns]
        lines = [HEAD + _line(heads), "|---" * len(heads) + "|---|"]
        shown = {**there, **self.words}
        for row in dict.fromkeys(job.row for job in every):
            lines.append(_line([row, *(shown.get((row, agent), NOT_FOR_IT) for agent in columns)]))
        return "\n".join(lines)


def found_by(cells: Sequence[Cell], folder: Path) -> Table:
    agents = {cell.agent for cell in cells}
    there = {agent for agent in agents if program_of(folder, agent).exists()}
    versions = {agent: version_of(folder, agent) for agent in there}
    played = [cell for cell in cells if cell.agent in there]
    return Table(versions, {(cell.row, cell.agent): cell.word for cell in played})


def write(found: Table, jobs: Sequence[Job], due: Sequence[Job]) -> None:
    """Among the cells that are there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    every = read().with_those_of(found)
    last = f"the last of them on {measured.date()}, at the commit {measured.commit()}"
    told = f"{len(every.words)} of {len(due)} cells, {last}."
    text = f"{BEGIN}{told}\n\n{every.text(jobs, due)}\n{END}"
    PAGE.write_text(f"{before}{text}{after}", encoding="utf-8")


def read() -> Table:
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    versions: dict[str, str] = {}
    words: dict[tuple[str, str], str] = {}
    columns: list[str] = []
    for line in text.splitlines():
        first, *others = [part.strip() for part in line.strip().strip("|").split("|")]
        if line.startswith(HEAD + "|"):
            heads = [head.split() for head in others]
            columns = [agent for agent, _ in heads]
            versions |= dict(heads)
        elif line.startswith("| ") and columns:
            row = zip(columns, others, strict=False)
            words |= {(first, agent): word for agent, word in row if word not in ("", NOT_FOR_IT)}
    return Table(versions, words)


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"

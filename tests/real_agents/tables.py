"""The table of docs/agents.md: what a run has found takes its place among the cells of those
before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from tests.real_agents.jobs import Cell
from tests.real_agents.setups import version_of

PAGE = Path(__file__).parent.parent.parent / "docs" / "agents.md"
BEGIN, END = "<!-- the run -->\n", "<!-- its end -->\n"
HEAD = "| "


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

    def text(self, agents: Iterable[str], rows: Iterable[str]) -> str:
        """In that order; what is neither of these is not shown."""
        columns = [agent for agent in agents if agent in self.versions]
        heads = [f"{agent} {self.versions[agent]}" for agent in columns]
        lines = [HEAD + _line(heads), "|---" * len(heads) + "|---|"]
        for row in dict.fromkeys(rows):
            words = [self.words.get((row, agent), "") for agent in columns]
            lines += [_line([row, *words])] if any(words) else []
        return "\n".join(lines)


def found_by(cells: Sequence[Cell], folder: Path) -> Table:
    versions = {agent: version_of(folder, agent) for agent in {cell.agent for cell in cells}}
    return Table(versions, {(cell.row, cell.agent): cell.word for cell in cells})


def write(found: Table, agents: Iterable[str], rows: Iterable[str]) -> None:
    """Among the cells that are there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    every = read().with_those_of(found)
    told = f"{len(every.words)} cells, the last of them on {datetime.now(timezone.utc):%Y-%m-%d}."
    text = f"{BEGIN}{told}\n\n{every.text(agents, rows)}\n{END}"
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
            words |= {
                (first, agent): word for agent, word in zip(columns, others, strict=False) if word
            }
    return Table(versions, words)


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"

"""What is played with the real agents: one job is one agent in one row of the table of
docs/reports/real-agents.md, with a verdict in a word or a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.real_agents.bench import Bench
from tests.real_agents.chance import PLAIN, drawn
from tests.real_agents.setups import SETUPS, program_of
from tmuxreap.agents.load import load_profiles

AT_ONCE = 4  # an agent mostly waits


@dataclass(frozen=True, slots=True)
class Job:
    agent: str
    row: str
    play: Callable[[Bench], str]  # what stands in the table; AssertionError is a fault
    allowed: bool = False  # it runs its tools without asking
    varies: bool = False  # it begins like all others, so that all conditions may be drawn for it


@dataclass(frozen=True, slots=True)
class Cell:
    agent: str
    row: str
    word: str
    fault: str | None = None


def wanted(jobs: Iterable[Job], words: Sequence[str]) -> list[Job]:
    """AGENT, or AGENT:ROW; a row by its beginning. Without those that the agent has not."""
    asked = [(agent, row) for agent, _, row in (word.partition(":") for word in words)]
    return [
        job
        for job in jobs
        if not {job.row, *job.row.split(", ")} & set(SETUPS[job.agent].lacks)
        and (
            not asked or any(job.agent == agent and job.row.startswith(row) for agent, row in asked)
        )
    ]


def played(
    jobs: Sequence[Job], folder: Path, at_once: int = AT_ONCE, seed: int | None = None
) -> Iterator[Cell]:
    """In the order of the jobs. FOLDER/AGENT is where each is installed. `seed`: the conditions of
    each cell are drawn by chance."""
    profiles = load_profiles(None).agents

    def play(job: Job) -> Cell:
        setup = SETUPS[job.agent]
        program = program_of(folder, job.agent)
        if not program.exists():
            return Cell(job.agent, job.row, "**not installed**", f"{program} is not there")
        conditions = PLAIN if seed is None else drawn(seed, job.agent, job.row)
        if not job.varies:
            conditions = conditions.of_any_cell
        with Bench(
            job.agent,
            setup,
            profiles[job.agent],
            program,
            allowed=job.allowed,
            conditions=conditions,
        ) as bench:
            more = "" if seed is None else f" ({conditions})"
            try:
                return Cell(job.agent, job.row, job.play(bench) + more)
            except Exception as error:
                fault = f"{type(error).__name__}: {error}\n{bench.trace()}"
                return Cell(job.agent, job.row, f"**{_first(fault)}**{more}", fault + more)

    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(play, jobs)


def _first(fault: str) -> str:
    return fault.partition("\n")[0].replace("|", "/")[:120]

"""The report of a soak: figures of each minute, and a table of start and end."""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from tests.scripts import script
from tests.soak.deeds import AT_ONCE, Deeds
from tests.soak.world import Place, World

measured = script("measured.py")
KEPT = 12  # lines of the table


@dataclass(frozen=True)
class Minute:
    """The figures at the end of one minute."""

    passed_s: float
    cpu_s: float
    deeds: int
    memory_kb: Mapping[str, int]  # of the watches and of the MCP server
    descriptors: Mapping[str, int]
    ledger_kb: Mapping[str, int]
    events: Mapping[str, int]
    registry_kb: Mapping[str, float]
    rows: int
    temporaries: int
    load: float

    def line(self) -> str:
        share = 100 * self.cpu_s / self.passed_s if self.passed_s else 0.0
        return (
            f"{self.passed_s:6.0f} s deeds={self.deeds} cpu={share:.1f}%"
            f" memory_mb={_few(self.memory_kb, 1024)} descriptors={_few(self.descriptors)}"
            f" ledger_kb={_few(self.ledger_kb)} events={_few(self.events)} rows={self.rows}"
            f" temporaries={self.temporaries} load={self.load:.1f}"
        )


def _few(found: Mapping[str, float], of: float = 1) -> str:
    return ",".join(f"{name}:{number / of:.0f}" for name, number in found.items())


def _memory_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def _descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd")) if Path(f"/proc/{pid}/fd").exists() else 0


def _events(place: Place) -> int:
    if not place.ledger.exists():
        return 0
    with place.read() as db:
        try:
            (count,) = db.execute("SELECT count(*) FROM events").fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(count)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def sampled(
    world: World, deeds: Deeds, pids: Mapping[str, int], passed_s: float, spent_s: float
) -> Minute:
    folders = [place.registry.parent for place in world.places]
    return Minute(
        passed_s=passed_s,
        cpu_s=spent_s,
        deeds=sum(deeds.counts.values()),
        memory_kb={letter: _memory_kb(pid) for letter, pid in pids.items()},
        descriptors={letter: _descriptors(pid) for letter, pid in pids.items()},
        ledger_kb={
            place.letter: (_size(place.ledger) + _size(Path(f"{place.ledger}-wal"))) // 1024
            for place in world.places
        },
        events={place.letter: _events(place) for place in world.places},
        registry_kb={place.letter: _size(place.registry) / 1024 for place in world.places},
        rows=sum(len(place.rows()) for place in world.places),
        temporaries=sum(len(list(folder.glob("*.tmp"))) for folder in folders),
        load=os.getloadavg()[0],
    )


def report(
    minutes: list[Minute], deeds: Deeds, wrong: list[str], world: World, asked: argparse.Namespace
) -> str:
    last = minutes[-1]
    disk = "a disk that fills up" if world.mounted else "no full disk (needs root)"
    done = ", ".join(f"{n} {name}" for name, n in sorted(deeds.counts.items()))
    exits = ", ".join(f"{code} {n} times" for code, n in sorted(deeds.exits.items()))
    share = 100 * last.cpu_s / max(last.passed_s, 1)
    paragraphs = [
        f"What `./scripts/soak {asked.hours:.2g} --seed {asked.seed}` reported on"
        f" {measured.date()}, at the commit {measured.commit()}.",
        f"In {last.passed_s / 60:.0f} minutes it took {last.deeds} random actions, up to {AT_ONCE}"
        f" at once, on three registries, two of which are hosts as well, with {disk}; it used"
        f" {share:.1f} % of one core. After each minute, and at the end, all promises were checked"
        f" from outside, {len(minutes) - 1} times in all: {_failed(wrong)}.",
        f"Commands ended with the exit statuses {exits}. The slowest took {deeds.slowest[0]:.0f} s:"
        f" `{deeds.slowest[1]}`.",
    ]
    parts = [
        "# Soak",
        *map(_filled, paragraphs),
        *([] if not wrong else ["## What did not hold", *wrong]),
        "## Answers that were compared",
        _filled(
            "Each target in an answer of these is compared with what is there: a prompt that was"
            " sent stands in a conversation once, and one that was refused nowhere; what was"
            " restarted runs with its own conversation, whole; what was ended is dead. Most are"
            " asked of agents that can do it, but others may have ended them meanwhile."
        ),
        _outcomes(deeds),
        "## Disturbances",
        "\n".join(f"- {what}: {n}" for what, n in sorted(deeds.happened.items())),
        "## What must not grow",
        _filled(
            "`p`, `q`, `a` are the registries, each with a `watch`; that of `q` is killed now and"
            " then. `mcp` is an MCP server that answers all along."
        ),
        _table(minutes),
        "## All actions",
        _filled(f"{done}."),
    ]
    return "\n\n".join(parts) + "\n"


def _failed(wrong: list[str]) -> str:
    return f"{len(wrong)} checks failed" if wrong else "every check held"


def _filled(text: str) -> str:
    return fill(text, 100, break_on_hyphens=False)


def _outcomes(deeds: Deeds) -> str:
    rows = [
        f"| {action} | {', '.join(f'{n} {outcome}' for outcome, n in found.most_common())} |"
        for action, found in sorted(deeds.outcomes.items())
    ]
    return "\n".join(["| action | outcomes |", "|---|---|", *rows])


def _table(minutes: list[Minute]) -> str:
    steps = max(1, (len(minutes) - 1) // KEPT)
    shown = [*minutes[1:-1:steps], minutes[-1]]
    head = (
        "| minute | actions | memory of the watches and the MCP server (MB) | descriptors"
        " | ledgers (KB) | events | rows |"
    )
    rows = [
        f"| {one.passed_s / 60:.0f} | {one.deeds} | {_few(one.memory_kb, 1024)}"
        f" | {_few(one.descriptors)} | {_few(one.ledger_kb)} | {_few(one.events)} | {one.rows} |"
        for one in shown
    ]
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows])

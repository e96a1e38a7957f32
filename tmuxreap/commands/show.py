"""`show`: everything known about one session, with the reason why each process belongs to it."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers import Shown
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Item, Result
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.results import processes_of


def run(context: Context, targets: Sequence[str]) -> Result:
    look = context.registry.look()
    chosen = choose_rows(context, look, targets, Wanted.ALL, children=True)
    pulses = context.books.pulses()
    sights = context.sights.of(chosen.rows)
    processes: list[ProcessId] = []
    for sight in sights:
        processes += processes_of(sight)
    usage = context.processes.usage(processes) if processes else {}
    items: list[Item] = [
        context.answers.shown(row, sight, pulses.get(row.name), usage)
        for row, sight in zip(chosen.rows, sights, strict=True)
    ]
    items += not_chosen(look, chosen, Shown)
    return context.result("show", items)

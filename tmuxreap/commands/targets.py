"""From the words on the command line to rows, with the questions that only a look can answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item
from tmuxreap.ending.results import failed_target
from tmuxreap.registry.file import RegistryLook, row_invalid
from tmuxreap.registry.targets import Chosen, Questions, Wanted, choose
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import look_at


def check_targets(targets: Sequence[str]) -> None:
    if not targets:
        raise Failure(Code.USAGE, "could not tell what is meant: no target was given", "name a session, or all")


def choose_rows(
    context: Context, look: RegistryLook, targets: Sequence[str], wanted: Wanted, *, leftovers: bool = False
) -> Chosen:
    """`leftovers`: patterns select ended rows too when processes of them live on."""
    check_targets(targets)
    rows = look.usable

    @cache
    def owners() -> dict[int, str]:
        sights = zip(rows, look_at(context, rows), strict=True)
        return {one.process.pid: row.name for row, (sight, _) in sights for one in sight.owned.own}

    def has_leftovers(row: Row) -> bool:
        return leftovers and row.status.ended and row.name in owners().values()

    ask = Questions(row_of_pid=lambda pid: owners().get(pid), agent_of=context.agent_of, counts=has_leftovers)
    return choose(look.rows, targets, wanted, ask)


def not_chosen(look: RegistryLook, chosen: Chosen) -> list[Item]:
    """Answers for what was named and is not there, and for rows that cannot be used."""
    missing: list[Item] = [failed_target(one.target, one.failure) for one in chosen.missing]
    bad: list[Item] = [
        failed_target(row.name or f"#{row.index + 1}", row_invalid(look.path, row)) for row in chosen.bad
    ]
    return missing + bad


def bad_row_warnings(look: RegistryLook) -> tuple[str, ...]:
    return tuple(row_invalid(look.path, row).message for row in look.rows if not isinstance(row, Row))

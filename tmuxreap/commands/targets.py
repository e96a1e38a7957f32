"""From the words on the command line to rows, with the questions that only a look can answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace
from tmuxreap.registry.file import RegistryLook, row_invalid
from tmuxreap.registry.rows import parent_of
from tmuxreap.registry.targets import Chosen, Missing, Questions, Wanted, choose, is_sweeping
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import look_at

HINTED = 5


def check_targets(context: Context, targets: Sequence[str]) -> None:
    if not targets:
        hint = f"name one, or give all{_running(context)}; see them with: tmuxreap list"
        raise Failure(Code.USAGE, "could not choose sessions: none was named", hint)


def _running(context: Context) -> str:
    """Return the names that are most likely meant, for a hint."""
    try:
        rows = context.registry.look().usable
    except Failure:
        return ""
    names = [row.name for row in rows if not row.status.ended]
    more = ", ..." if len(names) > HINTED else ""
    return f" (running: {', '.join(names[:HINTED])}{more})" if names else ""


def choose_rows(
    context: Context,
    look: RegistryLook,
    targets: Sequence[str],
    wanted: Wanted,
    *,
    leftovers: bool = False,
    sparing: bool = False,
) -> Chosen:
    """`leftovers`: patterns select ended rows too when processes of them live on. `sparing`: no
    pattern selects what is protected; who was left out is told."""
    check_targets(context, targets)
    rows = look.usable

    @cache
    def owners() -> dict[int, str]:
        sights = zip(rows, look_at(context, rows), strict=True)
        found: dict[int, str] = {}
        for row, (sight, _) in sights:
            found.update((one.process.pid, row.name) for one in sight.owned.own)
        return found

    def has_leftovers(row: Row) -> bool:
        return leftovers and row.status.ended and row.name in owners().values()

    ask = Questions(
        row_of_pid=lambda pid: owners().get(pid), agent_of=context.agents.of, counts=has_leftovers
    )
    chosen = choose(look.rows, targets, wanted, ask, sparing=sparing)
    if chosen.protected:
        context.warnings.append(left_out(chosen.protected))
    return _with_sessions(context, chosen)


def left_out(names: Sequence[str]) -> str:
    """The warning on rows that are ended by their names only."""
    return (
        f"protected: left out {', '.join(names)}; name it to end it, or first: tmuxreap unprotect"
        " NAME"
    )


def _with_sessions(context: Context, chosen: Chosen) -> Chosen:
    """A name without a row may be that of a living session: then the hint says what can be done
    with it."""
    if not any(_may_be_session(one) for one in chosen.missing):
        return chosen
    from tmuxreap.sessions.newcomers import not_registered  # who names what is there needs none

    missing = [
        (
            replace(one, failure=not_registered(context, one.target) or one.failure)
            if _may_be_session(one)
            else one
        )
        for one in chosen.missing
    ]
    return replace(chosen, missing=tuple(missing))


def _may_be_session(one: Missing) -> bool:
    return (
        one.failure.code is Code.SESSION_NOT_REGISTERED
        and not is_sweeping(one.target)
        and ":" not in one.target
    )


def not_chosen(
    look: RegistryLook, chosen: Chosen, kind: Callable[..., Item] | None = None
) -> list[Item]:
    """Answer for what was named and is not there, and for rows that cannot be used. `kind`: what
    the verb answers with; without it an ending that failed."""
    failures = [(one.target, one.failure) for one in chosen.missing]
    failures += [
        (row.name or f"#{row.index + 1}", row_invalid(look.path, row)) for row in chosen.bad
    ]
    if kind is not None:
        return [kind(name=name, error=problem_of(failure)) for name, failure in failures]
    from tmuxreap.ending.results import failed_target  # who ends nothing needs none

    return [failed_target(name, failure) for name, failure in failures]


def warned_of_children(look: RegistryLook, items: Sequence[Item]) -> list[Item]:
    """Tell at the ending of a session which of those that it started go on without it."""
    if not any(parent_of(row) for row in look.usable):
        return list(items)
    from tmuxreap.core.answers.endings import Ending
    from tmuxreap.registry.trees import running_below

    names = [item.name for item in items if isinstance(item, Ending) and item.ok]
    left = dict(running_below(look.usable, names))
    return [
        (
            replace(item, warnings=(*item.warnings, _children(item.name, left[item.name])))
            if isinstance(item, Ending) and item.name in left
            else item
        )
        for item in items
    ]


def _children(name: str, left: Sequence[str]) -> str:
    way_out = command("stop", f"tree:{name}")
    return (
        f"children_running: {name} started {', '.join(left)}, still running; end them with:"
        f" {way_out}"
    )

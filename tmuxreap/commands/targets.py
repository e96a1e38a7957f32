"""Turns the words of the command line into rows, and answers those questions that need a look; and
finds the rows of a set: what one stop, kill or reap ended, to be resumed together. Never starts or
ends anything.

A set stands in the events of its endings, and nowhere else: the newest end of a row decides in
which set it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import BELOW, EndVerb, Row
from tmuxreap.core.results import Ending, Item, failed_target, problem_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import below, parent_of, row_invalid, running_below
from tmuxreap.registry.targets import LAST, Chosen, Missing, Questions, Wanted, choose, selects_many
from tmuxreap.sessions.context import Context

HINTED = 5


def check_targets(context: Context, targets: Sequence[str]) -> None:
    if not targets:
        hint = f"name one, or give all{_running(context)}; see them with: tmuxreap list"
        raise Failure(Code.USAGE, "could not choose sessions: none was named", hint)


def _running(context: Context) -> str:
    """Return the names of running sessions for a hint."""
    try:
        rows = context.registry.look().usable
    except Failure:
        return ""
    names = [row.name for row in rows if not row.status.ended]
    more = ", ..." if len(names) > HINTED else ""
    if names:
        return f" (running: {', '.join(names[:HINTED])}{more})"
    return ""


def choose_rows(
    context: Context,
    look: RegistryLook,
    targets: Sequence[str],
    wanted: Wanted,
    *,
    leftovers: bool = False,
    skip_protected: bool = False,
    children: bool = False,
) -> Chosen:
    """Choose rows.

    `leftovers`: patterns also select ended rows with live processes. `skip_protected`: patterns
    leave out protected rows, with a warning. `children`: `NAME/ID` and `tree:NAME` also select what
    a row launched in its agent's own daemon, as rows that stand in no registry."""
    check_targets(context, targets)
    rows = look.usable

    @cache
    def rows_of_pids() -> dict[int, str]:
        names: dict[int, str] = {}
        for row, sight in zip(rows, context.sights.of(rows), strict=True):
            names.update((one.process.pid, row.name) for one in sight.owned.own)
        return names

    def has_leftovers(row: Row) -> bool:
        return leftovers and row.status.ended and row.name in rows_of_pids().values()

    ask = Questions(
        row_of_pid=lambda pid: rows_of_pids().get(pid),
        agent_of=context.agents.of,
        counts=has_leftovers,
    )
    chosen = choose(look.rows, targets, wanted, ask, skip_protected=skip_protected)
    if chosen.protected:
        context.warnings.append(left_out(chosen.protected))
    if children:
        chosen = _with_children(context, look, targets, chosen)
    return replace(chosen, missing=tuple(_explained(context, look, one) for one in chosen.missing))


def _with_children(
    context: Context, look: RegistryLook, targets: Sequence[str], chosen: Chosen
) -> Chosen:
    """Add the sessions in agents' own daemons that these targets mean."""
    trees = [target for target in targets if target.startswith("tree:")]
    named = {one.target for one in chosen.missing if BELOW in one.target}
    if not (trees or named):
        return chosen
    parents: set[str] = set()
    for tree in trees:
        name = tree.removeprefix("tree:")
        parents |= {name, *below(look.usable, name)}
    launched = ((one.parent.name, one) for one in context.seats.running(look.usable) if one.parent)
    meant = [one for parent, one in launched if one.name in named or parent in parents]
    return replace(
        chosen,
        rows=(*chosen.rows, *(context.seats.row_of(one) for one in meant)),
        missing=tuple(it for it in chosen.missing if it.target not in {one.name for one in meant}),
    )


def left_out(names: Sequence[str]) -> str:
    """Return the warning about protected rows that patterns left out."""
    return (
        f"protected: left out {', '.join(names)}; name it to end it, or first: tmuxreap unprotect"
        " NAME"
    )


def _explained(context: Context, look: RegistryLook, one: Missing) -> Missing:
    """Improve the hint if the name is that of a live session without a row."""
    if selects_many(one.target) or one.failure.code is not Code.SESSION_NOT_REGISTERED:
        return one
    found = None
    if ":" not in one.target:
        rows = look.usable
        found = context.newcomers.not_registered(context.default_server, one.target, rows)
    found = found or _in_daemon(context, look, one.target)
    return replace(one, failure=found or one.failure)


def _in_daemon(context: Context, look: RegistryLook, target: str) -> Failure | None:
    """Return the failure for a session that only its agent's own daemon knows, by its ID, its seat,
    or the name that `list` proposes."""
    for one in context.newcomers.in_daemons(look.usable):
        seat = one.seat or ""
        if target in (one.name, seat, seat.partition(":")[2]):
            reason = (
                f"could not find {target!r} in the registry, but {one.agent}'s own daemon has it"
            )
            return Failure(Code.SESSION_NOT_REGISTERED, reason, f"register it with: {one.command}")
    return None


def not_chosen(
    look: RegistryLook, chosen: Chosen, kind: Callable[..., Item] | None = None
) -> list[Item]:
    """Return an answer for each missing target and each unreadable row. `kind`: the verb's answer
    type; by default a failed ending."""
    failures = [(one.target, one.failure) for one in chosen.missing]
    for row in chosen.bad:
        failures.append((row.name or f"#{row.index + 1}", row_invalid(look.path, row)))
    if kind is not None:
        return [kind(name=name, error=problem_of(failure)) for name, failure in failures]
    return [failed_target(name, failure) for name, failure in failures]


def warned_of_children(look: RegistryLook, items: Sequence[Item]) -> list[Item]:
    """Add a warning to each ended session about the sessions that it started and that still run."""
    if not any(parent_of(row) for row in look.usable):
        return list(items)

    names = [item.name for item in items if isinstance(item, Ending) and item.ok]
    running = dict(running_below(look.usable, names))
    warned: list[Item] = []
    for item in items:
        if isinstance(item, Ending) and item.name in running:
            hint = f"end them with: {command('stop', f'tree:{item.name}')}"
            left = ", ".join(running[item.name])
            warning = f"children_running: {item.name} started {left}, still running; {hint}"
            item = replace(item, warnings=(*item.warnings, warning))
        warned.append(item)
    return warned


def check_spares(context: Context, verb: EndVerb) -> None:
    """Refuse a stop while it is not known which programs the user spares; a kill warns."""
    lost = context.spares_lost
    if lost is None:
        return
    if verb is not EndVerb.KILL:
        hint = f"{lost.hint}; to end it anyway: tmuxreap kill"
        message = f"{lost.message}; your list of spared programs cannot be read"
        raise Failure(lost.code, f"could not {verb.value} anything: {message}", hint)
    context.warnings.append(
        f"{lost.code.text}: your list of spared programs cannot be read: they are ended, too"
    )


@frozen
class Members:
    """The names of the rows of a set: those that can be taken up, and those that run again."""

    name: str
    ended: frozenset[str]
    running: tuple[str, ...]


def members_of(books: Books, look: RegistryLook, wanted: str) -> Members:
    """Return the rows whose newest end has this set, or the newest set for `last`."""
    name = books.newest_set() if wanted == LAST else wanted
    if name is None:
        raise _not_found("could not find the last set: no stop or kill has ended a session yet")
    ends = [event for event in books.newest_ends() if event.data.get("set") == name]
    starts = books.newest_starts()
    ended: set[str] = set()
    running: list[str] = []
    for event in ends:
        row = look.named(event.name)
        if row is not None and not row.status.ended:
            running.append(row.name)
        elif starts.get(event.name, 0) < event.id:  # else another hand ended it since
            ended.add(event.name)
    names = {row.name for row in look.rows}
    if not running and ended.isdisjoint(names):
        raise _not_found(f"could not find the set {name!r}: no ended session belongs to it")
    return Members(name, frozenset(ended), tuple(running))


def known_sets(books: Books) -> list[str]:
    """Return the set of each session that has one, the newest first."""
    newest = sorted(books.newest_ends(), key=lambda event: event.id, reverse=True)
    return [str(event.data["set"]) for event in newest if event.data.get("set")]


def _not_found(message: str) -> Failure:
    hint = "each stop and kill names its set: tmuxreap events"
    return Failure(Code.SESSION_NOT_REGISTERED, message, hint)

"""`list`: the rows as they stand, each with a look at its session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers.sessions import Listed, Session
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live, Row, Server, Status, Unreachable
from tmuxreap.core.results import Item, Result
from tmuxreap.core.values import as_dict, frozen, replace
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.results import looked_at, session_results
from tmuxreap.sessions.sight import Sight

SORT_KEYS: dict[str, Callable[[Session], object]] = {
    "name": lambda one: one.name,
    "status": lambda one: (one.status or "", one.name),
    "live": lambda one: (one.live or "", one.name),
    "agent": lambda one: (one.agent or "", one.name),
    "idle": lambda one: -(one.idle_s or 0),
    "memory": lambda one: -one.memory_mb,
    "server": lambda one: (one.tmux_server or "", one.name),
}


STATUSES = tuple(
    status.value for status in Status if status is not Status.ARCHIVED
)  # that one is shown as stopped


@frozen
class ListRequest:
    targets: tuple[str, ...] = ()
    status: str | None = None
    live: bool = False
    sort: str | None = None
    tree: bool = False


def run(context: Context, request: ListRequest) -> Result:
    _known("--sort", request.sort, SORT_KEYS)
    _known("--status", request.status, STATUSES)
    look = context.registry.look()
    items: list[Item] = []
    rows = look.usable
    warnings = look.warnings
    if request.targets:
        chosen = choose_rows(context, look, request.targets, Wanted.ALL)
        rows, items, warnings = tuple(chosen.rows), not_chosen(look, chosen, Session), ()
    sights = looked_at(context, rows)
    found: Sequence[Session] = [
        one for one in session_results(context, rows, sights) if _wanted(one, request)
    ]
    context.books.remember(look)
    if request.sort is not None:
        found = sorted(found, key=SORT_KEYS[request.sort])  # type: ignore[arg-type]
    if request.tree:
        found = _as_trees(found, rows)
    told = (*context.warnings, *warnings, *_without_tmux(sights))
    more = {} if request.targets else {"unregistered": _not_registered(context, look, rows, sights)}
    answer = Result(
        "list", context.registry_name, context.clock.now(), [*found, *items], told, more=more
    )
    return replace(answer, greeting=_greeting(rows))


def _without_tmux(sights: Sequence[Sight]) -> tuple[str, ...]:
    missing = next(
        (
            one.server
            for one in sights
            if isinstance(one.server, Unreachable) and one.server.missing
        ),
        None,
    )
    return (
        ()
        if missing is None
        else (f"tmux_missing: {missing.reason}: which sessions are alive is not known",)
    )


def _not_registered(
    context: Context, look: RegistryLook, rows: Sequence[Row], sights: Sequence[Sight]
) -> list[dict[str, object]]:
    """Agents without a row, on the servers that were looked at; without any row on those that are
    near. A row that cannot be read may be theirs."""
    if len(look.rows) > len(rows):
        return []
    known = {(one.socket, one.session.id) for one in sights if one.session}
    servers = {one.socket: one.server for one in sights if isinstance(one.server, Server)}
    if rows and sum(len(server.sessions) for server in servers.values()) <= len(known):
        return []
    from tmuxreap.sessions.newcomers import (
        all_newcomers,
    )  # where all have a row nobody asks

    near = [] if rows else context.servers.near(context.default_server)
    return [one.as_json() for one in all_newcomers(context, rows, sights, near)]


def _as_trees(found: Sequence[Session], rows: Sequence[Row]) -> Sequence[Session]:
    """Each behind the one that started it."""
    from tmuxreap.registry.trees import as_trees

    by_name, row_of = {one.name: one for one in found}, {row.name: row for row in rows}
    placed = as_trees([row_of[one.name] for one in found])
    return [Listed(**as_dict(by_name[name]), depth=depth) for name, depth in placed]


def _greeting(rows: Sequence[Row]) -> str | None:
    return "no sessions match; see all with: tmuxreap list" if rows else None


def _known(flag: str, word: str | None, known: Iterable[str]) -> None:
    if word is not None and word not in known:
        raise Failure(
            Code.USAGE,
            f"could not read {flag}: unknown value {word!r}",
            f"use one of: {', '.join(known)}",
        )


def _wanted(one: Session, request: ListRequest) -> bool:
    if request.live and one.live != Live.ALIVE:
        return False
    return request.status is None or one.status == request.status

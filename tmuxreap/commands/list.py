"""`list`: shows the rows with a look at each session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers import Listed, Session
from tmuxreap.core.errors import Failure, could_not
from tmuxreap.core.model import (
    BY_ATTENTION,
    AgentState,
    Live,
    Row,
    Server,
    Status,
    Unreachable,
)
from tmuxreap.core.results import Item, Result
from tmuxreap.core.values import as_dict, frozen, replace
from tmuxreap.proof.identity import unreachable_failure
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import as_trees
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.registries import copied_books, project_of

SORT_KEYS: dict[str, Callable[[Session], object]] = {
    "name": lambda one: one.name,
    "status": lambda one: (one.status or "", one.name),
    "live": lambda one: (one.live or "", one.name),
    "agent": lambda one: (one.agent or "", one.name),
    "idle": lambda one: -(one.idle_s or 0),
    "memory": lambda one: -one.memory_mb,
    "server": lambda one: (one.tmux_server or "", one.name),
    "state": lambda one: (_attention(one), one.name),
}
STATES = tuple(state.value for state in AgentState)

# an archived row is shown as stopped
STATUSES = tuple(status.value for status in Status if status is not Status.ARCHIVED)


@frozen
class ListRequest:
    targets: tuple[str, ...] = ()
    status: str | None = None
    live: bool = False
    sort: str | None = None
    tree: bool = False
    everywhere: bool = False
    states: tuple[str, ...] = ()


def run(context: Context, request: ListRequest) -> Result:
    _known("--sort", request.sort, SORT_KEYS)
    _known("--status", request.status, STATUSES)
    for word in request.states:
        _known("--state", word, STATES)
    if request.everywhere:
        return _everywhere(context, request)
    look = context.registry.look()
    items: list[Item] = []
    rows = look.usable
    warnings = look.warnings
    if request.targets:
        chosen = choose_rows(context, look, request.targets, Wanted.ALL, children=True)
        rows = tuple(chosen.rows)
        items = not_chosen(look, chosen, Session)
        warnings = ()
    sights = context.sights.of(rows, unregistered=True, briefly=True)
    if request.tree:
        children = _children(context, look, rows, sights)
        rows = (*rows, *children)
        if children:
            sights += context.sights.of(children, briefly=True)
    found = context.answers.of(rows, sights)
    sessions: Sequence[Session] = [one for one in found if _wanted(one, request)]
    context.books.write_cache(look)
    if request.sort is not None:
        sessions = sorted(sessions, key=SORT_KEYS[request.sort])  # type: ignore[arg-type]
    if request.tree:
        sessions = _as_trees(sessions, rows)
    silent = _not_asked(sights)
    warnings = (*warnings, *(f"{one.code.text}: {one.message}" for one in silent[1:]))
    if request.targets:
        more = {}
    else:
        more = {"unregistered": _not_registered(context, look, rows, sights)}
    return context.result(
        "list",
        [*sessions, *items],
        warnings,
        failure=silent[0] if silent else None,
        more=more,
        greeting=_greeting(look, rows),
    )


def _children(
    context: Context, look: RegistryLook, rows: Sequence[Row], sights: Sequence[Sight]
) -> list[Row]:
    """Return what these rows launched in their agents' own daemons, as rows for a tree."""
    names = {row.name for row in rows}
    others = [row for row in look.usable if row.name not in names]
    world = context.observer.latest
    found = context.seats.running([*rows, *others], sights, world=world)
    below = [one for one in found if one.parent is not None and one.parent.name in names]
    return [context.seats.row_of(one) for one in below if one.name not in names]


def _everywhere(context: Context, request: ListRequest) -> Result:
    """List the sessions of every registry of the user's, each with its project. Only reads."""
    found: list[Session] = []
    warnings: list[str] = []
    missing: list[Item] = []
    paths = context.known_registries
    for path in paths:
        there_warnings: list[str] = []
        with copied_books(path, context.clock, there_warnings) as books:
            there = context.with_own(
                given_registry=str(path),
                registry=books.registry,
                books=books,
                warnings=there_warnings,
            )
            try:
                answer = run(there, replace(request, everywhere=False, sort=None))
            except Failure as failure:
                warnings.append(f"{failure.code.text}: {failure.message}")
                continue
        warnings += [one for one in answer.warnings if one not in warnings]
        if answer.failure is not None:
            warnings.append(f"{answer.failure.code.text}: {answer.failure.message}")
        where = {"registry": str(path), "project": str(project_of(path))}
        for item in answer.results:
            if isinstance(item, Session) and item.error is None:
                found.append(Listed(**{**as_dict(item), **where}))
            else:
                missing.append(item)
    names = {session.name for session in found}
    unknown = {item.name: item for item in missing if item.name not in names}
    if request.sort is not None:
        found.sort(key=SORT_KEYS[request.sort])  # type: ignore[arg-type]
    listed = [*found, *unknown.values()]
    nothing = "no registry is known yet: start or adopt a session, or change to a project's folder"
    if not paths:
        greeting = nothing
    else:
        greeting = f"no sessions in {len(paths)} registries"
    result = context.result("list", listed, warnings, greeting=greeting)
    return replace(result, registry=None)


def _greeting(look: RegistryLook, rows: Sequence[Row]) -> str | None:
    """Return what is said where no session is listed; None where there is no row at all."""
    if rows:
        return "no sessions match; see all with: tmuxreap list"
    if look.rows:
        return f"no session can be listed: no row of {look.path} can be used; edit them first"
    return None


def _not_asked(sights: Sequence[Sight]) -> list[Failure]:
    """Return a failure for each server that could not be asked; one if there is no tmux at all."""
    servers = {sight.socket: sight.server for sight in sights}
    silent = []
    for server in servers.values():
        if isinstance(server, Unreachable):
            silent.append(server)
    if any(server.missing for server in silent):
        return [unreachable_failure("look at the sessions", silent[0])]
    return [unreachable_failure(f"ask the server at {one.socket}", one) for one in silent]


def _not_registered(
    context: Context, look: RegistryLook, rows: Sequence[Row], sights: Sequence[Sight]
) -> list[dict[str, object]]:
    """Return unregistered agents on the servers looked at; without any row, on those in the default
    folder.

    If a row is unreadable, return none: the agent may belong to it."""
    if len(look.rows) > len(rows):
        return []
    known = set()
    for sight in sights:
        if sight.session:
            known.add((sight.socket, sight.session.id))
    servers = {}
    for sight in sights:
        if isinstance(sight.server, Server):
            servers[sight.socket] = sight.server
    if rows and sum(len(server.sessions) for server in servers.values()) <= len(known):
        return [newcomer.as_json() for newcomer in context.newcomers.in_daemons(rows, sights)]

    if rows:
        near = []
    else:
        near = context.default_sockets
    return [newcomer.as_json() for newcomer in context.newcomers.of(rows, sights, near)]


def _as_trees(found: Sequence[Session], rows: Sequence[Row]) -> Sequence[Session]:
    """Sort each session below the one that started it."""
    by_name = {session.name: session for session in found}
    row_of = {row.name: row for row in rows}
    placed = as_trees([row_of[session.name] for session in found])
    return [Listed(**as_dict(by_name[name]), depth=depth) for name, depth in placed]


def _known(flag: str, word: str | None, known: Iterable[str]) -> None:
    if word is not None and word not in known:
        hint = f"use one of: {', '.join(known)}"
        raise could_not("read", flag, f"unknown value {word!r}", hint)


def _wanted(one: Session, request: ListRequest) -> bool:
    is_live = one.live == Live.ALIVE or not request.live
    if request.states and one.state not in request.states:
        return False
    return is_live and request.status in (None, one.status)


def _attention(one: Session) -> int:
    """Return the place by its state: who waits for a person first, who is not alive last."""
    words = [state.value for state in BY_ATTENTION]
    if one.state in words:
        return words.index(one.state)
    return len(words)


def states_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the states in words that may have several, separated by commas."""
    split = ",".join(words).split(",") if words else []
    return tuple(dict.fromkeys(word.strip() for word in split))

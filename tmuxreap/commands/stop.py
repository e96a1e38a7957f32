"""`stop` and `kill`: end the sessions that are meant, and record it. They differ in their policy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tmuxreap.app import App
from tmuxreap.cases import prepare
from tmuxreap.choosing import check_targets, choose_rows, not_chosen
from tmuxreap.ending import end_rows, end_unregistered
from tmuxreap.errors import Code, Failure
from tmuxreap.looking import look_at
from tmuxreap.model import Row, Server, Verb
from tmuxreap.outcomes import planned
from tmuxreap.plan import Policy
from tmuxreap.registry import RegistryLook
from tmuxreap.results import Item, Result, counts, failed_target
from tmuxreap.selectors import Chosen, Wanted
from tmuxreap.values import frozen, replace


@frozen
class EndRequest:
    targets: tuple[str, ...]
    policy: Policy
    dry_run: bool = False
    yes: bool = False
    ask: Callable[[Result], bool] | None = None  # on a terminal: the question, with the plan before it


def run(app: App, request: EndRequest) -> Result:
    check_targets(request.targets)
    look = _look(app, request)
    if request.policy.purge and not (request.yes or request.dry_run or request.ask):
        raise _not_sure(request)
    if look is None:
        return _without_rows(app, request)
    chosen = choose_rows(app, look, request.targets, Wanted.RUNNING, leftovers=request.policy.verb is Verb.KILL)
    names = _without_row(chosen, request)
    rest = [item for item in not_chosen(look, chosen) if getattr(item, "name", None) not in names]
    if request.dry_run:
        return _result(app, request, [*planned(app, chosen.rows, request.policy), *rest, *_strays(app, names, request)])
    if (chosen.sweeping or request.policy.purge) and not request.yes and not _agreed(app, chosen, rest, request):
        return _not_agreed(app, chosen.rows, rest, request)
    ended = end_rows(app, look, chosen.rows, request.policy)
    return _result(app, request, [*ended, *rest, *_strays(app, names, request)])


def _without_rows(app: App, request: EndRequest) -> Result:
    """Sessions by what tmux has; a purge is asked about here too."""
    if request.policy.purge and request.ask is not None and not (request.yes or request.dry_run):
        plan = _strays(app, request.targets, replace(request, dry_run=True))
        if not request.ask(_result(app, request, plan)):
            return _declined(app, request)
    return _result(app, request, _strays(app, request.targets, request))


def _not_sure(request: EndRequest) -> Failure:
    return Failure(
        Code.USAGE,
        f"could not {request.policy.verb.value} and purge: that deletes for good, and nobody can be asked here",
        "look at the plan with --dry-run, then add --yes",
    )


def _look(app: App, request: EndRequest) -> RegistryLook | None:
    """With --force-no-yaml a registry that is not there, or broken, is no obstacle."""
    try:
        return app.registry.look()
    except Failure as failure:
        if not request.policy.unregistered:
            raise
        if failure.code is Code.REGISTRY_NOT_FOUND:
            app.registry_if_there()  # there is none: who asks the one that could be here learns nothing
        return None


def _agreed(app: App, chosen: Chosen, rest: Sequence[Item], request: EndRequest) -> bool:
    """A person is asked; a script is not, but an agent inside a registered session has to say --yes."""
    if request.ask is None:
        return not is_inside(app)
    asked = chosen.sweeping or request.policy.purge
    return not asked or request.ask(_result(app, request, [*planned(app, chosen.rows, request.policy), *rest]))


def is_inside(app: App) -> bool:
    """The caller is an agent: it carries our mark, or sits in the session of a row."""
    if app.settings.mark is not None:
        return True
    running = [row for row in app.registry.look().usable if not row.status.ended]
    return any(sight.mine for sight, _ in look_at(app, running))


def _not_agreed(app: App, rows: Sequence[Row], rest: Sequence[Item], request: EndRequest) -> Result:
    if request.ask is not None:
        return _declined(app, request)
    verb = request.policy.verb.value
    failure = Failure(
        Code.USAGE,
        f"could not {verb} {' '.join(request.targets)}: an agent that ends more than named sessions has to say so",
        "look at the plan, then add --yes",
    )
    return _result(app, request, [*planned(app, rows, request.policy), *rest], failure)


def _declined(app: App, request: EndRequest) -> Result:
    return replace(
        _result(app, request, []), greeting=f"nothing was done: the answer to {request.policy.verb.value} was no"
    )


def _without_row(chosen: Chosen, request: EndRequest) -> tuple[str, ...]:
    """Names that mean a session, not a row: with --force-no-yaml."""
    unknown = Code.SESSION_NOT_REGISTERED
    return tuple(it.target for it in chosen.missing if request.policy.unregistered and it.failure.code is unknown)


def _strays(app: App, names: Sequence[str], request: EndRequest) -> list[Item]:
    return [_unregistered(app, name, request) for name in names]


def _unregistered(app: App, name: str, request: EndRequest) -> Item:
    socket = app.socket_named(None)
    server = app.tmux.look(socket)
    session = server.named(name) if isinstance(server, Server) else None
    from tmuxreap.registering import live_row  # with YAML, which no other stop needs before its keys

    row = live_row(app, name, None, None, server if isinstance(server, Server) else None, session)
    if session is None and isinstance(server, Server):
        return failed_target(name, _neither(name))
    if request.dry_run:
        return planned(app, [row], request.policy)[0]
    return end_unregistered(app, row, request.policy) if session else _no_session(app, row, request)


def _no_session(app: App, row: Row, request: EndRequest) -> Item:
    (case,) = prepare(app, [row], request.policy)
    return case.answer if case.answer is not None else failed_target(row.name, _neither(row.name))


def _neither(name: str) -> Failure:
    return Failure(
        Code.SESSION_NOT_REGISTERED,
        f"could not find {name!r}: there is no row of that name, and no tmux session on the default server",
        "see the sessions with: tmux ls, and the rows with: tmuxreap list",
    )


def _result(app: App, request: EndRequest, items: Sequence[Item], failure: Failure | None = None) -> Result:
    return Result(
        command=request.policy.verb.value,
        registry=app.registry_name,
        at=app.clock.now(),
        results=items,
        warnings=tuple(app.warnings),
        failure=failure,
        more={"counts": counts(items)},
    )

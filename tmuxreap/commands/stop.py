"""`stop` and `kill`: end the selected sessions and record it. They differ only in their policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.targets import (
    check_spares,
    check_targets,
    choose_rows,
    not_chosen,
    warned_of_children,
)
from tmuxreap.core.errors import Code, Failure, could_not, declined
from tmuxreap.core.model import EndVerb, RecordedTmux, Row, Server, Unreachable
from tmuxreap.core.results import Item, Result, counts, failed_target
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.end import in_new_set
from tmuxreap.ending.policy import Policy
from tmuxreap.proof.identity import unreadable_failure
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import wants_restart
from tmuxreap.registry.targets import SWEEPING, Chosen, Questions, Wanted, choose
from tmuxreap.registry.transitions import is_lost
from tmuxreap.sessions.context import Context


@frozen
class EndRequest:
    targets: tuple[str, ...]
    policy: Policy
    dry_run: bool = False
    yes: bool = False
    # set on a terminal: shows the plan and asks
    ask: Callable[[Result], bool] | None = None


def run(context: Context, request: EndRequest) -> Result:
    check_targets(context, request.targets)
    if not request.dry_run:
        request = replace(request, policy=in_new_set(request.policy))
    context, look = _read_registry(context, request)
    check_spares(context, request.policy.verb)
    if request.policy.purge and not (request.yes or request.dry_run or request.ask):
        raise _unconfirmed_purge(request)
    if look is None:
        return _end_without_registry(context, request)
    look, starting = _after_starts(context, look, request)
    look, cut_off = _after_restarts(context, look, request)
    starting.update(cut_off)
    kill = request.policy.verb is EndVerb.KILL
    chosen = choose_rows(
        context,
        look,
        request.targets,
        Wanted.RUNNING,
        leftovers=kill,
        skip_protected=True,
        children=True,
    )
    chosen = _with_pending_restarts(context, look, chosen, request)
    chosen = replace(
        chosen,
        rows=tuple(row for row in chosen.rows if row.name not in starting),
        missing=tuple(one for one in chosen.missing if one.target not in starting),
    )
    names = _names_without_row(chosen, request)
    rest = []
    for item in not_chosen(look, chosen):
        if getattr(item, "name", None) not in names:
            rest.append(item)
    rest += [failed_target(name, failure) for name, failure in starting.items()]
    if request.dry_run:
        items = ender_of(context).dry_run(chosen.rows, request.policy)
    else:
        many = chosen.sweeping or request.policy.purge
        must_ask = bool(chosen.rows) and many and not request.yes
        refused = None
        if must_ask:
            refused = _unconfirmed(context, chosen.rows, rest, request)
        if refused is not None:
            return refused
        items = _ended(context, chosen.rows, request.policy)
    items = warned_of_children(look, items)
    items = [*items, *rest, *_unregistered_items(context, names, request)]
    result = _result(context, request, items)
    if items or request.ask is None:
        return result
    return replace(result, greeting=_nobody(context, look, request.policy.verb))


def _nobody(context: Context, look: RegistryLook, verb: EndVerb) -> str:
    """Tell a person that there is nothing to end, and where agents run that are not registered."""
    sockets = dict.fromkeys((*context.default_sockets, *context.newcomers.sockets()))
    unregistered = context.newcomers.described(look.usable, [*sockets])
    said = f"nothing to {verb.phrase} in {look.path}"
    if unregistered:
        said += f"; agents run that are not registered{unregistered}"
    return said


def _ended(context: Context, rows: Sequence[Row], policy: Policy) -> list[Item]:
    """End these sessions. What an agent's own daemon runs below a row has none: its `index` is
    negative."""
    items = ender_of(context).end([row for row in rows if row.index >= 0], policy)
    return [
        *items,
        *(ender_of(context).end_unregistered(row, policy) for row in rows if row.index < 0),
    ]


def _after_starts(
    context: Context, look: RegistryLook, request: EndRequest
) -> tuple[RegistryLook, dict[str, Failure]]:
    """Wait for the starts that these targets mean: what comes up meanwhile is to be ended, too.
    Return the registry as it is then, and the starts that are not finished."""
    active = context.active
    meant = [name for name in active.starting() if _means(context, look, request.targets, name)]
    waiting: dict[str, Failure] = {}
    for name in meant:
        row = look.named(name)
        if row is not None:
            ender_of(context).cancel_restarts([row], request.policy.verb.value)
        failure = active.wait_for_start(name, lock_held=context.lock_held)
        if failure is not None:
            waiting[name] = failure
    return (context.registry.look() if meant else look), waiting


def _after_restarts(
    context: Context, look: RegistryLook, request: EndRequest
) -> tuple[RegistryLook, dict[str, Failure]]:
    """Settle the restarts of these targets that were cut off, as `reconcile` does: their rows say
    `stopped`, and their panes are still held. A plan only names them."""
    abandoned = context.active.abandoned()
    meant = [name for name in abandoned if _means(context, look, request.targets, name)]
    if not meant:
        return look, {}
    from tmuxreap.commands.reconcile.reconcile import (  # only what was cut off needs it
        restarts_cut_off,
        settle_restarts,
    )

    if not request.dry_run:
        if settle_restarts(context, meant):
            look = context.registry.look()
        return look, {}
    named: dict[str, Failure] = {}
    for name in restarts_cut_off(context).intersection(meant):
        verb = request.policy.verb.phrase
        hint = "close its pane first: tmuxreap reconcile"
        named[name] = could_not(verb, name, "its restart was cut off", hint, Code.SESSION_ALIVE)
    return look, named


def _means(context: Context, look: RegistryLook, targets: Sequence[str], name: str) -> bool:
    """Tell whether a target means the session of this name, which may have no row so far."""
    if name in targets or any(fnmatchcase(name, "*" if it == "all" else it) for it in targets):
        return True
    questions = Questions(agent_of=context.agents.of)
    groups = [target for target in targets if target.startswith(SWEEPING)]
    chosen = choose(look.rows, groups, Wanted.ALL, questions)
    return name in [row.name for row in chosen.rows]


def _with_pending_restarts(
    context: Context, look: RegistryLook, chosen: Chosen, request: EndRequest
) -> Chosen:
    """Include lost sessions that wait for a restart: patterns select only what runs."""
    lost = [row for row in look.usable if is_lost(row) and wants_restart(row)]
    if not (lost and chosen.sweeping):
        return chosen

    warned = len(context.warnings)
    ended = choose_rows(context, look, request.targets, Wanted.ENDED, skip_protected=True).rows
    del context.warnings[warned:]  # already reported for the running rows
    more = []
    for row in ended:
        if row not in chosen.rows and context.restarts.has_pending(row):
            more.append(row)
    return replace(chosen, rows=(*chosen.rows, *more))


def _end_without_registry(context: Context, request: EndRequest) -> Result:
    """End sessions found in tmux alone; a purge is confirmed first, as with rows."""
    if request.policy.purge and request.ask is not None and not (request.yes or request.dry_run):
        plan = _unregistered_items(context, request.targets, replace(request, dry_run=True))
        if not request.ask(_result(context, request, plan)):
            return _declined(context, request)
    return _result(context, request, _unregistered_items(context, request.targets, request))


def _unconfirmed_purge(request: EndRequest) -> Failure:
    reason = "that deletes permanently, and without a terminal no question can be asked"
    hint = "look at the plan with --dry-run, then add --yes"
    verb = request.policy.verb.value
    return Failure(Code.USAGE, f"could not {verb} and purge: {reason}", hint)


def _read_registry(context: Context, request: EndRequest) -> tuple[Context, RegistryLook | None]:
    """Read the registry; with --unregistered a missing or broken one is no obstacle. The context
    is then that of the path where one would be created, which has no rows."""
    try:
        return context, context.registry.look()
    except Failure as failure:
        if not request.policy.unregistered:
            raise
        if failure.code is Code.REGISTRY_NOT_FOUND:
            context = context.with_registry_or_new(makes=False)
        return context, None


def is_inside(context: Context) -> bool:
    """Tell whether the caller is an agent: it carries our mark, or runs in a registered session."""
    if context.settings.mark is not None:
        return True
    return context.caller.session() is not None


def _unconfirmed(
    context: Context, rows: Sequence[Row], rest: Sequence[Item], request: EndRequest
) -> Result | None:
    """Ask the user; allow scripts; require --yes of an agent inside a registered session. Return
    the answer if nothing is to be ended."""
    if request.ask is None and not is_inside(context):
        return None
    plan = [*ender_of(context).dry_run(rows, request.policy), *rest]
    if request.ask is not None:
        agreed = request.ask(_result(context, request, plan))
        return None if agreed else _declined(context, request)
    what = f"{request.policy.verb.value} {' '.join(request.targets)}"
    reason = "inside a registered session, 'all' and patterns need --yes"
    hint = "check with --dry-run, then add --yes"
    failure = Failure(Code.USAGE, f"could not {what}: {reason}", hint)
    return _result(context, request, plan, failure)


def _declined(context: Context, request: EndRequest) -> Result:
    return _result(context, request, [], declined(request.policy.verb.value))


def _names_without_row(chosen: Chosen, request: EndRequest) -> tuple[str, ...]:
    """Return the names that mean a session rather than a row, with --unregistered."""
    if not request.policy.unregistered:
        return ()
    unknown = Code.SESSION_NOT_REGISTERED
    return tuple(one.target for one in chosen.missing if one.failure.code is unknown)


def _unregistered_items(context: Context, names: Sequence[str], request: EndRequest) -> list[Item]:
    return [_unregistered(context, name, request) for name in names]


def _unregistered(context: Context, name: str, request: EndRequest) -> Item:
    look = context.tmux.look(context.servers.socket(None))
    server = look if isinstance(look, Server) else None
    session = server.named(name) if server else None
    if session is None and not isinstance(look, Unreachable):
        verb = f"{request.policy.verb.value} {name}"
        hidden = None
        if server:
            hidden = unreadable_failure(verb, server, name)
        return failed_target(name, hidden or _not_found(name))
    identity = RecordedTmux()
    if server is not None and session is not None:
        # imports YAML: no other stop needs it before its keys
        identity = context.place.identity_of(server, session)
    row = Row(name, tmux=identity)
    if session is None or request.dry_run:  # a plan, or why nothing can be seen
        return ender_of(context).dry_run([row], request.policy)[0]
    return ender_of(context).end_unregistered(row, request.policy)


def _not_found(name: str) -> Failure:
    reason = "there is no row of that name, and no tmux session on the default server"
    hint = "see the sessions with: tmux ls, and the rows with: tmuxreap list"
    return Failure(Code.SESSION_NOT_REGISTERED, f"could not find {name!r}: {reason}", hint)


def _result(
    context: Context, request: EndRequest, items: Sequence[Item], failure: Failure | None = None
) -> Result:
    more = {"counts": counts(items), "set": request.policy.in_set}
    return context.result(request.policy.verb.value, items, failure=failure, more=more)

"""Turns rows into endings: looks at each once and plans or answers it. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.answers import Ending as EndResult
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Outcome, Row, Scope, Server, Status
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.plan import Policy, make_plan, refusal
from tmuxreap.ending.results import failed_target
from tmuxreap.ledger.records import PaneOption
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.registry.transitions import MODES, Event
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import after_own_exit, resume_command, visible_screen
from tmuxreap.sessions.elsewhere import owner_of, registered_elsewhere
from tmuxreap.sessions.look import BANNER_OPTION, SIBLINGS_OPTION, PaneContents, look_at, read_panes
from tmuxreap.sessions.reverted import UNDONE, newer_rows


def prepare(
    context: Context,
    rows: Sequence[Row],
    policy: Policy,
    known: Mapping[str, Past] | None = None,
    *,
    remembers: bool = False,
) -> list[Ending]:
    """Look at the rows and plan their endings. `known`: facts about some of them that are not from
    the ledger; `remembers`: record what is seen, which a plan that is only shown does not."""
    looked_at = context.clock.monotonic()
    pane_only, whole = policy.scope is Scope.PANE, policy.scope is Scope.SESSION
    look = partial(
        look_at,
        context,
        pane_only=pane_only,
        whole_session=whole,
        known=known,
        remembers=remembers,
    )
    sights = look(rows)
    found = rows
    newer = newer_rows(
        context, [(row, sight) for row, (sight, _) in zip(rows, sights, strict=True)], look
    )
    if newer:
        known_rows = [newer.get(row.name) for row in rows]
        rows = [one.row if one else row for one, row in zip(known_rows, rows, strict=True)]
        sights = [
            (one.sight, one.past) if one else it for one, it in zip(known_rows, sights, strict=True)
        ]
    profiles = [context.agents.profile(row) for row in rows]
    options = [
        _options_for_keys(sight, profile)
        for profile, (sight, _) in zip(profiles, sights, strict=True)
    ]
    shown = read_panes(context.tmux, [sight for sight, _ in sights], options, profiles)
    endings = [
        _ending(context, row, old, *sighted, pane, policy)
        for row, old, sighted, pane in zip(rows, found, sights, shown, strict=True)
    ]
    for ending in endings:
        ending.looked_at = looked_at
    return endings


def _ending(
    context: Context,
    row: Row,
    found: Row,
    sight: Sight,
    past: Past,
    shown: PaneContents,
    policy: Policy,
) -> Ending:
    profile, agent = context.agents.profile(row), context.agents.of(row)
    spares = context.agents.spares(profile)
    known = context.finder.known_of(row, sight, profile)
    known = after_own_exit(profile, known, sight, shown.joined)
    known = context.finder.followed(profile, known)
    screen = None
    if profile is not None and (sight.agent or sight.carrier):
        screen = visible_screen(profile, known, sight, spares.carriers, shown.text)
    pane = sight.pane.id if sight.pane else ""
    options = tuple(
        PaneOption(sight.socket, pane, name, before) for name, before in shown.options.items()
    )
    agent_named = row.agent is not None and row.tmux.known
    ending = Ending(
        row=row,
        undone=None if found is row else found,
        agent=agent,
        profile=profile,
        spares=spares,
        policy=policy,
        plan=make_plan(
            row.name, agent, sight, screen, profile, policy, options, agent_named=agent_named
        ),
        sight=sight,
        past=past,
        known=known,
        last_screen=shown.joined,
        memory=sum(context.processes.memory(belonging.process.id) for belonging in sight.owned.own),
    )
    ours, boot_id = context.own_registry, context.place.boot_id
    failure = _registered_elsewhere(ours, boot_id, ending, shown.environment)
    ending.answer = _early_answer(ending, failure, lambda: context.registry.look().usable)
    if ending.answer is None and policy.purge:
        from tmuxreap.agents.conversations.purge import would_purge

        purge = would_purge(profile, known.clues.store, ending.conversation)
        ending.plan = replace(ending.plan, purges=purge.paths, left=purge.left)
    return ending


def _early_answer(
    ending: Ending, failure: Failure | None, rows: Callable[[], Iterable[Row]]
) -> Item | None:
    """Return the answer of a session that must not be ended, or that needs no ending. `failure`: if
    it belongs to another registry; `rows`: of ours."""
    row, sight, policy = ending.row, ending.sight, ending.policy
    failure = failure or refusal(sight, row.status, policy, row.name)
    if failure is None and policy.purge:
        from tmuxreap.ending.purge import why_no_purge_yet  # late: rarely needed

        failure = why_no_purge_yet(ending, rows)
    if failure is not None:
        answer = failed_target(row.name, failure)
        return replace(answer, status=row.status, agent=ending.agent, pid=row.pane.pid)
    was_purged = row.termination_mode == MODES[Event.PURGED]
    if row.status.ended and not sight.owned.own and (not policy.purge or was_purged):
        return already_stopped(ending)
    return None


def _registered_elsewhere(
    ours: Path | None, boot_id: str, ending: Ending, environment: str | None
) -> Failure | None:
    """Return the failure for a session that belongs to another registry, whatever our row says."""
    sight = ending.sight
    if sight.session is None or not isinstance(sight.server, Server):
        return None
    owner = owner_of(ours, boot_id, sight.server, sight.session, environment)
    if owner is None:
        return None
    return registered_elsewhere(ending.policy.verb.value, ending.name, owner)


def already_stopped(ending: Ending) -> EndResult:
    row = ending.row
    return EndResult(
        name=row.name,
        outcome=Outcome.ALREADY_STOPPED,
        stopped_by=row.stopped_by,
        status=Status.STOPPED if row.status is Status.ARCHIVED else row.status,
        agent=ending.agent,
        pid=row.pane.pid,
        stop_reason=row.stop_reason,
        termination_mode=row.termination_mode,
        conversation=ending.conversation,
        resumable=ending.known.is_resumable and row.resumable is not False,
        resume_command=resume_command(row, ending.known, ending.profile),
        task_id=row.task_id,
        ended_at=row.ended_at,
        warnings=(UNDONE,) if ending.undone else (),
    )


def _options_for_keys(sight: Sight, profile: Profile | None) -> list[str]:
    """Return the pane options to change while keys are sent: the pane stays for the exit banner,
    and keys go to no other pane."""
    pane = sight.pane
    if pane is None or profile is None:
        return []
    stays = pane.remain_on_exit != "on" and profile.prints_exit_banner and _is_direct(sight)
    changed = {BANNER_OPTION: stays, SIBLINGS_OPTION: pane.synchronized}
    return [option for option, is_changed in changed.items() if is_changed]


def _is_direct(sight: Sight) -> bool:
    """Tell whether tmux started the agent itself: then pane and banner vanish with the agent."""
    direct = (*sight.agent, *sight.keyed)
    return sight.pane is not None and any(process.pid == sight.pane.pid for process in direct)

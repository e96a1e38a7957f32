"""From rows to cases: each looked at once, and either answered at once or planned. Writes
nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.find import GUESS, wrote_nothing
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Outcome, Row, Scope, Server, Status, StoppedBy, Verb
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace, slotted
from tmuxreap.ending.plan import PaneOption, Plan, Policy, make_plan, refusal, why_no_keys
from tmuxreap.ending.results import EndResult, failed_target
from tmuxreap.registry.transitions import MODES, Event
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import (
    Known,
    after_life,
    resume_command,
    screen_of,
)
from tmuxreap.sessions.elsewhere import owner_of, registered_elsewhere
from tmuxreap.sessions.look import look_at
from tmuxreap.sessions.shown import BANNER_OPTION, SIBLINGS_OPTION, Shown, shown_in
from tmuxreap.sessions.sight import Past, Sight

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.purge import Purged


@slotted
class Case:
    """One row, what was seen of it, and what is going to be done: either an answer or a plan."""

    row: Row
    agent: str | None
    profile: Profile | None
    sight: Sight
    past: Past
    known: Known
    last_screen: str | None
    memory: int
    purged: Purged | None = None
    plan: Plan | None = None
    answer: Item | None = None
    registered: bool = True
    looked_at: float = 0.0


def prepare(
    context: Context, rows: Sequence[Row], policy: Policy, known: Mapping[str, Past] | None = None
) -> list[Case]:
    """`known`: what is remembered of some of them otherwise than the ledger does."""
    looked_at = context.clock.monotonic()
    pane_only, whole = policy.scope is Scope.PANE, policy.scope is Scope.SESSION
    sights = look_at(context, rows, pane_only=pane_only, whole_session=whole, known=known)
    options = [
        list(_during_keys(sight, context.profile_of(row)))
        for row, (sight, _) in zip(rows, sights, strict=True)
    ]
    shown = shown_in(context.tmux, [sight for sight, _ in sights], options)
    cases = [
        _case(context, row, *seen, pane, policy)
        for row, seen, pane in zip(rows, sights, shown, strict=True)
    ]
    for case in cases:
        case.looked_at = looked_at
    return cases


def _case(
    context: Context, row: Row, sight: Sight, past: Past, shown: Shown, policy: Policy
) -> Case:
    profile, agent = context.profile_of(row), context.agent_of(row)
    known = after_life(profile, context.finder.known_of(row, sight, profile), sight, shown.joined)
    memory = sum(context.processes.memory(one.process.id) for one in sight.owned.own)
    case = Case(row, agent, profile, sight, past, known, shown.joined, memory)
    failure = _elsewhere(context, row, sight, shown, policy) or refusal(
        sight, row.status, policy, row.name
    )
    if failure is None and policy.purge:
        failure = no_purge(context, case, told_later=_told_at_exit(case, policy))
    if failure is not None:
        case.answer = replace(
            failed_target(row.name, failure), status=row.status, agent=agent, pid=row.pane.pid
        )
    elif row.status.ended and not sight.owned.own and (not policy.purge or _was_purged(row)):
        case.answer = already_stopped(context, case)
    else:
        there = sight.agent or sight.carrier
        screen = screen_seen(context, case, shown.text) if there and profile else None
        given = row.agent is not None and row.tmux.known
        keyed = why_no_keys(sight, profile, policy, given=given) is None
        options = _options(sight, profile, shown) if keyed else ()
        purges = _doomed(case) if policy.purge else ((), ())
        case.plan = make_plan(
            row.name, agent, sight, screen, profile, policy, options, *purges, given=given
        )
    return case


def screen_seen(context: Context, case: Case, text: str | None) -> Screen:
    """What a pane shows of its agent; behind a carrier, nothing while another program shows
    itself."""
    if case.sight.carrier is not None and context.profiles.carriers.shows_another(text):
        return Screen(State.UNKNOWN)
    return screen_of(case.profile, case.known, text)


def _doomed(case: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a purge would delete, and what it would leave."""
    from tmuxreap.agents.conversations.purge import would_purge  # few endings ask for it

    found = would_purge(case.profile, case.known.clues.store, case.known.conversation)
    return found.paths, found.left


def _elsewhere(
    context: Context, row: Row, sight: Sight, shown: Shown, policy: Policy
) -> Failure | None:
    """Another registry has this very session: it is not ours to end, whatever a row of ours
    says."""
    if sight.session is None or not isinstance(sight.server, Server):
        return None
    owner = owner_of(context, sight.server, sight.session, shown.environment)
    return registered_elsewhere(policy.verb.value, row.name, owner) if owner is not None else None


def _was_purged(row: Row) -> bool:
    return row.data.get("termination_mode") == MODES[Event.PURGED]


def _told_at_exit(case: Case, policy: Policy) -> bool:
    """Its last words will tell the conversation for certain; until then a guess is no reason to
    refuse."""
    keyed = policy.verb is Verb.STOP and policy.keys_timeout_s != 0 and bool(case.sight.keyed)
    return keyed and case.profile is not None and case.profile.tells_at_exit


def no_purge(context: Context, case: Case, *, told_later: bool = False) -> Failure | None:
    """The conversation must be certain, and this row's alone."""
    row, conversation = case.row, case.known.conversation
    if told_later and (conversation.id is None or conversation.source == GUESS):
        return None
    if case.known.candidates:
        found = ", ".join(case.known.candidates)
        reason = f"could not purge the conversation of {row.name}: it could be any of {found}"
        return Failure(
            Code.AMBIGUOUS_CONVERSATION, reason, f"stop it without: {command('stop', row.name)}"
        )
    users = _users(context, conversation.id, row.name) if conversation.id is not None else []
    if users:
        reason = f"could not purge the conversation of {row.name}: {', '.join(users)} has it too"
        return Failure(
            Code.CONVERSATION_IN_USE,
            reason,
            f"forget that row first: {command('forget', users[0])}",
        )
    if (
        conversation.id is None
        and case.profile is not None
        and wrote_nothing(case.profile, case.known.clues)
    ):
        return None  # no message was ever sent: there is nothing to delete
    from tmuxreap.agents.conversations.purge import why_not  # few endings ask for it

    return why_not(row.name, case.profile, case.known.clues.store, conversation)


def _users(context: Context, conversation: str, name: str) -> list[str]:
    rows = [row for row in context.registry.look().usable if row.name != name]
    return [row.name for row in rows if conversation in dict(row.conversations).values()]


def already_stopped(context: Context, case: Case) -> EndResult:
    row = case.row
    ended_at = row.data.get("stopped_at") or row.data.get("terminated_at")
    return EndResult(
        name=row.name,
        outcome=Outcome.ALREADY_STOPPED,
        stopped_by=next((by for by in StoppedBy if by.value == row.data.get("stopped_by")), None),
        status=Status.STOPPED if row.status is Status.ARCHIVED else row.status,
        agent=case.agent,
        pid=row.pane.pid,
        stop_reason=row.stop_reason,
        termination_mode=(
            str(row.data["termination_mode"]) if row.data.get("termination_mode") else None
        ),
        conversation=case.known.conversation,
        resumable=case.known.conversation.exists and row.resumable is not False,
        resume_command=resume_command(row, case.known, case.profile),
        task_id=row.task_id,
        ended_at=str(ended_at) if ended_at else None,
    )


def _during_keys(sight: Sight, profile: Profile | None) -> dict[str, str]:
    """Options of the pane that the keys need otherwise: the pane stays for the last words, keys
    stay in the pane."""
    pane = sight.pane
    if pane is None or profile is None:
        return {}
    stays = pane.remain_on_exit != "on" and profile.tells_at_exit and _is_direct(sight)
    return {
        **({BANNER_OPTION: "on"} if stays else {}),
        **({SIBLINGS_OPTION: "off"} if pane.synchronized else {}),
    }


def _options(sight: Sight, profile: Profile | None, shown: Shown) -> tuple[PaneOption, ...]:
    pane = sight.pane.id if sight.pane else ""
    wanted = _during_keys(sight, profile).items()
    return tuple(
        PaneOption(pane, option, shown.options.get(option), value) for option, value in wanted
    )


def _is_direct(sight: Sight) -> bool:
    """The agent is what tmux started: with it the pane would go, and the banner with the pane."""
    direct = (*sight.agent, *sight.keyed)
    return sight.pane is not None and any(process.pid == sight.pane.pid for process in direct)

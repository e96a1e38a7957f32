"""From rows to cases: each looked at once, and either answered at once or planned. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.app import App
from tmuxreap.conversations import Known, find_conversation, resume_command, screen_of
from tmuxreap.elsewhere import owner_of, registered_elsewhere
from tmuxreap.errors import Code, Failure, command
from tmuxreap.locators import GUESS, wrote_nothing
from tmuxreap.looking import look_at
from tmuxreap.model import Outcome, Row, Scope, Server, Status, StoppedBy, Verb
from tmuxreap.plan import PaneOption, Plan, Policy, make_plan, refusal, why_no_keys
from tmuxreap.profiles import Profile
from tmuxreap.purging import Purged, why_not, would_purge
from tmuxreap.results import EndResult, Item, failed_target
from tmuxreap.shown import BANNER_OPTION, SIBLINGS_OPTION, Shown, shown_in
from tmuxreap.sights import Past, Sight
from tmuxreap.states import MODES, Event
from tmuxreap.values import replace, slotted


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


def prepare(app: App, rows: Sequence[Row], policy: Policy, known: Mapping[str, Past] | None = None) -> list[Case]:
    """`known`: what is remembered of some of them otherwise than the ledger does."""
    looked_at = app.clock.monotonic()
    pane_only, whole = policy.scope is Scope.PANE, policy.scope is Scope.SESSION
    sights = look_at(app, rows, pane_only=pane_only, whole_session=whole, known=known)
    options = [list(_during_keys(sight, app.profile_of(row))) for row, (sight, _) in zip(rows, sights, strict=True)]
    shown = shown_in(app.tmux, [sight for sight, _ in sights], options)
    cases = [_case(app, row, *seen, pane, policy) for row, seen, pane in zip(rows, sights, shown, strict=True)]
    for case in cases:
        case.looked_at = looked_at
    return cases


def _case(app: App, row: Row, sight: Sight, past: Past, shown: Shown, policy: Policy) -> Case:
    profile, agent = app.profile_of(row), app.agent_of(row)
    known = find_conversation(app, row, sight, profile)
    memory = sum(app.processes.memory(one.process.id) for one in sight.owned.own)
    case = Case(row, agent, profile, sight, past, known, shown.joined, memory)
    failure = _elsewhere(app, row, sight, shown, policy) or refusal(sight, row.status, policy, row.name)
    if failure is None and policy.purge:
        failure = no_purge(app, case, told_later=_told_at_exit(case, policy))
    if failure is not None:
        case.answer = replace(failed_target(row.name, failure), status=row.status, agent=agent, pid=row.pane.pid)
    elif row.status.ended and not sight.owned.own and (not policy.purge or _was_purged(row)):
        case.answer = already_stopped(app, case)
    else:
        screen = screen_of(profile, known, shown.text) if sight.agent and profile else None
        options = _options(sight, profile, shown) if why_no_keys(sight, profile, policy) is None else ()
        doomed = would_purge(profile, known.clues.store, known.conversation) if policy.purge else Purged()
        case.plan = make_plan(row.name, agent, sight, screen, profile, policy, options, doomed.paths, doomed.left)
    return case


def _elsewhere(app: App, row: Row, sight: Sight, shown: Shown, policy: Policy) -> Failure | None:
    """Another registry has this very session: it is not ours to end, whatever a row of ours says."""
    if sight.session is None or not isinstance(sight.server, Server):
        return None
    owner = owner_of(app, sight.server, sight.session, shown.environment)
    return registered_elsewhere(policy.verb.value, row.name, owner) if owner is not None else None


def _was_purged(row: Row) -> bool:
    return row.data.get("termination_mode") == MODES[Event.PURGED]


def _told_at_exit(case: Case, policy: Policy) -> bool:
    """Its last words will tell the conversation for certain; until then a guess is no reason to refuse."""
    keyed = policy.verb is Verb.STOP and policy.keys_timeout_s != 0 and bool(case.sight.keyed)
    return keyed and case.profile is not None and case.profile.tells_at_exit


def no_purge(app: App, case: Case, *, told_later: bool = False) -> Failure | None:
    """The conversation must be certain, and this row's alone."""
    row, conversation = case.row, case.known.conversation
    if told_later and (conversation.id is None or conversation.source == GUESS):
        return None
    if case.known.candidates:
        found = ", ".join(case.known.candidates)
        reason = f"could not purge the conversation of {row.name}: it could be any of {found}"
        return Failure(Code.AMBIGUOUS_CONVERSATION, reason, f"stop it without: {command('stop', row.name)}")
    users = _users(app, conversation.id, row.name) if conversation.id is not None else []
    if users:
        reason = f"could not purge the conversation of {row.name}: {', '.join(users)} has it too"
        return Failure(Code.CONVERSATION_IN_USE, reason, f"forget that row first: {command('forget', users[0])}")
    if conversation.id is None and case.profile is not None and wrote_nothing(case.profile, case.known.clues):
        return None  # no message was ever sent: there is nothing to delete
    return why_not(row.name, case.profile, case.known.clues.store, conversation)


def _users(app: App, conversation: str, name: str) -> list[str]:
    rows = [row for row in app.registry.look().usable if row.name != name]
    return [row.name for row in rows if conversation in dict(row.conversations).values()]


def already_stopped(app: App, case: Case) -> EndResult:
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
        termination_mode=str(row.data["termination_mode"]) if row.data.get("termination_mode") else None,
        conversation=case.known.conversation,
        resumable=case.known.conversation.exists and row.resumable is not False,
        resume_command=resume_command(app, row, case.known, case.profile),
        task_id=row.task_id,
        ended_at=str(ended_at) if ended_at else None,
    )


def _during_keys(sight: Sight, profile: Profile | None) -> dict[str, str]:
    """Options of the pane that the keys need otherwise: the pane stays for the last words, keys stay in the pane."""
    pane = sight.pane
    if pane is None or profile is None:
        return {}
    stays = pane.remain_on_exit != "on" and profile.tells_at_exit and _is_direct(sight)
    return {**({BANNER_OPTION: "on"} if stays else {}), **({SIBLINGS_OPTION: "off"} if pane.synchronized else {})}


def _options(sight: Sight, profile: Profile | None, shown: Shown) -> tuple[PaneOption, ...]:
    pane = sight.pane.id if sight.pane else ""
    wanted = _during_keys(sight, profile).items()
    return tuple(PaneOption(pane, option, shown.options.get(option), value) for option, value in wanted)


def _is_direct(sight: Sight) -> bool:
    """The agent is what tmux started: with it the pane would go, and the banner with the pane."""
    return sight.pane is not None and any(process.pid == sight.pane.pid for process in sight.agent)

"""From how a ladder ended to what is written and answered: fields of the row, the event, the
result. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.agents.screens import State
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Live, Outcome, Row, Scope, Status, StoppedBy, Terminal, Verb
from tmuxreap.core.results import Item, megabytes
from tmuxreap.core.times import iso
from tmuxreap.core.values import replace
from tmuxreap.ending.ladder.requests import Ended
from tmuxreap.ending.plan import Policy, foreign_panes
from tmuxreap.ending.prepare import Case, no_purge, prepare
from tmuxreap.ending.results import EndResult, Survivor
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.rows import conversation_field
from tmuxreap.registry.transitions import (
    EVENT_OF_VERB,
    MODES,
    Changes,
    End,
    Event,
    end_changes,
    next_status,
)
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import resume_command
from tmuxreap.sessions.identity import pid_of
from tmuxreap.sessions.panes import listed
from tmuxreap.sessions.sight import Past

OTHER_TERMINALS = (Terminal.KITTY, Terminal.WEZTERM)


def event_of(case: Case, policy: Policy) -> Event:
    """Of a row that had ended before, only what was left behind was ended now."""
    if case.purged is not None and case.purged.failure is None:
        return Event.PURGED
    return Event.SWEPT if case.row.status.ended else EVENT_OF_VERB[policy.verb]


def stopped_by_of(case: Case, ended: Ended) -> StoppedBy | None:
    """Of an ended row's left-overs no agent tells: what counts is the rung that ended them."""
    if not case.row.status.ended:
        return ended.stopped_by
    return ended.swept_by if ended.swept or case.purged is None else None


def changes_of(
    context: Context, case: Case, ended: Ended, row: Row, policy: Policy, at: float
) -> Changes:
    """What is written into the row as it stands now."""
    conversation = ended.conversation
    ending = End(
        event=event_of(case, policy),
        at=at,
        stopped_by=stopped_by_of(case, ended),
        reason=policy.reason if not row.status.ended or case.purged is None else None,
        scope=Scope.PANE.value if policy.scope is Scope.PANE or ended.foreign else None,
        conversation=conversation,
        conversation_field=conversation_field(case.agent) if case.agent else None,
        resumable=conversation.exists and not ended.cut_off,
        screen=_last_screen(case),
    )
    changes = dict(end_changes(row.status, ending))
    if case.known.store and conversation.id and ending.event is not Event.SWEPT:
        changes[("store",)] = case.known.store
    if (
        case.agent is not None and context.told_agent(row) is None
    ):  # when it is gone nobody could tell any more
        changes[("agent",)] = case.agent
    return changes


def _last_screen(case: Case) -> str | None:
    """Of a row that had ended before, the one of that time stays."""
    return (
        None if case.row.status.ended or case.last_screen is None else kept_screen(case.last_screen)
    )


def result_of(
    context: Context, case: Case, ended: Ended, policy: Policy, duration_s: float
) -> EndResult:
    gone = ended.stopped_by is not None
    event = event_of(case, policy)
    lost = event is Event.PURGED or ended.cut_off
    return EndResult(
        name=case.row.name,
        outcome=Outcome.TERMINATED if gone and event is Event.PURGED else ended.outcome,
        status=next_status(case.row.status, event) if gone else case.row.status,
        agent=case.agent,
        pid=pid_of(case.row, case.sight.pane),
        stopped_by=stopped_by_of(case, ended),
        stop_reason=policy.reason if event is not Event.SWEPT else case.row.stop_reason,
        termination_mode=MODES.get(event) if gone else None,
        task_id=case.row.task_id,
        ended_at=iso(context.clock.now()) if gone else None,
        grace_s=policy.grace,
        conversation=ended.conversation,
        resumable=ended.conversation.exists and not lost,
        resume_command=(None if lost else resume_command(case.row, case.known, case.profile)),
        rungs=ended.rungs,
        purged=case.purged.paths if case.purged else (),
        left=case.purged.left if case.purged else (),
        swept=ended.swept,
        spared=case.sight.owned.spared,
        survivors=tuple(
            Survivor(one, context.processes.started_epoch(one.process.id))
            for one in ended.survivors
        ),
        draft=ended.draft,
        freed_mb=megabytes(case.memory) if gone else 0.0,
        duration_ms=round(duration_s * 1000),
        warnings=(
            *_turn(ended, policy),
            *_draft_lost(ended),
            *(beyond_reach(ended.beyond) if gone and not ended.cut_off else ()),
            *(_left_alone(ended) if gone else ()),
            *case.known.warnings,
            *_nothing_purged(case),
            *(context.finder.goes_on(case.known, case.profile) if gone else ()),
        ),
        failure=failure_of(case, ended, policy),
    )


def _turn(ended: Ended, policy: Policy) -> tuple[str, ...]:
    if not ended.turn_cut:
        return ()
    return (f"turn_not_finished: it was still in its turn after {policy.after_turn_s or 0:g} s",)


def _draft_lost(ended: Ended) -> tuple[str, ...]:
    if not ended.draft_lost:
        return ()
    kept = "what it showed is kept" if ended.draft else "its last screen stands in the row"
    return (f"draft_lost: what was half-typed could not be kept whole: {ended.draft_lost}; {kept}",)


def _nothing_purged(case: Case) -> tuple[str, ...]:
    """Say that a purge which was carried out found nothing to delete."""
    purged = case.purged
    if purged is None or purged.failure is not None or purged.paths:
        return ()
    return (
        (
            f"nothing_purged: no file of a conversation of {case.row.name} was found; nothing was"
            " deleted"
        ),
    )


def beyond_reach(carrier: str | None) -> tuple[str, ...]:
    """Say of what this kernel cannot see that its end was not proven."""
    if carrier is None:
        return ()
    return (f"beyond_reach: it ran behind {carrier}, where its processes cannot be seen from here",)


def _left_alone(ended: Ended) -> tuple[str, ...]:
    if not ended.foreign:
        return ()
    return (
        (
            "foreign_panes: its session lives on, with panes that came meanwhile:"
            f" {listed(ended.foreign)}"
        ),
    )


def failure_of(case: Case, ended: Ended, policy: Policy) -> Failure | None:
    if ended.trouble is not None:
        return ended.trouble
    if case.purged is not None and case.purged.failure is not None:
        return case.purged.failure
    if ended.outcome is Outcome.REFUSED:
        return foreign_panes(ended.foreign, policy.verb, case.row.name)
    if ended.outcome is not Outcome.SURVIVED:
        return None
    if ended.cut_off:
        return _out_of_reach(case.row.name, ended.beyond or "", policy)
    names = (
        ", ".join(f"{one.process.comm} ({one.process.pid})" for one in ended.survivors)
        or "its tmux session"
    )
    code = Code.PERMISSION_DENIED if ended.denied else Code.STILL_RUNNING
    if policy.verb is Verb.KILL and not ended.denied:
        code = Code.KILL_FAILED
    way_out = f"see what holds them: {command('show', case.row.name)}"
    if not policy.force:
        way_out = "try again without --no-force"
    if ended.denied:
        way_out = "end them as the user that they belong to, then stop again"
    return Failure(
        code, f"could not {policy.verb.value} {case.row.name}: still alive: {names}", way_out
    )


def _out_of_reach(name: str, carrier: str, policy: Policy) -> Failure:
    return Failure(
        Code.BEYOND_REACH,
        f"could not {policy.verb.value} what {name} ran behind {carrier}: only {carrier} itself was"
        " ended; what it carried cannot be seen from here and may go on",
        f"end it where it runs: {command(policy.verb.value, name, '--host', 'HOST')}",
    )


def event_record(
    case: Case, result: EndResult, ended: Ended, before: str | None, ended_by: Mapping[str, object]
) -> NewEvent:
    data: dict[str, object] = {
        "outcome": result.outcome.value,
        "stopped_by": result.stopped_by.value if result.stopped_by else None,
        "reason": result.stop_reason,
        "conversation": result.conversation.as_json(),
        "rungs": [rung.as_json() for rung in ended.rungs],
        "swept": [{"pid": one.process.pid, "name": one.process.comm} for one in ended.swept],
        "survivors": [survivor.as_json() for survivor in result.survivors],
        **_cut_off(case, result),
        "ended_by": ended_by,
    }
    return NewEvent(case.row.name, result.outcome.value, data, before)


def _cut_off(case: Case, result: EndResult) -> dict[str, object]:
    """Note a dialog that no key of ours closed: it may be open again when the conversation is taken
    up."""
    screen = case.plan.screen if case.plan else None
    asked = screen is not None and screen.state is State.DIALOG
    return (
        {"state": State.DIALOG.value}
        if asked and result.stopped_by is not StoppedBy.EXIT_KEYS
        else {}
    )


def vanished(result: EndResult) -> EndResult:
    """Its row was removed by another's hand: the session is ended, and there is nothing to write it
    into."""
    warning = f"row_vanished: {result.name} is ended, but its row is no longer in the registry"
    return replace(result, status=None, warnings=(*result.warnings, warning))


def with_twins(result: EndResult, names: Sequence[str]) -> EndResult:
    if not names:
        return result
    warning = (
        f"same_pane: {', '.join(names)} had the same pane, and is recorded as"
        f" {result.outcome.value} with it"
    )
    return replace(result, warnings=(*result.warnings, warning))


def renewed(result: EndResult) -> EndResult:
    warning = (
        f"row_renewed: {result.name} is ended, but its row names another session by now; it was"
        " left alone"
    )
    return replace(result, status=Status.RUNNING, warnings=(*result.warnings, warning))


def purge_if_asked(context: Context, case: Case, ended: Ended, policy: Policy) -> None:
    """After the proof of death and before it is written: a crash between the two leaves what
    reconcile can tell. What is known of the conversation may have changed since the plan."""
    if not policy.purge or ended.stopped_by is None:
        return
    from tmuxreap.agents.conversations.purge import Purged, purge  # few endings ask for it

    failure = no_purge(context, case) or _goes_on(context, case)
    if ended.cut_off:
        failure = _out_of_reach(case.row.name, ended.beyond or "", policy)
    if failure is not None:
        case.purged = Purged(failure=failure)
        return
    if ended.conversation.id is None or case.profile is None:  # no message was ever sent
        case.purged = Purged()
        return
    case.purged = purge(case.row.name, case.profile, case.known.clues.store, ended.conversation)


def _goes_on(context: Context, case: Case) -> Failure | None:
    on = context.finder.goes_on(case.known, case.profile)
    reason = (
        f"could not purge the conversation of {case.row.name}: {on[0].partition(': ')[2]}"
        if on
        else ""
    )
    way_out = f"then: {command('stop', case.row.name, '--purge-conversation')}"
    return Failure(Code.CONVERSATION_IN_USE, reason, way_out) if on else None


def clear_up(context: Context, case: Case, result: EndResult, policy: Policy) -> EndResult:
    """After the proof of death: the pane of another terminal, the worktree, the task."""
    row, failure = case.row, result.failure
    # A pane's number alone may name a stranger's by now: its process must have been seen in it.
    if (
        row.terminal in OTHER_TERMINALS
        and row.pane.id is not None
        and case.sight.live is Live.ALIVE
    ):
        failure = _closed(context, row, row.pane.id) or failure
    if policy.cleanup and result.outcome is not Outcome.SURVIVED:  # it may be at work in there
        from tmuxreap.ending.worktree import clean_up  # few endings ask for it

        failure = clean_up(context, row) or failure
    if policy.task_status is not None and row.task_id is not None:
        context.books.set_task(row.task_id, policy.task_status, f"Agent killed: {policy.reason}")
    return replace(result, failure=failure)


def _closed(context: Context, row: Row, pane: str) -> Failure | None:
    from tmuxreap.system.terminals import close_pane  # few sessions have such a pane

    return close_pane(row.name, row.terminal, pane, context.settings.environ, row.pane.listen_on)


def answered(context: Context, case: Case, policy: Policy) -> Item | None:
    """Return what needs no ending; of a row that had ended before, the worktree goes where that was
    asked for."""
    answer = case.answer
    if (
        not policy.cleanup
        or not isinstance(answer, EndResult)
        or answer.outcome is not Outcome.ALREADY_STOPPED
    ):
        return answer
    from tmuxreap.ending.worktree import clean_up_ended  # few endings ask for it

    return replace(answer, failure=clean_up_ended(context, case.row))


def clear_up_after(
    context: Context, row: Row, plan: Mapping[str, object], reason: str
) -> Failure | None:
    """Do it for an ending whose owner died: the task is told, the worktree goes, as its recorded
    plan says."""
    status = plan.get("task_status")
    if isinstance(status, str) and row.task_id is not None:
        context.books.set_task(row.task_id, status, killed_message(reason))
    if plan.get("cleanup") is not True:
        return None
    from tmuxreap.ending.worktree import clean_up  # few endings ask for it

    return clean_up(context, row)


def killed_message(reason: str) -> str:
    return f"Agent killed: {reason}"


def not_yet(case: Case, policy: Policy, outcome: Outcome) -> EndResult:
    """What can be told of a session before it is ended: planned, or handed over."""
    return EndResult(
        name=case.row.name,
        outcome=outcome,
        status=case.row.status,
        agent=case.agent,
        pid=pid_of(case.row, case.sight.pane),
        stop_reason=policy.reason,
        task_id=case.row.task_id,
        grace_s=policy.grace,
        conversation=case.known.conversation,
        resumable=case.known.conversation.exists,
        spared=case.sight.owned.spared,
        warnings=(*beyond_reach(_beyond(case)), *case.known.warnings),
    )


def _beyond(case: Case) -> str | None:
    carrier = case.sight.carrier
    return carrier.program if carrier is not None and carrier.beyond else None


def planned(
    context: Context, rows: Sequence[Row], policy: Policy, known: Mapping[str, Past] | None = None
) -> list[Item]:
    """The very plans that would be recorded."""
    cases = prepare(context, rows, policy, known)
    return [
        case.answer or replace(not_yet(case, policy, Outcome.PLANNED), plan=case.plan)
        for case in cases
    ]


def taken_over(result: EndResult) -> EndResult:
    return replace(
        result, outcome=Outcome.TAKEN_OVER, stopped_by=None, termination_mode=None, failure=None
    )


def unrecorded(result: EndResult, failure: Failure, policy: Policy, *, intended: bool) -> EndResult:
    """Ended, but it could not be written: the intent stays open, and `reconcile` finishes it. Where
    there is none either, the same command writes it."""
    words = (
        f"{failure.message} ({result.name} itself was ended)"
        if result.stopped_by
        else failure.message
    )
    again = command(policy.verb.value, result.name, "--reason", policy.reason)
    hint = f"when that is fixed: {'tmuxreap reconcile' if intended else again}"
    told = Failure(failure.code, f"{words}; its row stays running", hint)
    return replace(result, outcome=Outcome.FAILED, status=Status.RUNNING, failure=told)

"""Derives from a finished ladder what is written and answered: the fields of the row, the event,
the result. Never writes a row or an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tmuxreap.agents.conversations.background import Lists
from tmuxreap.agents.screens import State
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.masking import is_blind, kept_screen
from tmuxreap.core.model import EndVerb, Outcome, Row, Scope, StoppedBy, Terminal
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.core.results import Conversation, Ending, Item, Process, Rung, megabytes, problem_of
from tmuxreap.core.times import iso
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import UNREAD, EndingState, RungReport, as_answer, out_of_reach
from tmuxreap.ending.plan import foreign_panes
from tmuxreap.ending.policy import Policy
from tmuxreap.ending.prepare import Planning, recordable
from tmuxreap.ledger.records import NewEvent
from tmuxreap.proof.identity import pid_of
from tmuxreap.proof.panes import describe_panes
from tmuxreap.proof.sight import Past
from tmuxreap.registry.rows import conversation_field
from tmuxreap.registry.transitions import (
    EVENT_OF_VERB,
    MODES,
    Changes,
    End,
    RowEvent,
    end_changes,
    next_status,
)
from tmuxreap.sessions.conversation import Finder, resume_command


def event_of(ending: EndingState) -> RowEvent:
    """Return the event of this ending; for a row that had ended before, only leftovers were
    swept."""
    if ending.purged is not None and ending.purged.failure is None:
        return RowEvent.PURGED
    if ending.row.status.ended:
        return RowEvent.SWEPT
    return EVENT_OF_VERB[ending.policy.verb]


def stopped_by_of(ending: EndingState) -> StoppedBy | None:
    """Return by which means it ended; for the leftovers of an ended row, by the rung that ended
    the last of them."""
    if not ending.row.status.ended:
        return ending.stopped_by
    if ending.swept or ending.purged is None:
        return ending.swept_by
    return None


def changes_of(
    ending: EndingState, row: Row, at: float, *, named_agent: str | None, screen: str | None
) -> Changes:
    """Return the changes to the row as it is now. `named_agent`: the agent that the row names;
    `screen`: the last one, as it is kept."""
    policy = ending.policy
    agent = ending.agent
    # A row's own conversation is never replaced by that of another row of its pane.
    is_own = row.name == ending.name or _has_no_other(row, ending)
    if is_own:
        conversation = ending.conversation
    else:
        conversation = Conversation()
    in_part = policy.scope is Scope.PANE or ending.sight.foreign
    reason = None
    if not row.status.ended or ending.purged is None:
        reason = policy.reason
    resumable = None
    if is_own:
        resumable = ending.known.is_resumable and not ending.cut_off
    end = End(
        event=event_of(ending),
        at=at,
        stopped_by=stopped_by_of(ending),
        reason=reason,
        scope=Scope.PANE.value if in_part else None,
        conversation=conversation,
        conversation_field=conversation_field(agent) if agent else None,
        resumable=resumable,
        screen=screen,
    )
    changes = dict(end_changes(row.status, end))
    if ending.known.store and conversation.id and end.event is not RowEvent.SWEPT:
        changes[("store",)] = ending.known.store
    # later the agent can no longer be determined
    if agent is not None and named_agent is None:
        changes[("agent",)] = agent
    return changes


def _has_no_other(row: Row, ending: EndingState) -> bool:
    """Tell whether another row of the pane names no agent or conversation but this one's."""
    if row.agent is not None and row.agent != ending.agent:
        return False
    return all(each in (None, ending.conversation.id) for _, each in row.conversations)


def last_screen(ending: EndingState, log_text: str | None) -> str | None:
    """Return the screen to record; a row that had ended before keeps its old one."""
    row = ending.row
    if row.terminal is Terminal.NONE:
        screen = log_text
    else:
        screen = ending.last_screen
    if row.status.ended or screen is None or is_blind():
        return None
    return kept_screen(screen)


def result_of(
    ending: EndingState, clock: Clock, processes: Processes, finder: Finder, lists: Lists
) -> Ending:
    """Return the answer. `lists`: of the agents' own daemons, read since the end."""
    row = ending.row
    policy = ending.policy
    purged = ending.purged
    gone = ending.stopped_by is not None
    event = event_of(ending)
    lost = event is RowEvent.PURGED or ending.cut_off
    if lost:
        again = None
    else:
        again = resume_command(row, ending.known, ending.profile)
    if gone and event is RowEvent.PURGED:
        outcome = Outcome.TERMINATED
    else:
        outcome = ending.outcome
    stop_reason = row.stop_reason
    if event is not RowEvent.SWEPT:
        stop_reason = policy.reason
    return replace(
        _known_before(ending),
        outcome=outcome,
        status=next_status(row.status, event) if gone else row.status,
        stopped_by=stopped_by_of(ending),
        stop_reason=stop_reason,
        termination_mode=MODES.get(event) if gone else None,
        ended_at=iso(clock.now()) if gone else None,
        resumable=ending.known.is_resumable and not lost,
        resume_command=again,
        rungs=tuple(map(_rung, ending.rungs)),
        purged=purged.paths if purged else (),
        left=purged.left if purged else (),
        swept=as_answer(ending.swept),
        survivors=_survivors(processes, ending),
        draft=ending.draft,
        freed_mb=megabytes(ending.memory) if gone else 0.0,
        duration_ms=round((clock.monotonic() - ending.started) * 1000),
        warnings=tuple(_warnings(ending, finder, lists)),
        error=problem_of(failure_of(ending)),
    )


def _rung(report: RungReport) -> Rung:
    waited_ms = round(report.waited_s * 1000)
    return Rung(report.rung.value, waited_ms, report.enough, report.skipped)


def _survivors(processes: Processes, ending: EndingState) -> tuple[Process, ...]:
    started = processes.started_epoch
    return tuple(Process(it.pid, it.comm, started=round(started(it.id), 2)) for it in ending.left)


def draft_warning(ending: EndingState) -> str:
    if ending.draft:
        kept = "what it showed is kept"
    else:
        kept = "its last screen is in the row"
    if ending.draft_lost == UNREAD:
        lost = f"{UNREAD}: if something was half-typed, it is lost"
    else:
        lost = f"what was half-typed could not be kept whole: {ending.draft_lost}"
    return f"draft_lost: {lost}; {kept}"


def _warnings(ending: EndingState, finder: Finder, lists: Lists) -> Iterator[str]:
    gone = ending.stopped_by is not None
    foreign = ending.sight.foreign
    purged = ending.purged
    if ending.turn_cut:
        waited_s = ending.policy.after_turn_s or 0
        yield f"turn_not_finished: it was still in its turn after {waited_s:g} s"
    if ending.draft_lost:
        yield draft_warning(ending)
    if gone and not ending.cut_off:
        yield from beyond_reach(ending.beyond)
    if gone and foreign:
        panes = describe_panes(foreign)
        yield f"foreign_panes: its session lives on, with panes that came meanwhile: {panes}"
    yield from ending.known.warnings
    if purged is not None and purged.failure is None and not purged.paths:
        nothing = f"no file of a conversation of {ending.name} was found; nothing was deleted"
        yield f"nothing_purged: {nothing}"
    if gone:
        profile = ending.profile
        yield from finder.background_warnings(ending.known, profile, ending.name, lists)


def beyond_reach(carrier: str | None) -> tuple[str, ...]:
    """Warn that the end of processes which this kernel cannot see was not proven."""
    if carrier is None:
        return ()
    return (f"beyond_reach: it ran behind {carrier}, where its processes cannot be seen from here",)


def failure_of(ending: EndingState) -> Failure | None:
    if ending.trouble is not None:
        return ending.trouble
    if ending.purged is not None and ending.purged.failure is not None:
        return ending.purged.failure
    if ending.outcome is Outcome.REFUSED:
        return foreign_panes(ending.sight.foreign, ending.policy.verb, ending.name)
    if ending.outcome is not Outcome.SURVIVED:
        return None
    if ending.unended is not None:
        return ending.unended
    if ending.cut_off:
        return out_of_reach(ending.policy.verb, ending.name, ending.beyond)
    return _still_alive(ending)


def _still_alive(ending: EndingState) -> Failure:
    policy = ending.policy
    code = Code.STILL_RUNNING
    left = [f"{process.comm} ({process.pid})" for process in ending.left]
    names = ", ".join(left) or "its tmux session"
    hint = f"see what holds them: {command('show', ending.name)}"
    if policy.verb is EndVerb.KILL:
        code = Code.KILL_FAILED
    if not policy.force:
        hint = "try again without --no-force"
    if ending.denied:
        code = Code.PERMISSION_DENIED
        hint = "end them as the user that they belong to, then stop again"
    if ending.sight.unproven:
        # By its pid alone nothing is signalled.
        hint = f"if it is the agent, record it: {ending.sight.adopts_unproven(ending.name)}"
    return could_not(policy.verb.value, ending.name, f"still alive: {names}", hint, code)


def event_record(
    ending: EndingState, result: Ending, before: str | None, ended_by: Mapping[str, object]
) -> NewEvent:
    facts = result.as_json()
    data: dict[str, object] = {
        **{name: facts[name] for name in ("outcome", "stopped_by")},
        "reason": result.stop_reason,
        **{name: facts[name] for name in ("conversation", "rungs", "swept", "survivors")},
        **{name: facts[name] for name in ("purged", "left", "removed") if facts[name]},
        **_dialog_state(ending, result),
        "ended_by": ended_by,
        "processes": len(ending.past.remembered),
        "freed_mb": facts["freed_mb"],
    }
    if result.set is not None:
        data["set"] = result.set
    return NewEvent(ending.name, str(result.outcome), data, before)


def _dialog_state(ending: EndingState, result: Ending) -> dict[str, object]:
    """Note a dialog that no key of ours closed: it may open again when the conversation is
    resumed."""
    screen = ending.plan.screen
    asked = screen is not None and screen.state is State.DIALOG
    if not asked or result.stopped_by == StoppedBy.EXIT_KEYS:
        return {}
    return {"state": State.DIALOG.value}


def pending_result(ending: EndingState, outcome: Outcome) -> Ending:
    """Return the answer for a session that is not ended yet: planned, or handed over."""
    warnings = (*beyond_reach(ending.beyond), *ending.known.warnings)
    return replace(_known_before(ending), outcome=outcome, warnings=warnings)


def _known_before(ending: EndingState) -> Ending:
    """Return what the answer says of the session whether it has ended or not."""
    row = ending.row
    policy = ending.policy
    return Ending(
        name=row.name,
        outcome=ending.outcome,
        status=row.status,
        agent=ending.agent,
        pid=pid_of(row, ending.first.pane),
        stop_reason=policy.reason,
        task_id=row.task_id,
        set=policy.in_set,
        grace_s=policy.grace,
        conversation=ending.conversation,
        resumable=ending.known.is_resumable,
        spared=as_answer(ending.first.owned.spared, why=True),
    )


def dry_run_answers(
    planning: Planning, rows: Sequence[Row], policy: Policy, known: Mapping[str, Past] | None = None
) -> list[Item]:
    """Return the same plans as would be recorded, and the failures of those that could not be."""
    endings = planning.prepare(rows, policy, known)
    living = [ending for ending in endings if ending.answer is None]
    if living and planning.registry.path.exists():
        look = planning.registry.look()
        registered = [ending for ending in living if look.named(ending.name)]
        recordable(planning.registry, look, registered, policy)
    finder = planning.finder
    lists = finder.lists()
    return [ending.answer or _planned(finder, lists, ending) for ending in endings]


def _planned(finder: Finder, lists: Lists, ending: EndingState) -> Ending:
    result = pending_result(ending, Outcome.PLANNED)
    known = ending.known
    own = ending.sight.job
    left = finder.background_warnings(known, ending.profile, ending.name, lists, own, planned=True)
    return replace(
        result, plan=ending.plan.recorded().as_json(), warnings=(*result.warnings, *left)
    )

"""Writes what became of endings: registry first, then ledger, each batch as it comes, under the
lock.

It decides one thing only: whether the row is still the one that the ending was planned on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from tmuxreap.core import faults
from tmuxreap.core.errors import Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import Outcome, Row
from tmuxreap.core.results import Item
from tmuxreap.ending import outcome
from tmuxreap.ending.delegation import tell_ended
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.outcome import changes_of, clear_up
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.results import EndResult
from tmuxreap.ledger.records import Closing, NewEvent, Survivor
from tmuxreap.registry.file import RegistryLook, edited_where_safe, row_invalid
from tmuxreap.registry.transitions import Changes
from tmuxreap.sessions.caller import caller
from tmuxreap.sessions.context import Context
from tmuxreap.system.interrupts import undisturbed


def record(
    context: Context, batch: Sequence[Ending], policy: Policy, answers: dict[str, Item]
) -> None:
    """Registry first, then ledger; what another took over or renewed meanwhile is left alone. The
    answers stand as soon as the file does: an interrupt between the two would tell something else
    than the file."""
    with contextlib.ExitStack() as held:
        written = _write(context, batch, policy, answers, held)
    if written is None:
        return
    results, fates, before, after = written
    told = [ending for ending in batch if ending.name in results]
    for ending in told:
        if fates[ending.name] is _Fate.WRITTEN:
            results[ending.name] = clear_up(context, ending, results[ending.name])
    jobs_of = {it.row: results[it.name] for it in told if fates[it.name] in JOB_ENDS}
    warned, jobs = tell_ended(context, policy.verb, jobs_of)
    results.update(warned)
    answers.update(results)
    _follow(context, before, after, told, results, jobs)


Written = tuple[dict[str, EndResult], dict[str, "_Fate"], RegistryLook, RegistryLook]


def _write(
    context: Context,
    batch: Sequence[Ending],
    policy: Policy,
    answers: dict[str, Item],
    held: contextlib.ExitStack,
) -> Written | None:
    faults.at(Step.PROVEN)
    at, fates, refused = context.clock.now(), dict[str, _Fate](), dict[str, Failure]()

    def edit(look: RegistryLook) -> str:
        held.enter_context(undisturbed())
        wanted: dict[str, Changes] = {}
        for ending in batch:
            row = look.named(ending.name)
            fate = fates[ending.name] = _fate(context, ending, row)
            if fate is _Fate.VANISHED and (bad := look.spoilt(ending.name)) is not None:
                refused[ending.name] = row_invalid(look.path, bad)
            if fate is _Fate.WRITTEN and row is not None:
                wanted[row.name] = changes_of(context, ending, row, at)
                ending.twins = _twins(context, look, row)
                for twin in ending.twins:
                    wanted.setdefault(twin.name, changes_of(context, ending, twin, at))
        text, stuck = edited_where_safe(look, wanted)
        refused.update(stuck)
        return text

    for ending in batch:
        if ending.intent is None or context.books.still_open(ending.intent.id):
            outcome.purge_if_asked(context, ending)
    if policy.purge:
        faults.at(Step.PURGED)
    plain = {ending.name: outcome.result_of(context, ending) for ending in batch}
    try:
        before, after = context.registry.change(edit)
    except Failure as failure:
        answers.update(_unrecorded(batch, plain, dict.fromkeys(plain, failure), policy))
        return None
    results = {
        name: TOLD[fates[name]](result) for name, result in plain.items() if name not in refused
    }
    for ending in batch:
        if ending.twins and ending.name in results:
            names = [one.name for one in ending.twins if one.name not in refused]
            results[ending.name] = outcome.with_twins(results[ending.name], names)
    answers.update(results)
    answers.update(_unrecorded(batch, plain, refused, policy))
    return results, fates, before, after


def _unrecorded(
    batch: Sequence[Ending],
    plain: Mapping[str, EndResult],
    failures: Mapping[str, Failure],
    policy: Policy,
) -> dict[str, EndResult]:
    intended = {ending.name for ending in batch if ending.intent is not None}
    return {
        name: outcome.unrecorded(plain[name], failure, policy, intended=name in intended)
        for name, failure in failures.items()
    }


def _follow(
    context: Context,
    before: RegistryLook,
    after: RegistryLook,
    batch: Sequence[Ending],
    results: Mapping[str, EndResult],
    jobs: Sequence[NewEvent],
) -> None:
    events: list[NewEvent] = []
    closings: list[Closing] = []
    ended_by = caller(context)
    for ending in batch:
        name, result = ending.name, results[ending.name]
        row, number = before.named(name), ending.intent.id if ending.intent else None
        image = before.text_of(row) if row else None
        events += [
            _of_twin(before, twin, name) for twin in ending.twins if twin.name not in results
        ]
        events.append(outcome.event_record(ending, result, image, ended_by))
        if number is not None and not _left_open(ending):
            closings.append(Closing(number, str(result.outcome), result.as_json()))
        if ending.survivors:
            left = [
                Survivor(one.process.id, context.place.boot_id, one.process.comm)
                for one in ending.survivors
            ]
            context.books.remember_survivors(name, left, number)
    context.books.follow(after, [*events, *jobs], closings)


def _twins(context: Context, look: RegistryLook, row: Row) -> tuple[Row, ...]:
    """Running rows that mean the very pane that was ended: what is true of one is true of all."""
    others = (one for one in look.usable if one.name != row.name and not one.status.ended)
    return tuple(one for one in others if not row.status.ended and context.same_pane(row, one))


def _of_twin(before: RegistryLook, twin: Row, name: str) -> NewEvent:
    return NewEvent(twin.name, "ended_with", {"session": name}, before.text_of(twin))


def _left_open(ending: Ending) -> bool:
    """A tmux that could not be asked any more keeps our options on the pane: who comes next puts
    them back."""
    return ending.outcome is Outcome.FAILED and bool(ending.plan.options)


class _Fate(Enum):
    """What becomes of the row when its session has been ended."""

    WRITTEN = "written"
    KEPT = "kept"  # survivors: it stays as it is
    TAKEN_OVER = "taken over"
    VANISHED = "vanished"
    RENEWED = "renewed"


JOB_ENDS = (
    _Fate.WRITTEN,
    _Fate.KEPT,
    _Fate.VANISHED,
)  # else its job may go on with another's session
TOLD: dict[_Fate, Callable[[EndResult], EndResult]] = {
    _Fate.WRITTEN: lambda result: result,
    _Fate.KEPT: lambda result: result,
    _Fate.TAKEN_OVER: outcome.taken_over,
    _Fate.VANISHED: outcome.vanished,
    _Fate.RENEWED: outcome.renewed,
}


def _fate(context: Context, ending: Ending, row: Row | None) -> _Fate:
    lost = ending.intent is not None and not context.books.still_open(ending.intent.id)
    if lost or ending.outcome is Outcome.TAKEN_OVER:
        return _Fate.TAKEN_OVER
    if ending.stopped_by is None:
        return _Fate.KEPT
    if row is None:
        return _Fate.VANISHED
    return _Fate.WRITTEN if _is_of(ending, row) else _Fate.RENEWED


def _is_of(ending: Ending, row: Row) -> bool:
    """Of the session that was ended: as planned, or written anew meanwhile, by an `adopt` of that
    very session."""
    if (row.tmux, row.pane) == (ending.row.tmux, ending.row.pane):
        return True
    plan = ending.plan
    if plan.server is None or plan.session is None or plan.pane is None:
        return False
    now, session = row.tmux, plan.session
    return row.pane.pid == plan.pane.pid and (
        (now.server_pid, now.session_id, now.session_created)
        == (plan.server.pid, session.id, session.created)
    )

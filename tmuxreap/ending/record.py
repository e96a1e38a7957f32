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
from tmuxreap.core.model import Outcome, Row, Server
from tmuxreap.core.results import Item
from tmuxreap.core.values import slotted
from tmuxreap.ending import outcome
from tmuxreap.ending.delegation import tell_ended
from tmuxreap.ending.ladder.execute import Task
from tmuxreap.ending.ladder.requests import Ended
from tmuxreap.ending.outcome import changes_of, clear_up
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.prepare import Case
from tmuxreap.ending.results import EndResult
from tmuxreap.ledger.records import Closing, Intent, NewEvent, Survivor
from tmuxreap.registry.file import RegistryLook, edited_where_safe, row_invalid
from tmuxreap.registry.transitions import Changes
from tmuxreap.sessions.caller import caller
from tmuxreap.sessions.context import Context
from tmuxreap.system.interrupts import undisturbed


@slotted
class UnderWay:
    """One session between its intent and its record."""

    case: Case
    intent: Intent | None
    task: Task | None = None
    started: float = 0.0
    twins: tuple[Row, ...] = ()  # other rows of the same pane, which were written with it


def record(
    context: Context,
    batch: Sequence[tuple[UnderWay, Ended]],
    policy: Policy,
    answers: dict[str, Item],
) -> None:
    """Registry first, then ledger; what another took over or renewed meanwhile is left alone. The
    answers stand as soon as the file does: an interrupt between the two would tell something else
    than the file."""
    with contextlib.ExitStack() as held:
        written = _write(context, batch, policy, answers, held)
    if written is None:
        return
    results, fates, before, after = written
    for it, _ in batch:
        name = it.case.row.name
        if fates.get(name) is _Fate.WRITTEN and name in results:
            results[name] = clear_up(context, it.case, results[name], policy)
    told = [
        it.case.row
        for it, _ in batch
        if it.case.row.name in results and fates[it.case.row.name] in JOB_ENDS
    ]
    warned, jobs = tell_ended(context, policy.verb, {row: results[row.name] for row in told})
    results.update(warned)
    answers.update(results)
    _follow(
        context,
        before,
        after,
        [pair for pair in batch if pair[0].case.row.name in results],
        results,
        jobs,
    )


Written = tuple[dict[str, EndResult], dict[str, "_Fate"], RegistryLook, RegistryLook]


def _write(
    context: Context,
    batch: Sequence[tuple[UnderWay, Ended]],
    policy: Policy,
    answers: dict[str, Item],
    held: contextlib.ExitStack,
) -> Written | None:
    faults.at(Step.PROVEN)
    at, fates, refused = context.clock.now(), dict[str, _Fate](), dict[str, Failure]()

    def edit(look: RegistryLook) -> str:
        held.enter_context(undisturbed())
        wanted: dict[str, Changes] = {}
        for ending, ended in batch:
            row = look.named(ending.case.row.name)
            fate = fates[ending.case.row.name] = _fate(context, ending, ended, row)
            if fate is _Fate.VANISHED and (bad := look.spoilt(ending.case.row.name)) is not None:
                refused[ending.case.row.name] = row_invalid(look.path, bad)
            if fate is _Fate.WRITTEN and row is not None:
                wanted[row.name] = changes_of(context, ending.case, ended, row, policy, at)
                ending.twins = _twins(context, look, row)
                for twin in ending.twins:
                    wanted.setdefault(
                        twin.name, changes_of(context, ending.case, ended, twin, policy, at)
                    )
        text, stuck = edited_where_safe(look, wanted)
        refused.update(stuck)
        return text

    for it, ended in batch:
        if it.intent is None or context.books.still_open(it.intent.id):
            outcome.purge_if_asked(context, it.case, ended, policy)
    if policy.purge:
        faults.at(Step.PURGED)
    plain = {it.case.row.name: answer_of(context, it, ended, policy) for it, ended in batch}
    try:
        before, after = context.registry.change(edit)
    except Failure as failure:
        answers.update(_unrecorded(batch, plain, dict.fromkeys(plain, failure), policy))
        return None
    results = {
        name: TOLD[fates[name]](result) for name, result in plain.items() if name not in refused
    }
    for it, _ in batch:
        name = it.case.row.name
        if it.twins and name in results:
            results[name] = outcome.with_twins(
                results[name], [one.name for one in it.twins if one.name not in refused]
            )
    answers.update(results)
    answers.update(_unrecorded(batch, plain, refused, policy))
    return results, fates, before, after


def _unrecorded(
    batch: Sequence[tuple[UnderWay, Ended]],
    plain: Mapping[str, EndResult],
    failures: Mapping[str, Failure],
    policy: Policy,
) -> dict[str, EndResult]:
    intended = {it.case.row.name for it, _ in batch if it.intent is not None}
    return {
        name: outcome.unrecorded(plain[name], failure, policy, intended=name in intended)
        for name, failure in failures.items()
    }


def _follow(
    context: Context,
    before: RegistryLook,
    after: RegistryLook,
    batch: Sequence[tuple[UnderWay, Ended]],
    results: Mapping[str, EndResult],
    jobs: Sequence[NewEvent],
) -> None:
    events: list[NewEvent] = []
    closings: list[Closing] = []
    ended_by = caller(context)
    for ending, ended in batch:
        name = ending.case.row.name
        row, number = before.named(name), ending.intent.id if ending.intent else None
        image = before.text_of(row) if row else None
        events += [
            _of_twin(before, twin, name) for twin in ending.twins if twin.name not in results
        ]
        events.append(outcome.event_record(ending.case, results[name], ended, image, ended_by))
        if number is not None and not _left_open(ending, ended):
            closings.append(Closing(number, results[name].outcome.value, results[name].as_json()))
        if ended.survivors:
            left = [
                Survivor(one.process.id, context.place.boot_id, one.process.comm)
                for one in ended.survivors
            ]
            context.books.remember_survivors(name, left, number)
    context.books.follow(after, [*events, *jobs], closings)


def _twins(context: Context, look: RegistryLook, row: Row) -> tuple[Row, ...]:
    """Running rows that mean the very pane that was ended: what is true of one is true of all."""
    others = (one for one in look.usable if one.name != row.name and not one.status.ended)
    return tuple(one for one in others if not row.status.ended and context.same_pane(row, one))


def _of_twin(before: RegistryLook, twin: Row, name: str) -> NewEvent:
    return NewEvent(twin.name, "ended_with", {"session": name}, before.text_of(twin))


def _left_open(ending: UnderWay, ended: Ended) -> bool:
    """A tmux that could not be asked any more keeps our options on the pane: who comes next puts
    them back."""
    return (
        ended.outcome is Outcome.FAILED
        and ending.task is not None
        and bool(ending.task.plan.options)
    )


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


def _fate(context: Context, ending: UnderWay, ended: Ended, row: Row | None) -> _Fate:
    if ended.outcome is Outcome.TAKEN_OVER or (
        ending.intent and not context.books.still_open(ending.intent.id)
    ):
        return _Fate.TAKEN_OVER
    if ended.stopped_by is None:
        return _Fate.KEPT
    if row is None:
        return _Fate.VANISHED
    return _Fate.WRITTEN if _is_of(ending.case, row) else _Fate.RENEWED


def _is_of(case: Case, row: Row) -> bool:
    """Of the session that was ended: as planned, or written anew meanwhile, by an `adopt` of that
    very session."""
    if (row.tmux, row.pane) == (case.row.tmux, case.row.pane):
        return True
    server, session, pane = case.sight.server, case.sight.session, case.sight.pane
    if (
        not isinstance(server, Server)
        or session is None
        or pane is None
        or row.pane.pid != pane.pid
    ):
        return False
    now = row.tmux
    return (now.server_pid, now.session_id, now.session_created) == (
        server.pid,
        session.id,
        session.created,
    )


def answer_of(context: Context, ending: UnderWay, ended: Ended, policy: Policy) -> EndResult:
    return outcome.result_of(
        context, ending.case, ended, policy, context.clock.monotonic() - ending.started
    )

"""The single path on which sessions end: `stop`, `kill`, `reap` and `start --replace` differ only
in their request.

read the registry -> choose rows -> look at the world -> plan -> record the intents (under the
lock) -> run the ladders -> record each outcome as it arrives (under the lock again) -> answer"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Outcome, Row
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace
from tmuxreap.ending.before_keys import begin, check_lock
from tmuxreap.ending.clean_up import early_answer
from tmuxreap.ending.delegation import report_started
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.one_at_a_time import (
    ActiveIntents,
    MarkInProgress,
    cancel_restarts,
    under_way,
)
from tmuxreap.ending.outcome import pending_result, result_of
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.prepare import prepare
from tmuxreap.ending.record import record
from tmuxreap.ending.results import EndResult, failed_target
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Closing, Intent
from tmuxreap.registry.failures import row_invalid
from tmuxreap.registry.file import Registry
from tmuxreap.registry.look import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.servers import Servers
from tmuxreap.sessions.sight import Past
from tmuxreap.system.interrupts import defer_interrupts

TRIES = 3


def end_rows(context: Context, rows: Sequence[Row], policy: Policy) -> list[Item]:
    """End these rows concurrently and return the answers in the order of the rows.
    After an interrupt, every row is still answered: ended, or interrupted."""
    answers: dict[str, Item] = {}
    with under_way(context.books) as mark_in_progress:
        try:
            first = _one_of_each_pane(context.servers, rows)
            _end_all(context, first, policy, answers, mark_in_progress)
            # The other rows of each pane were recorded together with the first.
            if len(first) < len(rows):
                others = [row for row in rows if row not in first]
                twins = _current_rows(context.registry.look(), others, answers)
                _end_all(context, twins, policy, answers, mark_in_progress)
        except KeyboardInterrupt:
            rest = [row.name for row in rows if row.name not in answers]
            answers.update({name: failed_target(name, _interrupted(name, policy)) for name in rest})
    return [answers[row.name] for row in rows]


def _one_of_each_pane(servers: Servers, rows: Sequence[Row]) -> list[Row]:
    """Return the first row of each pane: a pane is ended only once."""
    by_pid: dict[int | None, list[Row]] = {}
    for row in rows:
        distinct = by_pid.setdefault(row.pane.pid, [])
        if not any(servers.same_pane(row, other) for other in distinct):
            distinct.append(row)
    first = {row.name for row in chain.from_iterable(by_pid.values())}
    return [row for row in rows if row.name in first]


def _end_all(
    context: Context,
    rows: Sequence[Row],
    policy: Policy,
    answers: dict[str, Item],
    mark_in_progress: MarkInProgress,
) -> None:
    remaining, active = list(rows), ActiveIntents.of(context)
    for _ in range(TRIES):
        if not remaining:
            break
        # In every round: a row may have become lost, with a restart pending, since the last one.
        remaining = cancel_restarts(context, remaining, policy.verb.value)
        endings = prepare(context, remaining, policy)
        check_lock(endings, policy, lock_held=context.lock_held)
        wanted = [ending for ending in endings if ending.answer is None]
        begun, busy, stale = begin(context, wanted, policy, mark_in_progress)
        environ = context.settings.environ
        early = {it.name: early_answer(it, lambda: context.registry, environ) for it in endings}
        answers.update({name: answer for name, answer in early.items() if answer is not None})
        try:
            _run_and_record(
                context, [it for it in begun if not it.first.contains_caller], policy, answers
            )
            own = [ending for ending in begun if ending.first.contains_caller]
            if own:
                _hand_over(context, own, policy, answers)
        except BaseException:
            _release_unfinished(context.books, begun, {})
            raise
        _release_unfinished(context.books, begun, answers)
        _answer_taken_over(active, begun, answers)
        remaining = []
        for intent in busy:
            if context.lock_held:
                raise LockIsHeld(f"wait for the other {intent.verb} of {intent.name}")
            joined = active.join(intent)
            if joined is None:  # its owner died: this process ends the session
                remaining.append(next(row for row in rows if row.name == intent.name))
            else:
                answers[intent.name] = joined
        if stale or remaining:
            remaining = [*(ending.row for ending in stale), *remaining]
            remaining = _current_rows(context.registry.look(), remaining, answers)
    answers.update(
        {row.name: failed_target(row.name, _row_kept_changing(row.name)) for row in remaining}
    )


def end_unregistered(context: Context, row: Row, policy: Policy, past: Past | None = None) -> Item:
    """End a session that has no row, in the same way, and write nothing. `past`: what identifies
    its processes."""
    (ending,) = prepare(context, [row], policy, {row.name: past} if past else None)
    check_lock([ending], policy, lock_held=context.lock_held)
    if ending.answer is not None:
        return ending.answer
    ending.started = context.clock.monotonic()
    for _ in _run_ladders(context, [ending]):
        ports = context.clock, context.processes, context.finder
        return replace(result_of(ending, *ports), status=None)
    raise AssertionError("a ladder always ends")


def _release_unfinished(books: Books, begun: Sequence[Ending], answers: Mapping[str, Item]) -> None:
    """Give up ownership of failed and interrupted endings, so that `reconcile` can finish them
    even while this process lives on as a server."""
    done = {
        name for name, item in answers.items() if isinstance(item, EndResult) and not _failed(item)
    }
    books.release(ending.intent.id for ending in begun if ending.intent and ending.name not in done)


def _failed(result: EndResult) -> bool:
    return result.outcome in (Outcome.FAILED, Outcome.REFUSED)


def _current_rows(look: RegistryLook, rows: Iterable[Row], answers: dict[str, Item]) -> list[Row]:
    """Return the rows as they are now; answer those that vanished."""
    names = [row.name for row in rows]
    current = {name: look.named(name) for name in names}
    answers.update(
        {
            name: failed_target(name, _row_vanished(look, name))
            for name in names
            if not current[name]
        }
    )
    return [row for row in current.values() if row is not None]


def _answer_taken_over(
    active: ActiveIntents, begun: Iterable[Ending], answers: dict[str, Item]
) -> None:
    """Answer an ending that was taken over with the error of the process that took it over."""
    for ending in begun:
        result = answers.get(ending.name)
        if ending.intent is None or not isinstance(result, EndResult):
            continue
        if result.outcome is Outcome.TAKEN_OVER:
            taker = active.outcome_after_takeover(ending.intent.id)
            error = taker.error if taker is not None else problem_of(_lost_in_takeover(ending))
            answers[ending.name] = replace(result, error=error)


def _lost_in_takeover(ending: Ending) -> Failure:
    reason = (
        f"could not {ending.policy.verb.value} {ending.name}: another took it over, and what came"
        " of it is not recorded"
    )
    return Failure(Code.STILL_RUNNING, reason, "see what is left: tmuxreap reconcile")


def _hand_over(
    context: Context, endings: Sequence[Ending], policy: Policy, answers: dict[str, Item]
) -> None:
    """Hand the caller's own session to a finisher: answered now, ended after the caller exits."""
    from tmuxreap.ending.handover import hand_over  # late: rarely needed

    policy = replace(policy, asked_by=context.caller.as_recorded(context.books))
    ports = context.books, context.processes, context.settings.environ
    for ending in endings:
        try:
            hand_over(*ports, ending.intent, ending.name, policy)
        except Failure as failure:
            answers[ending.name] = failed_target(ending.name, failure)
        else:
            answers[ending.name] = pending_result(ending, Outcome.HANDED_OVER)


def _row_vanished(look: RegistryLook, name: str) -> Failure:
    if (bad := look.bad_row(name)) is not None:
        return row_invalid(look.path, bad)
    reason = f"could not end {name}: its row vanished from the registry meanwhile"
    return Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")


def _run_and_record(
    context: Context, endings: Sequence[Ending], policy: Policy, answers: dict[str, Item]
) -> None:
    recorded, rows = any(ending.intent for ending in endings), [ending.row for ending in endings]
    warnings = report_started(context.books, rows, context.clock.now(), recorded=recorded)
    context.warnings.extend(warnings)
    for batch in _run_ladders(context, endings):
        record(context, batch, policy, answers)


def finish(context: Context, intent: Intent, policy: Policy) -> list[Item]:
    """Carry out, in the finisher, the ending that was handed over."""
    row = context.registry.look().named(intent.name)
    if row is None:
        return []
    (ending,) = prepare(context, [row], policy)
    answers: dict[str, Item] = {}
    if ending.answer is not None:
        answers[row.name] = ending.answer
        closing = Closing(intent.id, Outcome.REFUSED.value, ending.answer.as_json())
        context.books.follow(context.registry.look(), [], [closing])
    else:
        ending.intent, ending.started = intent, context.clock.monotonic()
        _run_and_record(context, [ending], policy, answers)
    return list(answers.values())


def _interrupted(name: str, policy: Policy) -> Failure:
    reason = f"could not {policy.verb.value} {name}: interrupted on the way"
    return Failure(Code.INTERRUPTED, reason, f"finish it with: tmuxreap {policy.verb.value} {name}")


def _run_ladders(context: Context, endings: Sequence[Ending]) -> Iterator[list[Ending]]:
    from tmuxreap.ending.ladder.execute import Executor  # late: ended sessions need none

    names = {ending.name for ending in endings}
    meanwhile = partial(_prepare_write, context.registry, names)
    executor = Executor(context, context.progress, meanwhile)
    return executor.run(endings)


def _prepare_write(registry: Registry, names: Collection[str]) -> None:
    """Prepare the recording while the agents exit: import YAML, compile patterns, parse the
    registry and rehearse a write. Interrupts wait, since an import could swallow one."""
    with contextlib.suppress(Failure), defer_interrupts():  # the write itself will report it
        from tmuxreap.registry import edits  # late: imports YAML

        edits.warm_up()
        kept_screen("")
        registry.look().prepare_edit(names)


def _row_kept_changing(name: str) -> Failure:
    return Failure(
        Code.LOCK_TIMEOUT,
        f"could not end {name}: its row changed again and again under our hands",
        "see who writes it with: tmuxreap events, then try again",
    )

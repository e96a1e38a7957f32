"""The one path on which sessions end: `stop`, `kill`, `reap` and `start --replace` differ in their
request only.

look at the registry -> choose rows -> look at the world -> plan -> record the intents (under the
lock) -> carry the ladders out -> record each outcome as it comes (under the lock again) ->
answer"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Conversation, Outcome, Row, Verb
from tmuxreap.core.results import Item
from tmuxreap.core.values import replace
from tmuxreap.ending.before_keys import held, recordable
from tmuxreap.ending.delegation import tell_begun
from tmuxreap.ending.handover import hand_over
from tmuxreap.ending.ladder.execute import Executor, Task
from tmuxreap.ending.ladder.requests import Ended, Heard
from tmuxreap.ending.one_at_a_time import (
    join,
    outcome_of_taker,
    owner_alive,
    under_way,
    with_options,
)
from tmuxreap.ending.outcome import answered, not_yet
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.prepare import Case, prepare, screen_seen
from tmuxreap.ending.record import UnderWay, answer_of, record
from tmuxreap.ending.results import EndResult, failed_target
from tmuxreap.ledger.records import Begun, Busy, Closing, Intent, NewIntent, PaneOption
from tmuxreap.registry.file import RegistryLook, row_invalid
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import after_exit
from tmuxreap.sessions.sight import Past
from tmuxreap.system.interrupts import undisturbed

Ours = Callable[[Iterable[Intent]], None]

DEADLINE_SLACK_S = 30.0
TRIES = 3


def end_rows(
    context: Context, look: RegistryLook, rows: Sequence[Row], policy: Policy
) -> list[Item]:
    """End these rows, all at the same time; the answers stand in the order of the rows.
    Interrupted, what was done is told, and what was not."""
    answers: dict[str, Item] = {}
    with under_way(context) as begin:
        try:
            first = _one_of_each_pane(context, rows)
            _end_all(context, look, first, policy, answers, begin)
            if len(first) < len(
                rows
            ):  # their pane has been ended by now, and they were recorded with it
                look = context.registry.look()
                twins, vanished = _again(look, [row for row in rows if row not in first])
                answers.update(vanished)
                _end_all(context, look, twins, policy, answers, begin)
        except KeyboardInterrupt:
            rest = [row.name for row in rows if row.name not in answers]
            answers.update({name: failed_target(name, _interrupted(name, policy)) for name in rest})
    return [answers[row.name] for row in rows]


def _one_of_each_pane(context: Context, rows: Sequence[Row]) -> list[Row]:
    """Two rows of one pane are ended once."""
    by_pid: dict[int | None, list[Row]] = {}
    for row in rows:
        known = by_pid.setdefault(row.pane.pid, [])
        if not any(context.same_pane(row, one) for one in known):
            known.append(row)
    first = {row.name for rows in by_pid.values() for row in rows}
    return [row for row in rows if row.name in first]


def _end_all(
    context: Context,
    look: RegistryLook,
    rows: Sequence[Row],
    policy: Policy,
    answers: dict[str, Item],
    begin: Ours,
) -> None:
    todo = list(rows)
    for _ in range(TRIES):
        if not todo:
            break
        cases = prepare(context, todo, policy)
        _check_free(context, cases, policy)
        begun, busy, stale = _begin(
            context, [case for case in cases if case.answer is None], policy, begin
        )
        told = {case.row.name: answered(context, case, policy) for case in cases}
        answers.update({name: answer for name, answer in told.items() if answer is not None})
        try:
            _carry_out(
                context, [ending for ending in begun if not ending.case.sight.mine], policy, answers
            )
            answers.update(
                _hand_over(context, [ending for ending in begun if ending.case.sight.mine], policy)
            )
        except BaseException:
            _release(context, begun, {})
            raise
        _release(context, begun, answers)
        _follow_takers(context, begun, policy, answers)
        todo = []
        for intent in busy:
            if context.lock_held:
                raise LockIsHeld(f"wait for the other {intent.verb} of {intent.name}")
            joined = join(context, intent)
            if joined is None:  # its owner died over it: it is ours to do
                todo.append(next(row for row in rows if row.name == intent.name))
            else:
                answers[intent.name] = joined
        if stale or todo:
            look = context.registry.look()
            todo, vanished = _again(look, [*(case.row for case in stale), *todo])
            answers.update(vanished)
    answers.update({row.name: failed_target(row.name, _restless(row.name)) for row in todo})


def end_unregistered(context: Context, row: Row, policy: Policy, past: Past | None = None) -> Item:
    """What has no row: ended in the same way, and nothing is written of it. `past`: by what it is
    known."""
    (case,) = prepare(context, [row], policy, {row.name: past} if past else None)
    _check_free(context, [case], policy)
    if case.answer is not None:
        return case.answer
    ending = UnderWay(case, None, started=context.clock.monotonic())
    for batch in _run(context, [ending], policy):
        for _, ended in batch:
            return replace(answer_of(context, ending, ended, policy), status=None)
    raise AssertionError("a ladder always ends")


def _begin(
    context: Context, cases: Sequence[Case], policy: Policy, begin: Ours
) -> tuple[list[UnderWay], list[Intent], list[Case]]:
    """Under the lock: is the registry still what was planned on? Then each intent is recorded."""
    if not cases:
        return [], [], []

    with held(context, policy):
        now = context.registry.look()
        stale = [case for case in cases if not _unchanged(case.row, now)]
        fresh = recordable(context, now, [case for case in cases if case not in stale], policy)
        news = [_new_intent(context, case, policy) for case in fresh]
        answers = context.books.begin(
            news, lambda it: owner_alive(context, it), take_over=policy.verb is Verb.KILL
        )
        begin(answer.intent for answer in answers if isinstance(answer, Begun))
    started = context.clock.monotonic()
    begun: list[UnderWay] = []
    busy: list[Intent] = []
    for case, answer in zip(fresh, answers, strict=True):
        if isinstance(answer, Busy):
            busy.append(answer.intent)
        else:
            if isinstance(answer, Begun) and answer.inherited is not None and case.plan is not None:
                case.plan = with_options(case.plan, answer.inherited)
            begun.append(
                UnderWay(
                    case, answer.intent if isinstance(answer, Begun) else None, started=started
                )
            )
    return begun, busy, stale


def _check_free(context: Context, cases: Sequence[Case], policy: Policy) -> None:
    """Under a lock that the caller holds only what is gone already can be recorded."""
    living = [it.row.name for it in cases if it.answer is None and _lives(it)]
    if context.lock_held and living:
        raise LockIsHeld(f"{policy.verb.value} {', '.join(living)}")


def _lives(case: Case) -> bool:
    return case.sight.session is not None or bool(case.sight.owned.own)


def _unchanged(row: Row, look: RegistryLook) -> bool:
    now = look.named(row.name)
    return now is not None and (now.status, now.tmux, now.pane) == (row.status, row.tmux, row.pane)


def _release(context: Context, begun: Sequence[UnderWay], answers: Mapping[str, Item]) -> None:
    """What failed or was interrupted stays open for `reconcile`, also while this process lives on
    as a server."""
    failed = [
        it
        for it in begun
        if not isinstance(told := answers.get(it.case.row.name), EndResult) or _failed(told)
    ]
    context.books.release(ending.intent.id for ending in failed if ending.intent)


def _failed(result: EndResult) -> bool:
    return result.outcome in (Outcome.FAILED, Outcome.REFUSED)


def _follow_takers(
    context: Context, begun: Sequence[UnderWay], policy: Policy, answers: dict[str, Item]
) -> None:
    """The session is in another's hands: whether it ended as it was asked to, its taker knows."""
    for ending in begun:
        name = ending.case.row.name
        told = answers.get(name)
        if (
            ending.intent is None
            or not isinstance(told, EndResult)
            or told.outcome is not Outcome.TAKEN_OVER
        ):
            continue
        taker = outcome_of_taker(context, ending.intent.id)
        failure = taker.failure if taker is not None else _lost(name, policy)
        answers[name] = replace(told, failure=failure)


def _lost(name: str, policy: Policy) -> Failure:
    reason = (
        f"could not {policy.verb.value} {name}: another took it over, and what came of it is not"
        " recorded"
    )
    return Failure(Code.STILL_RUNNING, reason, "see what is left: tmuxreap reconcile")


def _again(look: RegistryLook, rows: Iterable[Row]) -> tuple[list[Row], dict[str, Item]]:
    found: list[Row] = []
    vanished: dict[str, Item] = {}
    for row in rows:
        now = look.named(row.name)
        if now is None:
            vanished[row.name] = failed_target(row.name, _no_row(look, row.name))
        else:
            found.append(now)
    return found, vanished


def _no_row(look: RegistryLook, name: str) -> Failure:
    if (bad := look.spoilt(name)) is not None:
        return row_invalid(look.path, bad)
    reason = f"could not end {name}: its row vanished from the registry meanwhile"
    return Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")


def _new_intent(context: Context, case: Case, policy: Policy) -> NewIntent:
    assert case.plan is not None  # noqa: S101 - a case without an answer has a plan
    owner = context.processes.identify(context.place.pid)
    assert owner is not None  # noqa: S101 - this very process
    longest_s = sum(rung.wait_s for rung in case.plan.rungs if rung.skipped is None)
    longest_s += case.plan.after_turn_s or 0.0
    return NewIntent(
        name=case.row.name,
        verb=policy.verb.value,
        reason=policy.reason.encode("utf-8", "backslashreplace").decode(),
        scope=policy.scope.value,
        owner=owner,
        boot_id=context.place.boot_id,
        deadline=context.clock.now() + longest_s + DEADLINE_SLACK_S,
        options=tuple(
            PaneOption(case.plan.socket, o.pane, o.option, o.before) for o in case.plan.options
        ),
        plan=json.dumps(case.plan.as_json()),
    )


def _carry_out(
    context: Context, endings: Sequence[UnderWay], policy: Policy, answers: dict[str, Item]
) -> None:
    tell_begun(context, [it.case.row for it in endings], recorded=any(it.intent for it in endings))
    for batch in _run(context, endings, policy):
        record(context, batch, policy, answers)


def _hand_over(context: Context, endings: Sequence[UnderWay], policy: Policy) -> dict[str, Item]:
    """The caller's own session: answered now, ended when the caller has left."""
    answers: dict[str, Item] = {}
    for ending in endings:
        case = ending.case
        try:
            hand_over(context, ending.intent, case.row.name, policy)
        except Failure as failure:
            answers[case.row.name] = failed_target(case.row.name, failure)
        else:
            answers[case.row.name] = not_yet(case, policy, Outcome.HANDED_OVER)
    return answers


def finish(context: Context, intent: Intent, policy: Policy) -> list[Item]:
    """In the finisher: the ending that was handed over."""
    row = context.registry.look().named(intent.name)
    if row is None:
        return []
    (case,) = prepare(context, [row], policy)
    answers: dict[str, Item] = {}
    if case.answer is not None:
        answers[row.name] = case.answer
        closing = Closing(intent.id, Outcome.REFUSED.value, case.answer.as_json())
        context.books.follow(context.registry.look(), [], [closing])
    else:
        _carry_out(
            context, [UnderWay(case, intent, started=context.clock.monotonic())], policy, answers
        )
    return list(answers.values())


def _interrupted(name: str, policy: Policy) -> Failure:
    reason = f"could not {policy.verb.value} {name}: interrupted on the way"
    return Failure(Code.INTERRUPTED, reason, f"finish it with: tmuxreap {policy.verb.value} {name}")


def _run(
    context: Context, endings: Sequence[UnderWay], policy: Policy
) -> Iterable[list[tuple[UnderWay, Ended]]]:
    of_task: dict[int, UnderWay] = {}
    for ending in endings:
        ending.task = task_of(context, ending, policy)
        of_task[id(ending.task)] = ending
    executor = Executor(
        context.observer,
        context.tmux,
        context.processes,
        context.clock,
        context.progress,
        partial(_ready_to_write, context),
    )
    for batch in executor.run([ending.task for ending in endings if ending.task]):
        yield [(of_task[id(task)], ended) for task, ended in batch]


def _ready_to_write(context: Context) -> None:
    """What the record will need takes as long as an agent takes to leave: YAML and patterns are
    loaded, the registry is parsed, and a write is rehearsed. An interruption in the middle of an
    import could be lost in it."""
    with contextlib.suppress(Failure), undisturbed():  # told when it is written
        from tmuxreap.registry import edits  # with YAML

        edits.rehearse()
        kept_screen("")
        look = context.registry.look()
        _ = look.document, look.content.digest


def task_of(context: Context, ending: UnderWay, policy: Policy) -> Task:
    case, intent = ending.case, ending.intent
    assert case.plan is not None  # noqa: S101 - a case without an answer has a plan

    def capture(banner: str | None) -> Conversation:
        case.known = after_exit(case.profile, case.known, banner)
        return case.known.conversation

    def keep_draft(text: str) -> int | None:
        return (
            context.books.note(case.row.name, "draft", {"text": text}) if case.registered else None
        )

    def hear() -> Heard:
        ours = intent is None or context.books.still_open(intent.id)
        return Heard(ours, context.finder.last_told(case.row, case.sight) if ours else "")

    def recall() -> Conversation:
        case.known = context.finder.known_of(case.row, case.sight, case.profile)
        if case.sight.pane:
            case.last_screen = context.tmux.capture(
                case.sight.socket, case.sight.pane.id, joined=True
            )
        return case.known.conversation

    return Task(
        row=case.row,
        plan=case.plan,
        profile=case.profile,
        policy=policy,
        spares=context.spares_of(case.profile),
        sight=case.sight,
        past=case.past,
        conversation=case.known.conversation,
        ours=lambda: intent is None or context.books.still_open(intent.id),
        read_screen=lambda text: screen_seen(context, case, text),
        keep_draft=keep_draft,
        capture=capture,
        hear=hear,
        recall=recall,
        looked_at=case.looked_at,
    )


def _restless(name: str) -> Failure:
    return Failure(
        Code.LOCK_TIMEOUT,
        f"could not end {name}: its row changed again and again under our hands",
        "see who writes it with: tmuxreap events, then try again",
    )

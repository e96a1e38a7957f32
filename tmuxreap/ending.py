"""The one path on which sessions end: `stop`, `kill`, `reap` and `start --replace` differ in their request only.

look at the registry -> choose rows -> look at the world -> plan -> record the intents (under the lock)
-> carry the ladders out -> record each outcome as it comes (under the lock again) -> answer"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tmuxreap import faults, outcomes
from tmuxreap.app import App
from tmuxreap.cases import Case, prepare
from tmuxreap.conversations import after_exit, screen_of
from tmuxreap.errors import Code, Failure
from tmuxreap.execute import Executor, Task
from tmuxreap.faults import Step
from tmuxreap.handover import hand_over
from tmuxreap.joining import join, owner_alive, with_options
from tmuxreap.ledger_records import Begun, Busy, Closing, Intent, NewEvent, NewIntent, PaneOption, Survivor
from tmuxreap.model import Conversation, Outcome, Row, Verb
from tmuxreap.outcomes import changes_of, clear_up, handed_over
from tmuxreap.plan import Policy
from tmuxreap.registry import RegistryLook, edited_where_safe
from tmuxreap.requests import Ended
from tmuxreap.results import EndResult, Item, failed_target
from tmuxreap.states import Changes

DEADLINE_SLACK_S = 30.0
TRIES = 3


@dataclass(slots=True, eq=False)
class _Ending:
    """One session between its intent and its record."""

    case: Case
    intent: Intent | None
    task: Task | None = None
    started: float = 0.0


def end_rows(app: App, look: RegistryLook, rows: Sequence[Row], policy: Policy) -> list[Item]:
    """End these rows, all at the same time; the answers stand in the order of the rows. Interrupted, what was done is
    told, and what was not."""
    answers: dict[str, Item] = {}
    try:
        _end_all(app, look, rows, policy, answers)
    except KeyboardInterrupt:
        rest = [row.name for row in rows if row.name not in answers]
        answers.update({name: failed_target(name, _interrupted(name, policy)) for name in rest})
    return [answers[row.name] for row in rows]


def _end_all(app: App, look: RegistryLook, rows: Sequence[Row], policy: Policy, answers: dict[str, Item]) -> None:
    todo = list(rows)
    for _ in range(TRIES):
        if not todo:
            break
        cases = prepare(app, todo, policy)
        answers.update({case.row.name: case.answer for case in cases if case.answer is not None})
        begun, busy, stale = _begin(app, look, [case for case in cases if case.answer is None], policy)
        _carry_out(app, [ending for ending in begun if not ending.case.sight.mine], policy, answers)
        answers.update(_hand_over(app, [ending for ending in begun if ending.case.sight.mine], policy))
        todo = []
        for intent in busy:
            joined = join(app, intent)
            if joined is None:  # its owner died over it: it is ours to do
                todo.append(next(row for row in rows if row.name == intent.name))
            else:
                answers[intent.name] = joined
        if stale or todo:
            look = app.registry.look()
            todo, vanished = _again(look, [*(case.row for case in stale), *todo])
            answers.update(vanished)
    answers.update({row.name: failed_target(row.name, _restless(row.name)) for row in todo})


def end_unregistered(app: App, row: Row, policy: Policy) -> Item:
    """A tmux session that has no row: ended in the same way, and nothing is written of it."""
    (case,) = prepare(app, [row], policy)
    if case.answer is not None:
        return case.answer
    ending = _Ending(case, None, started=app.clock.monotonic())
    for batch in _run(app, [ending], policy):
        for _, ended in batch:
            return replace(_answer(app, ending, ended, policy), status=None)
    raise AssertionError("a ladder always ends")


def _begin(
    app: App, look: RegistryLook, cases: Sequence[Case], policy: Policy
) -> tuple[list[_Ending], list[Intent], list[Case]]:
    """Under the lock: is the registry still what was planned on? Then each intent is recorded."""
    if not cases:
        return [], [], []
    with app.registry.locked():
        app.registry.check_writable()
        now = app.registry.look()
        stale = [case for case in cases if not _unchanged(case.row, now)]
        fresh = [case for case in cases if case not in stale]
        news = [_new_intent(app, case, policy) for case in fresh]
        answers = app.books.begin(news, lambda it: owner_alive(app, it), take_over=policy.verb is Verb.KILL)
    started = app.clock.monotonic()
    begun: list[_Ending] = []
    busy: list[Intent] = []
    for case, answer in zip(fresh, answers, strict=True):
        if isinstance(answer, Busy):
            busy.append(answer.intent)
        else:
            if isinstance(answer, Begun) and answer.inherited is not None and case.plan is not None:
                case.plan = with_options(case.plan, answer.inherited)
            begun.append(_Ending(case, answer.intent if isinstance(answer, Begun) else None, started=started))
    return begun, busy, stale


def _unchanged(row: Row, look: RegistryLook) -> bool:
    now = look.named(row.name)
    return now is not None and (now.status, now.tmux, now.pane) == (row.status, row.tmux, row.pane)


def _again(look: RegistryLook, rows: Iterable[Row]) -> tuple[list[Row], dict[str, Item]]:
    found: list[Row] = []
    vanished: dict[str, Item] = {}
    for row in rows:
        now = look.named(row.name)
        if now is None:
            reason = f"could not end {row.name}: its row vanished from the registry meanwhile"
            failure = Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")
            vanished[row.name] = failed_target(row.name, failure)
        else:
            found.append(now)
    return found, vanished


def _new_intent(app: App, case: Case, policy: Policy) -> NewIntent:
    assert case.plan is not None  # noqa: S101 - a case without an answer has a plan
    owner = app.processes.identify(app.place.pid)
    assert owner is not None  # noqa: S101 - this very process
    longest_s = sum(rung.wait_s for rung in case.plan.rungs if rung.skipped is None)
    return NewIntent(
        name=case.row.name,
        verb=policy.verb.value,
        reason=policy.reason,
        scope=policy.scope.value,
        owner=owner,
        boot_id=app.place.boot_id,
        deadline=app.clock.now() + longest_s + DEADLINE_SLACK_S,
        options=tuple(PaneOption(case.plan.socket, o.pane, o.option, o.before) for o in case.plan.options),
        plan=json.dumps(case.plan.as_json()),
    )


def _carry_out(app: App, endings: Sequence[_Ending], policy: Policy, answers: dict[str, Item]) -> None:
    for batch in _run(app, endings, policy):
        answers.update(_record(app, batch, policy))


def _hand_over(app: App, endings: Sequence[_Ending], policy: Policy) -> dict[str, Item]:
    """The caller's own session: answered now, ended when the caller has left."""
    answers: dict[str, Item] = {}
    for ending in endings:
        case = ending.case
        try:
            hand_over(app, ending.intent, case.row.name, policy)
        except Failure as failure:
            answers[case.row.name] = failed_target(case.row.name, failure)
        else:
            answers[case.row.name] = handed_over(case, policy)
    return answers


def finish(app: App, intent: Intent, policy: Policy) -> list[Item]:
    """In the finisher: the ending that was handed over."""
    row = app.registry.look().named(intent.name)
    if row is None:
        return []
    (case,) = prepare(app, [row], policy)
    answers: dict[str, Item] = {}
    if case.answer is not None:
        answers[row.name] = case.answer
        closing = Closing(intent.id, Outcome.REFUSED.value, case.answer.as_json())
        app.books.follow(app.registry.look(), [], [closing])
    else:
        _carry_out(app, [_Ending(case, intent, started=app.clock.monotonic())], policy, answers)
    return list(answers.values())


def _interrupted(name: str, policy: Policy) -> Failure:
    reason = f"could not {policy.verb.value} {name}: interrupted on the way"
    return Failure(Code.INTERRUPTED, reason, f"finish it with: tmuxreap {policy.verb.value} {name}")


def _run(app: App, endings: Sequence[_Ending], policy: Policy) -> Iterable[list[tuple[_Ending, Ended]]]:
    of_task: dict[int, _Ending] = {}
    for ending in endings:
        ending.task = _task(app, ending, policy)
        of_task[id(ending.task)] = ending
    executor = Executor(app.observer, app.tmux, app.processes, app.clock, app.progress)
    for batch in executor.run([ending.task for ending in endings if ending.task]):
        yield [(of_task[id(task)], ended) for task, ended in batch]


def _task(app: App, ending: _Ending, policy: Policy) -> Task:
    case, intent = ending.case, ending.intent
    assert case.plan is not None  # noqa: S101 - a case without an answer has a plan

    def capture() -> Conversation:
        banner = app.tmux.capture(case.sight.socket, case.sight.pane.id) if case.sight.pane else None
        case.known = after_exit(case.profile, case.known, banner)
        return case.known.conversation

    def keep_draft(text: str) -> int | None:
        return app.books.note(case.row.name, "draft", {"text": text}) if case.registered else None

    return Task(
        row=case.row,
        plan=case.plan,
        profile=case.profile,
        policy=policy,
        spares=app.spares_of(case.profile),
        sight=case.sight,
        past=case.past,
        conversation=case.known.conversation,
        ours=lambda: intent is None or app.books.still_open(intent.id),
        read_screen=lambda: screen_of(app, case.profile, case.sight, case.known),
        keep_draft=keep_draft,
        capture=capture,
    )


def _record(app: App, batch: Sequence[tuple[_Ending, Ended]], policy: Policy) -> dict[str, Item]:
    """Registry first, then ledger; what another took over or renewed meanwhile is left alone."""
    faults.at(Step.PROVEN)
    at, fates, refused = app.clock.now(), dict[str, _Fate](), dict[str, Failure]()

    def edit(look: RegistryLook) -> str:
        wanted: dict[str, Changes] = {}
        for ending, ended in batch:
            row = look.named(ending.case.row.name)
            fate = fates[ending.case.row.name] = _fate(app, ending, ended, row)
            if fate is _Fate.WRITTEN and row is not None:
                wanted[row.name] = changes_of(ending.case, ended, row, policy, at)
        text, stuck = edited_where_safe(look, wanted)
        refused.update(stuck)
        return text

    for it, ended in batch:
        if it.intent is None or app.books.still_open(it.intent.id):
            outcomes.purge_if_asked(it.case, ended, policy)
    plain = {it.case.row.name: _answer(app, it, ended, policy) for it, ended in batch}
    try:
        before, after = app.registry.change(edit)
    except Failure as failure:
        return {name: outcomes.unrecorded(result, failure) for name, result in plain.items()}
    results = {name: TOLD[fates[name]](result) for name, result in plain.items() if name not in refused}
    for it, _ in batch:
        if fates.get(it.case.row.name) is _Fate.WRITTEN and it.case.row.name in results:
            results[it.case.row.name] = clear_up(app, it.case, results[it.case.row.name], policy)
    _follow(app, before, after, [pair for pair in batch if pair[0].case.row.name in results], results)
    return {**results, **{name: outcomes.unrecorded(plain[name], failure) for name, failure in refused.items()}}


def _follow(
    app: App,
    before: RegistryLook,
    after: RegistryLook,
    batch: Sequence[tuple[_Ending, Ended]],
    results: Mapping[str, EndResult],
) -> None:
    events: list[NewEvent] = []
    closings: list[Closing] = []
    for ending, ended in batch:
        name = ending.case.row.name
        row, number = before.named(name), ending.intent.id if ending.intent else None
        image = before.text_of(row) if row else None
        events.append(outcomes.event_record(ending.case, results[name], ended, image))
        if number is not None:
            closings.append(Closing(number, results[name].outcome.value, results[name].as_json()))
        if ended.survivors:
            left = [Survivor(one.process.id, app.place.boot_id, one.process.comm) for one in ended.survivors]
            app.books.remember_survivors(name, left, number)
    app.books.follow(after, events, closings)


class _Fate(Enum):
    """What becomes of the row when its session has been ended."""

    WRITTEN = "written"
    KEPT = "kept"  # survivors: it stays as it is
    TAKEN_OVER = "taken over"
    VANISHED = "vanished"
    RENEWED = "renewed"


TOLD: dict[_Fate, Callable[[EndResult], EndResult]] = {
    _Fate.WRITTEN: lambda result: result,
    _Fate.KEPT: lambda result: result,
    _Fate.TAKEN_OVER: outcomes.taken_over,
    _Fate.VANISHED: outcomes.vanished,
    _Fate.RENEWED: outcomes.renewed,
}


def _fate(app: App, ending: _Ending, ended: Ended, row: Row | None) -> _Fate:
    if ended.outcome is Outcome.TAKEN_OVER or (ending.intent and not app.books.still_open(ending.intent.id)):
        return _Fate.TAKEN_OVER
    if ended.stopped_by is None:
        return _Fate.KEPT
    if row is None:
        return _Fate.VANISHED
    planned = ending.case.row
    return _Fate.WRITTEN if (row.tmux, row.pane) == (planned.tmux, planned.pane) else _Fate.RENEWED


def _answer(app: App, ending: _Ending, ended: Ended, policy: Policy) -> EndResult:
    return outcomes.result_of(app, ending.case, ended, policy, app.clock.monotonic() - ending.started)


def _restless(name: str) -> Failure:
    return Failure(
        Code.LOCK_TIMEOUT,
        f"could not end {name}: its row changed again and again under our hands",
        "see who writes it with: tmuxreap events, then try again",
    )

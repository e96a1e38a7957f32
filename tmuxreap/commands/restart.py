"""`restart`: brings agents back in their own panes, each in its conversation, for a new version or
new settings: some at a time, so that the others go on working.

Sends no key to an agent that could not be resumed, or that has no tmux pane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.starting.comeback import Comeback, Way, way_back
from tmuxreap.commands.starting.row import CONFIRM_S
from tmuxreap.commands.stop import is_inside
from tmuxreap.commands.targets import check_spares, choose_rows, not_chosen
from tmuxreap.commands.wait import SCREENS_EVERY_S, AnyWaiter, pause
from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Code, Failure, LockIsHeld, command, could_not, declined
from tmuxreap.core.model import AgentState, EndVerb, Live, Outcome, Row, Terminal
from tmuxreap.core.results import Ending, Item, Restarted, Result, failure_in, problem_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.hold import check_recordable, end_and_hold, note_job_over, prepared
from tmuxreap.ending.send import type_draft
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.under_way import MarkInProgress, under_way

NO_PANE = {
    Terminal.NONE: "it runs without a terminal",
    Terminal.KITTY: "it runs in kitty, not in a tmux pane",
    Terminal.WEZTERM: "it runs in WezTerm, not in a tmux pane",
    Terminal.BACKGROUND: "its agent's own daemon runs it, without a pane",
}


@frozen
class RestartRequest:
    targets: tuple[str, ...]
    when_idle_s: float | None = None  # how long the agents may take to become idle
    at_once: int = 1
    confirm_s: float = CONFIRM_S
    dry_run: bool = False
    yes: bool = False
    # set on a terminal: shows the plan and asks
    ask: Callable[[Result], bool] | None = None


def run(context: Context, request: RestartRequest, waiter: AnyWaiter | None = None) -> Result:
    check_at_once(request.at_once)
    if context.lock_held:
        raise LockIsHeld(f"restart {' '.join(request.targets)}")
    check_spares(context, EndVerb.RESTART)
    look = context.registry.look()
    chosen = choose_rows(context, look, request.targets, Wanted.RUNNING, skip_protected=True)
    rest = not_chosen(look, chosen, Restarted)
    if request.dry_run:
        return context.result("restart", [*_planned(context, chosen.rows), *rest])
    if chosen.rows and chosen.sweeping and not request.yes:
        refused = _unconfirmed(context, chosen.rows, rest, request)
        if refused is not None:
            return refused
    items = _Rolling(context, request, waiter).run(chosen.rows)
    return context.result("restart", [*items, *rest])


def check_at_once(count: int) -> None:
    if count < 1:
        reason = f"could not read --at-once: {count} is less than 1"
        raise Failure(Code.USAGE, reason, "as in: --at-once 4")


def _unconfirmed(
    context: Context, rows: Sequence[Row], rest: Sequence[Item], request: RestartRequest
) -> Result | None:
    """Ask as for a stop: the user; not scripts; agents have to say --yes. Return the answer if
    nothing is to be restarted."""
    if request.ask is None and not is_inside(context):
        return None
    plan = context.result("restart", [*_planned(context, rows), *rest])
    if request.ask is not None:
        if request.ask(plan):
            return None
        return context.result("restart", [], failure=declined("restart"))
    reason = "inside a registered session, 'all' and patterns need --yes"
    hint = "check with --dry-run, then add --yes"
    what = f"restart {' '.join(request.targets)}"
    return replace(plan, failure=Failure(Code.USAGE, f"could not {what}: {reason}", hint))


def _planned(context: Context, rows: Sequence[Row]) -> list[Item]:
    first, later = prepared(ender_of(context).planning, rows, remembers=False)
    endings = [*first, *later]
    items = {ending.name: _plan_of(context, ending) for ending in endings}
    fit = [ending for ending in endings if items[ending.name].error is None]
    check_recordable(context.registry, fit)
    for ending in fit:
        if ending.answer is not None:
            items[ending.name] = _answer(ending, Outcome.FAILED, failure_in(ending.answer))
    return [items[row.name] for row in rows]


def _plan_of(context: Context, ending: EndingState) -> Restarted:
    try:
        _fit(context, ending)
    except Failure as failure:
        return _answer(ending, Outcome.REFUSED, failure)
    planned = _answer(ending, Outcome.PLANNED)
    return replace(planned, plan=ending.plan.recorded().as_json())


class _Rolling:
    """The restarts of one command, some at a time, with their answers so far."""

    def __init__(self, context: Context, request: RestartRequest, waiter: AnyWaiter | None) -> None:
        self._context = context
        self._request = request
        self._waiter = waiter
        self._answers: dict[str, Item] = {}
        self._began = context.clock.monotonic()

    def run(self, rows: Sequence[Row]) -> list[Item]:
        """Return the answers in the order of the rows, also after an interrupt."""
        left = list(rows)
        try:
            while left:
                some = self._due(left)
                self._restart(some)
                left = [row for row in left if row.name not in self._answers]
        except KeyboardInterrupt:
            for row in rows:
                self._answers.setdefault(row.name, _interrupted(row.name))
        return [self._answers[row.name] for row in rows]

    def _due(self, rows: Sequence[Row]) -> list[Row]:
        """Return the next rows to restart: those that became idle first."""
        limit_s = self._request.when_idle_s
        count = self._request.at_once
        if limit_s is None:
            return list(rows[:count])
        until = self._began + limit_s
        while True:
            states = self._states(rows)
            due = [row for row in rows if states[row.name] in (None, AgentState.IDLE)]
            left_s = until - self._context.clock.monotonic()
            if due:
                return due[:count]
            if left_s <= 0:
                for row in rows:
                    failure = _not_idle(row.name, states[row.name], limit_s)
                    self._answers[row.name] = _refused(row, failure)
                return []
            pause(self._context, self._waiter, min(left_s, SCREENS_EVERY_S))

    def _states(self, rows: Sequence[Row]) -> dict[str, AgentState | None]:
        """Return the state of each living agent; None for what need not be waited for."""
        sights = self._context.sights.of(rows, remembers=False)
        reports = self._context.states.of(rows, sights)
        return {
            row.name: report.state if sight.live is Live.ALIVE else None
            for row, sight, report in zip(rows, sights, reports, strict=True)
        }

    def _restart(self, rows: Sequence[Row]) -> None:
        context = self._context
        look = context.registry.look()
        current = [look.named(row.name) or row for row in rows]
        # Of two rows of one pane the second is looked at again, once the first is back.
        endings, _ = prepared(ender_of(context).planning, current)
        ways: dict[str, Way] = {}
        for ending in endings:
            try:
                ways[ending.name] = _fit(context, ending)
            except Failure as failure:
                self._answers[ending.name] = _answer(ending, Outcome.REFUSED, failure)
        fit = [ending for ending in endings if ending.name in ways]
        with under_way(context.books) as mark_in_progress:
            ended, held = end_and_hold(ender_of(context), fit, mark_in_progress)
            for ending in fit:
                if ending not in held:
                    self._answers[ending.name] = _not_ended(ending, ended[ending.name])
            backs = [Comeback(context, it, ways[it.name], self._request.confirm_s) for it in held]
            self._bring_back(backs, ended, mark_in_progress)
        for back in backs:
            self._give_draft(back)

    def _bring_back(
        self,
        backs: Sequence[Comeback],
        ended: dict[str, Item],
        mark_in_progress: MarkInProgress,
    ) -> None:
        try:
            for back in backs:
                self._try(back, ended, partial(back.begin, mark_in_progress))
            for back in backs:
                if back.name not in self._answers:
                    self._try(back, ended, partial(self._finish, back, ended))
        except BaseException:  # a Ctrl-C, too: no pane stays held
            for back in backs:
                if back.name not in self._answers:
                    back.clear()
            raise

    def _try(self, back: Comeback, ended: dict[str, Item], step: Callable[[], None]) -> None:
        try:
            step()
        except Failure as failure:
            back.clear()
            answer = _answer(back.ending, Outcome.FAILED, failure, ended[back.name])
            self._answers[back.name] = answer
            note_job_over(self._context.books, self._context.clock, back.ending, ended[back.name])

    def _finish(self, back: Comeback, ended: dict[str, Item]) -> None:
        session = back.finish()
        answer = _answer(back.ending, Outcome.RESTARTED, None, ended[back.name])
        self._answers[back.name] = _with_session(answer, session)

    def _give_draft(self, back: Comeback) -> None:
        """Type the draft into the input of the agent that came back."""
        answer = self._answers[back.name]
        assert isinstance(answer, Restarted)  # noqa: S101 - as all answers of agents that came back
        clock = self._context.clock
        waited_ms = 0
        if self._request.when_idle_s is not None:
            waited_ms = round((back.ending.started - self._began) * 1000)
        draft = back.ending.draft
        if draft is not None and answer.error is None:
            why = self._type(back.name, draft.text)
            if why is not None:
                warning = f"draft_kept: its draft could not be typed back: {why}"
                if draft.event is not None:
                    warning += f"; it is kept in event {draft.event}"
                answer = replace(answer, warnings=(*answer.warnings, warning))
            answer = replace(answer, draft_back=why is None)
        duration_ms = round((clock.monotonic() - back.ending.started) * 1000)
        self._answers[back.name] = replace(answer, waited_ms=waited_ms, duration_ms=duration_ms)

    def _type(self, name: str, text: str) -> str | None:
        row = self._context.registry.look().named(name)
        if row is None:
            return "its row is gone"
        return type_draft(ender_of(self._context), row, text)


def _fit(context: Context, ending: EndingState) -> Way:
    """Return how the agent comes back; Failure, before any key, if it cannot."""
    name = ending.name
    row = ending.row
    sight = ending.sight
    if row.status.ended:
        reason = f"it is {row.status.value}"
        hint = f"resume its conversation: {command('resume', name)}"
        raise could_not("restart", name, reason, hint, Code.GONE)
    if row.terminal is not Terminal.TMUX:
        again = f"{command('stop', name)}, then: {command('resume', name)}"
        hint = f"end it, and resume its conversation: {again}"
        raise could_not("restart", name, NO_PANE[row.terminal], hint, Code.NOT_RESUMABLE)
    failure = None
    if ending.answer is not None:
        failure = failure_in(ending.answer)
    if failure is not None and failure.code is Code.OWN_SESSION:
        hint = "call from another session"
        raise could_not("restart", name, "this command runs inside it", hint, Code.OWN_SESSION)
    if failure is not None:
        raise failure
    if sight.live is not Live.ALIVE or sight.pane is None:
        hint = f"end what is left, and take it up: {command('stop', name)}, then: "
        hint += command("resume", name)
        raise could_not("restart", name, "there is no agent any more", hint, Code.GONE)
    if sight.carrier is not None:
        reason = f"it runs behind {sight.carrier.program}, which would be left out"
        hint = f"end it, and start it again as it was: {command('stop', name)}"
        raise could_not("restart", name, reason, hint, Code.NOT_RESUMABLE)
    return _resumable_way(context, ending)


def _resumable_way(context: Context, ending: EndingState) -> Way:
    name = ending.name
    try:
        return way_back(context, ending)
    except Failure as failure:
        reason = failure.message.partition(": ")[2] or failure.message
        hint = failure.hint
        if failure.code is Code.NOT_RESUMABLE:
            hint = f"start a new conversation: {command('start', name, '--replace')}"
        raise could_not("restart", name, reason, hint, failure.code) from None


def _not_idle(name: str, state: AgentState | None, limit_s: float) -> Failure:
    shown = AgentState.UNKNOWN if state is None else state
    reason = f"it was not idle within {limit_s:g} s (state: {shown.value}); no key was sent"
    hint = f"wait longer, or leave out --when-idle: {command('restart', name)}"
    return could_not("restart", name, reason, hint, Code.NOT_IDLE)


def _interrupted(name: str) -> Item:
    hint = f"see what became of it: {command('show', name)}"
    failure = could_not("restart", name, "interrupted on the way", hint, Code.INTERRUPTED)
    return Restarted(name, outcome=Outcome.FAILED, error=problem_of(failure))


def _refused(row: Row, failure: Failure) -> Restarted:
    problem = problem_of(failure)
    status = row.status
    return Restarted(row.name, outcome=Outcome.REFUSED, status=status, error=problem)


def _not_ended(ending: EndingState, ended: Item) -> Restarted:
    """Return the answer for an agent that was not ended, or whose end was not recorded."""
    outcome = getattr(ended, "outcome", None) or Outcome.FAILED
    answer = _answer(ending, outcome, failure_in(ended), ended)
    if answer.error is not None:
        return answer
    # Another process took it over, or its row is another's by now.
    reason = f"its end was not its own: {outcome}"
    hint = f"see what became of it: {command('show', ending.name)}"
    failure = could_not("restart", ending.name, reason, hint, Code.STILL_RUNNING)
    return replace(answer, error=problem_of(failure))


def _answer(
    ending: EndingState,
    outcome: str,
    failure: Failure | None = None,
    ended: Item | None = None,
) -> Restarted:
    row = ending.row
    pane = ending.first.pane
    answer = Restarted(
        row.name,
        outcome=outcome,
        status=row.status,
        agent=ending.agent,
        pane_id=pane.id if pane is not None else row.pane.id,
        old_pid=row.pane.pid if pane is None else pane.pid,
        conversation_id=ending.conversation.id,
        resumable=ending.known.is_resumable,
        draft=ending.draft,
        error=problem_of(failure),
    )
    if not isinstance(ended, Ending):
        return answer
    return replace(answer, status=ended.status, resumable=ended.resumable, warnings=ended.warnings)


def _with_session(answer: Restarted, session: Session) -> Restarted:
    return replace(
        answer,
        status=session.status,
        pane_id=session.pane_id,
        pid=session.pid,
        conversation_id=session.conversation_id or answer.conversation_id,
        resumable=True,
    )

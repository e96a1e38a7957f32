"""`interrupt`: ends the turns of many sessions concurrently; the sessions live on. Writes events,
never a row."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.agents.profiles import Key
from tmuxreap.core.answers import Interrupted
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import AgentState, EndVerb, Live, Outcome, Row, Scope
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.core.results import REFUSALS, Item, failure_in, problem_of
from tmuxreap.core.values import replace
from tmuxreap.ending.end import Ender
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.turns import RESTING, end_turn, not_interruptible, why_not_interruptible
from tmuxreap.ending.outcome import draft_warning
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Heartbeat, Pulse
from tmuxreap.proof.state import StateReport, is_stopped, state_by
from tmuxreap.sessions.conversation import Finder, record_of
from tmuxreap.sessions.under_way import ActiveIntents

# Other panes of the session are not touched.
POLICY = Policy(EndVerb.INTERRUPT, "interrupted", scope=Scope.PANE)


def interrupt_rows(by: Ender, rows: Sequence[Row], *, dry_run: bool = False) -> list[Item]:
    """Interrupt the agents of these rows; return the answers in the order of the rows."""
    endings = by.planning.prepare(rows, POLICY)
    busy = by.active.busy()
    pulses = by.books.pulses()
    reports = {it.name: _report(by.active, it, pulses.get(it.name)) for it in endings}
    answers = {}
    for it in endings:
        answers[it.name] = _early_answer(it, reports[it.name], dry_run, busy=it.name in busy)
    todo = [ending for ending in endings if answers[ending.name] is None]
    began = by.active.clock.monotonic()
    for ending in todo:  # an interrupt changes no option of the pane
        ending.plan = replace(ending.plan, options=())
        ending.says_working = reports[ending.name].state is AgentState.WORKING
    for batch in by.executor().run(todo, end_turn):
        for ending in batch:
            took_ms = round((by.active.clock.monotonic() - began) * 1000)
            _doubt_if_stopped(by.active.processes, ending)
            if ending.outcome is Outcome.INTERRUPTED:
                asked_by = by.caller.facts()
                keys = {"keys": _keys(ending), "asked_by": asked_by}
                by.books.note(ending.name, "interrupted", keys)
            if ending.outcome in (Outcome.INTERRUPTED, Outcome.ALREADY_IDLE):
                _note_rest(by.books, by.active.clock, ending.name)
            answers[ending.name] = _result(by.finder, ending, took_ms)
    return [item for row in rows if (item := answers[row.name]) is not None]


def _early_answer(
    ending: EndingState, report: StateReport, dry_run: bool, *, busy: bool
) -> Item | None:
    """Return the answer of a session that needs no key or may get none; None if keys are sent."""
    failure = _refusal(ending, busy)
    if failure is not None:
        if failure.code in REFUSALS:
            outcome = Outcome.REFUSED
        else:
            outcome = Outcome.FAILED
        return _item(ending, outcome, failure=failure)
    screen = ending.plan.screen
    doing = report.state
    if screen is not None and screen.view and doing is AgentState.IDLE:
        return _item(ending, Outcome.ALREADY_IDLE, doing)
    if not dry_run:
        return None
    if ending.in_daemon:
        return _item(ending, Outcome.PLANNED, doing)
    if report.is_stopped:
        return _item(ending, Outcome.REFUSED, doing, failure=_stopped(ending))
    if screen is not None and screen.state in RESTING and doing is not AgentState.WORKING:
        return _item(ending, Outcome.ALREADY_IDLE, doing)
    if (reason := why_not_interruptible(screen, ending.keys)) is not None:
        failure = not_interruptible(ending.name, reason)
        return _item(ending, Outcome.REFUSED, doing, failure=failure)
    return _item(ending, Outcome.PLANNED, doing, keys=_keys(ending))


def _report(active: ActiveIntents, ending: EndingState, pulse: Pulse | None) -> StateReport:
    """Return the state in the words of `list`."""
    screen = ending.plan.screen
    sight = ending.sight
    profile = ending.profile
    record = record_of(profile, ending.known)
    return state_by(active.processes, active.clock, sight, profile, pulse, screen, record)


def _stopped(ending: EndingState) -> Failure:
    reason = (
        "a process of it is stopped (SIGSTOP, C-z), and its state cannot be read from its screen"
    )
    hint = f"continue it: kill -CONT {ending.sight.agent[0].pid}"
    return could_not("interrupt", ending.name, reason, hint, Code.NOT_INTERRUPTIBLE)


def _doubt_if_stopped(processes: Processes, ending: EndingState) -> None:
    """Refuse to call an agent idle that cannot draw: its screen is of the time before."""
    agents = filter(None, (processes.refresh(process.id) for process in ending.sight.agent))
    if ending.outcome is not Outcome.INTERRUPTED and is_stopped(agents):
        ending.trouble = _stopped(ending)
        if ending.outcome is Outcome.ALREADY_IDLE:
            ending.outcome = Outcome.REFUSED


def _refusal(ending: EndingState, busy: bool) -> Failure | None:
    name = ending.name
    pane = ending.sight.pane
    if ending.answer is not None and (failure := failure_in(ending.answer)) is not None:
        own = failure.code is Code.OWN_SESSION
        hint = "call from another session" if own else failure.hint
        return Failure(failure.code, failure.message, hint)
    if ending.answer is not None or ending.sight.live is Live.GONE:
        hint = f"resume its conversation: {command('resume', name)}"
        return could_not("interrupt", name, "its agent has ended", hint, Code.GONE)
    if busy:
        return not_interruptible(name, "it is being ended, or started, at this moment")
    if ending.in_daemon:
        return _no_call(ending)
    reason = ending.plan.rungs[0].skipped
    if reason is None and not (ending.profile and ending.profile.turn_keys):
        reason = "no key is known that ends the turn of this agent"
    if reason is None and pane is not None and pane.synchronized:
        reason = "the keys of its pane go to others too (synchronize-panes)"
    if reason is not None:
        return not_interruptible(name, reason)
    return None


def _no_call(ending: EndingState) -> Failure | None:
    """Refuse a session of a daemon that knows no end of a turn, but only of the session."""
    if ending.profile is not None and ending.profile.own_server is not None:
        return None
    reason = f"the daemon of {ending.agent} runs it, and has no command that ends only its turn"
    hint = f"open it, and end the turn there: {command('attach', ending.name)}"
    return could_not("interrupt", ending.name, reason, hint, Code.NOT_INTERRUPTIBLE)


def _keys(ending: EndingState) -> list[str]:
    """Return the names of the keys for the screen of the plan."""
    if ending.in_daemon:
        return []
    screen = ending.plan.screen
    steps = ending.keys.turn_keys_in(screen.state if screen else None)
    return [step.name for step in steps if isinstance(step, Key)]


def _result(finder: Finder, ending: EndingState, took_ms: int) -> Item:
    """Return the answer, with what it launched: that goes on."""
    done = ending.outcome is Outcome.INTERRUPTED
    rests = ending.outcome in (Outcome.INTERRUPTED, Outcome.ALREADY_IDLE)
    item = _item(
        ending,
        ending.outcome,
        AgentState.IDLE if rests else None,
        keys=_keys(ending) if done else [],
        failure=ending.trouble,
    )
    draft = None
    if ending.draft:
        draft = replace(ending.draft, text="")
    told: tuple[str, ...] = ()
    if rests:
        own = ending.first.job
        told = finder.background_warnings(
            ending.known, ending.profile, ending.name, finder.lists(), own, planned=True
        )
    if ending.draft_lost:
        told = (draft_warning(ending), *told)
    return replace(item, draft=draft, duration_ms=took_ms, warnings=told)


def _note_rest(books: Books, clock: Clock, name: str) -> None:
    """Note an idle heartbeat: a cancelled turn calls no hook, and the agent's last heartbeat still
    says "working"."""
    pulse = books.pulses().get(name)
    if pulse is not None and pulse.state == "working":
        books.beat(Heartbeat(name, clock.now(), "idle", "turn_end", None, {}))


def _item(
    ending: EndingState,
    outcome: Outcome,
    state: AgentState | None = None,
    *,
    keys: Sequence[str] = (),
    failure: Failure | None = None,
) -> Interrupted:
    return Interrupted(
        name=ending.name,
        outcome=outcome,
        agent=ending.agent,
        state=state.value if state else None,
        keys=tuple(keys),
        error=problem_of(failure),
    )

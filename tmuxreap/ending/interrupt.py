"""`interrupt`: ends the turns of many sessions concurrently; the sessions live on. Writes events,
never a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.agents.profiles import Key
from tmuxreap.agents.screens import State
from tmuxreap.core.answers import Interrupted
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import EndVerb, Live, Outcome, Row, Scope
from tmuxreap.core.ports import Clock
from tmuxreap.core.results import Item, failure_in, problem_of
from tmuxreap.core.values import replace
from tmuxreap.ending.ending import REFUSALS, Ending
from tmuxreap.ending.ladder.execute import Executor
from tmuxreap.ending.ladder.turns import RESTING, end_turn, not_interruptible, why_not_interruptible
from tmuxreap.ending.one_at_a_time import ActiveIntents
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.prepare import prepare
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Heartbeat
from tmuxreap.proof.state import STATE_OF_SCREEN
from tmuxreap.sessions.context import Context

# Other panes of the session are not touched.
POLICY = Policy(EndVerb.INTERRUPT, "interrupted", scope=Scope.PANE)


def interrupt_rows(context: Context, rows: Sequence[Row], *, dry_run: bool = False) -> list[Item]:
    """Interrupt the agents of these rows; return the answers in the order of the rows."""
    endings = prepare(context, rows, POLICY)
    busy = ActiveIntents.of(context).busy()
    answers = {it.name: _early_answer(it, dry_run, busy=it.name in busy) for it in endings}
    todo = [ending for ending in endings if answers[ending.name] is None]
    began = context.clock.monotonic()
    for ending in todo:  # an interrupt changes no option of the pane
        ending.plan = replace(ending.plan, options=())
    for batch in Executor(context).run(todo, end_turn):
        for ending in batch:
            took_ms = round((context.clock.monotonic() - began) * 1000)
            if ending.outcome is Outcome.INTERRUPTED:
                asked_by = context.caller.as_recorded(context.books)
                _note_interrupt(context.books, context.clock, ending, asked_by)
            answers[ending.name] = _result(ending, took_ms)
    return [item for row in rows if (item := answers[row.name]) is not None]


def _early_answer(ending: Ending, dry_run: bool, *, busy: bool) -> Item | None:
    """Return the answer of a session that needs no key or may get none; None if keys are sent."""
    failure = _refusal(ending, busy)
    if failure is not None:
        outcome = Outcome.REFUSED if failure.code in REFUSALS else Outcome.FAILED
        return _item(ending, outcome, failure=failure)
    if not dry_run:
        return None
    screen = ending.plan.screen
    if screen is not None and screen.state in RESTING:
        return _item(ending, Outcome.ALREADY_IDLE, screen.state)
    if (reason := why_not_interruptible(screen, ending.keys)) is not None:
        return _item(ending, Outcome.REFUSED, failure=not_interruptible(ending.name, reason))
    return _item(ending, Outcome.PLANNED, screen.state if screen else None, keys=_keys(ending))


def _refusal(ending: Ending, busy: bool) -> Failure | None:
    name, pane = ending.name, ending.sight.pane
    if ending.answer is not None and (failure := failure_in(ending.answer)) is not None:
        own = failure.code is Code.OWN_SESSION
        hint = "call from another session" if own else failure.hint
        return Failure(failure.code, failure.message, hint)
    if ending.answer is not None or ending.sight.live is Live.GONE:
        hint = f"take up its conversation: {command('resume', name)}"
        return could_not("interrupt", name, "there is no agent any more", hint, Code.GONE)
    if busy:
        return not_interruptible(name, "it is being ended, or started, at this moment")
    reason = ending.plan.rungs[0].skipped
    if reason is None and not (ending.profile and ending.profile.turn_keys):
        reason = "no key is known that ends the turn of this agent"
    if reason is None and pane is not None and pane.synchronized:
        reason = "the keys of its pane go to others too (synchronize-panes)"
    return not_interruptible(name, reason) if reason is not None else None


def _keys(ending: Ending) -> list[str]:
    """Return the names of the keys for the screen of the plan."""
    screen = ending.plan.screen
    steps = ending.keys.turn_keys_in(screen.state if screen else None)
    return [step.name for step in steps if isinstance(step, Key)]


def _result(ending: Ending, took_ms: int) -> Item:
    done = ending.outcome is Outcome.INTERRUPTED
    rests = ending.outcome in (Outcome.INTERRUPTED, Outcome.ALREADY_IDLE)
    item = _item(
        ending,
        ending.outcome,
        State.IDLE if rests else None,
        keys=_keys(ending) if done else [],
        failure=ending.trouble,
    )
    draft = replace(ending.draft, text="") if ending.draft else None
    return replace(item, draft=draft, duration_ms=took_ms)


def _note_interrupt(
    books: Books, clock: Clock, ending: Ending, asked_by: Mapping[str, object]
) -> None:
    """Note the event, and an idle heartbeat: a cancelled turn calls no hook, and the agent's last
    heartbeat still says "working"."""
    name, keys = ending.name, _keys(ending)
    books.note(name, "interrupted", {"keys": keys, "asked_by": asked_by})
    pulse = books.pulses().get(name)
    if pulse is not None and pulse.state == "working":
        books.beat(Heartbeat(name, clock.now(), "idle", "turn_end", None, {}))


def _item(
    ending: Ending,
    outcome: Outcome,
    state: State | None = None,
    *,
    keys: Sequence[str] = (),
    failure: Failure | None = None,
) -> Interrupted:
    """Build the answer, with `state` in the words of `list`."""
    return Interrupted(
        name=ending.name,
        outcome=outcome,
        agent=ending.agent,
        state=STATE_OF_SCREEN[state].value if state else None,
        keys=tuple(keys),
        error=problem_of(failure),
    )

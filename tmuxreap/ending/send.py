"""`send`: gives one prompt to one session, under an intent of its own. Writes an event without the
prompt, never a row."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from tmuxreap.agents.screens import State
from tmuxreap.core.answers import Sent
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import AgentState, EndVerb, Live, Outcome, Row, Scope, Terminal
from tmuxreap.core.results import REFUSALS, failure_in, problem_of
from tmuxreap.core.text import would_be_obeyed
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.end import Ender
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.prompts import (
    Delivery,
    deliver,
    not_idle,
    put_back,
    why_not_empty,
)
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.records import SEND, Begun, Busy, Closing, NewIntent, RecordedPlan
from tmuxreap.proof.state import STATE_OF_SCREEN, States, is_stopped
from tmuxreap.sessions.under_way import under_way

POLICY = Policy(EndVerb.SEND, "sent", scope=Scope.PANE)
DRAFT_S = 60.0  # for an agent that has just begun to be idle: on a busy machine 45 s were seen
DRAFT_STEP_S = 0.1
SLACK_S = 30.0  # beyond the confirmation, until others may call it stuck
# What to do for a session that no text can be pasted into.
INSTEAD = {
    Terminal.NONE: "give the prompt in its command: tmuxreap start NAME --terminal none -- COMMAND",
    Terminal.KITTY: "type it there, or stop it and take it up in tmux: tmuxreap resume NAME",
    Terminal.WEZTERM: "type it there, or stop it and take it up in tmux: tmuxreap resume NAME",
}
ATTACH = "type it there: tmuxreap attach NAME"


@frozen
class Attempt:
    """What came of one attempt, and whether a later one may do better: nothing was typed."""

    item: Sent
    may_repeat: bool = False


def send_prompt(
    by: Ender, states: States, row: Row, text: str, confirm_s: float, *, dry_run: bool = False
) -> Attempt:
    """Give the prompt, if the agent is idle and its input empty now; raise a Failure for a text
    that is a command to the agent."""
    began = by.active.clock.monotonic()
    (ending,) = by.planning.prepare([row], POLICY)
    ending.plan = replace(ending.plan, options=())
    delivery = Delivery(text, confirm_s, state=_state_of(states, ending))
    lasting = _lasting_refusal(ending, delivery)
    failure = lasting or _refusal(ending, delivery)
    if failure is not None:
        if failure.code in REFUSALS:
            outcome = Outcome.REFUSED
        else:
            outcome = Outcome.FAILED
        return Attempt(_answer(ending, delivery, outcome, failure), lasting is None)
    if dry_run:
        return Attempt(_answer(ending, delivery, Outcome.PLANNED))
    try:
        with _intent(by, ending, confirm_s):
            for _ in by.executor().run([ending], partial(deliver, delivery=delivery)):
                pass
    except Failure as refused:
        if refused.code is not Code.NOT_IDLE:
            raise
        return Attempt(_answer(ending, delivery, Outcome.REFUSED, refused), may_repeat=True)
    if delivery.pasted:
        _note(by, ending, delivery)
    item = _answer(ending, delivery, ending.outcome, ending.trouble)
    item = replace(item, duration_ms=round((by.active.clock.monotonic() - began) * 1000))
    return Attempt(item, ending.outcome is Outcome.REFUSED)


def type_draft(by: Ender, row: Row, text: str) -> str | None:
    """Type a draft into the input of an agent that has just begun, without Enter, as soon as that
    is idle and empty. Return why it could not be done, or None."""
    if would_be_obeyed(text):
        return "it contains a control character, which a terminal would act on"
    until = by.active.clock.monotonic() + DRAFT_S
    while True:
        try:
            ending, why = _typed(by, row, text)
        except Failure as failure:  # another send, or an ending, is in progress
            ending = None
            why = failure.message
        if why is None or (ending is not None and ending.outcome is Outcome.UNKNOWN):
            return why
        if by.active.clock.monotonic() >= until:
            return why
        by.active.processes.wait((), DRAFT_STEP_S)


def _typed(by: Ender, row: Row, text: str) -> tuple[EndingState, str | None]:
    (ending,) = by.planning.prepare([row], POLICY)
    ending.plan = replace(ending.plan, options=())
    delivery = Delivery(text, 0.0)
    profile = ending.profile
    if "\n" in text and (profile is None or not profile.prompt.whole):
        ending.outcome = Outcome.UNKNOWN
        return ending, f"it is not known that {ending.agent} takes several lines whole"
    if ending.sight.live is not Live.ALIVE or ending.answer is not None:
        ending.outcome = Outcome.UNKNOWN
        return ending, "there is no agent any more"
    skipped = ending.plan.rungs[0].skipped
    if skipped is not None:
        return ending, skipped
    with _intent(by, ending, 0.0):
        for _ in by.executor().run([ending], partial(put_back, delivery=delivery)):
            pass
    if ending.trouble is None:
        return ending, None
    return ending, ending.trouble.message.partition(": ")[2]


def _lasting_refusal(ending: EndingState, delivery: Delivery) -> Failure | None:
    """Return why waiting for this session is of no use."""
    name = ending.name
    row = ending.row
    if row.terminal is not Terminal.TMUX and not row.status.ended:
        hint = INSTEAD.get(row.terminal, ATTACH).replace("NAME", name)
        return not_idle(name, delivery.state, "it does not run in a tmux pane", hint)
    if ending.answer is not None and (failure := failure_in(ending.answer)) is not None:
        own = failure.code is Code.OWN_SESSION
        hint = "an agent gives itself no prompt; call from another session"
        return Failure(failure.code, failure.message, hint if own else failure.hint)
    if ending.answer is not None or ending.sight.live in (Live.GONE, Live.AGENT_GONE):
        hint = f"resume its conversation: {command('resume', name)}"
        return could_not("send to", name, "its agent has ended", hint, Code.GONE)
    return _why_never(ending, delivery)


def _refusal(ending: EndingState, delivery: Delivery) -> Failure | None:
    """Return why no key may be sent now."""
    screen = ending.plan.screen
    reason = why_not_empty(screen)
    if is_stopped(ending.sight.keyed):
        delivery.state = AgentState.UNKNOWN
        reason = "its process is stopped (SIGSTOP)"
    if reason is None and delivery.state is not AgentState.IDLE:
        reason = "its input is empty, and by its own word it does not rest"
    reason = reason or ending.plan.rungs[0].skipped
    if reason is None:
        return None
    return not_idle(ending.name, delivery.state, reason)


def _why_never(ending: EndingState, delivery: Delivery) -> Failure | None:
    """Return why this text can never be sent to this session, however long one waits."""
    name = ending.name
    text = delivery.text
    profile = ending.profile
    pane = ending.sight.pane
    if profile is None or not profile.has_keys or State.IDLE not in profile.screens:
        hint = f"type it there: {command('attach', name)}"
        return not_idle(name, delivery.state, "its empty input cannot be recognised", hint)
    if pane is not None and pane.synchronized:
        hint = "end that first: tmux set-option -p synchronize-panes off"
        return not_idle(name, delivery.state, "the keys of its pane go to others too", hint)
    if profile.prompt.command.match(text.strip()):
        reason = f"{ending.agent} takes it for a command, not for a prompt"
        hint = "begin the prompt with a word, or type the command yourself"
        raise could_not("send to", name, reason, hint)
    if "\n" in text and not profile.prompt.whole:
        reason = f"it has not been tested that {ending.agent} takes several lines whole"
        hint = "send one line, such as the name of a file to read"
        raise could_not("send to", name, reason, hint)
    return None


def _state_of(states: States, ending: EndingState) -> AgentState:
    """Return the state as `list` has it; where it says idle, the screen has the last word."""
    (report,) = states.of([ending.row], [ending.sight])
    screen = ending.plan.screen
    state = report.state or AgentState.UNKNOWN
    if state is AgentState.IDLE and screen is not None and ending.sight.pane is not None:
        return STATE_OF_SCREEN[screen.state]
    return state


@contextlib.contextmanager
def _intent(by: Ender, ending: EndingState, confirm_s: float) -> Iterator[None]:
    """Hold the row for the time of the send: of two sends, or a send and an ending, one waits."""
    active = by.active
    name = ending.name
    before = by.books.open_intents().get(name)
    if before is not None and before.verb != SEND and not active.is_in_progress(before):
        hint = "finish it first: tmuxreap reconcile"
        raise not_idle(name, AgentState.UNKNOWN, f"a {before.verb} of it was cut off", hint)
    owner = by.active.processes.identify(by.sights.place.pid)
    assert owner is not None  # noqa: S101 - this very process
    sight = ending.sight
    plan = RecordedPlan(  # without the prompt
        name=name,
        verb=SEND,
        scope=POLICY.scope.value,
        agent=ending.agent,
        socket=sight.socket,
        pane=sight.pane.id if sight.pane else None,
    )
    new = NewIntent(
        name=name,
        verb=SEND,
        reason=POLICY.reason,
        scope=POLICY.scope.value,
        owner=owner,
        boot_id=by.sights.place.boot_id,
        deadline=by.active.clock.now() + confirm_s + SLACK_S,
        options=(),
        plan=plan.to_text(),
    )
    with under_way(by.books) as mark_in_progress:
        (answer,) = by.books.begin([new], active.is_in_progress, take_over=False)
        if isinstance(answer, Busy):
            other = answer.intent
            reason = f"another {other.verb} of it is in progress, by process {other.owner.pid}"
            raise not_idle(name, AgentState.UNKNOWN, reason)
        if not isinstance(answer, Begun):  # the ledger could not be written, which is a warning
            yield
            return
        ending.intent = answer.intent
        mark_in_progress([answer.intent])
        try:
            yield
        finally:
            by.books.close_intents([Closing(answer.intent.id, ending.outcome)])


def _note(by: Ender, ending: EndingState, delivery: Delivery) -> None:
    facts = {
        "outcome": ending.outcome.value,
        "chars": len(delivery.text),
        "lines": delivery.text.count("\n") + 1,
        "submitted": delivery.submitted,
        "asked_by": by.caller.facts(),
    }
    by.books.note(ending.name, "sent", facts)


def _answer(
    ending: EndingState, delivery: Delivery, outcome: Outcome, failure: Failure | None = None
) -> Sent:
    return Sent(
        name=ending.name,
        outcome=outcome,
        agent=ending.agent,
        state=delivery.state.value,
        chars=len(delivery.text),
        submitted=delivery.submitted,
        error=problem_of(failure),
    )

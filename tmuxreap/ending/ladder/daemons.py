"""The rung of a session that its agent's own daemon runs: ended by the agent's own command, and
proven by the agent's own list and by its processes. A process of it is signalled only when that
daemon is gone. Starts nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.find import GUESS
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Outcome
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.requests import (
    BeginOwnEnd,
    Follow,
    Look,
    ReadSeats,
    ReadServed,
    Steps,
    Wait,
    ask,
)
from tmuxreap.ending.plan import PlannedRung

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job, Served
    from tmuxreap.ending.own_ends import OwnEnd

LOOK_AGAIN_S = 0.05
READ_AGAIN_S = 2.0  # a list that is just being written
ASK_AGAIN_S = 0.2  # a server, which has other work
CLEAN_LOOKS = 2
NOTHING_LEFT = "nothing was left"
ONLY_GUESSED = "which conversation was its own is only a guess"


def end_in_daemon(ending: EndingState, planned: PlannedRung) -> Steps[bool]:
    """End the session by the agent's own command; return True once nothing of it is left."""
    job = ending.sight.job
    if job is None:
        return True
    until = ending.now + planned.wait_s
    own_end = yield from ask(BeginOwnEnd(job))
    while not own_end.is_done and ending.now < until:
        yield from ask(Wait(frozenset(), ending.now + LOOK_AGAIN_S))
    if not (yield from _is_gone(ending, job, until)):
        left = yield from ask(Wait(frozenset(job.processes), ending.now))
        is_another = ending.sight.job is not None and ending.sight.job.processes != job.processes
        if is_another and not left:
            ending.unended = _respawned(ending, job, own_end)
        else:
            ending.unended = _not_ended(ending, job, own_end)
        return False
    if not (yield from _stays_gone(ending)):
        if ending.sight.job is not None:
            ending.unended = _respawned(ending, job, own_end)
        else:
            ending.unended = _not_ended(ending, job, own_end)
        return False
    ending.known = yield from ask(Follow(job))
    return True


def came_back(ending: EndingState) -> bool:
    """Tell whether its daemon runs it again while something that it left behind is being ended: the
    processes that the last look found are those of its daemon again."""
    job = ending.sight.job
    if not ending.in_daemon or job is None or ending.sight.daemon is None:
        return False
    verb = ending.policy.verb.value
    hint = command(verb, ending.name)
    ending.unended = could_not(verb, ending.name, _back(job), hint, Code.RESPAWNED)
    return True


def end_at_server(
    ending: EndingState, planned: PlannedRung, served: Served
) -> Steps[tuple[bool, str | None]]:
    """End what the agent's own server runs for a session in a pane, once that is gone. Return
    whether two looks in a row find it at work no more, and why it was not told. What is only a
    guess is left to it: it is named in a warning."""
    served = _named(ending, served)
    until = ending.now + planned.wait_s
    own_end: OwnEnd | None = None
    clean = 0
    while clean < CLEAN_LOOKS:
        jobs = yield from ask(ReadServed())
        found = served.among(jobs)
        if found is not None and not served.is_certain:
            return True, ONLY_GUESSED
        clean = clean + 1 if found is None and jobs.is_known else 0
        if found is not None and own_end is None:
            own_end = yield from ask(BeginOwnEnd(found))
        if clean < CLEAN_LOOKS:
            if not clean and ending.now >= until:
                ending.unended = _goes_on(ending, served, own_end)
                return False, None if own_end is not None else NOTHING_LEFT
            yield from ask(Wait(frozenset(), ending.now + ASK_AGAIN_S))
    return True, None if own_end is not None else NOTHING_LEFT


def _named(ending: EndingState, served: Served) -> Served:
    """Return it with the conversation that the agent itself named as it left, in place of a
    guess."""
    said = ending.known.conversation
    if served.since is None or said.id is None or said.source == GUESS:
        return served
    return replace(served, conversation=said.id, since=None, is_certain=True)


def went_on(ending: EndingState) -> Steps[bool]:
    """Tell whether the agent's own daemon runs the conversation of a pane that was ended, or may:
    its agent took it there meanwhile, or what was ended there is back. Its pane may have taken
    longer to end than that was watched."""
    if ending.seats is None:
        return False
    told = ending.plan.sight.job
    before = ending.seats - ({told.id} if told is not None else set())
    until = ending.now + READ_AGAIN_S
    while (seats := (yield from ask(ReadSeats()))) is None and ending.now < until:
        yield from ask(Wait(frozenset(), ending.now + ASK_AGAIN_S))
    if seats is not None and seats <= before:
        return False
    code = Code.STILL_RUNNING
    reason = "its pane is gone, and whether its agent's own daemon runs it could not be read"
    if seats is not None and told is not None and told.id in seats:
        code = Code.RESPAWNED
        reason = f"its pane is gone, and {told.agent}'s own daemon brought {told.seat} back"
    elif seats is not None:
        numbers = ", ".join(sorted(seats - before))
        reason = f"its pane is gone, and its agent went on in its own daemon: {numbers}"
    hint = command(ending.policy.verb.value, ending.name)
    ending.unended = could_not(ending.policy.verb.value, ending.name, reason, hint, code)
    return True


def end_turn_at_server(ending: EndingState, wait_s: float) -> Steps[tuple[Outcome, Failure | None]]:
    """End the turn of a session that the agent's own server runs while it is at work."""
    job = ending.sight.job
    assert job is not None  # noqa: S101 - the plan looked
    until = ending.now + wait_s
    own_end = yield from ask(BeginOwnEnd(job))
    if (yield from _is_gone(ending, job, until)):
        return Outcome.INTERRUPTED, None
    return Outcome.FAILED, _not_ended(ending, job, own_end)


def _goes_on(ending: EndingState, served: Served, own_end: OwnEnd | None) -> Failure:
    if own_end is None:
        reason = f"{served.agent}'s own server does not say whether {served.conversation} continues"
        hint = "try again"
        return could_not(ending.policy.verb.value, ending.name, reason, hint, Code.STILL_RUNNING)
    said = own_end.reason or f"{served.agent}'s own server is still working on it"
    return _still_there(ending, own_end, f"its pane is gone; {said}", Code.STILL_RUNNING)


def _is_gone(ending: EndingState, job: Job, until: float) -> Steps[bool]:
    """Wait until two looks in a row find it neither in the list nor alive."""
    clean = 0
    while clean < CLEAN_LOOKS:
        ending.sight = yield from ask(Look())
        left = yield from ask(Wait(frozenset(job.processes), ending.now))
        seen = ending.sight.job is not None or ending.sight.trouble is not None
        clean = 0 if seen or left else clean + 1
        if clean < CLEAN_LOOKS:
            if not clean and ending.now >= until:
                return False
            pause_s = LOOK_AGAIN_S if job.server is None else ASK_AGAIN_S
            yield from ask(Wait(frozenset(), ending.now + pause_s))
    return True


def _stays_gone(ending: EndingState) -> Steps[bool]:
    """Look on for as long as its daemon may take to bring it back. A list that cannot be read in
    the end proves nothing."""
    background = ending.keys.background
    until = ending.now + (background.respawn_s if background is not None else 0.0)
    while ending.now < until:
        yield from ask(Wait(frozenset(), min(until, ending.now + 10 * LOOK_AGAIN_S)))
        ending.sight = yield from ask(Look())
        if ending.sight.job is not None:
            return False
    return ending.sight.trouble is None


def _not_ended(ending: EndingState, job: Job, own_end: OwnEnd) -> Failure:
    if ending.sight.trouble is not None:
        return ending.sight.trouble
    said = own_end.reason or f"{job.agent}'s own list has it still"
    return _still_there(ending, own_end, f"still alive: {job.seat}; {said}", Code.STILL_RUNNING)


def _respawned(ending: EndingState, job: Job, own_end: OwnEnd) -> Failure:
    return _still_there(ending, own_end, _back(job), Code.RESPAWNED)


def _back(job: Job) -> str:
    return f"{job.agent}'s own daemon brought {job.seat} back"


def _still_there(ending: EndingState, own_end: OwnEnd, reason: str, code: Code) -> Failure:
    hint = f"try it by hand: {own_end.line}"
    return could_not(ending.policy.verb.value, ending.name, reason, hint, code)

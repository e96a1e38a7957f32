"""The rung of a session that its agent's own daemon runs: ended by the agent's own command, and
proven by the agent's own list and by its processes. A process of it is signalled only when that
daemon is gone. Starts nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.ending.ending import EndingState
from tmuxreap.ending.ladder.requests import BeginOwnEnd, Follow, Look, Steps, Wait, ask
from tmuxreap.ending.plan import PlannedRung

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job
    from tmuxreap.ending.own_ends import OwnEnd

LOOK_AGAIN_S = 0.05
CLEAN_LOOKS = 2


def end_in_daemon(ending: EndingState, planned: PlannedRung) -> Steps[bool]:
    """End the session by the agent's own command; return True once nothing of it is left."""
    job = ending.sight.job
    if job is None:
        return True
    until = ending.now + planned.wait_s
    own_end = yield from ask(BeginOwnEnd())
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
    ending.known = yield from ask(Follow())
    return True


def _is_gone(ending: EndingState, job: Job, until: float) -> Steps[bool]:
    """Wait until two looks in a row find it neither in the list nor alive."""
    clean = 0
    while clean < CLEAN_LOOKS:
        ending.sight = yield from ask(Look())
        if ending.sight.trouble is not None:
            return False
        left = yield from ask(Wait(frozenset(job.processes), ending.now))
        clean = 0 if ending.sight.job is not None or left else clean + 1
        if clean < CLEAN_LOOKS:
            if not clean and ending.now >= until:
                return False
            yield from ask(Wait(frozenset(), ending.now + LOOK_AGAIN_S))
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
    reason = f"{job.agent}'s own daemon brought {job.seat} back"
    return _still_there(ending, own_end, reason, Code.RESPAWNED)


def _still_there(ending: EndingState, own_end: OwnEnd, reason: str, code: Code) -> Failure:
    hint = f"try it by hand: {own_end.line}"
    return could_not(ending.policy.verb.value, ending.name, reason, hint, code)

"""The rungs by which one session is ended: a conversation of requests and answers, without any I/O
of its own.

Each rung says what it wants (look, send, signal, wait) and is told what came of it; `execute`
carries the requests of many ladders out at once. A rung ends the moment the last process is
gone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.errors import Code
from tmuxreap.core.model import Conversation, Live, Outcome, ProcessId, StoppedBy, Verb
from tmuxreap.core.ports import Clock, Sent
from tmuxreap.ending.ladder.keys import keep_shown, press_keys
from tmuxreap.ending.ladder.requests import (
    Checkpoint,
    Close,
    Ended,
    Look,
    Request,
    Run,
    RungReport,
    Signal,
    Wait,
)
from tmuxreap.ending.plan import Plan, PlannedRung, Policy, Rung
from tmuxreap.sessions.sight import Sight

LOOK_AGAIN_S = 0.05
# so long a look at the panes is good enough for keys: after it, nobody else's pane is in danger
FRESH_S = 0.3
TERM = (signal.SIGTERM, signal.SIGCONT)  # a stopped process handles no TERM
KILL = (signal.SIGKILL,)
CLEAN_LOOKS = 2


STOPPED_BY: dict[Rung, StoppedBy] = {
    Rung.KEYS: StoppedBy.EXIT_KEYS,
    Rung.HANGUP: StoppedBy.HANGUP,
    Rung.TERM: StoppedBy.SIGTERM,
    Rung.KILL: StoppedBy.SIGKILL,
}


def climb(
    plan: Plan,
    profile: Profile | None,
    policy: Policy,
    clock: Clock,
    sight: Sight,
    conversation: Conversation,
    *,
    looked_at: float | None = None,
) -> Generator[Request, object, Ended]:
    """From the first key to the proof of death. `looked_at`: when the plan's look was made."""
    run = Run(plan, profile, policy, clock, sight, conversation)
    run.agent_left = sight.live is not Live.ALIVE and not sight.agent
    run.beyond = (
        sight.carrier.program if sight.carrier is not None and sight.carrier.beyond else None
    )
    if plan.after_turn_s is not None:
        from tmuxreap.ending.ladder.turns import finish_turn  # no other stop needs it

        still_ours = yield from finish_turn(run, plan.after_turn_s)
        looked_at = clock.monotonic()
        if not still_ours or run.sight.trouble is not None or run.barred:
            return _ended(run, _outcome(run, False) if still_ours else Outcome.TAKEN_OVER, None)
    gone = False
    for planned in plan.rungs:
        if (skipped := planned.skipped or _left_itself(run, planned)) is not None:
            run.rungs.append(RungReport(planned.rung, skipped=skipped))
            continue
        if gone:
            run.rungs.append(RungReport(planned.rung, skipped="nothing was left"))
            continue
        ours = yield Checkpoint(planned.rung)
        if not ours:
            return _ended(run, Outcome.TAKEN_OVER, None)
        if (
            planned.rung is Rung.KEYS
            and looked_at is not None
            and clock.monotonic() > looked_at + FRESH_S
        ):
            yield from _look(run)
        if run.sight.trouble is None and not run.barred:
            if planned.rung is not Rung.KEYS:
                yield from keep_shown(run)
            gone = yield from _one_rung(run, planned)
        if run.sight.trouble is not None or run.barred:
            # who cannot be asked once is not asked at every rung: each question takes its whole
            # time
            break
    return _ended(run, _outcome(run, gone), _stopped_by(run) if gone else None)


def _left_itself(run: Run, planned: PlannedRung) -> str | None:
    waited = run.plan.after_turn_s is not None and run.last is None
    return (
        "the agent left by itself"
        if planned.rung is Rung.KEYS and waited and run.agent_left
        else None
    )


def _one_rung(run: Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    """True when nothing of the session is left."""
    started = run.clock.monotonic()
    swept_only = run.agent_left
    gone = yield from ACTIONS[planned.rung](run, planned)
    run.last = planned.rung
    run.touched = run.touched or (planned.rung is Rung.KEYS and run.agent_left)
    waited_s = run.clock.monotonic() - started
    enough = not swept_only and (gone or (planned.rung is Rung.KEYS and run.agent_left))
    skipped = "the agent had left; only what it left behind was swept" if swept_only else None
    if planned.rung is Rung.KEYS and run.unsent is not None:
        skipped = run.unsent
    run.rungs.append(RungReport(planned.rung, waited_s, enough, skipped))
    return gone


def _hangup(run: Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    return (yield from _settle(run, TERM, planned.wait_s, close=True))


def _term(run: Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    return (yield from _settle(run, TERM, planned.wait_s, close=False))


def _kill(run: Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    return (yield from _settle(run, KILL, planned.wait_s, close=True))


def _settle(
    run: Run, signals: tuple[signal.Signals, ...], wait_s: float, *, close: bool
) -> Generator[Request, object, bool]:
    """Close, signal and wait, until two looks in a row find nothing; False when the time is up. It
    counts from the first signal: among a hundred sessions the looks before it take theirs."""
    deadline: float | None = None
    signalled: set[ProcessId] = set()
    clean, closed = 0, False
    while True:
        yield from _look(run, processes_only=clean > 0)
        left, there = run.sight.owned.ids, run.sight.session is not None
        if run.sight.trouble is not None or run.barred:
            return False
        if not left and not (there and closed):
            clean = 0 if there else clean + 1
            if there:
                run.touched = True
                yield Close()
                closed = True
            if clean == CLEAN_LOOKS:
                return True
            continue
        clean = 0
        fresh = left if signals is KILL else left - signalled
        close = close or (bool(signalled) and _respawned(run, fresh))
        yield from _strike(run, fresh, signals, close=there and (close or not left))
        signalled |= fresh
        now = run.clock.monotonic()
        deadline = now + wait_s if deadline is None else deadline
        if now >= deadline:
            return False
        step = deadline if left and signals is not KILL else now + LOOK_AGAIN_S
        yield Wait(left, min(step, deadline))


def _respawned(run: Run, fresh: frozenset[ProcessId]) -> bool:
    """A hook put a new process into the pane of one that was ended: it would do so again."""
    panes = run.sight.session.panes if run.sight.session else ()
    return not {pane.pid for pane in panes}.isdisjoint(process.pid for process in fresh)


def _strike(
    run: Run, processes: frozenset[ProcessId], signals: tuple[signal.Signals, ...], *, close: bool
) -> Generator[Request, object, None]:
    """Who is asked to leave hears of it from the terminal first; who is killed must hear of nothing
    beforehand."""
    _note_swept(run)
    run.touched = True
    if close and signals is not KILL:
        yield Close()
    if processes:
        yield from _signal(run, processes, signals)
    if close and signals is KILL:
        yield Close()


def _look(run: Run, *, processes_only: bool = False) -> Generator[Request, object, None]:
    sight = yield Look(processes_only)
    assert isinstance(sight, Sight)  # noqa: S101 - see the request
    run.sight = sight


def _signal(
    run: Run, processes: frozenset[ProcessId], signals: tuple[signal.Signals, ...]
) -> Generator[Request, object, None]:
    answers = yield Signal(processes, signals)
    assert isinstance(answers, dict)  # noqa: S101 - see the request
    run.denied = run.denied or Sent.DENIED in answers.values()


def _note_swept(run: Run) -> None:
    """All that is ended and is not the agent, also what goes with its terminal before it is
    signalled."""
    agent = frozenset(run.plan.agent_pids)
    for one in run.sight.owned.own:
        if run.agent_left or one.process.pid not in agent:
            run.swept.setdefault(one.process.id, one)


Action = Callable[[Run, PlannedRung], Generator[Request, object, bool]]
ACTIONS: dict[Rung, Action] = {
    Rung.KEYS: press_keys,
    Rung.HANGUP: _hangup,
    Rung.TERM: _term,
    Rung.KILL: _kill,
}


def _outcome(run: Run, gone: bool) -> Outcome:
    if not gone:
        moved = run.sight.trouble is not None and run.sight.trouble.code is Code.SESSION_REPLACED
        if run.barred or (moved and not run.touched):
            return Outcome.REFUSED
        return Outcome.SURVIVED if moved or run.sight.trouble is None else Outcome.FAILED
    if _cut_off(run):  # what it carried may go on
        return Outcome.SURVIVED
    return Outcome.STOPPED if run.plan.verb is Verb.STOP else Outcome.KILLED


def _cut_off(run: Run) -> bool:
    return run.beyond is not None and not run.agent_left


def _stopped_by(run: Run) -> StoppedBy:
    enough = [report.rung for report in run.rungs if report.enough]
    return STOPPED_BY[enough[-1]] if enough else StoppedBy.ALREADY_GONE


def _ended(run: Run, outcome: Outcome, stopped_by: StoppedBy | None) -> Ended:
    survivors = run.sight.owned.own if outcome is Outcome.SURVIVED else ()
    alive = run.sight.owned.ids
    return Ended(
        outcome=outcome,
        stopped_by=stopped_by,
        swept_by=STOPPED_BY[run.last] if stopped_by and run.last else None,
        rungs=tuple(run.rungs),
        conversation=run.conversation,
        draft=run.draft,
        swept=tuple(one for one in run.swept.values() if one.process.id not in alive),
        survivors=survivors,
        denied=run.denied,
        turn_cut=run.turn_cut,
        draft_lost=run.draft_lost,
        trouble=run.sight.trouble,
        foreign=run.sight.foreign,
        beyond=run.beyond,
        cut_off=stopped_by is not None and _cut_off(run),
    )

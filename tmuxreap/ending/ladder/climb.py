"""The rungs by which one session is ended, as generators that yield requests and receive answers.
Never does I/O itself.

Each rung yields what it needs (look, press, signal, wait) and receives the result; `execute`
serves the requests of many ladders at once. A rung ends as soon as the last process is gone."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tmuxreap.agents.programs import SHELLS
from tmuxreap.core.errors import Code
from tmuxreap.core.faults import Step
from tmuxreap.core.model import EndVerb, Outcome, ProcessId, StoppedBy
from tmuxreap.core.ports import SignalSent
from tmuxreap.ending.ending_state import EndingState, RungReport
from tmuxreap.ending.ladder.daemons import (
    NOTHING_LEFT,
    came_back,
    end_at_server,
    end_in_daemon,
    went_on,
)
from tmuxreap.ending.ladder.keys import keep_shown_drafts, press_keys
from tmuxreap.ending.ladder.requests import (
    Checkpoint,
    Close,
    Hold,
    Look,
    Signal,
    Steps,
    Wait,
    ask,
)
from tmuxreap.ending.ladder.turns import finish_turn
from tmuxreap.ending.plan import PlannedRung, RungKind

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Served

LOOK_AGAIN_S = 0.05
FRESH_S = 0.3  # a look older than this is repeated before keys: foreign panes may have appeared
Signals = tuple[signal.Signals, ...]
TERM: Signals = (signal.SIGTERM, signal.SIGCONT)  # a suspended process cannot handle TERM
KILL: Signals = (signal.SIGKILL,)
# In a pane that is held, no terminal closes: its hangup is sent.
HELD: Signals = (signal.SIGHUP, *TERM)
CLEAN_LOOKS = 2

# The signals of a rung, and whether it closes the session.
ACTIONS = {RungKind.HANGUP: (TERM, True), RungKind.TERM: (TERM, False), RungKind.KILL: (KILL, True)}

STOPPED_BY: dict[RungKind, StoppedBy] = {
    RungKind.DAEMON: StoppedBy.DAEMON,
    RungKind.KEYS: StoppedBy.EXIT_KEYS,
    RungKind.HANGUP: StoppedBy.HANGUP,
    RungKind.TERM: StoppedBy.SIGTERM,
    RungKind.KILL: StoppedBy.SIGKILL,
}
# Where tests break a rung.
FAULT_OF_RUNG = {
    RungKind.DAEMON: Step.HANGUP,
    RungKind.KEYS: Step.KEYS,
    RungKind.HANGUP: Step.HANGUP,
    RungKind.TERM: Step.HANGUP,
    RungKind.KILL: Step.KILL,
}


def climb(ending: EndingState) -> Steps[None]:
    """Climb the ladder from the first key to the proof of death."""
    ending.agent_left = ending.sight.agent_gone
    if ending.policy.holds_pane:
        yield from ask(Hold())
    ending.outcome = yield from _run_rungs(ending)
    ending.trouble = ending.hindered_by


def _run_rungs(ending: EndingState) -> Steps[Outcome]:
    if ending.plan.after_turn_s is not None:
        if not (yield from finish_turn(ending, ending.plan.after_turn_s)):
            return Outcome.TAKEN_OVER
        if ending.blocked:
            return _outcome(ending, False)
    gone = False
    for planned in ending.plan.rungs:
        if planned.rung is RungKind.DAEMON and ending.served is not None:
            gone = (yield from _run_at_server(ending, planned, ending.served)) and gone
            continue
        skipped = planned.skipped or _exited_before_keys(ending, planned)
        skipped = skipped or _kept_by_daemon(ending, planned)
        skipped = skipped or (NOTHING_LEFT if gone else None)
        if skipped is not None:
            ending.rungs.append(RungReport(planned.rung, skipped=skipped))
            continue
        if not (yield from ask(Checkpoint(planned.rung))):
            return Outcome.TAKEN_OVER
        if planned.rung is RungKind.DAEMON:
            gone = yield from _run_in_daemon(ending, planned)
            continue
        if planned.rung is RungKind.KEYS and ending.now > ending.looked_at + FRESH_S:
            yield from _look(ending)
        if not ending.blocked:
            if planned.rung is not RungKind.KEYS:
                yield from keep_shown_drafts(ending)
            gone = yield from _run_rung(ending, planned)
        if ending.blocked:
            break
    if gone and ending.sight.unproven:
        return Outcome.SURVIVED
    if gone and (yield from went_on(ending)):
        return Outcome.SURVIVED
    if gone:
        ending.unended = None  # its daemon was gone, and its processes were ended
        ending.stopped_by = _stopped_by(ending)
        if ending.last:
            ending.swept_by = STOPPED_BY[ending.last]
    return _outcome(ending, gone)


def _exited_before_keys(ending: EndingState, planned: PlannedRung) -> str | None:
    waited = ending.plan.after_turn_s is not None and ending.last is None
    exited = planned.rung is RungKind.KEYS and waited and ending.agent_left
    return "the agent left by itself" if exited else None


def _kept_by_daemon(ending: EndingState, planned: PlannedRung) -> str | None:
    """Return why a rung after the agent's own command is left out: its daemon lives, and would
    bring back what was signalled; or the session would be cut off from its pane."""
    if ending.unended is None or planned.rung is RungKind.DAEMON:
        return None
    # A pane may be gone by now; that its daemon is, only a look at a session without one tells.
    alone = ending.plan.sight.session is None and ending.sight.daemon is None
    return None if alone else "its agent's own daemon has it still"


def _run_in_daemon(ending: EndingState, planned: PlannedRung) -> Steps[bool]:
    """End the part that the agent's own daemon runs; return True when nothing else is left."""
    started = ending.now
    if ending.sight.pane is not None:
        yield from keep_shown_drafts(ending)  # its own command clears what is half-typed
    ended = yield from end_in_daemon(ending, planned)
    ending.last = planned.rung
    ending.touched = ending.touched or ended
    ending.rungs.append(RungReport(planned.rung, ending.now - started, ended))
    return ended and ending.sight.session is None and not ending.sight.owned.own


def _run_at_server(ending: EndingState, planned: PlannedRung, served: Served) -> Steps[bool]:
    """End what the agent's own server still does for a session whose pane is gone; return False if
    it goes on."""
    started = ending.now
    if not (yield from ask(Checkpoint(planned.rung))):
        return False
    ended, skipped = yield from end_at_server(ending, planned, served)
    ending.rungs.append(RungReport(planned.rung, ending.now - started, skipped=skipped))
    return ended


def _run_rung(ending: EndingState, planned: PlannedRung) -> Steps[bool]:
    """Run one rung; return True when nothing of the session is left."""
    started = ending.now
    swept_only = ending.agent_left
    if planned.rung is RungKind.KEYS:
        yield from press_keys(ending, planned)
        gone = False
    else:
        signals, close = ACTIONS[planned.rung]
        if ending.policy.holds_pane and signals is TERM:
            signals = HELD
        gone = yield from _end_processes(ending, signals, planned.wait_s, close=close)
    ending.last = planned.rung
    ending.touched = ending.touched or (planned.rung is RungKind.KEYS and ending.agent_left)
    waited_s = ending.now - started
    enough = not swept_only and (gone or (planned.rung is RungKind.KEYS and ending.agent_left))
    skipped = None
    if swept_only:
        skipped = "the agent had left; only what it left behind was swept"
    if planned.rung is RungKind.KEYS and ending.unsent is not None:
        skipped = ending.unsent
    ending.rungs.append(RungReport(planned.rung, waited_s, enough, skipped))
    return gone


def _end_processes(
    ending: EndingState, signals: Signals, wait_s: float, *, close: bool
) -> Steps[bool]:
    """Close, signal and wait until two looks in a row find nothing; return False on timeout. The
    time counts from the first signal: with a hundred sessions the looks before it are slow."""
    deadline: float | None = None
    signalled: set[ProcessId] = set()
    clean = 0
    closed = False
    while True:
        yield from _look(ending, processes_only=clean > 0)
        left = ending.sight.owned.ids
        session_exists = ending.sight.session is not None and not ending.is_held
        if ending.blocked or came_back(ending):
            return False
        if not left and not (session_exists and closed):
            clean = 0 if session_exists else clean + 1
            if session_exists:
                ending.touched = True
                yield from ask(Close())
                closed = True
            if clean == CLEAN_LOOKS:
                return True
            continue
        clean = 0
        fresh = left if signals is KILL else left - signalled
        close = close or (
            bool(signalled) and (_respawned(ending, fresh) or left <= _shells(ending))
        )
        yield from _strike(ending, fresh, signals, close=session_exists and (close or not left))
        signalled |= fresh
        now = ending.now
        deadline = now + wait_s if deadline is None else deadline
        if now >= deadline:
            return False
        if left and signals is not KILL:
            step = deadline
        else:
            step = now + LOOK_AGAIN_S
        others = frozenset() if close else left - _shells(ending)
        yield from ask(Wait(others or left, min(step, deadline)))


def _shells(ending: EndingState) -> frozenset[ProcessId]:
    """Return the shells: interactive ones ignore TERM, and exit with their terminal once they are
    the last."""
    own = ending.sight.owned.own
    return frozenset(belonging.process.id for belonging in own if belonging.process.comm in SHELLS)


def _respawned(ending: EndingState, fresh: frozenset[ProcessId]) -> bool:
    """Tell whether a hook started a new process in the pane of an ended one: it would do so
    again."""
    if ending.sight.session:
        panes = ending.sight.session.panes
    else:
        panes = ()
    return not {pane.pid for pane in panes}.isdisjoint(process.pid for process in fresh)


def _strike(
    ending: EndingState,
    processes: frozenset[ProcessId],
    signals: Signals,
    *,
    close: bool,
) -> Steps[None]:
    """Close and signal. TERM comes after the hangup of the terminal; KILL comes before it, so that
    no process gets a warning that it could react to."""
    _note_swept(ending)
    ending.touched = True
    if close and signals is not KILL:
        yield from ask(Close())
    if processes:
        answers = yield from ask(Signal(processes, signals))
        ending.denied = ending.denied or SignalSent.DENIED in answers.values()
    if close and signals is KILL:
        yield from ask(Close())


def _look(ending: EndingState, *, processes_only: bool = False) -> Steps[None]:
    ending.sight = yield from ask(Look(processes_only))


def _note_swept(ending: EndingState) -> None:
    """Note all processes but the agent before they are ended: some exit with their terminal and
    never get a signal."""
    agent = frozenset(ending.plan.agent_pids)
    for belonging in ending.sight.owned.own:
        if ending.agent_left or belonging.process.pid not in agent:
            ending.struck.setdefault(belonging.process.id, belonging)


def _outcome(ending: EndingState, gone: bool) -> Outcome:
    if not gone:
        trouble = ending.hindered_by
        moved = trouble is not None and trouble.code is Code.SESSION_REPLACED
        if ending.barred or (moved and not ending.touched):
            return Outcome.REFUSED
        if moved or trouble is None:
            return Outcome.SURVIVED
        return Outcome.FAILED
    if ending.carrier_cut:  # the agent behind the carrier may still run
        return Outcome.SURVIVED
    if ending.policy.verb is EndVerb.KILL:
        return Outcome.KILLED
    return Outcome.STOPPED


def _stopped_by(ending: EndingState) -> StoppedBy:
    enough = [report.rung for report in ending.rungs if report.enough]
    if enough:
        return STOPPED_BY[enough[-1]]
    return StoppedBy.ALREADY_GONE

"""The rungs by which one session is ended: a conversation of requests and answers, without any I/O of its own.

Each rung says what it wants (look, send, signal, wait) and is told what came of it; `execute` carries the requests of
many ladders out at once. A rung ends the moment the last process is gone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum

from tmuxreap.errors import Failure
from tmuxreap.model import Conversation, Live, Outcome, ProcessId, StoppedBy, Verb
from tmuxreap.ownership import Belonging
from tmuxreap.plan import Plan, PlannedRung, Policy, Rung
from tmuxreap.profiles import Key, KeyStep, Pause, Profile, Text
from tmuxreap.screens import Screen, State
from tmuxreap.seams import Clock, Sent
from tmuxreap.sights import Sight

LOOK_AGAIN_S = 0.05
TERM = (signal.SIGTERM, signal.SIGCONT)  # a stopped process handles no TERM
KILL = (signal.SIGKILL,)
CLEAN_LOOKS = 2
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Is the ending still ours? Answered with a bool."""

    rung: Rung


@dataclass(frozen=True, slots=True)
class Look:
    """What is left? Answered with a Sight."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Until all of them are gone, or the time is there. Answered with those that are not gone."""

    processes: frozenset[ProcessId]
    until: float


@dataclass(frozen=True, slots=True)
class Signal:
    """Answered with a dict of what became of each."""

    processes: frozenset[ProcessId]
    signals: tuple[signal.Signals, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """Close the session (or the one pane) in tmux."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Make the pane ready for keys: leave a mode, keep keys from its siblings, keep the pane for the banner."""


@dataclass(frozen=True, slots=True)
class ReadScreen:
    """Answered with a Screen."""


@dataclass(frozen=True, slots=True)
class Press:
    """One key or one text, if the agent is in front and the pane takes keys. Answered with a bool: was it sent?"""

    step: Key | Text


@dataclass(frozen=True, slots=True)
class KeepDraft:
    """Answered with the number of the event that holds it, or None."""

    text: str


@dataclass(frozen=True, slots=True)
class Capture:
    """Look for the conversation again: the agent has left. Answered with a Conversation."""


Request = Checkpoint | Look | Wait | Signal | Close | Ready | ReadScreen | Press | KeepDraft | Capture
Steps = Generator[Request, object, object]


@dataclass(frozen=True, slots=True)
class RungReport:
    rung: Rung
    waited_s: float = 0.0
    enough: bool = False
    skipped: str | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.rung.value,
            "waited_ms": round(self.waited_s * 1000),
            "enough": self.enough,
            "skipped": self.skipped,
        }


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    event: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went."""

    outcome: Outcome
    stopped_by: StoppedBy | None
    swept_by: StoppedBy | None  # the rung that ended the last of it, whether the agent was still there or not
    rungs: tuple[RungReport, ...]
    conversation: Conversation
    draft: Draft | None
    swept: tuple[Belonging, ...]
    survivors: tuple[Belonging, ...]
    denied: bool
    trouble: Failure | None


@dataclass(slots=True)
class _Run:
    """What the ladder of one session has seen and done so far."""

    plan: Plan
    profile: Profile | None
    policy: Policy
    clock: Clock
    sight: Sight
    conversation: Conversation
    rungs: list[RungReport] = field(default_factory=list)
    swept: dict[ProcessId, Belonging] = field(default_factory=dict)
    agent_left: bool = False
    last: Rung | None = None
    draft: Draft | None = None
    denied: bool = False


STOPPED_BY: dict[Rung, StoppedBy] = {
    Rung.KEYS: StoppedBy.EXIT_KEYS,
    Rung.HANGUP: StoppedBy.HANGUP,
    Rung.TERM: StoppedBy.SIGTERM,
    Rung.KILL: StoppedBy.SIGKILL,
}


def climb(
    plan: Plan, profile: Profile | None, policy: Policy, clock: Clock, sight: Sight, conversation: Conversation
) -> Generator[Request, object, Ended]:
    """From the first key to the proof of death."""
    run = _Run(plan, profile, policy, clock, sight, conversation)
    run.agent_left = sight.live is not Live.ALIVE and not sight.agent
    gone = False
    for planned in plan.rungs:
        if planned.skipped is not None:
            run.rungs.append(RungReport(planned.rung, skipped=planned.skipped))
            continue
        if gone:
            run.rungs.append(RungReport(planned.rung, skipped="nothing was left"))
            continue
        ours = yield Checkpoint(planned.rung)
        if not ours:
            return _ended(run, Outcome.TAKEN_OVER, None)
        gone = yield from _one_rung(run, planned)
    return _ended(run, _outcome(run, gone), _stopped_by(run) if gone else None)


def _one_rung(run: _Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    """True when nothing of the session is left."""
    started = run.clock.monotonic()
    swept_only = run.agent_left
    gone = yield from ACTIONS[planned.rung](run, planned)
    run.last = planned.rung
    waited_s = run.clock.monotonic() - started
    enough = not swept_only and (gone or (planned.rung is Rung.KEYS and run.agent_left))
    skipped = "the agent had left; only what it left behind was swept" if swept_only else None
    run.rungs.append(RungReport(planned.rung, waited_s, enough, skipped))
    return gone


class _Way(Enum):
    """What came of a sequence of keys."""

    LEFT = "the agent left"
    STAYED = "it did not"
    BROKEN = "a key could not be sent"


def _keys(run: _Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    assert run.profile is not None  # noqa: S101 - a plan without a profile skips the rung
    yield Ready()
    screen = yield ReadScreen()
    assert isinstance(screen, Screen)  # noqa: S101 - see the request
    limit = None if run.policy.keys_timeout_s is None else run.clock.monotonic() + planned.wait_s
    way = _Way.BROKEN
    if screen.state is State.IDLE and run.profile.idle_keys:
        way = yield from _sequence(run, run.profile.idle_keys, limit, planned.wait_s)
    if way is _Way.BROKEN:
        way = yield from _safely(run, limit, planned.wait_s)
    if way is _Way.LEFT:
        run.agent_left = True
        run.conversation = yield from _captured(run)
    return False


def _safely(run: _Run, limit: float | None, leave_s: float) -> Generator[Request, object, _Way]:
    """The sequence that worked in every state, then its end again while that fits."""
    assert run.profile is not None  # noqa: S101 - see _keys
    repeats = REPEATS if run.profile.again_keys else 0
    pause_s = leave_s / (repeats + 1)
    way = yield from _sequence(run, run.profile.safe_keys, limit, pause_s)
    for _ in range(repeats):
        if way is not _Way.STAYED or (limit is not None and run.clock.monotonic() >= limit):
            break
        way = yield from _sequence(run, run.profile.again_keys, limit, pause_s)
    return way


def _sequence(
    run: _Run, steps: tuple[KeyStep, ...], limit: float | None, leave_s: float
) -> Generator[Request, object, _Way]:
    """Key by key, no longer than the agent lives; then as long as it may take to leave."""
    agent = frozenset(process.id for process in run.sight.agent)
    for step in steps:
        if limit is not None and run.clock.monotonic() >= limit:
            return _Way.STAYED
        left = broken = False
        if isinstance(step, Pause):
            left = yield from _left_by(run, agent, step.seconds, limit)
        else:
            broken = not (yield from _press(run, step))
        if broken:
            left = yield from _left_by(run, agent, 0, limit)
            return _Way.LEFT if left else _Way.BROKEN
        if left:
            return _Way.LEFT
    left = yield from _left_by(run, agent, leave_s, limit)
    return _Way.LEFT if left else _Way.STAYED


def _press(run: _Run, step: Key | Text) -> Generator[Request, object, bool]:
    """A key only where it can do no harm: the screen is read before each one that submits or clears."""
    if isinstance(step, Key) and step.name != "Escape":
        screen = yield ReadScreen()
        assert isinstance(screen, Screen)  # noqa: S101 - see the request
        if step.name == "Enter" and not _is_ours(run, screen):
            return False
        kept = run.draft.text if run.draft else ""
        if screen.draft not in ("", kept) and not _is_ours(run, screen):
            event = yield KeepDraft(screen.draft)
            run.draft = Draft(screen.draft, event if isinstance(event, int) else None)
    sent = yield Press(step)
    return bool(sent)


def _is_ours(run: _Run, screen: Screen) -> bool:
    """Enter submits what stands there: it must be what we typed and nothing else."""
    assert run.profile is not None  # noqa: S101 - see _keys
    ours = "".join(step.text for step in run.profile.idle_keys if isinstance(step, Text))
    return screen.state is State.DRAFT and screen.draft.strip() == ours


def _left_by(
    run: _Run, agent: frozenset[ProcessId], seconds: float, limit: float | None
) -> Generator[Request, object, bool]:
    until = run.clock.monotonic() + seconds
    remaining = yield Wait(agent, until if limit is None else min(until, limit))
    return not remaining


def _captured(run: _Run) -> Generator[Request, object, Conversation]:
    conversation = yield Capture()
    assert isinstance(conversation, Conversation)  # noqa: S101 - see the request
    return conversation


def _hangup(run: _Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    return (yield from _settle(run, TERM, planned.wait_s, close=True))


def _term(run: _Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    return (yield from _settle(run, TERM, planned.wait_s, close=False))


def _kill(run: _Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    return (yield from _settle(run, KILL, planned.wait_s, close=True))


def _settle(
    run: _Run, signals: tuple[signal.Signals, ...], wait_s: float, *, close: bool
) -> Generator[Request, object, bool]:
    """Close, signal and wait, until two looks in a row find nothing; False when the time is up. It counts from the
    first signal: among a hundred sessions the looks before it take theirs."""
    deadline: float | None = None
    signalled: set[ProcessId] = set()
    clean, closed = 0, False
    while True:
        yield from _look(run)
        left, there = run.sight.owned.ids, run.sight.session is not None
        if run.sight.trouble is None and not left and not (there and closed):
            clean = 0 if there else clean + 1
            if there:
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


def _respawned(run: _Run, fresh: frozenset[ProcessId]) -> bool:
    """A hook put a new process into the pane of one that was ended: it would do so again."""
    panes = run.sight.session.panes if run.sight.session else ()
    return not {pane.pid for pane in panes}.isdisjoint(process.pid for process in fresh)


def _strike(
    run: _Run, processes: frozenset[ProcessId], signals: tuple[signal.Signals, ...], *, close: bool
) -> Generator[Request, object, None]:
    """Who is asked to leave hears of it from the terminal first; who is killed must hear of nothing beforehand."""
    _note_swept(run)
    if close and signals is not KILL:
        yield Close()
    if processes:
        yield from _signal(run, processes, signals)
    if close and signals is KILL:
        yield Close()


def _look(run: _Run) -> Generator[Request, object, None]:
    sight = yield Look()
    assert isinstance(sight, Sight)  # noqa: S101 - see the request
    run.sight = sight


def _signal(
    run: _Run, processes: frozenset[ProcessId], signals: tuple[signal.Signals, ...]
) -> Generator[Request, object, None]:
    answers = yield Signal(processes, signals)
    assert isinstance(answers, dict)  # noqa: S101 - see the request
    run.denied = run.denied or Sent.DENIED in answers.values()


def _note_swept(run: _Run) -> None:
    """All that is ended and is not the agent, also what goes with its terminal before it is signalled."""
    agent = frozenset(run.plan.agent_pids)
    for one in run.sight.owned.own:
        if run.agent_left or one.process.pid not in agent:
            run.swept.setdefault(one.process.id, one)


Action = Callable[[_Run, PlannedRung], Generator[Request, object, bool]]
ACTIONS: dict[Rung, Action] = {Rung.KEYS: _keys, Rung.HANGUP: _hangup, Rung.TERM: _term, Rung.KILL: _kill}


def _outcome(run: _Run, gone: bool) -> Outcome:
    if not gone:
        return Outcome.SURVIVED if run.sight.trouble is None else Outcome.FAILED
    return Outcome.STOPPED if run.plan.verb is Verb.STOP else Outcome.KILLED


def _stopped_by(run: _Run) -> StoppedBy:
    enough = [report.rung for report in run.rungs if report.enough]
    return STOPPED_BY[enough[-1]] if enough else StoppedBy.ALREADY_GONE


def _ended(run: _Run, outcome: Outcome, stopped_by: StoppedBy | None) -> Ended:
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
        trouble=run.sight.trouble,
    )

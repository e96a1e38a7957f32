"""The first rung: the agent's own exit keys, each only where it can do no harm. Asks, and does no I/O of its own."""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum

from tmuxreap.model import Conversation, ProcessId
from tmuxreap.plan import PlannedRung, fast
from tmuxreap.profiles import Key, KeyStep, Pause, Text
from tmuxreap.requests import Capture, Draft, KeepDraft, Press, ReadScreen, Request, Run, Wait
from tmuxreap.screens import Screen, State

REPEATS = 3


class _Way(Enum):
    """What came of a sequence of keys."""

    LEFT = "the agent left"
    STAYED = "it did not"
    BROKEN = "no key could be sent"
    CUT = "one could not be sent after others were"


def press_keys(run: Run, planned: PlannedRung) -> Generator[Request, object, bool]:
    assert run.profile is not None  # noqa: S101 - a plan without a profile skips the rung
    screen = yield ReadScreen(ready=True)
    assert isinstance(screen, Screen)  # noqa: S101 - see the request
    limit = None if run.policy.keys_timeout_s is None else run.clock.monotonic() + planned.wait_s
    way = _Way.BROKEN
    if fast(screen, run.profile):
        way = yield from _sequence(run, run.profile.idle_keys, limit, planned.wait_s, screen)
    if way in (_Way.BROKEN, _Way.CUT):
        way = yield from _safely(run, limit, planned.wait_s)
    if way is _Way.LEFT:
        run.agent_left = True
        run.conversation = yield from _captured()
    return False


def _safely(run: Run, limit: float | None, leave_s: float) -> Generator[Request, object, _Way]:
    """The sequence that worked in every state, then its end again while that fits."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    repeats = REPEATS if run.profile.again_keys else 0
    pause_s = leave_s / (repeats + 1)
    way = yield from _sequence(run, run.profile.safe_keys, limit, pause_s)
    for _ in range(repeats):
        if way is not _Way.STAYED or (limit is not None and run.clock.monotonic() >= limit):
            break
        way = yield from _sequence(run, run.profile.again_keys, limit, pause_s)
    if way is _Way.CUT:  # it leaves by what was sent: of its several processes one, and the terminal, are gone first
        left = yield from _left_by(run, _agent(run), leave_s, limit)
        way = _Way.LEFT if left else _Way.STAYED
    return way


def _sequence(
    run: Run, steps: tuple[KeyStep, ...], limit: float | None, leave_s: float, seen: Screen | None = None
) -> Generator[Request, object, _Way]:
    """Key by key, no longer than the agent lives; then as long as it may take to leave. `seen`: just now."""
    agent, sent = _agent(run), False
    for step in steps:
        if limit is not None and run.clock.monotonic() >= limit:
            return _Way.STAYED
        left = broken = False
        if isinstance(step, Pause):
            left, seen = (yield from _left_by(run, agent, step.seconds, limit)), None
        else:
            broken = not (yield from _press(run, step, seen))
            seen = None
        if broken:
            left = yield from _left_by(run, agent, 0, limit)
            return _Way.LEFT if left else _Way.CUT if sent else _Way.BROKEN
        if left:
            return _Way.LEFT
        sent = sent or not isinstance(step, Pause)
    left = yield from _left_by(run, agent, leave_s, limit)
    return _Way.LEFT if left else _Way.STAYED


def _agent(run: Run) -> frozenset[ProcessId]:
    return frozenset(process.id for process in run.sight.agent)


def _press(run: Run, step: Key | Text, seen: Screen | None) -> Generator[Request, object, bool]:
    """A key only where it can do no harm: the screen is read before each one that submits or clears."""
    if isinstance(step, Key) and step.name != "Escape":
        screen = seen or (yield ReadScreen())
        assert isinstance(screen, Screen)  # noqa: S101 - see the request
        if step.name == "Enter" and not _is_ours(run, screen):
            return False
        kept = run.draft.text if run.draft else ""
        if screen.draft not in ("", kept) and not _is_ours(run, screen):
            event = yield KeepDraft(screen.draft)
            run.draft = Draft(screen.draft, event if isinstance(event, int) else None)
    sent = yield Press(step)
    return bool(sent)


def _is_ours(run: Run, screen: Screen) -> bool:
    """Enter submits what stands there: it must be what we typed and nothing else."""
    assert run.profile is not None  # noqa: S101 - see press_keys
    ours = "".join(step.text for step in run.profile.idle_keys if isinstance(step, Text))
    return screen.state is State.DRAFT and screen.draft.strip() == ours


def _left_by(
    run: Run, agent: frozenset[ProcessId], seconds: float, limit: float | None
) -> Generator[Request, object, bool]:
    until = run.clock.monotonic() + seconds
    remaining = yield Wait(agent, until if limit is None else min(until, limit))
    return not remaining


def _captured() -> Generator[Request, object, Conversation]:
    conversation = yield Capture()
    assert isinstance(conversation, Conversation)  # noqa: S101 - see the request
    return conversation

"""Owns the intent of a start: open from before the session exists until its row is written, so that
no running session is lost. Never ends anything."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from tmuxreap.commands.starting.row import Launch
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Scope
from tmuxreap.ending.one_at_a_time import ActiveIntents, under_way
from tmuxreap.ledger.records import START, Busy, Closing, Intent, NewIntent
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import MARK, PARENT, REGISTRY_MARK

LONGEST_S = 60.0


@contextlib.contextmanager
def open_start(context: Context, spec: Launch, mark: str) -> Iterator[Start]:
    """Keep the intent open until the row is written (`closing`) or everything is cleared;
    otherwise `reconcile` reports what is left."""
    old_marks = _marks_of_dead_start(context, spec.name)
    place = {"socket": spec.socket, "server": spec.server, "terminal": spec.terminal.value}
    plan = json.dumps({**place, "agent": spec.agent, "marks": [mark, *old_marks]})
    with under_way(context.books) as set_intents:
        intent = _open_intent(context, spec.name, spec.event.value, plan)
        set_intents([intent] if intent else [])
        start = Start(spec.event.value, intent)
        try:
            yield start
        except BaseException:
            if intent is not None:
                _close_or_release(context, intent, cleared=start.is_cleared and not old_marks)
            raise


def marks_of(context: Context, spec: Launch, mark: str) -> dict[str, str]:
    """Return the environment variables by which the session is recognized as ours."""
    return {
        **spec.environment,
        MARK: mark,
        REGISTRY_MARK: str(context.registry.resolved),
        PARENT: _started_from(context, spec),
    }


def _started_from(context: Context, spec: Launch) -> str:
    return spec.again.within.environ.get(PARENT, "") if spec.again else context.settings.caller


class Start:
    def __init__(self, event: str, intent: Intent | None) -> None:
        self.closing = () if intent is None else (Closing(intent.id, event, {}),)
        self.is_cleared = False

    def set_cleared(self, *, gone: bool = True) -> None:
        """Note that nothing of the session exists, or (`gone`) nothing any more."""
        self.is_cleared = gone


def _marks_of_dead_start(context: Context, name: str) -> list[str]:
    """Return the marks of a dead start that this one takes over: its session may still exist."""
    intent = context.books.open_intents().get(name)
    return (
        list(json.loads(intent.plan)["marks"])
        if intent is not None and intent.verb == START
        else []
    )


def _close_or_release(context: Context, intent: Intent, *, cleared: bool) -> None:
    if cleared:
        context.books.close_intents([Closing(intent.id, "failed", {})])
    else:
        context.books.release([intent.id])


def _open_intent(context: Context, name: str, event: str, plan: str) -> Intent | None:
    owner = context.processes.identify(context.place.pid)
    assert owner is not None  # noqa: S101 - this very process
    deadline = context.clock.now() + LONGEST_S
    place = context.place.boot_id
    new = NewIntent(name, START, event, Scope.SESSION.value, owner, place, deadline, (), plan)
    (answer,) = context.books.begin(
        [new], ActiveIntents.of(context).is_in_progress, take_over=False
    )
    if isinstance(answer, Busy):
        raise _busy(name, answer.intent)
    return answer.intent if answer else None


def _busy(name: str, intent: Intent) -> Failure:
    doing = "started" if intent.verb == START else "ended"
    reason = f"could not start {name}: it is being {doing} by the process {intent.owner.pid}"
    return Failure(Code.SESSION_EXISTS, reason, "wait for that, then see: tmuxreap list")

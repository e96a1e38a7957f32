"""Owns the intent of a start: open from before the session exists until its row is written, so that
no running session is lost. Never ends anything."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from tmuxreap.commands.starting.row import Launch, Start
from tmuxreap.core.errors import Code, could_not
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
        start = Start(mark, (Closing(intent.id, spec.event.value),) if intent else ())
        try:
            yield start
        except BaseException:
            if intent is not None and start.is_cleared and not old_marks:
                context.books.close_intents([Closing(intent.id, "failed")])
            elif intent is not None:
                context.books.release([intent.id])
            raise


def marks_of(context: Context, spec: Launch, mark: str) -> dict[str, str]:
    """Return the environment variables by which the session is recognized as ours."""
    again = spec.again
    started_from = again.within.environ.get(PARENT, "") if again else context.settings.caller
    registry = str(context.registry.resolved)
    return {**spec.environment, MARK: mark, REGISTRY_MARK: registry, PARENT: started_from}


def _marks_of_dead_start(context: Context, name: str) -> list[str]:
    """Return the marks of a dead start that this one takes over: its session may still exist."""
    intent = context.books.open_intents().get(name)
    if intent is None or intent.verb != START:
        return []
    return list(json.loads(intent.plan)["marks"])


def _open_intent(context: Context, name: str, event: str, plan: str) -> Intent | None:
    owner = context.processes.identify(context.place.pid)
    assert owner is not None  # noqa: S101 - this very process
    deadline = context.clock.now() + LONGEST_S
    place = context.place.boot_id
    new = NewIntent(name, START, event, Scope.SESSION.value, owner, place, deadline, (), plan)
    in_progress = ActiveIntents.of(context).is_in_progress
    (answer,) = context.books.begin([new], in_progress, take_over=False)
    if isinstance(answer, Busy):
        doing = "started" if answer.intent.verb == START else "ended"
        reason = f"it is being {doing} by the process {answer.intent.owner.pid}"
        hint = "wait for that, then see: tmuxreap list"
        raise could_not("start", name, reason, hint, Code.SESSION_EXISTS)
    return answer.intent if answer else None

"""`config`: each default with its value, and whether a variable, the file or the program itself
says so.

Changes nothing."""

from __future__ import annotations

from tmuxreap.commands.reap.verdicts import IDLE_AFTER_S, STALLED_AFTER_S
from tmuxreap.commands.watch.watch import RETENTION_S
from tmuxreap.core.model import Verb
from tmuxreap.core.results import Item, PlainResult, Result
from tmuxreap.core.values import frozen
from tmuxreap.ending.plan import HANGUP_GRACE_S, REASONS, TERM_GRACE_S
from tmuxreap.sessions.configuration import Given, read_given
from tmuxreap.sessions.context import Context

BUILT_IN: dict[str, object] = {
    "server": "default",
    "reason": REASONS[Verb.STOP],
    "grace": HANGUP_GRACE_S,
    "reap.stalled_after": STALLED_AFTER_S,
    "reap.idle_after": IDLE_AFTER_S,
    "reap.grace": HANGUP_GRACE_S,
    "cleanup": False,
    "retention": RETENTION_S,
    "secrets": [],
}
NOTES = {
    "reason": f"of kill: {REASONS[Verb.KILL]}",
    "grace": f"of kill: {TERM_GRACE_S:g}",
    "secrets": "beside the kinds that are always masked",
}


@frozen
class ConfigRequest:
    """Asks for all of them."""


def run(context: Context, request: ConfigRequest) -> Result:
    """Tell them all; a file that cannot be read is a failure of the command."""
    given = read_given(context.settings)
    items: list[Item] = [PlainResult(key, _facts(key, given.get(key))) for key in BUILT_IN]
    more = {"file": str(context.settings.config_path) if context.settings.config_path else None}
    return Result("config", None, context.clock.now(), items, tuple(context.warnings), more=more)


def _facts(key: str, given: Given | None) -> dict[str, object]:
    if given is None:
        return {"value": BUILT_IN[key], "source": "built-in", "place": None, "note": NOTES.get(key)}
    value = list(given.value) if isinstance(given.value, tuple) else given.value
    return {"value": value, "source": given.source, "place": given.place, "note": None}

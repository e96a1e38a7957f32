"""`config`: shows each default, its value and its source (variable, file, built in); changes
nothing."""

from __future__ import annotations

from tmuxreap.commands.reap.verdicts import IDLE_AFTER_S, STALLED_AFTER_S
from tmuxreap.commands.watch.watch import RETENTION_S
from tmuxreap.core.answers import Default
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.ending.plan import HANGUP_GRACE_S, REASONS, TERM_GRACE_S
from tmuxreap.sessions.configuration import Given, read_given
from tmuxreap.sessions.context import Context

BUILT_IN: dict[str, str | float | bool | tuple[str, ...]] = {
    "server": "default",
    "reason": REASONS[EndVerb.STOP],
    "grace": HANGUP_GRACE_S,
    "reap.stalled_after": STALLED_AFTER_S,
    "reap.idle_after": IDLE_AFTER_S,
    "reap.grace": HANGUP_GRACE_S,
    "cleanup": False,
    "retention": RETENTION_S,
    "secrets": (),
}
NOTES = {
    "reason": f"of kill: {REASONS[EndVerb.KILL]}",
    "grace": f"of kill: {TERM_GRACE_S:g}",
    "secrets": "beside the kinds that are always masked",
}


def run(context: Context) -> Result:
    """Report every default; fail if the file cannot be read."""
    given = read_given(context.settings)
    items = [_item(key, given.get(key)) for key in BUILT_IN]
    file = context.settings.config_path
    more = {"file": str(file) if file else None}
    return Result("config", None, context.clock.now(), items, tuple(context.warnings), more=more)


def _item(key: str, given: Given | None) -> Default:
    if given is None:
        return Default(key, BUILT_IN[key], "built-in", note=NOTES.get(key))
    return Default(key, given.value, given.source, given.place)

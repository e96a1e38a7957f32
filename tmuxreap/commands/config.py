"""`config`: shows each default, its value and its source (variable, file, built in); changes
nothing."""

from __future__ import annotations

from tmuxreap.core.answers import Default
from tmuxreap.core.defaults import BUILT_IN, NOTES
from tmuxreap.core.results import Result
from tmuxreap.sessions.configuration import Given, read_given
from tmuxreap.sessions.context import Context


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

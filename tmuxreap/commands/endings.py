"""Puts together what ends sessions, from what a command works with."""

from __future__ import annotations

from tmuxreap.ending.end import Endings
from tmuxreap.sessions.context import Context


def endings_of(context: Context) -> Endings:
    return Endings(
        sights=context.sights,
        finder=context.finder,
        active=context.active,
        caller=context.caller,
        restarts=context.restarts,
        warnings=context.warnings,
        lock_held=context.lock_held,
    )

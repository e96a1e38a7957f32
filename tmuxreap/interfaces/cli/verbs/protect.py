"""Declares the command line of `protect`; `commands.protect` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Words
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, TARGETS


def command(call: Call, targets: Words = TARGETS, dry_run: bool = DRY_RUN) -> Result:
    """Protect sessions: only naming them ends them.

    stop, kill, reap and forget skip them for patterns, tags, trees and `all`.
    """
    from tmuxreap.commands.protect import ProtectRequest, run

    return run(call.context, ProtectRequest(tuple(targets or ()), keep=True, dry_run=dry_run))

"""Declares the command line of `unprotect`; `commands.protect` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import Words
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, TARGETS


def command(call: Call, targets: Words = TARGETS, dry_run: bool = DRY_RUN) -> Result:
    """Remove the protection from sessions.

    Patterns, tags, trees and `all` include them again.
    """
    from tmuxreap.commands.protect import ProtectRequest, run

    return run(call.context, ProtectRequest(tuple(targets or ()), keep=False, dry_run=dry_run))

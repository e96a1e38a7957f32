"""A start that came to nothing: what it made is ended again, and what was to be seen of it is told.
Records nothing."""

from __future__ import annotations

import shlex

from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.starting.row import Launch
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Row, Scope, Verb
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.sight import Past

NOT_FOUND = 127  # as env and shells exit where there is no such program


def clear_away(context: Context, row: Row, past: Past | None = None) -> bool:
    """`past`: by what one without tmux is known."""
    if (
        past is None and not row.tmux.known
    ):  # gone already; by its name alone a stranger's could be meant
        return False
    from tmuxreap.ending.end import end_unregistered  # a start that goes well ends nothing
    from tmuxreap.ending.plan import Policy

    ended = end_unregistered(
        context, row, Policy(Verb.KILL, "start_failed", grace_s=1.0, scope=Scope.SESSION), past
    )
    return ended.error is None


def agent_failed(wish: Launch, profile: Profile | None, gone: bool, screen: str) -> Failure:
    after = f"within {wish.confirm_s:g} s"
    shown = kept_screen(screen)
    if not gone:
        reason = f"no {wish.agent} was recognised in it {after}"
    elif f"(status {NOT_FOUND}" in shown:
        reason = f"{wish.words[0]} is not on the PATH of its tmux server, or could not be run"
    else:
        reason = f"its command ended {after}"
    last = f"; its last screen:\n{shown}" if shown else ""
    known = (
        f" (a {wish.agent} is recognised by: {', '.join(profile.process)})"
        if profile and not gone
        else ""
    )
    return Failure(
        Code.START_FAILED,
        f"could not start {wish.name}: {reason}{known}{last}",
        f"try the command by hand: {shlex.join(wish.words)}",
    )

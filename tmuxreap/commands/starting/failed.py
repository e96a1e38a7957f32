"""Ends what a failed start made, and reports what its screen showed. Never records anything."""

from __future__ import annotations

import shlex

from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.starting.row import Launch
from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Row, Scope, Verb
from tmuxreap.proof.sight import Past
from tmuxreap.sessions.context import Context

NOT_FOUND = 127  # exit status of env and shells if there is no such program


def clear_away(context: Context, row: Row, past: Past | None = None) -> bool:
    """End the session; without tmux, its processes are found by `past`."""
    # already gone: its name alone might mean an unrelated session
    if past is None and not row.tmux.known:
        return False
    from tmuxreap.ending.end import end_unregistered  # only failed starts need it
    from tmuxreap.ending.plan import Policy

    policy = Policy(Verb.KILL, "start_failed", grace_s=1.0, scope=Scope.SESSION)
    return end_unregistered(context, row, policy, past).error is None


def agent_failed(spec: Launch, profile: Profile | None, gone: bool, screen: str) -> Failure:
    after = f"within {spec.confirm_s:g} s"
    shown = kept_screen(screen)
    if not gone:
        reason = f"no {spec.agent} was recognised in it {after}"
        if profile:
            names = ", ".join(profile.process)
            reason += f" (a {spec.agent} is recognised by: {names})"
    elif f"(status {NOT_FOUND}" in shown:
        reason = f"{spec.words[0]} is not on the PATH of its tmux server, or could not be run"
    else:
        reason = f"its command ended {after}"
    last = f"; its last screen:\n{shown}" if shown else ""
    hint = f"try the command by hand: {shlex.join(spec.words)}"
    return could_not("start", spec.name, f"{reason}{last}", hint, Code.START_FAILED)

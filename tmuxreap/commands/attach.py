"""`attach`: finds the command that attaches the terminal to a session, or tells why there is none.
Starts no process itself."""

from __future__ import annotations

from collections.abc import Callable

from tmuxreap.agents.conversations.jobs import Job, filled
from tmuxreap.commands.targets import choose_rows
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Live, Row, Server, SwitchClient, Terminal
from tmuxreap.ending.own_ends import own_environment
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.rows import row_invalid
from tmuxreap.registry.targets import Wanted, unknown
from tmuxreap.sessions.context import Context


def run(
    context: Context, name: str, resume: Callable[[], bool] | None = None
) -> tuple[str, ...] | None:
    """Return the command to exec, or None if this tmux client was switched to the session.

    `resume` asks whether to resume an ended session, and does so."""
    row = _row(context, name)
    sight = context.sights.of_row(row)
    if sight.trouble is not None:
        raise sight.trouble
    if sight.job is not None and sight.session is None:
        return _own_attach(context, row, sight, sight.job)
    if sight.session is None or not isinstance(sight.server, Server):
        if row.resumable is True and resume is not None and resume():
            return run(context, name)
        if sight.live is Live.ALIVE:
            raise _nothing_to_attach_to(context, row)
        raise _ended(row)
    if context.settings.tmux_socket != sight.socket:
        return ("tmux", "-S", sight.socket, "attach-session", "-t", sight.session.id)
    pane = sight.pane or sight.session.panes[0]
    if context.tmux.do(sight.socket, [SwitchClient(sight.server, sight.session, pane)]):
        return None
    hint = f"try: tmux switch-client -t '{sight.session.id}'"
    reason = "tmux did not switch the client"
    raise could_not("attach to", name, reason, hint, Code.TMUX_UNREACHABLE)


def _own_attach(context: Context, row: Row, sight: Sight, job: Job) -> tuple[str, ...]:
    """Return the agent's own command that shows a session of its daemon."""
    profile = context.agents.profile(row, sight)
    if profile is None or profile.background is None or not profile.background.attach:
        raise _nothing_to_attach_to(context, row)
    environment = own_environment(profile, job, context.settings.home)
    before = ("env", *(f"{name}={value}" for name, value in environment.items()))
    words = filled(profile.background.attach, job)
    return (*before, *words) if environment else words


def _row(context: Context, name: str) -> Row:
    look = context.registry.look()
    row = look.named(name)
    if row is not None:
        return row
    bad = look.bad_row(name)
    if bad is not None and bad.name == name:
        raise row_invalid(look.path, bad)
    chosen = choose_rows(context, look, (name,), Wanted.ALL, children=True)
    if chosen.rows:
        return chosen.rows[0]
    elsewhere = context.newcomers.not_registered(context.default_server, name, look.usable)
    raise elsewhere or unknown(name, look.rows)


def _nothing_to_attach_to(context: Context, row: Row) -> Failure:
    if row.terminal is not Terminal.NONE:
        reason = f"it runs in a window of {row.terminal.value}"
        hint = "go to that window"
    else:
        reason = "it runs without a terminal that could be shown"
        hint = f"see what it draws: {command('show', row.name)}"
    return could_not("attach to", row.name, reason, hint)


def _ended(row: Row) -> Failure:
    hint = f"start a new session with: {command('start', row.name)}"
    if row.resumable is True:
        hint = f"resume it with: {command('resume', row.name)}"
    return could_not("attach to", row.name, "it has no session", hint, Code.SESSION_NOT_REGISTERED)

"""Owns the environment of sessions that may be restarted: saved while they live, used for the
restart, so that the restarting process does not pass on its own variables."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import NoServer, Row, Terminal, Unreachable
from tmuxreap.core.ports import Surroundings
from tmuxreap.ledger import surroundings as stored
from tmuxreap.proof.identity import unreachable_failure
from tmuxreap.registry.transitions import wants_restart
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import PARENT
from tmuxreap.system.machine import escape_prefix

# Without these there is no tmux client; a running server has its own environment.
LEAST = ("PATH", "HOME", "LANG", "LC_ALL")
OF_A_PANE = ("TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
OURS = "TMUXREAP_"
NO_SERVER = "its tmux server is gone"


def save_environment(context: Context, row: Row) -> None:
    """Save the environment of a running session, from the process that tmux started in its pane."""
    if not wants_restart(row):
        stored.keep(context.books, row.name, None)
        return
    leader = context.processes.identify(row.pane.pid) if row.pane.pid else None
    environ = context.processes.environ(leader) if leader else None
    if environ is not None:
        stored.keep(context.books, row.name, _of_session(environ))


def surroundings(context: Context, row: Row, socket: str) -> Surroundings:
    """Return the environment for a restart; Failure without a tmux server or a way to make one."""
    saved = stored.kept(context.books, row.name)
    environ = saved
    if environ is None:
        own = context.settings.environ
        environ = {name: own[name] for name in LEAST if name in own}
    if row.terminal is not Terminal.NONE:
        server = context.tmux.look(socket)
        if isinstance(server, Unreachable):
            raise unreachable_failure(f"start {row.name}", server)
        if not isinstance(server, NoServer):
            return Surroundings(environ)
        if saved is None:
            raise _no_place(row, NO_SERVER, "the environment that it had is not known")
    prefix = escape_prefix(context.settings.uid, saved or {})
    if prefix is not None:
        return Surroundings(environ, prefix)
    if row.terminal is Terminal.NONE:
        raise _no_place(row, "what a watch starts would end with the watch's control group")
    reason = "one that a watch makes would end with the watch's control group"
    raise _no_place(row, NO_SERVER, reason)


def _of_session(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name == PARENT or not (name in OF_A_PANE or name.startswith(OURS))
    }


class NoPlace(Failure):
    """A failure that every further attempt would repeat."""


def _no_place(row: Row, *reasons: str) -> NoPlace:
    hint = f"resume it from a terminal: {command('resume', row.name)}"
    reason = f"could not start {row.name} again: {', and '.join(reasons)}"
    return NoPlace(Code.START_FAILED, reason, hint)

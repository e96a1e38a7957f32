"""Finds the command that attaches this terminal to a session on another host. Never starts it."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.hosts.choose import split
from tmuxreap.hosts.engines import terminal_words
from tmuxreap.hosts.file import read_hosts
from tmuxreap.sessions.context import Context


def attach_command(context: Context, target: str) -> tuple[str, ...] | None:
    """Return the command for `NAME@HOST`; None without a host, or if a local row has this name."""
    if "@" not in target:
        return None
    look = context.registry_if_there()
    if look is not None and look.named(target) is not None:
        return None
    parts = split(target, read_hosts(context.settings))
    if parts is None:
        return None
    name, host = parts
    words = terminal_words(host, name)
    if words is None:
        reason = f"could not attach to {target}: {host.name} is not reached by ssh"
        raise Failure(Code.USAGE, reason, f"run there, on a terminal: tmuxreap attach {name}")
    return words

"""The way to sit in a session of another host: the command that a terminal here becomes. Starts
nothing itself."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.hosts.choose import split
from tmuxreap.hosts.engines import terminal_words
from tmuxreap.hosts.file import read_hosts
from tmuxreap.sessions.context import Context


def way_to(context: Context, target: str) -> tuple[str, ...] | None:
    """Of `NAME@HOST`; None where it names no host, and an exact row of this machine wins."""
    if "@" not in target:
        return None
    look = context.registry_if_there()
    if look is not None and look.named(target) is not None:
        return None
    found = split(target, read_hosts(context.settings))
    if found is None:
        return None
    name, host = found
    words = terminal_words(host, name)
    if words is None:
        reason = f"could not attach to {target}: {host.name} is not reached by ssh"
        raise Failure(Code.USAGE, reason, f"run there, on a terminal: tmuxreap attach {name}")
    return words

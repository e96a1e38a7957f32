"""Builds the command that runs an agent below a shell, as it ran before: the shell reads its start
files, and is there when the agent leaves. Never types into a shell, and never does I/O."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tmuxreap.agents.profiles import SHELLS

# The agent is a job of the shell, in its own process group, as if it had been typed there. A C-z
# would leave it behind without a shell that knows of it: it goes on at once.
SCRIPT = '"$@"; while jobs %1 >/dev/null 2>&1; do fg %1; done; exec '
FISH_SCRIPT = "status job-control full; $argv; while jobs -q; fg; end; exec "
POSIX = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
FISH = "fish"
INTERACTIVE = "-i"
LOGIN = "-l"
COMMAND = "-c"


def shell_of_pane(argv: Sequence[str], default: str | None) -> tuple[str, ...]:
    """Return the shell that a pane's program is, with its flags; empty for any other program.
    `default`: the user's shell, which takes the place of one that runs a script."""
    if not argv or _name(argv[0]) not in SHELLS:
        return ()
    own = argv[0].lstrip("-")
    login = [LOGIN] if argv[0].startswith("-") else []
    if all(word.startswith("-") and not _takes_command(word) for word in argv[1:]):
        flags = [word for word in argv[1:] if word not in login]
        return (own, *login, *flags)
    for word in argv[1:]:
        for script in (SCRIPT, FISH_SCRIPT):
            if word.startswith(script):
                return tuple(shlex.split(word.removeprefix(script)))
    return (default or own,)


def below(shell: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Return the command that runs these words below the shell; the words alone without one."""
    if not shell:
        return tuple(words)
    own, *flags = shell
    name = _name(own)
    asks = [] if INTERACTIVE in flags else [INTERACTIVE]
    then = shlex.join(shell)
    if name == FISH:
        return (*shell, *asks, COMMAND, FISH_SCRIPT + then, *words)
    if name not in POSIX:  # one with another language: its start files come after the agent
        return ("sh", INTERACTIVE, COMMAND, SCRIPT + then, "sh", *words)
    return (own, *flags, *asks, COMMAND, SCRIPT + then, name, *words)


def _name(program: str) -> str:
    return program.lstrip("-").rsplit("/", 1)[-1]


def _takes_command(flag: str) -> bool:
    return flag.startswith("--command") or (not flag.startswith("--") and "c" in flag)

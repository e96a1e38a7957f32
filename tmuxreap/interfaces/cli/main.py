"""The command line as a whole: which verbs there are. The words of each are in its file under
`verbs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from tmuxreap import __version__
from tmuxreap.interfaces.cli.commands import declared as declared
from tmuxreap.interfaces.cli.words import Grouped, as_called, check_words

VERBS = (
    "start",
    "adopt",
    "list",
    "show",
    "attach",
    "stop",
    "kill",
    "reap",
    "resume",
    "forget",
    "protect",
    "unprotect",
    "reconcile",
    "watch",
    "events",
    "wait",
    "interrupt",
    "heartbeat",
    "hook",
    "hooks",
    "agents",
    "doctor",
    "mcp",
    "popup",
    "hosts",
    "skills",
    "completion",
    "schema",
    "config",
)
ALIASES = {"ls": "list"}
# As `handover` and `watch` call themselves, and another host's tmuxreap us.
HIDDEN = {"_finish": "finish", "_restart": "restart", "at": "at"}


def main(argv: Sequence[str]) -> int:
    """Only the verb that is called is built; without one that is known, all are, for the help."""
    words = as_called(argv)
    called = next((word for word in words if not word.startswith("-")), "")
    known = {**{verb: verb for verb in VERBS}, **ALIASES}
    check_words(words, [*known, *HIDDEN])
    chosen = {name: file for name, file in {**known, **HIDDEN}.items() if name == called} or known
    program = typer.Typer(
        cls=Grouped,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_program)
    for name, file in chosen.items():
        program.command(name, hidden=name in (*HIDDEN, "hook"))(declared(file))
    return int(program(words, prog_name="tmuxreap", standalone_mode=False) or 0)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tmuxreap {__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Stop, resume and clean up AI coding agents running in tmux.

    \b
    tmuxreap start acme --agent claude    start an agent and register it
    tmuxreap list                         list sessions and whether they are alive
    tmuxreap stop acme                    stop it and save its conversation
    tmuxreap resume acme                  resume its conversation
    tmuxreap reconcile                    clean up after a crash or a reboot
    """

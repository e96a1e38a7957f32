"""Owns the parameters that many verbs share, as typer declares them. Never reads a line itself."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from tmuxreap.interfaces.cli import complete

Targets: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGETS...",
        help="NAME, 'PATTERN*', tag:X, agent:A, task:ID, tree:NAME, pid:N, all, or - for names on"
        " stdin.",
        autocompletion=complete.targets,
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Show what would happen without doing it.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Registry: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--registry",
        metavar="PATH",
        help="Registry file. [the nearest one above the current directory]",
        autocompletion=complete.files,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Only print errors.")]
Host: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--host",
        metavar="H",
        help="Run on other hosts: names, @tag, all, or local.",
        autocompletion=complete.hosts,
    ),
]


def _hosts_at_once(word: str) -> int:
    number = int(word) if word.isascii() and word.isdigit() else 0
    if not 1 <= number <= 1000:
        raise typer.BadParameter(f"{word!r} is not a number from 1 to 1000")
    return number


HostsAtOnce: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--hosts-at-once",
        metavar="N",
        help="Hosts to ask at the same time. [32]",
        parser=_hosts_at_once,
    ),
]

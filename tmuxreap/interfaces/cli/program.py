"""Owns the command line in typer, built from what the verbs declare: for the help, for mistakes,
and for every line that is not plain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter as Place
from inspect import Signature
from typing import Annotated, Any, cast

import typer
import typer.core

from tmuxreap import __version__
from tmuxreap.core.values import NOTHING
from tmuxreap.interfaces.cli import commands
from tmuxreap.interfaces.cli.parameters import Command, Parameter
from tmuxreap.interfaces.cli.words import GROUPS


class Grouped(typer.core.TyperGroup):
    """The help of the whole program."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, verbs in GROUPS.items():
            known = [(verb, self.commands[verb]) for verb in verbs.split() if verb in self.commands]
            rows = [(verb, found.get_short_help_str(formatter.width)) for verb, found in known]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def run(words: Sequence[str], chosen: Mapping[str, str], hidden: Sequence[str]) -> int:
    """Run typer with the chosen verbs; for the help these are all verbs."""
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
        program.command(name, hidden=name in hidden)(declared(file))
    return int(program(words, prog_name="tmuxreap", standalone_mode=False) or 0)


def declared(verb: str) -> Callable[..., None]:
    return typed(commands.declared(verb))


def typed(command: Command) -> Callable[..., None]:
    def call(**words: object) -> None:
        command.call(**words)

    call.__signature__ = Signature([_place(one) for one in command.parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {}
    call.__doc__ = command.about
    return call


def _place(one: Parameter) -> Place:
    factory: Any = typer.Option if one.flags else typer.Argument
    spec = factory(*one.flags, help=one.about, metavar=one.metavar, **one.details)
    kind = cast("Any", Annotated)[one.kind, spec]
    default = Place.empty if one.default is NOTHING else one.default
    return Place(one.name, Place.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


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

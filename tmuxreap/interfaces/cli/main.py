"""Owns the command line as a whole, in typer: the verbs, the help in groups, the flags that stand
before a verb, and the hints for words of other programs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter
from typing import Annotated, Any

import typer
import typer.core

from tmuxreap import __version__
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.verbs import ALL, CALLED, PUBLIC, VERBS, Group, Verb, only_here
from tmuxreap.interfaces.cli import commands, complete
from tmuxreap.interfaces.cli.boundary import Done

LASTING_OBJECTS = 10_000  # of who runs for hours: garbage is collected as often as Python does
NEED_TARGETS = frozenset(verb.name for verb in ALL if verb.needs_targets)
LISTED = frozenset(verb.name for verb in ALL if verb.group is not None)  # in the help
HELP = "help"  # the word; no verb of its own
SETTINGS = {"help_option_names": ["-h", "--help"]}


class OneVerb(typer.core.TyperCommand):
    """The help of one verb."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name a required argument as the pages do, NAME, and not {NAME}; choices keep theirs.
        Targets are required by most verbs, whose own messages say so better than typer's."""
        pieces: list[str] = super().collect_usage_pieces(ctx)
        named = [piece if "|" in piece else piece.strip("{}") for piece in pieces]
        if self.name in NEED_TARGETS:
            return [piece.strip("[]") if piece == "[TARGETS...]" else piece for piece in named]
        return named


class Grouped(typer.core.TyperGroup):
    """The help of the whole program, or of the verb after the flag that asks for help: then only
    that verb is built."""

    def get_help(self, ctx: Any) -> str:
        if self.commands.keys() >= LISTED:
            return str(super().get_help(ctx))
        verb = next(iter(self.commands.values()))
        return str(verb.get_help(verb.context_class(verb, info_name=verb.name, parent=ctx)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for group in Group:
            found = []
            for verb in ALL:
                if verb.group is group:
                    found.append(self.commands[verb.name])
            rows = [(one.name, one.get_short_help_str(formatter.width)) for one in found]
            with formatter.section(group.value):
                formatter.write_dl(rows)


def main(argv: Sequence[str]) -> int:
    """Run the command line; only the called verb is built."""
    words = with_help_flag(argv)
    check_words(words)
    called = CALLED.get(verb_of(words) or verb_of(complete.line_of_shell()[1:-1]))
    if called is not None and called.lasts:
        gc.set_threshold(LASTING_OBJECTS)
    try:
        app = program((called,) if called is not None else ALL)
        return int(app(words, prog_name="tmuxreap", standalone_mode=False) or 0)
    except Done as done:
        return done.status
    except SystemExit as answered:  # typer has answered a shell's TAB
        return int(answered.code or 0)


@cache  # what runs several command lines, as tests do, builds each verb once
def program(verbs: tuple[Verb, ...]) -> Any:
    """Build the program with these verbs."""
    app = typer.Typer(
        cls=Grouped,
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings=SETTINGS,
    )
    app.callback()(_program)
    for verb in verbs:
        for word in filter(None, (verb.called, verb.alias)):
            hidden = verb.group is None or word == verb.alias
            declare = app.command(word, cls=OneVerb, hidden=hidden, context_settings=SETTINGS)
            declare(function(verb))
    command = typer.main.get_command(app)
    complete.use_our_shells()
    return command


def function(verb: Verb) -> Callable[..., None]:
    """Return the function that typer calls for a verb."""
    if verb.is_bare:
        return commands.function_of(verb)

    def call(ctx: typer.Context, **words: Any) -> None:
        for name, value in (ctx.obj or {}).items():  # given before the verb
            if name in words and words[name] in (None, False):  # an empty word is one
                words[name] = value
        commands.run_anywhere(verb, **words)

    own = commands.signature_of(verb)
    context = commands.parameter("ctx", typer.Context, Parameter.empty)
    call.__signature__ = own.replace(parameters=[context, *own.parameters.values()])  # type: ignore[attr-defined]
    call.__annotations__ = {}
    call.__doc__ = commands.function_of(verb).__doc__
    return call


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tmuxreap {__version__}")
        raise typer.Exit


def _program(
    ctx: typer.Context,
    registry: commands.Registry = None,
    json: commands.Json = False,
    quiet: commands.Quiet = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Show the version and exit."
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
    ctx.obj = {"registry": registry, "json": json, "quiet": quiet}


def with_help_flag(argv: Sequence[str]) -> list[str]:
    """Turn `help VERB` into `VERB --help`."""
    words = list(argv)
    if verb_of(words) != HELP:
        return words
    verb = verb_of(words[words.index(HELP) + 1 :])
    if verb in ("", HELP):
        return ["--help"]
    return [verb, "--help"]


def verb_of(words: Sequence[str]) -> str:
    """Return the first word that is no flag, and no value of one before the verb."""
    rest = iter(words)
    for word in rest:
        if word == "--registry":
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def own_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words before `--`; the others are a command of the user's."""
    if "--" in words:
        return words[: words.index("--")]
    return words


def check_words(words: Sequence[str]) -> None:
    """Refuse an unknown verb, and a second `--registry`: the last would silently win."""
    verb = verb_of(words)
    if verb and verb not in CALLED:
        from difflib import get_close_matches  # only unknown verbs need it

        meant = []
        for ours in ALL:
            if verb in ours.synonyms.split():
                meant.append(ours.name)
        suggestion = next(iter(meant or get_close_matches(verb, list(CALLED), 1)), None)
        if suggestion:
            hint = f"did you mean: tmuxreap {suggestion}"
        else:
            hint = "see all verbs: tmuxreap --help"
        raise Failure(Code.USAGE, f"could not read the command: there is no verb {verb!r}", hint)
    given = []
    for word in own_words(words):
        if word.partition("=")[0] == "--registry":
            given.append(word)
    if len(given) > 1:
        reason = "could not read the command: --registry is given twice"
        raise Failure(Code.USAGE, reason, "give one; each registry needs a command of its own")


def usage(words: Sequence[str], error: Any) -> Failure:
    """Turn a parser error into a Failure that refers to the verb's help."""
    verb = verb_of(words)
    reason = _reason(error)
    if verb:
        hint = f"see: tmuxreap {verb} --help"
    else:
        hint = "see: tmuxreap --help"
    takes_all = verb in VERBS and VERBS[verb].takes_all
    if getattr(error, "option_name", None) == "--all" and takes_all:
        hint = f"to {verb} every session: tmuxreap {verb} all"
    if getattr(error, "option_name", None) == "--host" and verb in VERBS:
        reason = only_here(verb)
        hint = f"run it there, as in: ssh HOST tmuxreap {verb} --help"
    return Failure(Code.USAGE, f"could not read the command: {reason}", hint)


def _reason(error: Any) -> str:
    """Return typer's message as the rest of a sentence."""
    message: str = error.format_message().rstrip(".")
    unknown = getattr(error, "option_name", None)
    if unknown is not None and message.startswith("No such option"):
        return f"there is no option {unknown}"
    return message[:1].lower() + message[1:]


__all__ = ["PUBLIC", "main", "program"]

"""The commands of the verbs, one file each, and `--host` on those that have it: declared once, and
none of what it needs is loaded where it is not used."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Annotated

import typer

from tmuxreap.interfaces.cli.verbs.options import Yes

LOOKING = frozenset({"list", "show", "events", "doctor"})
CHANGING = frozenset(
    {
        "start",
        "adopt",
        "stop",
        "kill",
        "reap",
        "resume",
        "forget",
        "reconcile",
        "interrupt",
        "protect",
        "unprotect",
    }
)
WAITING = frozenset({"wait"})
ENDLESS = frozenset({"watch"})
HOSTED = LOOKING | CHANGING | WAITING | ENDLESS
PLANNED = frozenset(
    {"stop", "kill", "forget", "interrupt"}
)  # patterns are looked up before, and sent as names
ASKED = frozenset({"stop", "kill", "interrupt"})  # on a terminal, before a pattern
NEVER_SENT = ("registry", "json", "quiet")  # of the caller's own words

HostWords = Annotated[
    list[str] | None,
    typer.Option("--host", help="Run on other hosts: names, @tag, all, or local.", metavar="H"),
]
AtOnce = Annotated[
    int | None,
    typer.Option(
        "--hosts-at-once", help="Hosts to ask at the same time. [32]", metavar="N", min=1, max=1000
    ),
]


def plain_command(verb: str) -> Callable[..., None]:
    command: Callable[..., None] = import_module(f"tmuxreap.interfaces.cli.verbs.{verb}").command
    return command


def declared(verb: str) -> Callable[..., None]:
    """The command of a verb, with `--host` where that means something."""
    command = plain_command(verb)
    return hosted(verb, command) if verb in HOSTED else command


def changes(verb: str, words: Mapping[str, object]) -> bool:
    return (
        verb in CHANGING
        and not (words.get("dry_run") or words.get("print_only"))
        and not _only_shows(verb, words)
    )


def _only_shows(verb: str, words: Mapping[str, object]) -> bool:
    return verb == "reap" and not words.get("yes")


def goes_on(verb: str, words: Mapping[str, object]) -> bool:
    return verb in ENDLESS or (verb == "events" and bool(words.get("follow")))


def hosted(verb: str, command: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(command, eval_str=True)

    def call(
        host: list[str] | None = None, hosts_at_once: int | None = None, **words: object
    ) -> None:
        if host or _names_a_host(words):
            near = import_module("tmuxreap.interfaces.remote.near")
            status = near.call_hosts(verb, command, host, hosts_at_once, words)
            if status is not None:
                raise typer.Exit(int(status))
        if "yes" not in own.parameters:
            words.pop("yes", None)
        return command(**words)

    more: dict[str, object] = {"host": HostWords, "hosts_at_once": AtOnce}
    if verb in CHANGING and "yes" not in own.parameters:
        more["yes"] = Yes
    added = [_parameter(name, kind) for name, kind in more.items()]
    call.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
    call.__annotations__ = {}
    call.__doc__ = command.__doc__
    return call


def _parameter(name: str, kind: object) -> inspect.Parameter:
    default = False if name == "yes" else None
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind
    )


def _names_a_host(words: dict[str, object]) -> bool:
    """Perhaps: an @ may be part of a name."""
    found = [words.get("name"), *_listed(words.get("targets")), *_listed(words.get("names"))]
    return any(isinstance(word, str) and ("@" in word or word == "-") for word in found)


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, tuple)) else ()

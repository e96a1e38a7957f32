"""Owns the verbs as commands, some of them with `--host`, whose code is loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Annotated

from tmuxreap.interfaces.cli.parameters import (
    Command,
    Done,
    Option,
    Parameter,
    parameter,
    parameters_of,
)
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
# patterns are resolved first, and sent as names
PLANNED = frozenset({"stop", "kill", "forget", "interrupt"})
ASKED = frozenset({"stop", "kill", "interrupt"})  # confirmed on a terminal if patterns are given
NEVER_SENT = ("registry", "json", "quiet")  # options that stay on this host

HostWords = Annotated[
    list[str] | None,
    Option("--host", help="Run on other hosts: names, @tag, all, or local.", metavar="H"),
]
AtOnce = Annotated[
    int | None,
    Option(
        "--hosts-at-once", help="Hosts to ask at the same time. [32]", metavar="N", min=1, max=1000
    ),
]


def plain_command(verb: str) -> Callable[..., None]:
    command: Callable[..., None] = import_module(f"tmuxreap.interfaces.cli.verbs.{verb}").command
    return command


def declared(verb: str) -> Command:
    """Return the command of a verb, with `--host` where it applies."""
    command = plain_command(verb)
    own = tuple(parameters_of(command))
    if verb in HOSTED:
        return hosted(verb, command, own)
    return Command(command, own, command.__doc__)


def changes(verb: str, words: Mapping[str, object]) -> bool:
    return (
        verb in CHANGING
        and not (words.get("dry_run") or words.get("print_only"))
        and not _only_shows(verb, words)
    )


def _only_shows(verb: str, words: Mapping[str, object]) -> bool:
    return verb == "reap" and not words.get("yes")


def is_endless(verb: str, words: Mapping[str, object]) -> bool:
    return verb in ENDLESS or (verb == "events" and bool(words.get("follow")))


def hosted(verb: str, command: Callable[..., None], own: tuple[Parameter, ...]) -> Command:
    asks = any(one.name == "yes" for one in own)

    def call(
        host: list[str] | None = None, hosts_at_once: int | None = None, **words: object
    ) -> None:
        if host or _names_a_host(words):
            remote = import_module("tmuxreap.interfaces.remote.near")
            status = remote.call_hosts(verb, command, host, hosts_at_once, words)
            if status is not None:
                raise Done(int(status))
        if not asks:
            words.pop("yes", None)
        return command(**words)

    more = [parameter("host", HostWords, None), parameter("hosts_at_once", AtOnce, None)]
    if verb in CHANGING and not asks:
        more.append(parameter("yes", Yes, default=False))
    return Command(call, (*own, *more), command.__doc__)


def _names_a_host(words: dict[str, object]) -> bool:
    """Tell whether a host may be named; an @ may also be part of a name."""
    words_given = [words.get("name"), *_listed(words.get("targets")), *_listed(words.get("names"))]
    return any(isinstance(word, str) and ("@" in word or word == "-") for word in words_given)


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, tuple)) else ()

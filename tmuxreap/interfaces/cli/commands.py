"""Owns the verbs as commands, some of them with `--host`, whose code is loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tmuxreap.core.values import replace
from tmuxreap.interfaces.cli.parameters import Command, Done, Parameter, parameters_of
from tmuxreap.interfaces.cli.verbs.options import HOST, HOSTS_AT_ONCE, JSON, QUIET, REGISTRY, YES

if TYPE_CHECKING:
    from tmuxreap.core.results import Result
    from tmuxreap.interfaces.cli.boundary import Call

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
HOSTED = CHANGING | {"list", "show", "events", "doctor", "wait", "watch"}
# patterns are resolved first, and sent as names
PLANNED = frozenset({"stop", "kill", "forget", "interrupt"})
ASKED = frozenset({"stop", "kill", "interrupt"})  # confirmed on a terminal if patterns are given
NEVER_SENT = ("registry", "json", "quiet")  # options that stay on this host

# Never --json or --quiet: they take over the terminal.
SILENT = frozenset({"attach", "popup"})
WITHOUT_REGISTRY = frozenset({"agents", "completion", "config", "hosts", "skills"})
# These run without a context of their own, or are called by ourselves.
DIRECT = frozenset({"at", "finish", "hook", "restart", "schema"})
SHOWING_PROGRESS = frozenset({"stop", "kill"})


def declared(verb: str) -> Command:
    """Return the command of a verb, with `--host` where it applies."""
    command = plain_command(verb)
    return _hosted(verb, command) if verb in HOSTED else command


def plain_command(verb: str) -> Command:
    """Return the command of a verb, for this host."""
    function = _function(verb)
    own = tuple(parameters_of(function))
    if verb in DIRECT:
        return Command(function, own, function.__doc__)

    def call(
        registry: str | None = None, json: bool = False, quiet: bool = False, **words: Any
    ) -> None:
        from tmuxreap.interfaces.cli.boundary import answer, targets_of

        def work(call: Call) -> Result:
            if words.get("targets"):
                words["targets"] = targets_of(words["targets"])
            return work_of(verb, words)(call)

        progress = verb in SHOWING_PROGRESS and not (json or quiet or words.get("dry_run"))
        quiet = quiet or verb in SILENT
        answer(verb, work, registry, json=json, quiet=quiet, progress=progress)

    return Command(call, _with_common(verb, own), function.__doc__)


def work_of(verb: str, words: Mapping[str, object]) -> Callable[[Call], Result]:
    """Return what the verb does with these words, and with its defaults for all others."""
    function = _function(verb)
    defaults = {one.name: one.default for one in parameters_of(function)}
    return lambda call: function(call, **{**defaults, **words})


def _function(verb: str) -> Callable[..., Any]:
    function: Callable[..., Any] = import_module(f"tmuxreap.interfaces.cli.verbs.{verb}").command
    return function


def _with_common(verb: str, own: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Insert the flags that most verbs have, before --dry-run and --yes."""
    common = [] if verb in WITHOUT_REGISTRY else [replace(REGISTRY, name="registry")]
    if verb not in SILENT:
        common += [replace(JSON, name="json"), replace(QUIET, name="quiet")]
    at = next((n for n, one in enumerate(own) if one.name in ("dry_run", "yes")), len(own))
    return (*own[:at], *common, *own[at:])


def changes(verb: str, words: Mapping[str, object]) -> bool:
    only_shows = verb == "reap" and not words.get("yes")
    return verb in CHANGING and not (words.get("dry_run") or words.get("print_only") or only_shows)


def is_endless(verb: str, words: Mapping[str, object]) -> bool:
    return verb == "watch" or (verb == "events" and bool(words.get("follow")))


def _hosted(verb: str, plain: Command) -> Command:
    asks = "yes" in plain.defaults

    def call(
        host: list[str] | None = None, hosts_at_once: int | None = None, **words: object
    ) -> None:
        if host or _names_a_host(words):
            remote = import_module("tmuxreap.interfaces.remote.near")
            status = remote.call_hosts(verb, host, hosts_at_once, words)
            if status is not None:
                raise Done(int(status))
        if not asks:
            words.pop("yes", None)
        plain.call(**words)

    more = [replace(HOST, name="host"), replace(HOSTS_AT_ONCE, name="hosts_at_once")]
    if verb in CHANGING and not asks:
        more.append(replace(YES, name="yes"))
    return Command(call, (*plain.parameters, *more), plain.about)


def _names_a_host(words: dict[str, object]) -> bool:
    """Tell whether a host may be named; an @ may also be part of a name."""
    words_given = [words.get("name"), *_listed(words.get("targets")), *_listed(words.get("names"))]
    return any(isinstance(word, str) and ("@" in word or word == "-") for word in words_given)


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, tuple)) else ()

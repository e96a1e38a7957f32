"""Owns the verbs as functions: which parameters each has, those that many share, and how one is
called with words. Never reads a line itself.

The command line calls them by typer (`program`), MCP and other hosts by the same words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from tmuxreap.core.verbs import VERBS, Verb
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, Done, answer, targets_of

if TYPE_CHECKING:
    from tmuxreap.core.results import Result

NEVER_SENT = ("registry", "json", "quiet")  # options that stay on this host


def function_of(verb: Verb) -> Callable[..., Any]:
    """Return the function that declares the verb's flags: `do_stop` for `stop`."""
    module = import_module(f"tmuxreap.interfaces.cli.verbs.{verb.flags}")
    function: Callable[..., Any] = getattr(module, f"do_{verb.name}")
    return function


def own_parameters(verb: Verb) -> list[Parameter]:
    """Return what the verb declares itself, with resolved types."""
    declared = signature(function_of(verb), eval_str=True).parameters.values()
    return [one for one in declared if one.name != "call"]


def parameters(verb: Verb) -> list[Parameter]:
    """Return all parameters of the verb, in the order of its help."""
    own = own_parameters(verb)
    if verb.is_bare:
        return own
    at = next((n for n, one in enumerate(own) if one.name in ("dry_run", "yes")), len(own))
    return [*own[:at], *_shared(verb), *own[at:], *_of_hosts(verb, own)]


def defaults(verb: Verb) -> dict[str, object]:
    """Return the words of the verb and their defaults, without those for other hosts."""
    shared = [] if verb.is_bare else _shared(verb)
    return {one.name: one.default for one in (*own_parameters(verb), *shared)}


def _shared(verb: Verb) -> list[Parameter]:
    found = []
    if verb.has_registry:
        found.append(parameter("registry", Registry, None))
    if not verb.takes_terminal:
        found.append(parameter("json", Json, False))
        found.append(parameter("quiet", Quiet, False))
    return found


def _of_hosts(verb: Verb, own: list[Parameter]) -> list[Parameter]:
    if not verb.on_hosts:
        return []
    found = [
        parameter("host", Host, None),
        parameter("hosts_at_once", HostsAtOnce, None),
    ]
    if verb.changes and not any(one.name == "yes" for one in own):
        found.append(parameter("yes", Yes, False))
    return found


def parameter(name: str, annotation: object, default: object) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def flags_by_name(verb: Verb) -> dict[str, tuple[str, ...]]:
    """Map each parameter of the verb to its flags; arguments have none."""
    shared = [] if verb.is_bare else _shared(verb)
    declared = {one.name: one.annotation for one in (*own_parameters(verb), *shared)}
    return {name: _flags(get_args(kind)[1]) for name, kind in declared.items()}


def _flags(declared: Any) -> tuple[str, ...]:
    """Return the flags of what typer calls an option; within Annotated the first is its default."""
    words = (declared.default, *(declared.param_decls or ()))
    return tuple(word for word in words if isinstance(word, str) and word.startswith("-"))


def work_of(verb: str, given: Mapping[str, object]) -> Callable[[Call], Result]:
    """Return what the verb does with these words, and with its defaults for all others."""
    function = function_of(VERBS[verb])
    own = own_parameters(VERBS[verb])
    words = {one.name: given.get(one.name, one.default) for one in own}
    return lambda call: function(call, **words)


def run(
    verb: Verb,
    registry: str | None = None,
    json: bool = False,
    quiet: bool = False,
    **given: Any,
) -> None:
    """Run the verb on this host and print its answer."""

    def work(call: Call) -> Result:
        if given.get("targets"):
            given["targets"] = targets_of(given["targets"])
        return work_of(verb.name, given)(call)

    progress = verb.shows_progress and not (json or quiet or given.get("dry_run"))
    quiet = quiet or verb.takes_terminal
    answer(verb.name, work, registry, json=json, quiet=quiet, progress=progress)


def run_anywhere(
    verb: Verb,
    host: list[str] | None = None,
    hosts_at_once: int | None = None,
    **given: Any,
) -> None:
    """Run the verb on the hosts that its words mean, or here."""
    # What changes something on this machine only is refused for a session of a host.
    if (verb.on_hosts or verb.changes) and (host or _names_a_host(given)):
        remote = import_module("tmuxreap.interfaces.remote.near")
        status = remote.call_hosts(verb.name, host, hosts_at_once, given)
        if status is not None:
            raise Done(int(status))
    if not any(one.name == "yes" for one in own_parameters(verb)):
        given.pop("yes", None)  # it answers only for other hosts
    run(verb, **given)


def _names_a_host(given: Mapping[str, Any]) -> bool:
    """Tell whether a host may be named; an @ may also be part of a name."""
    names = [given.get("name") or "", *(given.get("targets") or given.get("names") or ())]
    return any("@" in name or name == "-" for name in names)


def signature_of(verb: Verb) -> Signature:
    """Return the signature that typer reads: required parameters first, as Python wants it."""
    all_of_it = parameters(verb)
    return Signature(sorted(all_of_it, key=lambda one: one.default is not Parameter.empty))


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

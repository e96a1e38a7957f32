"""Owns the verbs as commands, some of them with `--host`, whose code is loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tmuxreap.interfaces.cli.parameters import (
    YES,
    Command,
    Done,
    Parameter,
    flag,
    number,
    parameters_of,
    text,
    words,
)

if TYPE_CHECKING:
    from tmuxreap.core.results import Result
    from tmuxreap.interfaces.cli.boundary import Call

# The modules of `verbs` that declare them; the function for `stop` is `do_stop`.
MODULES = {
    "starting": "start adopt resume attach",
    "ending": "stop kill reap interrupt forget protect unprotect",
    "looking": "list show events wait watch reconcile",
    "setup": "doctor hosts mcp skills schema config hooks agents popup completion",
    "internal": "heartbeat hook at finish restart",
}
CHANGING = frozenset({"start", "adopt", "resume", "reconcile", *MODULES["ending"].split()})
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

REGISTRY = text(
    "--registry PATH", "Registry file (default: the nearest one above the current directory)."
)
JSON = flag("--json", "Print the result as JSON.")
QUIET = flag("--quiet -q", "Only print errors.")
HOST = words("--host H", "Run on other hosts: names, @tag, all, or local.")
HOSTS_AT_ONCE = number("--hosts-at-once N", "Hosts to ask at the same time. [32]", min=1, max=1000)


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
        registry: str | None = None, json: bool = False, quiet: bool = False, **given: Any
    ) -> None:
        from tmuxreap.interfaces.cli.boundary import answer, targets_of

        def work(call: Call) -> Result:
            if given.get("targets"):
                given["targets"] = targets_of(given["targets"])
            return work_of(verb, given)(call)

        progress = verb in SHOWING_PROGRESS and not (json or quiet or given.get("dry_run"))
        quiet = quiet or verb in SILENT
        answer(verb, work, registry, json=json, quiet=quiet, progress=progress)

    return Command(call, _with_common(verb, own), function.__doc__)


def work_of(verb: str, given: Mapping[str, object]) -> Callable[[Call], Result]:
    """Return what the verb does with these words, and with its defaults for all others."""
    function = _function(verb)
    values: dict[str, Any] = {one.name: one.default for one in parameters_of(function)}
    values.update(given)
    if "targets" in values:
        values["targets"] = tuple(values["targets"] or ())
    return lambda call: function(call, **values)


def _function(verb: str) -> Callable[..., Any]:
    module = next(name for name, verbs in MODULES.items() if verb in verbs.split())
    found = import_module(f"tmuxreap.interfaces.cli.verbs.{module}")
    function: Callable[..., Any] = getattr(found, f"do_{verb}")
    return function


def _with_common(verb: str, own: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Insert the flags that most verbs have, before --dry-run and --yes."""
    common = [] if verb in WITHOUT_REGISTRY else [REGISTRY]
    if verb not in SILENT:
        common += [JSON, QUIET]
    at = next((n for n, one in enumerate(own) if one.name in ("dry_run", "yes")), len(own))
    return (*own[:at], *common, *own[at:])


def changes(verb: str, given: Mapping[str, object]) -> bool:
    only_shows = verb == "reap" and not given.get("yes")
    return verb in CHANGING and not (given.get("dry_run") or given.get("print_only") or only_shows)


def is_endless(verb: str, given: Mapping[str, object]) -> bool:
    return verb == "watch" or (verb == "events" and bool(given.get("follow")))


def _hosted(verb: str, plain: Command) -> Command:
    asks = "yes" in plain.defaults

    def call(host: list[str] | None = None, hosts_at_once: int | None = None, **given: Any) -> None:
        if host or _names_a_host(given):
            remote = import_module("tmuxreap.interfaces.remote.near")
            status = remote.call_hosts(verb, host, hosts_at_once, given)
            if status is not None:
                raise Done(int(status))
        if not asks:
            given.pop("yes", None)
        plain.call(**given)

    yes = (YES,) if verb in CHANGING and not asks else ()
    return Command(call, (*plain.parameters, HOST, HOSTS_AT_ONCE, *yes), plain.about)


def _names_a_host(given: dict[str, Any]) -> bool:
    """Tell whether a host may be named; an @ may also be part of a name."""
    names = [given.get("name") or "", *(given.get("targets") or given.get("names") or ())]
    return any("@" in name or name == "-" for name in names)

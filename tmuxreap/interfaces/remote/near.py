"""Owns the local side of `--host`: finds the hosts that a command means, runs it there, and
reports. Never contacts a host itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.text import Style
from tmuxreap.core.values import replace
from tmuxreap.hosts.choose import hosts_of, split, targets_by_host
from tmuxreap.hosts.crowd import THREADS
from tmuxreap.hosts.engines import terminal_words
from tmuxreap.hosts.file import Hosts, read_hosts
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.interfaces.cli.boundary import on_terminal, run_work, style_of, targets_of
from tmuxreap.interfaces.remote.on_hosts import OnHosts
from tmuxreap.interfaces.text.report import report
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

FIELDS = ("targets", "names")


def call_hosts(
    verb: str, host: list[str] | None, at_once: int | None, words: dict[str, Any]
) -> Exit | None:
    """Run the verb on the hosts; None with the remaining `words` if only this machine is meant."""
    settings = Settings.from_environment()
    field = _field_of(words)
    if field is not None:
        words[field] = list(targets_of(words[field])) or None
    style = style_of(settings, words.get("json") is True, words.get("quiet") is True)
    context = real_app(settings, words.get("registry"))
    only_local: list[bool] = []

    def work(context: Context) -> Result:
        meant = _on_hosts(context, verb, host, words, at_once or THREADS, asks=on_terminal())
        if meant is None:
            only_local.append(True)
            return Result(verb, None, context.clock.now())
        if verbs.is_endless(verb, words):
            from tmuxreap.interfaces.remote.follow import follow

            sent = [(it.host, meant.request(it)) for it in meant.by_host]
            follow(verb, words, sent, settings, style)
        return meant.run(style)

    result = run_work(verb, context, work)
    if only_local:
        return None
    if result.failure is not None and result.failure.code is Code.INTERRUPTED:
        result = replace(result, failure=_interrupted())
    report(replace(result, registry=None, more={"hosts": [], **result.more}), style)
    return result.exit


def run_on_hosts(
    context: Context, verb: str, host: list[str] | None, words: Mapping[str, Any]
) -> Result | None:
    """Run the verb for a program, without questions; None if only this machine is meant."""
    meant = _on_hosts(context, verb, host, words, THREADS, asks=False)
    return None if meant is None else meant.run(Style())


def attach_command(context: Context, target: str) -> tuple[str, ...] | None:
    """Return the command for `NAME@HOST`; None without a host, or if a local row has this name."""
    if "@" not in target:
        return None
    look = context.registry_if_there(makes=False)
    if look is not None and look.named(target) is not None:
        return None
    parts = split(target, read_hosts(context.settings))
    if parts is None:
        return None
    name, host = parts
    words = terminal_words(host, name)
    if words is None:
        reason = f"could not attach to {target}: {host.name} is not reached by ssh"
        raise Failure(Code.USAGE, reason, f"run there, on a terminal: tmuxreap attach {name}")
    return words


def _interrupted() -> Failure:
    hint = "see what came of it: tmuxreap list --host all"
    reason = "could not wait for the hosts: interrupted; what was begun there goes on"
    return Failure(Code.INTERRUPTED, reason, hint)


def _on_hosts(
    context: Context,
    verb: str,
    host: list[str] | None,
    words: Mapping[str, Any],
    at_once: int,
    *,
    asks: bool,
) -> OnHosts | None:
    hosts = cache(partial(read_hosts, context.settings))
    field = _field_of(words)
    targets = tuple(words[field] or ()) if field is not None else ()
    if verb == "start":
        _refuse_a_host_in(words["name"], hosts())
    elif field is None and words.get("name") is not None:
        targets, field = (words["name"],), "name"
    flagged = hosts_of(host, hosts()) if host else None
    every = targets_by_host(targets, flagged, hosts, partial(_is_row, context))
    if every is not None:
        context.warnings += [fault.warning for fault in hosts().faults]
    return None if every is None else OnHosts(context, verb, every, at_once, words, field, asks)


def _field_of(words: Mapping[str, Any]) -> str | None:
    return next((name for name in FIELDS if name in words), None)


def _refuse_a_host_in(name: str, hosts: Hosts) -> None:
    found = split(name, hosts) if "@" in name else None
    if found is not None:
        reason = f"could not start {name!r}: what follows the @ is a host"
        raise Failure(Code.USAGE, reason, f"tmuxreap start {found[0]} --host {found[1].name}")


def _is_row(context: Context, target: str) -> bool:
    """Tell whether the local registry has a row of exactly this name: it takes precedence."""
    if target in ("all", "-"):
        return False
    try:
        look = context.registry.look()
    except Failure:
        return False
    return any(row.name == target for row in look.rows)

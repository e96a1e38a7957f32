"""`hosts`: shows for each host whether it answers, what runs there, and the round trip time. Never
changes anything there."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from tmuxreap.core.answers import Reached, Session
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Status
from tmuxreap.core.results import Result, local
from tmuxreap.core.values import replace
from tmuxreap.hosts.choose import exit_of, host_json, hosts_of, troubles_of
from tmuxreap.hosts.crowd import call_in_threads
from tmuxreap.hosts.file import EVERY, Host, read_hosts
from tmuxreap.hosts.talk import ask
from tmuxreap.hosts.wire import Reply, WireRequest
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

CHECK = "check"
EMPTY = "no hosts yet; list them in"


def run(context: Context, action: str | None, wanted: list[str]) -> Result:
    if action not in (None, CHECK):
        reason = f"could not {action} hosts: there is no such action"
        raise Failure(Code.USAGE, reason, "tmuxreap hosts check HOST")
    hosts = read_hosts(context.settings)
    context.warnings += [fault.warning for fault in hosts.faults]
    chosen = hosts_of(wanted or [EVERY], hosts)
    every = call_in_threads([_check(host, context.settings) for host in chosen])
    return Result(
        "hosts",
        None,
        context.clock.now(),
        [_item(reply) for reply in every],
        tuple(context.warnings),
        greeting=f"{EMPTY} {hosts.path}",
        status=exit_of([], every),
        summed=True,
        others=troubles_of(every),
    )


def _check(host: Host, settings: Settings) -> Callable[[], Reply]:
    request = WireRequest(uuid.uuid4().hex, "list", {}, host.registry, here=host.is_local)
    return lambda: _without_registry(ask(host, request, settings, changing=False))


def _without_registry(one: Reply) -> Reply:
    """Accept a missing registry: on that host no session was ever registered."""
    error = one.answer.get("error")
    if isinstance(error, dict) and error.get("code") == Code.REGISTRY_NOT_FOUND.text:
        return replace(one, answer={**one.answer, "error": None, "exit_code": 0, "registry": None})
    return one


def _item(one: Reply) -> Reached:
    registry = host_json(one)["registry"]
    sessions = [local(item) for item in one.items]
    running = sum(isinstance(it, Session) and it.status == Status.RUNNING for it in sessions)
    return Reached(
        name=one.host.name,
        host=one.host.name,
        state="ok" if one.trouble is None else one.trouble.code.text,
        version=one.version,
        sessions=len(one.items) if one.answer else None,
        running=running if one.answer else None,
        round_trip_ms=round(one.took_s * 1000) if one.answer else None,
        registry=registry if isinstance(registry, str) else None,
        tags=tuple(one.host.tags),
    )

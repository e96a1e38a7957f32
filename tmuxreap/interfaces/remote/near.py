"""Owns the local side of `--host`: finds the hosts that a command means, runs it there, and
reports; the lines of endless verbs are merged by time. `hosts` asks each what runs there. Never
settles, restarts or reaps by a watch: the watch of the remote host does that."""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from queue import Empty, Queue
from typing import Any, NoReturn

from tmuxreap.app import real_app
from tmuxreap.core.answers import Reached, Session
from tmuxreap.core.errors import Code, Exit, Failure, could_not
from tmuxreap.core.model import Status
from tmuxreap.core.results import RemoteResult, Result, local
from tmuxreap.core.text import Style, plain
from tmuxreap.core.values import replace
from tmuxreap.core.verbs import VERBS, is_endless, only_here
from tmuxreap.hosts.choose import (
    HostTargets,
    exit_of,
    host_json,
    hosts_of,
    split,
    targets_by_host,
    troubles_of,
)
from tmuxreap.hosts.crowd import THREADS, call_in_threads
from tmuxreap.hosts.engines import terminal_words
from tmuxreap.hosts.file import EVERY, Host, Hosts, read_hosts
from tmuxreap.hosts.talk import ANSWER_S, EndedError, SilentError, Talk, ask, connected
from tmuxreap.hosts.wire import Reply, Say, WireRequest
from tmuxreap.interfaces.cli.boundary import on_terminal, run_work, style_of, targets_of
from tmuxreap.interfaces.remote.on_hosts import OnHosts
from tmuxreap.interfaces.text.report import report, report_line
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
        if is_endless(VERBS[verb], words):
            sent = [(it.host, meant.request(it)) for it in meant.by_host]
            follow(verb, words, sent, settings, style)
        return meant.run(style)

    result = run_work(verb, context, work)
    if only_local:
        return None
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
    look = context.with_registry_or_new(makes=False).look_if_there()
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
    if field is not None:
        targets = tuple(words[field] or ())
    else:
        targets = ()
    if verb == "start":
        _refuse_a_host_in(words["name"], hosts())
    elif field is None and words.get("name") is not None:
        targets = (words["name"],)
        field = "name"
    flagged = hosts_of(host, hosts()) if host else None
    every = targets_by_host(targets, flagged, hosts, partial(_is_row, context))
    if every is not None:
        context.warnings += [fault.warning for fault in hosts().faults]
    if every is None:
        return None
    if not VERBS[verb].on_hosts:
        raise _not_there(verb, every)
    return OnHosts(context, verb, every, at_once, words, field, asks)


def _not_there(verb: str, every: Sequence[HostTargets]) -> Failure:
    """Return the failure of a verb that runs on this machine only, for the first of these hosts."""
    wanted = next((it for it in every if not it.host.is_local), every[0])
    name = wanted.targets[0]
    host = wanted.host
    where = f"run it on {host.name}"
    if host.is_local:
        where = f"leave out @{host.name}"
    hint = f"{where}: tmuxreap {verb} {name}"
    return could_not(verb, f"{name}@{host.name}", only_here(verb), hint)


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


BEAT_S = 5.0
BATCH_S = 0.25  # events that arrive within this time are sorted
MOST = 500  # that wait to be printed: a host that floods is read no faster
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
Sent = tuple[Host, WireRequest]
News = RemoteResult | str  # an event of a host, or a message about the host itself
WATCH_OPTIONS = ("execute", "reap", "notify", "interval")


def follow(
    verb: str, words: Mapping[str, object], sent: Sequence[Sent], settings: Settings, style: Style
) -> NoReturn:
    """Print the events of all hosts in the order of time, without end."""
    option = next((word for word in WATCH_OPTIONS if words.get(word)), None)
    if option is not None:
        flag = option.replace("execute", "exec")
        reason = f"could not watch other hosts with --{flag}: that is for the watch there"
        raise Failure(Code.USAGE, reason, "run it there: tmuxreap watch")
    queue: Queue[News] = Queue(MOST)
    for host, request in sent:
        work = (host, _read_only(verb, request), settings, queue)
        threading.Thread(target=_listen, args=work, daemon=True).start()
    while True:
        for news in sorted(_batch(queue), key=_time_of):
            _print_news(news, style)


def _read_only(verb: str, request: WireRequest) -> WireRequest:
    """Return the request without words that do more than read."""
    words = {}
    for name, value in request.words.items():
        if name in ("targets", "since"):
            words[name] = value
    extra = {} if verb == "watch" else {"follow": True}
    return WireRequest(request.id, verb, {**words, **extra}, request.registry, here=request.here)


def _batch(queue: Queue[News]) -> Iterator[News]:
    yield queue.get()
    deadline = time.monotonic() + BATCH_S
    for _ in range(MOST):
        left = deadline - time.monotonic()
        if left <= 0:
            return
        try:
            yield queue.get(timeout=left)
        except Empty:
            return


def _time_of(news: News) -> str:
    """Return the time of an event; a message comes first."""
    if isinstance(news, str):
        return ""
    return str(news.facts.get("timestamp") or "")


def _print_news(news: News, style: Style) -> None:
    if not isinstance(news, str):
        report_line(news, style)
    elif not style.quiet:
        print(f"tmuxreap: {plain(news)}", file=sys.stderr, flush=True)


def _listen(host: Host, request: WireRequest, settings: Settings, queue: Queue[News]) -> None:
    """Report a lost connection, and retry with growing pauses."""
    pause = FIRST_PAUSE_S
    last = 0
    while True:
        try:
            with connected(host, settings) as talk:
                talk.send(request.line())
                pause = FIRST_PAUSE_S
                for item in _items(talk):
                    number = item.get("id")
                    if isinstance(number, int) and number <= last:
                        continue
                    last = number if isinstance(number, int) else last
                    queue.put(_news(host.name, item))
        except Failure as failure:
            reason = failure.message
        except (SilentError, EndedError):
            reason = f"could not follow {host.name}: the connection ended"
        queue.put(f"{reason}; trying again in {pause:g} s")
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)


def _items(talk: Talk) -> Iterator[Mapping[str, object]]:
    heard_at = time.monotonic()
    while True:
        try:
            line = talk.line(BEAT_S)
            heard_at = time.monotonic()
        except SilentError:
            if time.monotonic() - heard_at > ANSWER_S:
                raise
            talk.send("")
            continue
        if line.say is Say.BEAT:
            talk.send("")
        item = line.facts.get("item")
        if line.say is Say.ITEM and isinstance(item, dict):
            yield item
        if line.say in (Say.ANSWER, Say.INCOMPATIBLE):
            raise EndedError


def _news(host: str, item: Mapping[str, object]) -> RemoteResult:
    name = str(item.get("name") or "")
    at = str(item.get("timestamp") or "")
    what = item.get("event") or item.get("kind")
    why = item.get("evidence") or ""
    line = plain(f"{at}  {name}@{host}  {what}  {why}".rstrip())
    return RemoteResult(name, host, item, (line,))


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

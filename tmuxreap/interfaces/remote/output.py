"""Owns what the remote side sends to the caller: an answer, or the lines of an endless verb as long
as the caller listens. Never changes anything: `watch` only observes here, whether or not this host
has a watch of its own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from tmuxreap.app import real_app
from tmuxreap.core.answers import Change
from tmuxreap.core.errors import Failure
from tmuxreap.hosts.wire import Request, Say, say
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.restarts import DEAD
from tmuxreap.system.environment import Settings

BEAT_S = 5.0
SILENCE_S = 12.0  # of the caller; noticed at the next look, in less than 15 s
SETTLED_S = 1.0  # a watch of this host has mostly recorded the event by then, which tells more
Process = tuple[object, object]  # the pid and the start of a row's process
WATCH, NEWS = "watch", {"follow": True, "since": "1s"}


class Output:
    """Writes lines as long as the caller reads; a closed pipe is no error."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        self._lock = threading.Lock()
        self._told: dict[str, Process] = {}  # whose death was told, by name
        self.is_open = True

    def say(self, what: Say, **facts: object) -> None:
        data = (say(what, **facts) + "\n").encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                while data and self.is_open:
                    data = data[os.write(self._out, data) :]
            except OSError:
                self.is_open = False

    def is_new(self, name: str, event: str, process: Process | None) -> bool:
        """Tell whether this was not told yet, and remember it: a watch of this host and our own
        look see the same death, in either order and at any distance. A process dies once;
        everything else may come again."""
        if event != DEAD or process is None:
            return True
        with self._lock:
            known = self._told.get(name)
            self._told[name] = process
        return known != process

    def beat(self) -> None:
        """Send a sign of life regularly, in a thread."""
        quiet = threading.Event()

        def work() -> None:
            while not quiet.wait(BEAT_S):
                self.say(Say.BEAT)

        threading.Thread(target=work, daemon=True).start()


def run_endless(output: Output, request: Request) -> None:
    """Run the verb until it ends or the caller has gone."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    threading.Thread(target=_pass_on, args=(output, request.verb, reader), daemon=True).start()
    threading.Thread(target=_exit_when_caller_left, args=(output,), daemon=True).start()
    verb, words = request.verb, request.words
    if verb == WATCH:
        verb, words = "events", NEWS
        threading.Thread(target=_observe, args=(output, request.registry), daemon=True).start()
    verbs.plain_command(verb).call(**words, registry=request.registry, json=True)


def _pass_on(output: Output, verb: str, reader: int) -> None:
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            item = json.loads(line)
            if verb == WATCH:
                item = {"event": item["kind"], **item}
            if verb != WATCH or output.is_new(item["name"], item["event"], _recorded_process(item)):
                output.say(Say.ITEM, item=item)
            if not output.is_open:
                break
    os._exit(0)


def _observe(output: Output, registry: str | None) -> None:
    """Observe as a watch does, and write nothing."""
    from tmuxreap.commands.watch import watch
    from tmuxreap.commands.watch.waiting import Waiter

    def report(event: Change) -> None:
        about = (output, registry, event, _process_of(context, event.name))
        later = threading.Timer(SETTLED_S, _report_unless_recorded, about)
        later.daemon = True
        later.start()

    context = real_app(Settings.from_environment(), registry)
    waiter = Waiter(context.processes, context.registry.resolved, signals=False)
    watch.run(context, watch.WatchRequest(settle=False), report, waiter)


def _recorded_process(item: Mapping[str, Any]) -> Process | None:
    """Return the process of the life that a recorded event ended, if it says so."""
    life = item["data"].get("life") or {}
    pane = life.get("pane") or {}
    return _process(pane.get("pid"), pane.get("start_ticks"))


def _process_of(context: Context, name: str) -> Process | None:
    with contextlib.suppress(Failure):
        row = context.registry.look().named(name)
        return _process(row.pane.pid, row.pane.start_ticks) if row else None
    return None


def _process(pid: object, start: object) -> Process | None:
    return None if pid is None else (pid, start)


def _report_unless_recorded(
    output: Output, registry: str | None, event: Change, process: Process | None
) -> None:
    """Report the event unless the ledger has it: then it is passed on from there."""
    context = real_app(Settings.from_environment(), registry)
    try:
        since = context.clock.now() - 2 * SETTLED_S
        events = context.books.events({event.name}, since) if event.name else []
        recorded = any(one.kind == event.event for one in events)
    finally:
        context.close()
    if not recorded and output.is_new(event.name, event.event, process):
        output.say(Say.ITEM, item=event.as_json())


def _exit_when_caller_left(output: Output) -> None:
    """Exit when the caller falls silent: a broken network reports nothing."""
    descriptor, last = sys.stdin.fileno(), time.monotonic()
    while output.is_open and time.monotonic() - last < SILENCE_S:
        if select.select([descriptor], [], [], 1.0)[0]:
            if not os.read(descriptor, 4096):
                break
            last = time.monotonic()
    os._exit(0)

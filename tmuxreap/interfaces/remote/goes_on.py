"""The far side of a verb that goes on: each line that it says is passed on, as long as somebody
listens. Changes nothing: of `watch` here it is the eyes alone, with or without a watch of this
host's own."""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from collections.abc import Callable

from tmuxreap.app import real_app
from tmuxreap.core.answers.changes import Change
from tmuxreap.hosts.wire import Request, Say
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.interfaces.remote.mouth import Mouth
from tmuxreap.system.environment import Settings

SILENCE_S = 12.0  # of who listens: with the next look it is less than 15 s
SETTLED_S = 1.0  # by then a watch here has written what it saw, too: one of the two is told
WATCH, NEWS = "watch", {"follow": True, "since": "1s"}


def go_on(mouth: Mouth, request: Request, command: Callable[..., None]) -> None:
    """Run it until it ends, or until nobody listens any more."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    threading.Thread(target=_pass_on, args=(mouth, request.verb, reader), daemon=True).start()
    threading.Thread(target=_listener_left, args=(mouth,), daemon=True).start()
    words = request.words
    if request.verb == WATCH:
        command, words = verbs.plain_command("events"), NEWS
        threading.Thread(target=_look_on, args=(mouth, request.registry), daemon=True).start()
    command(**words, registry=request.registry, json=True)


def _pass_on(mouth: Mouth, verb: str, reader: int) -> None:
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            item = json.loads(line)
            mouth.say(Say.ITEM, item={"event": item["kind"], **item} if verb == WATCH else item)
            if not mouth.heard:
                break
    os._exit(0)


def _look_on(mouth: Mouth, registry: str | None) -> None:
    """What a watch would tell; nothing is written."""
    from tmuxreap.commands.watch import watch
    from tmuxreap.commands.watch.waiting import Waiter

    def tell(event: Change) -> None:
        later = threading.Timer(SETTLED_S, _tell_unless_told, (mouth, registry, event))
        later.daemon = True
        later.start()

    context = real_app(Settings.from_environment(), registry)
    waiter = Waiter(context.processes, context.registry.resolved, signals=False)
    watch.run(context, watch.WatchRequest(settle=False), tell, waiter)


def _tell_unless_told(mouth: Mouth, registry: str | None, event: Change) -> None:
    """The ledger's own event of it is passed on as every other one."""
    context = real_app(Settings.from_environment(), registry)
    try:
        since = context.clock.now() - 2 * SETTLED_S
        told = bool(event.name) and bool(context.books.events({event.name}, since))
    finally:
        context.close()
    if not told:
        mouth.say(Say.ITEM, item=event.as_json())


def _listener_left(mouth: Mouth) -> None:
    """It says from time to time that it is there; a broken network says nothing."""
    descriptor, last = sys.stdin.fileno(), time.monotonic()
    while mouth.heard and time.monotonic() - last < SILENCE_S:
        if select.select([descriptor], [], [], 1.0)[0]:
            if not os.read(descriptor, 4096):
                break
            last = time.monotonic()
    os._exit(0)

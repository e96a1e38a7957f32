"""The far side of a verb that goes on: each line that it says is passed on, as long as somebody
listens."""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from collections.abc import Callable

from tmuxreap.hosts.wire import Request, Say
from tmuxreap.interfaces.remote.mouth import Mouth

SILENCE_S = 12.0  # of who listens: with the next look it is less than 15 s


def go_on(mouth: Mouth, request: Request, command: Callable[..., None]) -> None:
    """Run it until it ends, or until nobody listens any more."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    threading.Thread(target=_pass_on, args=(mouth, reader), daemon=True).start()
    threading.Thread(target=_listener_left, args=(mouth,), daemon=True).start()
    command(**request.words, registry=request.registry, json=True)


def _pass_on(mouth: Mouth, reader: int) -> None:
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            mouth.say(Say.ITEM, item=json.loads(line))
            if not mouth.heard:
                break
    os._exit(0)


def _listener_left(mouth: Mouth) -> None:
    """It says from time to time that it is there; a broken network says nothing."""
    descriptor, last = sys.stdin.fileno(), time.monotonic()
    while mouth.heard and time.monotonic() - last < SILENCE_S:
        if select.select([descriptor], [], [], 1.0)[0]:
            if not os.read(descriptor, 4096):
                break
            last = time.monotonic()
    os._exit(0)

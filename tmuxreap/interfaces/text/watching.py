"""The output of `watch`: a greeting, then one line per event.

Never blocks the watch: a slow reader misses lines, and gets their number."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

from tmuxreap.commands.watch.telling import Outlet
from tmuxreap.core.answers import Change
from tmuxreap.core.errors import Failure, OutputLost
from tmuxreap.core.text import Style, plain_value
from tmuxreap.sessions.context import Context

LAST_WORDS_S = 1.0  # for a slow reader, when the watch ends
NAMED = 5


class EventWriter:
    """Writes events to stdout, bypassing `sys.stdout`: a blocked write must not hold its buffer's
    lock."""

    def __init__(self, style: Style, lost: Callable[[int], Change]) -> None:
        self._style = style
        self._write_error: OSError | None = None
        self._outlet: Outlet[Change] = Outlet(self._write, lost)

    def __call__(self, event: Change) -> None:
        self._outlet.put(event)

    def close(self) -> None:
        self._outlet.drain(LAST_WORDS_S)
        if self._write_error is not None:
            raise OutputLost(self._write_error.errno, self._write_error.strerror)

    def _write(self, event: Change) -> None:
        if self._write_error is not None:
            return
        data = f"{line(event, self._style)}\n".encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError as error:
            self._write_error = error
            os.kill(os.getpid(), signal.SIGTERM)  # ends the watch: the reader is gone


def line(event: Change, style: Style) -> str:
    if style.json:
        return json.dumps(event.as_json(), default=str)
    event = plain_value(event)
    if event.event == "dropped":
        return f"{event.timestamp}  {event.count} events were dropped: their reader was too slow"
    text = f"{event.timestamp}  {_about(event)}  {event.event}: {_words(event)}"
    return text.replace("\n", " ")


def _about(event: Change) -> str:
    """Name what an event is about: one session, several, a registry, or the ledger."""
    if event.name:
        return event.name
    if event.names:
        more = ", ..." if len(event.names) > NAMED else ""
        return ", ".join(event.names[:NAMED]) + more
    if event.registry:
        return f"the registry {event.registry}"
    return "the ledger"


def _words(event: Change) -> str:
    if event.verdict is not None:
        return f"{event.verdict}: {event.outcome}"
    if event.event == "state":
        until = f" until {event.until}" if event.until else ""
        asks = f": {event.waiting_for}" if event.waiting_for else ""
        return f"{event.before} -> {event.state}{until}{asks}"
    cause = f" ({event.cause})" if event.cause else ""
    end = "recorded" if event.settled else f"hint: {event.hint}"
    return f"{event.evidence}{cause}; {end}"


def greeting(context: Context) -> str:
    """Say how many sessions of which registry are watched."""
    try:
        rows = context.registry.look().usable
    except Failure as failure:
        return f"watching {context.registry.path}, which cannot be read yet: {failure.message}"
    running = sum(not row.status.ended for row in rows)
    return f"watching {running} running of {len(rows)} sessions in {context.registry.path}"

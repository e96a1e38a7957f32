"""What `watch` says: an event a line, and at the beginning what it watches.

Never holds the watch up: who does not read misses lines, and is told how many."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

from tmuxreap.commands.watch.outlet import Outlet
from tmuxreap.core.errors import Failure, Unheard
from tmuxreap.core.results import PlainResult
from tmuxreap.core.text import Voice, plain, plain_value
from tmuxreap.sessions.context import Context

LAST_WORDS_S = 1.0  # for a reader that is slow, when the watch ends


class Teller:
    """Writes events to stdout, past the buffer of `sys.stdout`: a write that nobody takes must not
    hold its lock."""

    def __init__(self, voice: Voice, lost: Callable[[int], PlainResult]) -> None:
        self._voice = voice
        self._unheard: OSError | None = None
        self._outlet: Outlet[PlainResult] = Outlet(self._write, lost)

    def __call__(self, event: PlainResult) -> None:
        self._outlet.put(event)

    def close(self) -> None:
        self._outlet.drain(LAST_WORDS_S)
        if self._unheard is not None:
            raise Unheard(self._unheard.errno, self._unheard.strerror)

    def _write(self, event: PlainResult) -> None:
        if self._unheard is not None:
            return
        data = f"{line(event, self._voice)}\n".encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError as error:
            self._unheard = error
            os.kill(
                os.getpid(), signal.SIGTERM
            )  # the watch waits for that: nobody listens any more


def line(event: PlainResult, voice: Voice) -> str:
    if voice.json:
        return json.dumps(event.as_json(), default=str)
    facts = plain_value(event).facts
    if facts["event"] == "dropped":
        return (
            f"{facts['timestamp']}  {facts['count']} events were dropped: their reader was too slow"
        )
    about = event.name or (
        f"the registry {facts['registry']}" if "registry" in facts else "the ledger"
    )
    return f"{facts['timestamp']}  {plain(about)}  {facts['event']}: {_words(facts)}".replace(
        "\n", " "
    )


def _words(facts: dict[str, object]) -> str:
    if "verdict" in facts:
        return f"{facts['verdict']}: {facts['outcome']}"
    if facts["event"] == "state":
        return (
            f"{facts['before']} ->"
            f" {facts['state']}{' until ' + str(facts['until']) if facts.get('until') else ''}"
        )
    cause = f" ({facts['cause']})" if facts.get("cause") else ""
    end = "recorded" if facts.get("settled") else f"hint: {facts.get('hint')}"
    return f"{facts['evidence']}{cause}; {end}"


def greeting(context: Context) -> str:
    """How many sessions of which registry."""
    try:
        rows = context.registry.look().usable
    except Failure as failure:
        return f"watching {context.registry.path}, which cannot be read yet: {failure.message}"
    running = sum(not row.status.ended for row in rows)
    return f"watching {running} running of {len(rows)} sessions in {context.registry.path}"

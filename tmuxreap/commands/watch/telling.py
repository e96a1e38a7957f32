"""Owns what a watch reports: each event once, to its output, to the command of `--exec` and to the
clients of the session. Never looks at anything itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from tmuxreap.commands.watch import notifier
from tmuxreap.commands.watch.outlet import Outlet
from tmuxreap.core.answers import Change, Drift
from tmuxreap.core.errors import Failure
from tmuxreap.core.text import cut, plain
from tmuxreap.core.times import iso
from tmuxreap.core.values import as_dict, replace

DROPPED = "dropped"
MANY = 3  # this many deaths at once are one alarm
MASS_DEATH, ALARM_DELAY_S = "mass_death", 2.0
NOTICE_CELLS = 200
HEALTH = "check the setup with: tmuxreap doctor"
LEDGER_TROUBLES = frozenset(
    {"ledger_not_read", "ledger_not_written", "event_not_recorded", "surroundings_not_recorded"}
)

Tell = Callable[[Change], None]


def ledger_drift(warnings: Iterable[str]) -> list[Drift]:
    """Return what a look could not do with the ledger, as drift: the watch goes on without."""
    messages: dict[str, str] = {}
    for warning in warnings:
        code, _, said = warning.partition(": ")
        if said and code in LEDGER_TROUBLES:
            messages[code] = said
    return [Drift("", code, said, hint=HEALTH) for code, said in messages.items()]


def notice(event: Change) -> str:
    """Format an event in one line for a tmux message."""
    text = event.evidence or event.outcome or ""
    if event.event == "state":
        text = f"{event.before} -> {event.state}"
    words = f"{event.name}: {event.event}: {text}"
    return cut(plain(words.replace("\n", " ")), NOTICE_CELLS)


class Reporter:
    """Reports drift when it appears or reappears, and many deaths at once as one alarm."""

    def __init__(
        self, tell: Tell, command: str | None, registry: str, *, settles: bool = True
    ) -> None:
        self._tell = tell
        self._settles = settles  # otherwise certain drift is found again at every look
        self._registry = registry
        self._exec = None if command is None else _exec_outlet(command)
        self._standing: set[tuple[str, str]] = set()
        self._dead: list[Change] = []  # deaths without an alarm so far
        self._died_at = 0.0
        self._more = False  # the last look found a death
        self.show: Callable[[Change], None] = lambda event: None

    def delays_alarms(self, now: float) -> bool:
        """Tell whether alarms are delayed, because more sessions may be dying."""
        if self._more and len(self._dead) and not self._died_at:
            self._died_at = now
        delayed = self._more and now - self._died_at < ALARM_DELAY_S
        self._more = False
        if not delayed:
            self.flush()
        return delayed

    def flush(self) -> None:
        dead, self._dead, self._died_at = self._dead, [], 0.0
        if len(dead) >= MANY:
            self.say(_mass_death(dead))
            return
        for event in dead:
            self._alarm(event)

    def drifts(
        self, at: float, drifts: Iterable[Drift], only: frozenset[str] | None = None
    ) -> None:
        current = {(drift.name, str(drift.drift)): drift for drift in drifts}
        for key in current.keys() - self._standing:
            event = _change(current[key], at)
            self._tell(event)
            if event.event == "dead":
                self._dead.append(event)
                self._more = True
            else:
                self._alarm(event)
        untouched = {key for key in self._standing if only is not None and key[0] not in only}
        self._standing = untouched | {
            key for key, drift in current.items() if not (self._settles and drift.settled)
        }

    def trouble(self, at: float, failure: Failure) -> None:
        """Report once that the registry cannot be read for now; the watch goes on."""
        code = failure.code.text
        if ("", code) not in self._standing:
            drift = Drift("", code, failure.message, hint=failure.hint)
            self.say(replace(_change(drift, at), registry=self._registry))
        self._standing = {("", code)}

    def say(self, event: Change) -> None:
        self._tell(event)
        self._alarm(event)

    def _alarm(self, event: Change) -> None:
        self.show(event)
        if self._exec is not None:
            self._exec.put(json.dumps(event.as_json(), default=str))


def _mass_death(dead: Sequence[Change]) -> Change:
    causes = {event.cause for event in dead}
    return Change(
        name="",
        event=MASS_DEATH,
        timestamp=dead[0].timestamp,
        count=len(dead),
        names=tuple(sorted(event.name for event in dead)),
        cause=causes.pop() if len(causes) == 1 else None,
        evidence=f"{len(dead)} sessions died at about the same time",
        settled=True,
    )


def _change(drift: Drift, at: float) -> Change:
    return Change(**as_dict(drift), event=str(drift.drift), timestamp=iso(at))


def _exec_outlet(command: str) -> Outlet[str]:
    def lost(count: int) -> str:
        return json.dumps({"event": DROPPED, "count": count})

    return Outlet(lambda event: notifier.execute(command, event), lost, threads=notifier.AT_ONCE)


def dropped(at: float, count: int) -> Change:
    """Stand in for events that were not read in time; the registry has what they reported."""
    return Change("", DROPPED, iso(at), count=count)

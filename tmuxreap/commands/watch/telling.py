"""Owns what a watch reports: each event once, to its output, to the command of `--exec` and to the
clients of the session. A full queue drops events, and says how many, so that a slow reader delays
nothing. Never looks at anything itself."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from tmuxreap.core.answers import Change, Drift
from tmuxreap.core.errors import Failure, could_not
from tmuxreap.core.text import cut, plain
from tmuxreap.core.times import iso
from tmuxreap.core.values import as_dict, replace

EXEC_S = 30.0
AT_ONCE = 8  # at most, even for a thousand events
PLAIN_WORD = re.compile(r"[\w./+@%:,-]+")  # needs no quoting in a shell


def check(command: str) -> None:
    """Refuse a command that the shell cannot parse or find, before the first event."""
    parsed = _shell("-n", "-c", command)
    if parsed.returncode:
        complaint = parsed.stderr.decode("utf-8", "replace").strip() or "the shell cannot read it"
        raise _unusable(command, complaint)
    first = (command.split() or [""])[0]
    if not PLAIN_WORD.fullmatch(first):
        return
    if _shell("-c", 'command -v -- "$1"', "sh", first).returncode:
        raise _unusable(command, f"there is no program {first}")


def _shell(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def _unusable(command: str, reason: str) -> Failure:
    hint = "give a command that sh can run"
    return could_not("use", f"--exec {command!r}", reason, hint)


def execute(command: str, event: str) -> None:
    """Run the command with the event; kill its process group on a timeout."""
    try:
        status = str(_executed(command, event) or "")
    except OSError as error:
        status = str(error.strerror)
    if status:
        with contextlib.suppress(OSError):
            os.write(2, f"warning: the command of --exec ended with: {status}\n".encode())


def _executed(command: str, event: str) -> int | str:
    words = ["sh", "-c", command]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=2, start_new_session=True
    ) as process:
        try:
            process.communicate(event.encode(), timeout=EXEC_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                # not reaped yet: its pid cannot be reused
                os.killpg(process.pid, signal.SIGKILL)
            return f"nothing within {EXEC_S:g} s"
        return process.returncode


T = TypeVar("T")

ROOM = 1000


class Outlet(Generic[T]):
    def __init__(
        self, work: Callable[[T], None], lost: Callable[[int], T], *, threads: int = 1
    ) -> None:
        self._work = work
        self._lost_as = lost
        self._lost = 0
        self._waiting: deque[T] = deque()
        self._at_work = 0
        self._spare = threads
        self._changed = threading.Condition()

    def put(self, item: T) -> None:
        with self._changed:
            if len(self._waiting) >= ROOM:
                self._lost += 1
                return
            self._tell_lost()
            self._waiting.append(item)
            if self._spare:
                self._spare -= 1
                threading.Thread(target=self._carry, daemon=True).start()
            self._changed.notify()

    def drain(self, timeout_s: float) -> bool:
        """Wait until everything is delivered, at most this long."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._at_work), timeout_s)

    def _tell_lost(self) -> None:
        if self._lost:
            self._waiting.append(self._lost_as(self._lost))
            self._lost = 0

    def _carry(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                item = self._waiting.popleft()
                if not self._waiting:
                    self._tell_lost()
                self._at_work += 1
            try:
                self._work(item)
            finally:
                with self._changed:
                    self._at_work -= 1
                    self._changed.notify_all()


DROPPED = "dropped"
MANY = 3  # this many deaths at once are one alarm
MASS_DEATH = "mass_death"
ALARM_DELAY_S = 2.0
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
        asks = f": {event.waiting_for}" if event.waiting_for else ""
        text = f"{event.before} -> {event.state}{asks}"
    words = f"{event.name}: {event.event}: {text}"
    return cut(plain(words.replace("\n", " ")), NOTICE_CELLS)


class Reporter:
    """Reports drift when it appears or reappears, and many deaths at once as one alarm."""

    def __init__(
        self,
        tell: Tell,
        command: str | None,
        registry: str,
        *,
        settles: bool = True,
        notify: Tell | None = None,
    ) -> None:
        """`command` and `notify` take the alarms only, `tell` everything."""
        self._tell = tell
        self._notify = notify
        self._settles = settles  # otherwise certain drift is found again at every look
        self._registry = registry
        if command is None:
            self._exec = None
        else:
            self._exec = _exec_outlet(command)
        self._standing: set[tuple[str, str]] = set()
        self._dead: list[Change] = []  # deaths without an alarm so far
        self._died_at = 0.0
        self._more = False  # the last look found a death

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
        dead = self._dead
        self._dead = []
        self._died_at = 0.0
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
        if self._notify is not None:
            self._notify(event)
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

    return Outlet(lambda event: execute(command, event), lost, threads=AT_ONCE)


def dropped(at: float, count: int) -> Change:
    """Stand in for events that were not read in time; the registry has what they reported."""
    return Change("", DROPPED, iso(at), count=count)

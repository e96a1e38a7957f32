"""An operator's day with many agents: they crash at random while two watches restart them, and
users stop, resume, protect, interrupt and wait for them. In the end every row is true, and every
event is recorded once.

Short here; scripts/test-long runs it for THIRTY_S seconds with THIRTY agents, and another
WALK_SEED. With THIRTY_REAL, if scripts/test-agents has installed them, claude, codex and gemini are
among them, each with a prompt in its command."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

from tests.ledger_records import Ledger
from tests.live.test_watch import Watch, watching
from tests.real import Real, alive
from tests.real_agents.guests import Guest, guests
from tests.schemas import checked
from tmuxreap.commands import interrupt, protect, resume, wait
from tmuxreap.core.results import Result
from tmuxreap.ledger.database import ledger_path
from tmuxreap.sessions.context import Context

pytestmark = [pytest.mark.live, pytest.mark.long]
AGENTS = int(os.environ.get("THIRTY", "5"))
LONG_S = float(os.environ.get("THIRTY_S", "8"))
SEED = int(os.environ.get("WALK_SEED", "1"))
START_EVENTS = ("started", "resumed")
ENDS = ("dead", "stopped", "killed")
WITH = os.environ.get("THIRTY_REAL")
QUIET_S = 120.0  # for everything pending at the end, on a busy machine


class Day:
    def __init__(self, real: Real, guests: Mapping[str, Guest]) -> None:
        self.real, self.guests = real, guests
        self.chance = random.Random(SEED)
        self.demos = [f"n{number:02}" for number in range(AGENTS)]
        self.names = [*self.demos, *guests]
        self.wanted = dict.fromkeys(self.names, True)  # should run
        self.kept: set[str] = set()
        self.done: list[str] = []

    def begin(self) -> None:
        self.real.bystander()
        for name in self.demos:
            self.real.start(name, restart="on-failure", restart_limit="900/1s")
            self.real.say(f"this is {name}", name)
        for guest in self.guests.values():
            guest.begin()

    # Actions

    def crash(self, name: str) -> None:
        row = self.real.row(name)
        if row["status"] == "running" and alive(row["pane"]["pid"]):
            os.kill(row["pane"]["pid"], signal.SIGKILL)

    def crash_all(self, name: str) -> None:
        row = self.real.row(name)
        if row["status"] == "running" and alive(row["tmux"]["server_pid"]):
            os.kill(row["tmux"]["server_pid"], signal.SIGKILL)

    def stop(self, name: str) -> None:
        self.wanted[name] = False
        self.call(lambda: self.real.stop(name))

    def stop_pattern(self, name: str) -> None:
        """Stop by a pattern all but the protected ones."""
        mine = [one for one in self.names if one[-1] == name[-1]]
        for one in mine:
            self.wanted[one] = self.wanted[one] and one in self.kept
        self.call(lambda: self.real.stop(f"*{name[-1]}"))

    def resume(self, name: str) -> None:
        if not self.wanted[name] and name in self.guests:
            self.wanted[name] = self.guests[name].resume()
        elif not self.wanted[name]:
            answer = self.by(lambda app: resume.run(app, resume.ResumeRequest((name,))))
            self.wanted[name] = answer.results[0].error is None

    def protect(self, name: str) -> None:
        keep = name not in self.kept
        self.by(lambda app: protect.run(app, protect.ProtectRequest((name,), keep)))
        self.kept ^= {name}

    def interrupt(self, name: str) -> None:
        answer = self.by(lambda app: interrupt.run(app, interrupt.InterruptRequest((name,))))
        assert len(answer.results) <= 1

    def wait(self, name: str) -> None:
        """Wait for a session that should run: it is idle, or was just lost."""
        request = wait.WaitRequest((name,), wait.Until.IDLE, timeout_s=120.0)
        answer = self.by(lambda app: wait.run(app, request))
        failures = [one.error.code for one in answer.results if one.error]
        assert set(failures) <= {"gone"}, failures

    # Helpers

    def go_on(self) -> None:
        common = [self.crash, self.crash, self.crash, self.wait, self.interrupt, self.protect]
        rare = [self.stop, self.resume, self.resume, self.stop_pattern, self.crash_all]
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            act = self.chance.choice(rare if self.chance.random() < 0.3 else common)
            name = self.chance.choice(self.names)
            self.done.append(f"{act.__name__} {name}")
            act(name)
            time.sleep(self.chance.random() * 0.3)

    def by(self, work: Callable[[Context], Result]) -> Result:
        with self.real.app() as app:
            return checked(work(app))

    def call(self, work: Callable[[], Result]) -> None:
        told = [one.error for one in work().results if one.error]
        failures = [one.message for one in told if "is protected" not in one.message]
        assert not failures, (failures, self.done[-5:])

    # Final checks

    def untrue(self) -> list[str]:
        """Return the sessions that are not in the expected state."""
        rows = self.real.rows()
        runs = {
            name: row["status"] == "running" and alive(row["pane"]["pid"])
            for name, row in rows.items()
        }
        return [name for name, wanted in self.wanted.items() if runs[name] is not wanted]

    def why(self) -> str:
        """Return the facts about them, for a failure message."""
        rows, names = self.real.rows(), self.untrue()
        done = [what for what in self.done if what.split()[-1] in names]
        facts = [(self.wanted[name], rows[name], self.history(name)[-12:]) for name in names]
        return "\n".join(str(one) for one in (names, *facts, done[-20:], self.done[-20:]))

    def history(self, name: str) -> list[tuple[str, Any]]:
        with Ledger.open(ledger_path(self.real.registry), now=time.time()) as ledger:
            return [(event.kind, event.data) for event in ledger.events({name})]


def heard(watch: Watch) -> list[dict[str, Any]]:
    events = []
    try:
        while True:
            events.append(watch.event(timeout_s=0.2))
    except Empty:
        return events


def test_every_row_is_true_at_the_end_and_every_event_appears_once(real: Real) -> None:
    with guests(Path(WITH) if WITH else None, real.registry) as found:
        lived(Day(real, found))


def lived(day: Day) -> None:
    real = day.real
    day.begin()
    with watching(real, "--interval", "2") as one, watching(real, "--interval", "2") as two:
        day.go_on()
        end = time.monotonic() + QUIET_S
        while day.untrue():
            assert time.monotonic() < end, day.why()
            time.sleep(0.1)
        one.switches(after_s=3.0)  # it reports nothing more
        assert not day.untrue(), day.why()
        told = [*heard(one), *heard(two)]
    there = {name for name in real.sessions() if name in day.demos}
    there |= {name for name, guest in day.guests.items() if guest.is_there()}
    assert there == {name for name, wanted in day.wanted.items() if wanted}
    for name in day.names:
        history = day.history(name)
        lives = [kind for kind, _ in history if kind in (*START_EVENTS, *ENDS)]
        kinds = [kind in START_EVENTS for kind in lives]
        assert all(kinds[::2]), (name, lives)
        assert not any(kinds[1::2]), (name, lives)
        assert lives[-1] in (START_EVENTS if day.wanted[name] else ENDS)
        attempts = [(d["loss"], d["attempt"]) for kind, d in history if kind == "restarting"]
        assert len(attempts) == len(set(attempts)), name
        again = [d for kind, d in history if kind in START_EVENTS and d.get("restart")]
        assert len(again) <= len(attempts)
        dead = [event for event in told if (event["event"], event["name"]) == ("dead", name)]
        assert len(dead) == lives.count("dead"), name
        back = [event for event in told if (event["event"], event["name"]) == ("restarted", name)]
        assert len(back) == len(again), name
    for name in day.demos:
        said = [text for role, text in real.said() if role == "user" and text.endswith(name)]
        assert said == [f"this is {name}"]
    for name, guest in day.guests.items():
        guest.holds(wanted=day.wanted[name])

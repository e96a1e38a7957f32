"""What must hold after each minute of a soak, once all verbs are done: the promises, checked from
outside (rows, processes, tmux, SQLite, files), not by the program."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.soak.deeds import HUNG_S
from tests.soak.work import Work, said
from tests.soak.world import Machine, Place, World, conversation_lines, lives, marked, started

BEGUN = {"started", "start", "resumed", "resume", "restarted", "adopted", "adopt", "forgotten"}
ENDED = {"stopped", "killed", "terminated", "dead"}
PATIENCE_S = 20.0


class Checks:
    def __init__(self, world: World, deeds: Work) -> None:
        self.world, self.deeds = world, deeds
        self.neighbours = {machine.home: machine.panes()["quiet"] for machine in world.machines}
        self.before = {machine.home: machine.options() for machine in world.machines}
        self.frames = {place.letter: place.frame() for place in world.places}
        self.seen = {place.letter: 0 for place in world.places}  # numbers of events
        self.last: dict[tuple[str, str], str] = {}  # the last end or start of each name
        self.told: dict[str, int] = {}

    def all(self) -> list[str]:
        """Return what does not hold. Nothing is suspended, no verb runs, the disk has room."""
        self.deeds.all_done()
        found, self.deeds.wrong = self.deeds.wrong, []
        for place in self.world.places:
            found += [f"{place.letter}: {one}" for one in self._of_place(place)]
        for machine in self.world.machines:
            found += [f"{machine.home.name}: {one}" for one in self._of_neighbours(machine)]
            found += [f"{machine.home.name}: {one}" for one in self._of_seats(machine)]
            twice = [prompt for prompt, times in said(machine).items() if times > 1]
            found += [f"{machine.home.name}: {prompt} came more than once" for prompt in twice]
        return [*found, *self._of_processes()]

    # A registry

    def _of_place(self, place: Place) -> Iterator[str]:
        watch = self.deeds.watches[place.letter]
        if watch.process.poll() is not None:
            yield f"watch ended by itself: {watch.process.returncode}: {watch.said()[-2000:]}"
            watch.end()
            self.deeds.watch(place)
        self._answer(place, "reconcile")
        self._answer(place, "reap", "--orphans", "--yes", "--grace", "0.3")
        answer = self._answer(place, "reconcile")
        if answer.get("exit_code") != 0 or answer.get("actions"):
            yield f"a second reconcile is no no-op: {answer}"
        told = {drift["name"] for drift in answer.get("drifts", [])}
        yield from self._of_rows(place, told)
        yield from self._of_ledger(place, told)
        yield from self._of_events(place)
        yield from self._of_conversations(place)
        yield from self._of_watch(place)

    def _answer(self, place: Place, *words: str) -> dict[str, Any]:
        verb = self.deeds.begin(place, *words, "--json")
        try:
            verb.process.wait(timeout=HUNG_S)
        except subprocess.TimeoutExpired:
            self.deeds.wrong.append(f"{words} at rest is not done after {HUNG_S:.0f} s")
        answer = verb.answer()
        if verb.process.returncode not in (0, 1):
            self.deeds.wrong.append(f"{words} at rest: {answer} {verb.said()}")
        verb.end()
        return answer

    def _of_rows(self, place: Place, told: set[str]) -> Iterator[str]:
        if place.frame() != self.frames[place.letter]:
            yield f"bytes of others changed: {place.frame()!r}"
            self.frames[place.letter] = place.frame()
        rows = place.rows()
        ours = {name: row for name, row in rows.items() if name in place.ours}
        seats = self.deeds.seats[place.machine.home].living()
        for name, row in ours.items():
            in_pane = row.get("terminal") != "background"
            alive = lives(row) if in_pane else row["pane"]["id"] in seats
            # A killed server takes up its work as it begins again: its rows were rightly lost in
            # between, and are not written back, but told.
            is_taken_up = not in_pane and row.get("termination_mode") == "lost" and name in told
            if row["status"] != "running" and alive and not is_taken_up:
                yield f"{name} is {row['status']} and lives: {row}"
            if row["status"] == "running" and not alive and name not in told:
                yield f"{name} is running and dead, and nobody says so: {row}"
        running = {
            name
            for name, row in ours.items()
            if row["status"] == "running" and row.get("terminal") != "background"
        }
        there = {name for name in place.machine.panes() if name in place.ours}
        if not running ^ there <= told:
            yield f"rows {running ^ there} and tmux differ; told was {told}"
        for name in there - told:
            options = place.machine.tmux("-N", "show-options", "-p", "-t", f"={name}:")
            if options:
                yield f"a pane option stayed in {name}: {options}"

        if place.dumped:
            yield from self._of_dumps(place, rows)

    def _of_dumps(self, place: Place, rows: dict[str, dict[str, Any]]) -> Iterator[str]:
        """Check that what another tool wrote under the lock is there, but in forgotten rows."""
        for name, (number, at) in self.deeds.counted.items():
            with place.read() as db:
                query = "SELECT count(*) FROM events WHERE name = ? AND at >= ? AND kind = ?"
                (forgotten,) = db.execute(query, (name, at, "forgotten")).fetchone()
            if not forgotten and rows.get(name, {}).get("counted") != number:
                yield f"{name} lost what another tool wrote: {number} {rows.get(name)}"

    def _of_ledger(self, place: Place, told: set[str]) -> Iterator[str]:
        with place.read() as db:
            (said,) = db.execute("PRAGMA integrity_check").fetchone()
            if said != "ok":
                yield f"the ledger is broken: {said}"
            mirror = dict(db.execute("SELECT name, status FROM sessions").fetchall())
            open_ones = db.execute(
                "SELECT name, verb, owner_pid, owner_start FROM intents WHERE outcome IS NULL"
            ).fetchall()
        rows = {name: row["status"] for name, row in place.rows().items()}
        if mirror != rows:
            yield f"the mirror differs: {set(mirror.items()) ^ set(rows.items())}"
        for name, verb, pid, start in open_ones:
            # What a killed start left unrecorded is reported while it exists.
            if started(pid) != start and not (verb == "start" and name in told):
                yield f"an intent of a dead owner is open: {verb} {name}"
        broken = list(place.ledger.parent.glob("*.broken-*"))
        if broken:
            yield f"a ledger was set aside: {broken}"

    def _of_events(self, place: Place) -> Iterator[str]:
        """Check that there is at most one end between two starts of a session."""
        query = "SELECT id, name, kind, data FROM events WHERE id > ? ORDER BY id"
        with place.read() as db:
            found = db.execute(query, (self.seen[place.letter],)).fetchall()
        for number, name, kind, data in found:
            self.seen[place.letter] = number
            key = place.letter, name
            if kind in ENDED and self.last.get(key) in ENDED and not _again(kind, data):
                yield f"{name} ended twice: {self.last[key]}, then {kind} {data}"
            if kind in BEGUN | ENDED:
                self.last[key] = kind

    def _of_conversations(self, place: Place) -> Iterator[str]:
        for name, row in place.rows().items():
            number = row.get("demo_conversation_id_own")
            lines = conversation_lines(place.machine, str(number))
            if row.get("resumable") and not any(line["role"] == "user" for line in lines):
                yield f"{name} is resumable, and {number} has no message"
            told = [line["text"] for line in lines]
            if "approved" in told or any("half a thought" in text for text in told):
                yield f"a key was typed blind in {name}: {told}"

    def _of_watch(self, place: Place) -> Iterator[str]:
        path = self.world.folder / f"watch-{place.letter}"
        with path.open("rb") as file:
            file.seek(self.told.get(place.letter, 0))
            lines = file.read().splitlines()
            self.told[place.letter] = file.tell()
        twice = [line for line, count in Counter(lines).items() if count > 1]
        if twice:
            yield f"watch told twice: {twice}"

    # Neighbors, and leftover processes

    def _of_neighbours(self, machine: Machine) -> Iterator[str]:
        if machine.heard.exists() and machine.heard.read_bytes():
            yield f"a key reached the neighbour: {machine.heard.read_bytes()!r}"
            machine.heard.write_bytes(b"")
        known, now = self.neighbours[machine.home], machine.panes().get("quiet")
        if now != known and not (machine is self.world.far and self.deeds.restarted):
            yield f"the neighbour {known} is {now}"
        self.neighbours[machine.home] = now or 0
        self.deeds.restarted = self.deeds.restarted and machine is not self.world.far
        options = machine.options()
        if options != self.before[machine.home]:
            yield f"options changed: {self.before[machine.home]!r} became {options!r}"
            self.before[machine.home] = options

    def _of_seats(self, machine: Machine) -> Iterator[str]:
        seats = self.deeds.seats[machine.home]
        back = seats.back()
        if back:
            yield f"sessions of the daemon that were stopped run again: {back}"
        if seats.process.poll() is not None:
            yield f"the daemon was ended: {seats.process.returncode}"
            seats.restart()

    def _of_processes(self) -> Iterator[str]:
        if started(self.world.loose) is None:
            yield "a process that nobody knew was ended"
        left = _until_none(self._verbs)
        if left:
            yield f"verbs are left: {left}"
        for place in self.world.places:
            with place.read() as db:
                marks = dict(db.execute("SELECT mark, name FROM marks").fetchall())
            rows = place.rows()
            for pid, environ in marked(self.world.mark).items():
                name = marks.get(environ.get("TMUXREAP_ID", ""))
                if name in rows and rows[name]["status"] != "running":
                    yield f"{pid} ({environ['line']}) outlives {name}, which is ended"

    def _verbs(self) -> dict[int, str]:
        watches = {one.process.pid for one in self.deeds.watches.values()}
        return {
            pid: environ["line"]
            for pid, environ in marked(self.world.mark).items()
            if "bin/tmuxreap" in environ["line"] and pid not in watches
        }


def _again(kind: str, data: str) -> bool:
    """An ended row says so if its leftovers were ended, or its conversation was purged."""
    facts = json.loads(data)
    return bool(facts.get("swept") or facts.get("rungs") or kind == "terminated")


def _until_none(look: Callable[[], dict[int, str]]) -> dict[int, str]:
    until = time.monotonic() + PATIENCE_S
    while (left := look()) and time.monotonic() < until:
        time.sleep(0.2)
    return left

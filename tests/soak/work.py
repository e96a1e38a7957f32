"""More actions of a soak: prompts, restarts, sets, other hosts, sessions in an agent's daemon, and
another tool that dumps the whole registry; each with what its answer must agree with."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.soak.deeds import KINDS, Deeds
from tests.soak.seats import DaemonSeats, Seats, ServedSeats
from tests.soak.world import Machine, Place, World, conversation_lines, kill, lives, started

PROMPT = re.compile(r"prompt-\d+-")
PURGE_S = 30.0  # a purge that was asked for may still be under way
ENDED = ("stopped", "killed")  # outcomes
ENDS = ("stopped", "killed", "terminated", "dead")


class Work(Deeds):
    kinds: Mapping[str, float] = KINDS | {
        "send": 8, "restart": 6, "rolling": 1, "stop_set": 2, "resume_set": 2, "resume_last": 0.5,
        "far": 6, "far_list": 1, "seat": 6, "seat_verb": 3, "end_seat": 6, "worker": 1,
        "daemon": 0.2, "odd_daemon": 1, "dump": 2, "stale_dump": 0.4,
    }  # fmt: skip

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world, seed)
        mine, far = world.machines
        self.seats: dict[Path, Seats] = {
            mine.home: DaemonSeats(mine, self.random),
            far.home: ServedSeats(far, self.random),
        }
        self.purged: dict[str, float] = {}  # when the conversation of a name was last purged
        # what another tool wrote into rows, under the lock, and when
        self.counted: dict[str, tuple[int, float]] = {}
        self.sets: list[Place] = []  # where a set was ended that was not resumed since
        self.number = 0

    def end(self) -> None:
        super().end()
        for seats in self.seats.values():
            seats.process.kill()
            seats.process.wait()

    def next(self) -> int:
        self.number += 1
        return self.number

    def do_purge(self, place: Place, name: str) -> None:
        self.purged[name] = time.monotonic()
        super().do_purge(place, name)

    def is_purged(self, name: str, since: float) -> bool:
        """Tell whether a purge was asked for since then, or shortly before."""
        return self.purged.get(name, float("-inf")) > since - PURGE_S

    # Prompts, and agents begun anew

    def one_of(self, names: Sequence[str], otherwise: str) -> str:
        return self.random.choice(names or [otherwise])

    def those_running(self, place: Place, names: Sequence[str]) -> list[str]:
        """Return those that run: most answers to others say little."""
        rows = place.rows()
        return [name for name in names if rows.get(name, {}).get("status") == "running"]

    def spoken(self, place: Place) -> list[str]:
        """Return those that run and have a conversation with a prompt: only these come back."""
        rows = place.rows()
        numbers = {name: rows.get(name, {}).get("demo_conversation_id_own") for name in place.names}
        return [
            name
            for name, number in numbers.items()
            if number and lives(rows[name]) and conversation_lines(place.machine, str(number))
        ]

    def do_send(self, place: Place, name: str) -> None:
        name = self.one_of(self.those_running(place, place.names), name)
        prompt = f"prompt-{self.next()}-"
        began = time.monotonic()
        text = prompt + self.random.choice(("", "\nwith a second line", " " + "word " * 60))

        def sent(answer: dict[str, Any]) -> Iterator[str]:
            for one in answer.get("results", []):
                found = said(place.machine)[prompt]
                if one["outcome"] == "sent" and found != 1 and not self.is_purged(name, began):
                    yield f"it was sent, and is there {found} times"
                if one["outcome"] in ("refused", "failed") and found:
                    yield f"it was {one['outcome']}, and is there {found} times"

        words = ["--when-idle", self.random.choice(("0", "5s"))]
        self.verb(place, "send", name, text, *words, "--json", then=sent)

    def do_restart(self, place: Place, name: str) -> None:
        names = self.spoken(place)
        if names:
            self._restart(place, [self.random.choice(names)])
        else:
            self.do_send(place, name)

    def do_rolling(self, place: Place, name: str) -> None:
        names = self.spoken(place)
        self.random.shuffle(names)
        self._restart(place, names[:3] or [name], "--at-once", "2", called="restart of several")

    def _restart(self, place: Place, names: list[str], *more: str, called: str = "restart") -> None:
        rows = place.rows()
        numbers = [str(rows.get(name, {}).get("demo_conversation_id_own")) for name in names]
        before = {number: conversation_lines(place.machine, number) for number in numbers}
        began = time.monotonic()

        def restarted(answer: dict[str, Any]) -> Iterator[str]:
            for one in answer.get("results", []):
                if one["outcome"] != "restarted":
                    continue
                number = str(one["conversation_id"])
                line = command_line(one["pid"])
                if line and number not in line:
                    yield f"{one['name']} runs without its conversation {number}: {line}"
                there = conversation_lines(place.machine, number)
                known = before.get(number, [])
                if there[: len(known)] != known and not self.is_purged(one["name"], began):
                    yield f"{one['name']} lost a part of its conversation: {known} {there}"

        words = ["--when-idle", "3s", "--confirm", "0.2", "--json", "--yes"]
        self.verb(place, "restart", *names, *more, *words, then=restarted, called=called)

    # Sets

    def do_stop_set(self, place: Place, name: str) -> None:
        """Two that can be resumed, and a session in a daemon."""
        names = self.spoken(place)
        self.random.shuffle(names)
        names = [*names[:2], self.one_of(self.those_running(place, place.seats), name)]
        rows = place.rows()

        def ended(answer: dict[str, Any]) -> Iterator[str]:
            yield from live_on(rows, answer)
            if any(one["outcome"] in ENDED for one in answer.get("results", [])):
                self.sets.append(place)

        words = [*names, "--set", f"set-{place.letter}", "--grace", "1", "--json"]
        verb = self.random.choice(("stop", "kill"))
        self.verb(place, verb, *words, then=ended, called=f"{verb} with a set")

    def do_resume_set(self, place: Place, name: str) -> None:
        if self.sets:
            place = self.sets.pop()
        self._resume(place, f"set-{place.letter}", "resume of a set")

    def do_resume_last(self, place: Place, name: str) -> None:
        self._resume(place, "last", "resume of the last set")

    def _resume(self, place: Place, wanted: str, called: str) -> None:
        began = time.time()

        def resumed(answer: dict[str, Any]) -> Iterator[str]:
            for one in answer.get("results", []):
                if not one.get("error"):
                    found = ends_before_resumes(place, one["name"], began)
                    if wanted not in ("last", *found):
                        yield f"{one['name']} was resumed, and its ends had the sets {found}"

        words = ["--set", wanted, "--confirm", "0.2", "--json"]
        self.verb(place, "resume", *words, then=resumed, called=called)

    # From here, on another host

    def do_far(self, place: Place, name: str) -> None:
        far = self.random.choice([one for one in self.world.places if one.host])
        verb = self.random.choice(("stop", "kill", "show", "resume", "resume", "interrupt"))
        rows = far.rows()
        if verb == "resume":
            ended = [one for one in far.names if rows.get(one, {}).get("status") == "stopped"]
            names = [one for one in ended if rows[one].get("resumable")]
        else:
            names = self.spoken(far) or self.those_running(far, far.names)
        target = self.one_of(names, self.random.choice(far.names))
        here, words = self.world.places[0], [f"{target}@{far.host}", "--json"]
        called = f"{verb} on the host {far.host}"

        def done(answer: dict[str, Any]) -> Iterator[str]:
            yield from live_on(rows, answer)

        self.verb(here, verb, *words, here=False, then=done, called=called)

    def do_far_list(self, place: Place, name: str) -> None:
        here, hosts = self.world.places[0], [str(one.host) for one in self.world.places if one.host]

        def listed(answer: dict[str, Any]) -> Iterator[str]:
            for one in answer.get("results", []):
                if one["host"] not in hosts:
                    yield f"{one['name']} is on {one['host']}, which was not asked"

        words = ["--host", ",".join(hosts), "--json"]
        self.verb(here, "list", *words, here=False, then=listed, called="rows of both hosts")

    # Sessions in the agents' own daemons

    def do_seat(self, place: Place, name: str) -> None:
        seats, seat = self.seats[place.machine.home], self.random.choice(place.seats)
        if len(seats.living()) < 8:
            number = seats.begin()
            words = [seat, "--background", f"demo:{number}", "--json"]
            called = "adopt of a session of a daemon"
            self.verb(place, "adopt", *words, then=lambda _: iter(()), called=called)

    def do_seat_verb(self, place: Place, name: str) -> None:
        verb = self.random.choice(("show", "interrupt", "wait", "resume", "send", "restart"))
        more = {"wait": ["--until", "ended", "--timeout", "1"], "send": ["hello"]}.get(verb, [])
        name = self.one_of(self.those_running(place, place.seats), self.random.choice(place.seats))
        self.verb(place, verb, name, *more, "--json")

    def do_end_seat(self, place: Place, name: str) -> None:
        names = self.those_running(place, place.seats)
        if names:
            self._end_seat(place, self.random.choice(names))
        else:
            self.do_seat(place, name)

    def _end_seat(self, place: Place, name: str) -> None:
        row = place.rows().get(name, {})
        number = row["pane"]["id"] if row.get("terminal") == "background" else None
        seats = self.seats[place.machine.home]

        def ended(answer: dict[str, Any]) -> Iterator[str]:
            for one in answer.get("results", []):
                now = place.rows().get(name, {})
                same = now.get("pane", {}).get("id") == number and now.get("status") == "stopped"
                if number and same and one["outcome"] in ("stopped", "killed"):
                    seats.ended[number] = f"{time.strftime('%H:%M:%S')} {name}"
            yield from ()

        verb = self.random.choice(("stop", "stop", "kill"))
        called = f"{verb} of a session of a daemon"
        self.verb(place, verb, name, "--grace", "1", "--json", then=ended, called=called)

    def do_worker(self, place: Place, name: str) -> None:
        """The process of a session dies; its daemon begins another."""
        row = place.rows().get(self.random.choice(place.seats), {})
        pid = self.seats[place.machine.home].worker(str(row.get("pane", {}).get("id")))
        if pid is not None:
            kill(pid, signal.SIGKILL)
            self.happened["workers of a daemon killed"] += 1

    def do_daemon(self, place: Place, name: str) -> None:
        """The daemon dies, and begins again. No verb runs meanwhile: it would see none."""
        self.all_done()
        self.seats[place.machine.home].restart()
        self.happened["daemons killed and begun again"] += 1

    def do_odd_daemon(self, place: Place, name: str) -> None:
        self.seats[place.machine.home].trouble()
        self.happened["daemons that began to behave in another way"] += 1

    # Another tool that dumps the whole file

    def do_dump(self, place: Place, name: str) -> None:
        """With the lock: what it writes is there from then on."""
        place = next(one for one in self.world.places if one.dumped)
        with open(f"{place.registry}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = yaml.safe_load(place.registry.read_text())
            row = self.random.choice(found["tmux_sessions"])
            row["counted"] = self.next()
            self.counted[row["name"]] = row["counted"], time.time()
            dump(place, found, in_place=self.random.random() < 0.5)
        self.happened["dumps of the whole file by another tool, with the lock"] += 1

    def do_stale_dump(self, place: Place, name: str) -> None:
        """Without the lock: it takes back what was written since it read the file."""
        place = next(one for one in self.world.places if one.dumped)
        try:
            found = yaml.safe_load(place.registry.read_text())
        except yaml.YAMLError:
            return
        time.sleep(self.random.uniform(0, 0.5))
        dump(place, found, in_place=False)
        self.counted.clear()
        self.happened["dumps of an old reading by another tool, without the lock"] += 1


def dump(place: Place, data: object, *, in_place: bool) -> None:
    text = yaml.safe_dump(data, sort_keys=False)
    fresh = place.registry.with_suffix(".fresh")
    file = place.registry if in_place else fresh
    file.write_text(text)
    if not in_place:
        os.replace(fresh, place.registry)


def live_on(rows: Mapping[str, Mapping[str, Any]], answer: dict[str, Any]) -> Iterator[str]:
    """Yield each agent of these rows, read before, that an answer calls ended, and that lives."""
    for one in answer.get("results", []):
        row = rows.get(one["name"].partition("@")[0], {})
        same = (row.get("pane") or {}).get("pid") == one.get("pid")
        if one.get("outcome") in ENDED and same and lives(row):
            yield f"it was {one['outcome']}, and lives: {row}"


def said(machine: Machine) -> Counter[str]:
    """Return how often each prompt was submitted, in all conversations."""
    found: Counter[str] = Counter()
    for path in (machine.home / ".tmuxreap-demo" / "conversations").glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):  # purged meanwhile
            found.update(_said_in(path, path.stat().st_size))
    return found


@functools.cache
def _said_in(path: Path, size: int) -> Counter[str]:
    """Return the prompts in a conversation. It only grows, so of that size it is read once."""
    found: Counter[str] = Counter()
    for line in path.read_bytes()[:size].decode(errors="replace").splitlines(keepends=True):
        if "prompt-" in line and line.endswith("\n") and json.loads(line)["role"] == "user":
            found.update(PROMPT.findall(line))
    return found


def command_line(pid: int) -> str:
    """Return it, or "" where the process is gone."""
    if started(pid) is None:
        return ""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def ends_before_resumes(place: Place, name: str, since: float) -> set[str]:
    """Return the sets of the ends before each resume since then."""
    query = "SELECT at, kind, data FROM events WHERE name = ? ORDER BY id"
    with place.read() as db:
        events = db.execute(query, (name,)).fetchall()
    found, last = set(), ""
    for at, kind, data in events:
        if kind in ENDS:
            last = str(json.loads(data).get("set"))
        if kind in ("resumed", "resume") and at >= since - 1:
            found.add(last)
    return found

"""More actions of a soak: prompts, restarts, sets, sessions in the agents' own daemons, and another
tool that dumps the whole registry; each with what its answer must agree with."""

from __future__ import annotations

import fcntl
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
from tests.soak.world import Machine, Place, World, conversation_lines, kill, started

PROMPT = re.compile(r"prompt-\d+-")
PURGE_S = 30.0  # a purge that was asked for may still be under way
ENDS = ("stopped", "killed", "terminated", "dead")


class Work(Deeds):
    kinds: Mapping[str, float] = KINDS | {
        "send": 8, "restart": 4, "rolling": 0.5, "stop_set": 1, "resume_set": 1, "resume_last": 0.5,
        "seat": 6, "seat_verb": 3, "end_seat": 6, "worker": 1, "daemon": 0.2, "odd_daemon": 1,
        "dump": 2, "stale_dump": 0.4,
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

    def one_running(self, place: Place, name: str, names: Sequence[str] = ()) -> str:
        """Return the name of one that runs, if any does: most answers to others say little."""
        rows = place.rows()
        wanted = names or place.names
        found = [one for one in wanted if rows.get(one, {}).get("status") == "running"]
        return self.random.choice(found) if found else name

    def do_send(self, place: Place, name: str) -> None:
        name = self.one_running(place, name)
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
        """Of one that has a conversation: no other can be taken up again."""
        rows = place.rows()
        said = [
            one
            for one in place.names
            if conversation_lines(
                place.machine, str(rows.get(one, {}).get("demo_conversation_id_own"))
            )
        ]
        self._restart(place, [self.one_running(place, name, said)])

    def do_rolling(self, place: Place, name: str) -> None:
        self._restart(place, place.names[:4], "--at-once", "2")

    def _restart(self, place: Place, names: list[str], *more: str) -> None:
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
        self.verb(place, "restart", *names, *more, *words, then=restarted)

    # Sets

    def do_stop_set(self, place: Place, name: str) -> None:
        verb = self.random.choice(("stop", "kill"))
        names = [self.one_running(place, one) for one in self.random.sample(place.ours, 3)]
        self.verb(place, verb, *names, "--set", f"set-{place.letter}", "--grace", "1", "--json")

    def do_resume_set(self, place: Place, name: str) -> None:
        self._resume(place, f"set-{place.letter}")

    def do_resume_last(self, place: Place, name: str) -> None:
        self._resume(place, "last")

    def _resume(self, place: Place, wanted: str) -> None:
        began = time.time()

        def resumed(answer: dict[str, Any]) -> Iterator[str]:
            for one in answer.get("results", []):
                if not one["error"]:
                    found = ends_before_resumes(place, one["name"], began)
                    if wanted not in ("last", *found):
                        yield f"{one['name']} was resumed, and its ends had the sets {found}"

        words = ["--set", wanted, "--confirm", "0.2", "--json"]
        self.verb(place, "resume", *words, then=resumed)

    # Sessions in the agents' own daemons

    def do_seat(self, place: Place, name: str) -> None:
        seats, seat = self.seats[place.machine.home], self.random.choice(place.seats)
        if len(seats.living()) < 8:
            number = seats.begin()
            self.verb(place, "adopt", seat, "--background", f"demo:{number}")

    def do_seat_verb(self, place: Place, name: str) -> None:
        verb = self.random.choice(("show", "interrupt", "wait", "resume", "send", "restart"))
        more = {"wait": ["--until", "ended", "--timeout", "1"], "send": ["hello"]}.get(verb, [])
        self.verb(place, verb, self.random.choice(place.seats), *more, "--json")

    def do_end_seat(self, place: Place, name: str) -> None:
        name = self.one_running(place, self.random.choice(place.seats), place.seats)
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
        self.verb(place, verb, name, "--grace", "1", "--json", then=ended)

    def do_worker(self, place: Place, name: str) -> None:
        """The process of a session dies; its daemon begins another."""
        row = place.rows().get(self.random.choice(place.seats), {})
        pid = self.seats[place.machine.home].worker(str(row.get("pane", {}).get("id")))
        if pid is not None:
            kill(pid, signal.SIGKILL)

    def do_daemon(self, place: Place, name: str) -> None:
        """The daemon dies, and begins again. No verb runs meanwhile: it would see none."""
        self.all_done()
        self.seats[place.machine.home].restart()

    def do_odd_daemon(self, place: Place, name: str) -> None:
        self.seats[place.machine.home].trouble()

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


def dump(place: Place, data: object, *, in_place: bool) -> None:
    text = yaml.safe_dump(data, sort_keys=False)
    fresh = place.registry.with_suffix(".fresh")
    file = place.registry if in_place else fresh
    file.write_text(text)
    if not in_place:
        os.replace(fresh, place.registry)


def said(machine: Machine) -> Counter[str]:
    """Return how often each prompt was submitted, in all conversations."""
    found: Counter[str] = Counter()
    for path in (machine.home / ".tmuxreap-demo" / "conversations").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            if "prompt-" in line and json.loads(line)["role"] == "user":
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

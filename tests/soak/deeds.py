"""The actions of a soak: verbs of all kinds, several at once, and disturbances in between."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from tests.soak.world import DEMO, NOTE, PROGRAM, Place, World, kill, lives, started

AT_ONCE = 4
HUNG_S = 180.0
LONGEST = 4000  # characters of an answer
AFTER_S = 5.0  # suspended or out of space: errors may come a little later
FINE = {0, 1, 3}
TROUBLED = {4, 6}  # allowed while the disk was full, or a process suspended
KINDS = {
    "start": 16, "say": 8, "stop": 8, "kill": 6, "resume": 6, "adopt": 2, "raw": 2, "forget": 2,
    "reconcile": 2, "list": 4, "show": 3, "heartbeat": 6, "interrupt": 3, "protect": 1,
    "unprotect": 2, "wait": 2, "events": 2, "doctor": 1, "reap": 1, "crowd": 1, "dry": 2,
    "write": 3, "die": 4, "crash": 4, "suspend": 3, "suspend_verb": 3, "neighbour": 1, "full": 1,
    "deaf": 0.5, "server": 0.15, "watch": 0.3, "purge": 1, "dialog": 1,
}  # fmt: skip
AGENTS = (
    [], [], [], ["--ignore", "hup,term"], ["--spawn", "2"], ["--exit-delay", "0.4"],
    ["--state", "draft"], ["--state", "busy"], ["--state", "dialog"],
)  # fmt: skip


Check = Callable[[dict[str, Any]], Iterator[str]]


@dataclass
class Verb:
    words: list[str]
    process: subprocess.Popen[bytes]
    out: IO[bytes]
    err: IO[bytes]
    then: Check | None = None  # what its answer must agree with
    called: str = ""  # its line in the report
    begun: float = field(default_factory=time.monotonic)
    crashed: bool = False

    def said(self) -> str:
        """Return the error, from text or JSON output."""
        self.err.seek(0)
        self.out.seek(0)
        said = self.err.read().decode(errors="replace")
        return said or self.out.read()[:LONGEST].decode(errors="replace")

    def answer(self) -> dict[str, Any]:
        self.out.seek(0)
        try:
            answer: dict[str, Any] = json.loads(self.out.read() or b"{}")
        except ValueError:
            return {"torn": self.said()}
        return answer

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.out.close()
        self.err.close()


class Deeds:
    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.running: list[Verb] = []
        self.watches: dict[str, Verb] = {}
        self.asleep: dict[int, tuple[int, float]] = {}  # pid: its start, and its wake-up time
        self.trouble: list[tuple[float, float]] = []
        self.counts: dict[str, int] = {}
        self.exits: dict[int, int] = {}
        # what came of each action whose answers are compared with what is there
        self.outcomes: dict[str, Counter[str]] = {}
        self.happened: Counter[str] = Counter()  # disturbances that took effect
        self.wrong: list[str] = []
        self.lately: list[str] = []
        self.note = 0
        self.slowest = (0.0, "")
        self.deaf = self.restarted = False

    # The program

    def begin(self, place: Place, *words: str, here: bool = True) -> Verb:
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        line = [str(PROGRAM), words[0]]
        line += ["--registry", str(place.registry)] if here else []
        line += words[1:]
        process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=place.folder,
            env=place.machine.environ,
        )  # fmt: skip
        return Verb(line[1:], process, out, err)

    def watch(self, place: Place) -> None:
        told = (self.world.folder / f"watch-{place.letter}").open("ab+")
        err = (self.world.folder / f"watch-{place.letter}-errors").open("ab+")
        line = [str(PROGRAM), "watch", "--json", "--registry", str(place.registry)]
        process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=told, stderr=err, env=place.machine.environ
        )
        self.watches[place.letter] = Verb(line[1:], process, told, err)

    def verb(
        self, place: Place, *words: str, here: bool = True, then: Check | None = None,
        called: str = "",
    ) -> None:  # fmt: skip
        while len(self.running) >= AT_ONCE and not self.deaf:
            self.wait(self.running.pop(0))
        verb = self.begin(place, *words, here=here)
        verb.then, verb.called = then, called or words[0]
        self.running.append(verb)

    def wait(self, verb: Verb) -> None:
        while verb.process.poll() is None and time.monotonic() < verb.begun + HUNG_S:
            self.wake()
            time.sleep(0.02)
        status, ended = verb.process.poll(), time.monotonic()
        self.slowest = max(self.slowest, (ended - verb.begun, " ".join(verb.words)))
        if status is None:
            self.wrong.append(f"{verb.words} is not done after {HUNG_S:.0f} s: {verb.said()}")
        elif verb.crashed:
            self._count(verb, "killed by the soak")
        else:
            self.exits[status] = self.exits.get(status, 0) + 1
            troubled = any(a < ended and b > verb.begun for a, b in self.trouble)
            said = verb.said()
            if status not in (FINE | TROUBLED if troubled else FINE) or "Traceback" in said:
                self.wrong.append(f"{verb.words} left with {status}: {said[-2000:]}")
            if verb.then is not None:
                self._compare(verb, verb.then)
        verb.end()

    def _compare(self, verb: Verb, check: Check) -> None:
        answer = verb.answer()
        if "torn" in answer:
            self.wrong.append(f"{verb.words} answered no JSON: {answer['torn'][-2000:]}")
        for one in answer.get("results", []):
            outcome = one.get("outcome") or ("failed" if one.get("error") else "done")
            code = f" ({one['error']['code']})" if one.get("error") else ""
            self._count(verb, f"{outcome}{code}")
        if not answer.get("results"):
            self._count(verb, (answer.get("error") or {}).get("code", "no target"))
        self.wrong += [f"{verb.words}: {one}" for one in check(answer)]

    def _count(self, verb: Verb, outcome: str) -> None:
        if verb.then is not None:
            self.outcomes.setdefault(verb.called, Counter())[outcome] += 1

    def all_done(self) -> None:
        self.wake(all_of_them=True)
        self.world.drain()
        while self.running:
            self.wait(self.running.pop(0))
        self.wake(all_of_them=True)

    # Temporary disturbances

    def wake(self, *, all_of_them: bool = False) -> None:
        now = time.monotonic()
        for pid, (start, at) in list(self.asleep.items()):
            if all_of_them or now >= at:
                if started(pid) == start:
                    kill(pid, signal.SIGCONT)
                del self.asleep[pid]
                self.trouble.append((at - AFTER_S, now + AFTER_S))

    def put_to_sleep(self, pid: int, most_s: float) -> None:
        start = started(pid)
        if start is not None:
            kill(pid, signal.SIGSTOP)
            until = time.monotonic() + self.random.uniform(0.2, most_s)
            self.asleep[pid] = start, until
            self.trouble.append((time.monotonic(), until + AFTER_S))

    @contextlib.contextmanager
    def _troubled(self) -> Iterator[None]:
        """Mark the time from here to a little after the end as troubled."""
        began, number = time.monotonic(), len(self.trouble)
        self.trouble.append((began, began + HUNG_S))
        yield
        self.trouble[number] = (began, time.monotonic() + AFTER_S)

    # Verbs

    kinds: Mapping[str, float] = KINDS

    def step(self) -> None:
        self.wake()
        (kind,) = self.random.choices(list(self.kinds), list(self.kinds.values()))
        place = self.random.choice(self.world.places)
        name = self.random.choice(place.names)
        self.lately = [*self.lately[-400:], f"{time.time():.2f} {kind} {name}"]
        self.counts[kind] = self.counts.get(kind, 0) + 1
        getattr(self, f"do_{kind}")(place, name)

    def do_start(self, place: Place, name: str) -> None:
        more = self.random.choice(AGENTS)
        words = ["--agent", "demo", "--confirm", "0.2", "--quiet", "--tag", "soak"]
        self.verb(place, "start", name, *words, "--", *DEMO, *more)

    def do_say(self, place: Place, name: str) -> None:
        """Only if its screen is idle: a draft is never sent."""
        screen = place.machine.tmux("-N", "capture-pane", "-p", "-t", f"={name}:").rstrip()
        if screen.endswith("\n>") and "demo agent" in screen:
            said = self.random.choice(("hello", "hello again", "/work 2", "/work 30", "/clear"))
            place.machine.tmux("-N", "send-keys", "-l", "-t", f"={name}:", said)
            time.sleep(0.15)
            place.machine.tmux("-N", "send-keys", "-t", f"={name}:", "Enter")

    def do_dialog(self, place: Place, name: str) -> None:
        self.verb(place, "start", name, "--agent", "demo", "--", *DEMO, "--state", "dialog")

    def do_stop(self, place: Place, name: str) -> None:
        self.verb(place, "stop", name, "--reason", "soaked", "--grace", "1")

    def do_kill(self, place: Place, name: str) -> None:
        self.verb(place, "kill", name, "--grace", self.random.choice(("0", "0.5")))

    def do_purge(self, place: Place, name: str) -> None:
        self.verb(place, "stop", name, "--purge-conversation", "--yes", "--grace", "1")

    def do_dry(self, place: Place, name: str) -> None:
        self.verb(place, self.random.choice(("stop", "kill")), name, "--dry-run", "--json")

    def do_crowd(self, place: Place, name: str) -> None:
        self.verb(place, self.random.choice(("stop", "kill")), f"{name[0]}[0-3]", "--yes")

    def do_resume(self, place: Place, name: str) -> None:
        self.verb(place, "resume", name, "--confirm", "0.2")

    def do_adopt(self, place: Place, name: str) -> None:
        self.verb(place, "adopt", name, "--agent", "demo")

    def do_raw(self, place: Place, name: str) -> None:
        """A session created by hand."""
        place.machine.tmux("new-session", "-d", "-s", name, *DEMO)

    def do_forget(self, place: Place, name: str) -> None:
        self.verb(place, "forget", name)

    def do_reconcile(self, place: Place, name: str) -> None:
        self.verb(place, "reconcile", "--json")

    def do_list(self, place: Place, name: str) -> None:
        self.verb(place, "list", self.random.choice(("--json", "--live", "--status=running")))

    def do_show(self, place: Place, name: str) -> None:
        self.verb(place, "show", name, "--json")

    def do_heartbeat(self, place: Place, name: str) -> None:
        state = self.random.choice(("working", "waiting", "idle"))
        self.verb(place, "heartbeat", name, "--state", state)

    def do_interrupt(self, place: Place, name: str) -> None:
        self.verb(place, "interrupt", name)

    def do_protect(self, place: Place, name: str) -> None:
        self.verb(place, "protect", name)

    def do_unprotect(self, place: Place, name: str) -> None:
        self.verb(place, "unprotect", name)

    def do_wait(self, place: Place, name: str) -> None:
        until = self.random.choice(("idle", "gone", "working", "ended"))
        self.verb(place, "wait", name, "--until", until, "--timeout", "2")

    def do_events(self, place: Place, name: str) -> None:
        self.verb(place, "events", name, "--since", "10m")

    def do_doctor(self, place: Place, name: str) -> None:
        self.verb(place, "doctor", "--json")

    def do_reap(self, place: Place, name: str) -> None:
        self.verb(place, "reap", "--orphans", "--yes", "--grace", "0.3")

    # Disturbances

    def do_write(self, place: Place, name: str) -> None:
        """In place, of the same length, without the lock."""
        with place.registry.open("r+b") as file:
            found = NOTE.search(file.read())
            if found is not None:
                self.note = (self.note + 1) % 100_000
                file.seek(found.start())
                file.write(b"n%05d" % self.note)
                self.happened["writes into the file in place, without the lock"] += 1

    def do_die(self, place: Place, name: str) -> None:
        row = place.rows().get(name, {})
        if lives(row):
            kill(row["pane"]["pid"], signal.SIGKILL)
            self.happened["agents killed by another hand"] += 1

    def do_crash(self, place: Place, name: str) -> None:
        if self.running:
            victim = self.random.choice(self.running)
            if victim.process.poll() is None:
                victim.crashed = True
                self.happened["commands killed"] += 1
            victim.process.kill()

    def do_suspend(self, place: Place, name: str) -> None:
        row = place.rows().get(name, {})
        if lives(row):
            self.put_to_sleep(row["pane"]["pid"], 4.0)
            self.happened["agents suspended"] += 1

    def do_suspend_verb(self, place: Place, name: str) -> None:
        verbs = [*self.running, self.watches[place.letter]]
        pids = [one.process.pid for one in verbs if one.process.poll() is None]
        if pids:
            self.put_to_sleep(self.random.choice(pids), 3.0)
            self.happened["commands and watches suspended"] += 1

    def do_deaf(self, place: Place, name: str) -> None:
        """A tmux server that stops answering for a while."""
        pid = self.world.servers[place.machine.home]
        with self._troubled():
            kill(pid, signal.SIGSTOP)
            self.happened["tmux servers that gave no answer for seconds"] += 1
            self.deaf = True  # do not await what waits for it
            for kind in ("do_stop", "do_list", "do_reconcile"):
                getattr(self, kind)(place, self.random.choice(place.names))
            time.sleep(self.random.uniform(0.5, 3))
            kill(pid, signal.SIGCONT)
            self.deaf = False

    def do_full(self, place: Place, name: str) -> None:
        if self.world.mounted:
            with self._troubled():
                self.world.fill()
                self.happened["disks without room"] += 1
                for kind in ("do_stop", "do_kill", "do_start"):
                    disk = self.world.places[0]
                    getattr(self, kind)(disk, self.random.choice(disk.names))
                time.sleep(self.random.uniform(0.5, 3))
                self.world.drain()

    def do_server(self, place: Place, name: str) -> None:
        """The remote machine's tmux server dies, with everything in it."""
        with self._troubled():
            kill(self.world.servers[self.world.far.home], signal.SIGKILL)
            time.sleep(0.5)
            self.world.begin_server(self.world.far)
        self.happened["tmux servers killed, on a host"] += 1
        self.restarted = True

    def do_watch(self, place: Place, name: str) -> None:
        """Only this one: the memory of the others is measured from start to end."""
        self.watches["q"].end()
        self.happened["watches killed and begun again"] += 1
        self.watch(self.world.places[1])

    def end(self) -> None:
        for verb in (*self.running, *self.watches.values()):
            verb.end()

    def do_neighbour(self, place: Place, name: str) -> None:
        """A user's pane in an agent's session; it exits on its own."""
        place.machine.tmux("-N", "split-window", "-d", "-t", f"={name}:", "sleep", "3")


def cpu_s(pid: int) -> float:
    """Including awaited children."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields: list[Any] = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

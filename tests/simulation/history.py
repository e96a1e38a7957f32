"""A history: drawn from a seed as plain steps, and played. Any part of its steps can be played, so
that a failing one can be shrunk."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from signal import Signals
from typing import Any, NoReturn

from tests.simulation import people
from tests.simulation.actors import KINDS as FAULTS
from tests.simulation.actors import Actor
from tests.simulation.afar import LINKS, Ask, Far, connected
from tests.simulation.daemons import LIST, SERVER, Daemon, reached
from tests.simulation.lives import KINDS, SOCKETS, Wrong
from tests.simulation.promises import Judge
from tests.simulation.unavailable import unavailable
from tests.simulation.watching import watch
from tests.simulation.world import World
from tmuxreap.commands import adopt, forget, interrupt, protect, resume, send, show, start
from tmuxreap.commands import list as listing
from tmuxreap.commands import stop as ending
from tmuxreap.commands.heartbeat import run as beat
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.stop import EndRequest
from tmuxreap.core import faults
from tmuxreap.core.model import EndVerb, Scope
from tmuxreap.ending.policy import Policy
from tmuxreap.sessions.context import Context
from tmuxreap.system import files, headless

Step = tuple[Any, ...]
Work = Callable[[Context], Any]
NAMES = ("a", "b")
WRAPS = ("", "", "", "shell", "shell", "script", "script", "headless")
ROWS = ("full", "full", "foreign", "foreign with its id", "")
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
LAST_S = 60.0
LONGEST_TALK_S = 400.0


def _end(verb: EndVerb) -> Callable[[str, Any], Work]:
    def work(name: str, more: Any) -> Work:
        scope, force, keys_s = more
        policy = Policy(
            verb,
            f"{verb.value} it",
            grace_s=1.0,
            force=force,
            scope=Scope(scope),
            keys_timeout_s=keys_s,
        )
        return lambda context: ending.run(context, EndRequest((name,), policy, False))

    return work


def _reap(name: str, more: Any) -> Work:
    request = reap.ReapRequest((Kind.ORPHAN,), yes=True)
    return lambda context: reap.run(context, request)


def _start(name: str, more: Any) -> Work:
    kind, restart, replaces = more
    command = KINDS[kind] if kind != "demo" else ()
    request = start.StartRequest(
        name,
        kind if kind != "mystery" else None,
        cwd="/",
        confirm_s=0.5,
        command=command,
        restart=restart or None,
        replace=replaces,
    )
    return lambda context: start.run(context, request)


def _adopt(name: str, more: Any) -> Work:
    request = adopt.AdoptRequest(name, more or None)
    if more.startswith("w"):
        request = adopt.AdoptRequest(name, None, background=f"demo:{more}")
    return lambda context: adopt.run(context, request)


def _send(name: str, more: Any) -> Work:
    request = send.SendRequest(name, more, confirm_s=1.0)
    return lambda context: send.run(context, request)


VERBS: dict[str, Callable[[str, Any], Work]] = {
    "stop": _end(EndVerb.STOP),
    "kill": _end(EndVerb.KILL),
    "reap": _reap,
    "start": _start,
    "adopt": _adopt,
    "send": _send,
    "reconcile": lambda name, more: reconcile.run,
    "list": lambda name, more: lambda it: listing.run(it, listing.ListRequest()),
    "show": lambda name, more: lambda it: show.run(it, (name,)),
    "resume": lambda name, more: (
        lambda it: resume.run(it, resume.ResumeRequest((name,), confirm_s=0.5))
    ),
    "forget": lambda name, more: lambda it: forget.run(it, forget.ForgetRequest((name,))),
    "interrupt": lambda name, more: (
        lambda it: interrupt.run(it, interrupt.InterruptRequest((name,)))
    ),
    "protect": lambda name, more: lambda it: protect.run(it, protect.ProtectRequest((name,), more)),
    "heartbeat": lambda name, more: lambda it: beat(it, name, "working"),
}
TOOLS = ("meddle", "dump", "copy", "put_back", "plant", "claim")
OF_ALL = ("reap", "reconcile", "list")


def draw(seed: int) -> list[Step]:
    """Draw a history."""
    random = Random(seed)
    steps: list[Step] = []
    daemon = random.random() < 0.25
    if daemon:
        steps.append(_daemon(random))
    host = random.random() < 0.15
    if host:
        steps.append(("host",))
    for name in NAMES if random.random() < 0.5 else NAMES[:1]:
        steps += _life(random, name, daemon=daemon)
    for _ in range(random.randint(3, 12)):
        steps += _next(random, daemon=daemon)
        if host and random.random() < 0.4:
            steps += [_from_afar(random), ("time", random.choice((0.0, 0.1, 2.0, 12.0, 40.0)))]
    return steps


AFAR = {"stop": 6, "kill": 4, "list": 2, "resume": 2, "reconcile": 1, "interrupt": 1}


def _from_afar(random: Random) -> Step:
    verb = random.choices([*AFAR], [*AFAR.values()])[0]
    words: dict[str, Any] = {}
    if verb in ("stop", "kill", "resume", "interrupt"):
        words["targets"] = (random.choice((*NAMES, *NAMES, "all")),)
    if words.get("targets") == ("all",):
        words["yes"] = True
    links = [random.choice(("", *LINKS)) for _ in range(random.choice((0, 1, 1, 2, 3, 4)))]
    here = _broken(random)
    there = _broken(random)
    return ("afar", verb, words, tuple(links), here, there)


def _daemon(random: Random) -> Step:
    how = {
        "respawn_s": random.choice((0.0, 0.3, 2.0)),
        "slow_s": random.choice((0.0, 0.0, 0.5, 4.0, 15.0)),
        "deaf": random.random() < 0.1,
        "revives_s": random.choice((None, None, None, 0.5, 4.0)),
        "late_s": random.choice((0.0, 0.0, 1.0, 3.0)),
    }
    return ("daemon", random.choice((LIST, LIST, SERVER)), how)


def _life(random: Random, name: str, *, daemon: bool) -> list[Step]:
    kind = random.choice(("demo", "demo", "demo", "plain", "mystery"))
    how: dict[str, Any] = {
        "leaves": random.random() < 0.8,
        "exit_delay_s": random.choice((0.0, 0.0, 0.5, 4.0)),
        "said": random.random() < 0.8,
    }
    if random.random() < 0.3:
        how["ignores"] = random.choice((("SIGHUP",), ("SIGTERM",), ("SIGHUP", "SIGTERM")))
    if random.random() < 0.5:
        how["marked"] = True
    socket = 0 if random.random() < 0.8 else 1
    wrap = random.choice((*WRAPS, *(["daemon"] * 4 if daemon else [])))
    steps: list[Step] = [("live", name, kind, socket, wrap, how)]
    steps.append(("row", name, random.choice(ROWS)))
    return steps


def _scene(random: Random, name: str) -> list[Step]:
    """Draw what is rare by chance: steps that only mean something one after the other."""
    end = ("act", random.choice(("stop", "kill")), name, ("agent", True, None), (), "")
    look = ("act", random.choice(("list", "reconcile", "watch")), name, None, (), "")
    wait = ("time", random.choice((0.1, 0.5, 2.0)))
    moved = random.choice(("swaps", "moves", "respawns", "splits", "closes"))
    started = ("act", "start", name, ("demo", "always", False), (), "")
    return random.choice(
        [
            [("tool", "copy"), end, ("time", 12.0), ("tool", "put_back"), look],
            [started, wait, ("deed", "asks", name, 1), ("deed", "dies", name, 0), look],
            [("deed", "bears", name, random.randrange(4)), end, wait, ("deed", moved, name, 1)],
            [look, wait, ("deed", moved, name, 1), ("deed", "dies", name, 0), look, end],
            [("deed", "dies", name, 0), ("time", 0.1), ("deed", "gets_its_pid", name, 0), end],
            [("full", True), end, wait, ("full", False)],
            [("deed", "types", name, random.randrange(4)), end, ("time", 12.0)],
            [("tool", "plant"), ("act", "watch", name, None, (), ""), ("time", 12.0)],
        ]
    )


def _next(random: Random, *, daemon: bool) -> list[Step]:
    name = random.choice(NAMES)
    if daemon and random.random() < 0.1:
        goes = ("deed", "goes_to_its_daemon", name, random.randrange(2))
        end = ("act", random.choice(("stop", "kill")), name, ("agent", True, None), (), "")
        return random.choice([[goes, end], [end, ("time", 0.5), goes]])
    if daemon and random.random() < 0.35:
        of_daemons = [*people.OF_DAEMONS, "goes_to_its_daemon", "goes_to_its_daemon"]
        wait = ("time", random.choice((0.0, 0.1, 0.5, 2.0)))
        return [("deed", random.choice(of_daemons), name, random.randrange(4)), wait]
    if random.random() < 0.2:
        return _scene(random, name)
    what = random.random()
    if what < 0.45:
        return [_command(random, name), ("time", random.choice((0.0, 0.1, 0.5, 2.0, 12.0)))]
    if what < 0.8:
        return [("deed", random.choice(list(people.DEEDS)), name, random.randrange(4))]
    if what < 0.88:
        return [("tool", random.choice(TOOLS))]
    if what < 0.9:
        return [("hang", random.randrange(2), random.random() < 0.5)]
    if what < 0.91:
        return [("ledger", random.random() < 0.5)]
    if what < 0.95:
        return _life(random, name, daemon=daemon)
    return [("time", random.choice((0.1, 0.5, 2.0, 12.0, 40.0)))]


WEIGHTS = {"stop": 8, "kill": 4, "reconcile": 3, "list": 3, "reap": 2, "start": 3, "resume": 2}


def _command(random: Random, name: str) -> Step:
    verbs = [*VERBS, "watch"]
    verb = random.choices(verbs, [WEIGHTS.get(one, 1) for one in verbs])[0]
    more: Any = None
    if verb in ("stop", "kill"):
        scope = random.choice(("agent", "agent", "agent", "session", "pane"))
        more = (scope, random.random() < 0.8, random.choice((None, None, 0.0, 1.0)))
    elif verb == "start":
        kind = random.choice(("demo", "demo", "plain", "mystery"))
        more = (kind, random.choice(("", "on-failure", "always")), random.random() < 0.3)
    elif verb == "adopt":
        more = random.choice(("demo", "", "plain", f"w{name}0", f"w{name}1"))
    elif verb == "send":
        more = f"prompt {random.randrange(1_000_000)}"
    elif verb == "protect":
        more = random.random() < 0.3
    broken = _broken(random)
    inside = name if random.random() < 0.06 else ""
    return ("act", verb, name, more, broken, inside)


def _broken(random: Random) -> tuple[tuple[int, str], ...]:
    broken: list[tuple[int, str]] = []
    if random.random() < 0.5:
        for _ in range(random.choice((1, 1, 2, 4))):
            broken.append((int(2 ** random.uniform(0, 8)), random.choice(FAULTS)))
    return tuple(broken)


class Play:
    """A history while it is played."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.judge = Judge(self.world)
        self.far: Far | None = None
        self.near: Judge | None = None
        self.stack = ExitStack()
        self.world.went_on = self._went_on  # type: ignore[method-assign]
        self.world.answered = self._answered  # type: ignore[method-assign]
        self.world.looks = self._looks  # type: ignore[method-assign]

    def _went_on(self, actor: Actor) -> None:
        self.judge.went_on(actor)
        self._check()

    def _answered(self, actor: Actor) -> None:
        self.judge.answered(actor)
        self._check()

    def _looks(self, actor: Actor, socket: str) -> None:
        """Give up what it takes with the session: the plan is what its first look shows."""
        takes = actor.facts.get("takes")
        if takes is not None and socket not in actor.facts["seen"]:
            actor.facts["seen"].add(socket)
            people.gives_up(self.world, takes, socket)

    def _check(self) -> None:
        for stage in self.world.stages:
            if isinstance(stage, World) and stage.wrongs:
                raise Wrong(stage.wrongs[0])

    def at(self, step: faults.Step) -> None:
        for stage in self.world.stages:
            stage.at(step)

    def do_host(self) -> None:
        """Bring a second machine, with neighbors of the same names."""
        if self.far is not None:
            return
        far = self.far = Far(self.world, self._facts)
        self.near = near = Judge(far.here)

        def answered(actor: Actor) -> None:
            (far if "links" in actor.facts else near).answered(actor)
            self._check()

        def went_on(actor: Actor) -> None:
            near.went_on(actor)
            self._check()

        far.here.went_on = went_on  # type: ignore[method-assign]
        far.here.answered = answered  # type: ignore[method-assign]
        self.stack.enter_context(connected(far))

    def do_afar(
        self, verb: str, words: dict[str, Any], links: Iterable[str], here: Any, there: Any
    ) -> None:
        """Run a verb here that means the machine there."""
        if self.far is not None:
            self.far.ask(Ask(verb, words, list(links), list(there)), list(here))

    def _facts(self, names: Collection[str]) -> dict[str, Any]:
        lives = {name: self.judge.bound(name) for name in names}
        drafts = people.drafts(self.world)
        return {"lives": lives, "rows": self.judge.rows, "drafts": drafts, "full": self.world.full}

    def step(self, step: Step) -> None:
        getattr(self, f"do_{step[0]}")(*step[1:])
        self._check()

    def do_live(self, name: str, kind: str, socket: int, wrap: str, how: dict[str, Any]) -> None:
        how = dict(how)
        ignores = {Signals[one] for one in how.pop("ignores", ())}
        mark = f"mark-{len(self.world.lives)}-of-{name}"
        marks = {"TMUXREAP_ID": mark} if how.pop("marked", False) else {}
        self.world.live(name, kind, SOCKETS[socket], wrap, ignores=ignores, marks=marks, **how)

    def do_daemon(self, kind: str, how: dict[str, Any]) -> None:
        """Give the demo agent a daemon of its own, from now on."""
        if not self.world.daemon.seats:
            self.world.daemon = Daemon(self.world, kind, how)
            self.world.daemon.tell()

    def do_row(self, name: str, how: str) -> None:
        life = self.world.newest(name)
        world = self.world
        runs = life is not None and (world.alive(life) or world.daemon.runs(life))
        headless = runs and life is not None and life.session is None
        if (
            life is not None
            and how
            and (headless or people.session_of(self.world, life) is not None)
        ):
            before = self.world.rows().keys()
            self.world.write_row(life, how)
            if life.mark is not None and name not in before:
                with self.world.story.ledger() as ledger:
                    ledger.remember_mark(name, life.mark, self.world.clock.now())
            self.judge.others_wrote()

    def do_act(
        self,
        verb: str,
        name: str,
        more: Any,
        broken: Iterable[tuple[int, str]],
        inside: str,
    ) -> None:
        world = self.world
        within = world.newest(inside) if inside else None
        if verb == "watch":
            watch(world, list(broken))
            return
        names = () if verb in OF_ALL else (name,)
        work = VERBS[verb](name, more)
        replaces = verb == "start" and more[2]
        facts = self._facts((name,))
        if verb == "send":
            facts["text"] = more
        if replaces or verb == "adopt" or (verb in ("stop", "kill") and more[0] == "session"):
            facts |= {"takes": name, "seen": set()}
        world.act(verb, names, work, list(broken), within, facts)

    def do_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    def do_deed(self, deed: str, name: str, number: int) -> None:
        people.do(self.world, deed, name, number)

    def do_tool(self, what: str) -> None:
        getattr(self.world, what)()
        self.judge.others_wrote()

    def do_hang(self, socket: int, hangs: bool) -> None:
        (self.world.tmux.hung.add if hangs else self.world.tmux.hung.discard)(SOCKETS[socket])

    def do_full(self, full: bool) -> None:
        self.world.full = full

    def do_ledger(self, locked: bool) -> None:
        self.world.lock_ledger(locked)

    def end(self) -> None:
        """Let everything come to its end, mend what is broken, and settle it."""
        world = self.world
        world.tmux.hung.clear()
        world.full = False
        world.daemon.mend()
        world.ending = True
        world.pass_time(LAST_S if self.far is None else LONGEST_TALK_S)
        world.locked = False
        self._settle(world, self.judge)
        if self.far is not None and self.near is not None:
            self._settle(self.far.here, self.near)
            self.far.settled()
            self._check()

    def _settle(self, world: World, judge: Judge) -> None:
        """Let two reconciles run on a machine where everything has ended."""
        assert not world.actors, f"never ends: {world.actors}"
        last: Actor | None = None
        for _ in range(2):
            last = world.act("reconcile", (), reconcile.run)
            self.world.pass_time(LAST_S)
        assert last is not None
        judge.settled(last)
        self._check()
        world.story.apps.clear()
        world.story.close()

    def abandon(self) -> None:
        if self.far is not None:
            self.far.here.abandon()
        self.world.abandon()


def _start_nothing(*_: object) -> NoReturn:
    """Refuse to start a real process: an agent without tmux is begun by no command here."""
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def play(steps: Sequence[Step]) -> None:
    """Play a history in a folder of its own; raise what is wrong with it."""
    folder = Path(tempfile.mkdtemp(prefix="tr", dir=SCRATCH))
    armed, faults_at, settles = None, faults.at, files.SETTLES_S
    start_program = headless.start_program
    files.SETTLES_S = 0.0
    headless.start_program = _start_nothing
    try:
        armed = Play(folder)
        faults.at = armed.at
        with unavailable(armed.world), reached(armed.world), armed.stack:
            for step in steps:
                armed.step(step)
            armed.end()
    finally:
        faults.at, files.SETTLES_S = faults_at, settles
        headless.start_program = start_program
        if armed is not None:
            armed.abandon()
        shutil.rmtree(folder, ignore_errors=True)

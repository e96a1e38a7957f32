"""The benchmark's cases. Each creates its sessions, lets the contenders take turns, and returns
rows of the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmark.hcom import Hcom
from benchmark.timing import Samples, in_turns, memory_mb, peak_mb, timed
from benchmark.world import HERE, World

LEAVES_S = 0.1
STOP_PY = 16.0  # at most, of a stop beyond the agent's own time
CHANGE_PY = 25.0  # of one row changed among many
LIST_LS, LIST_PY = 8.0, 10.0  # of a list of a thousand: so many `tmux ls`, and so many py
PLAIN = [sys.executable, "-c", "pass"]
KILLS = "kill-session in one tmux client"


@dataclass
class Line:
    """One line of the table: a value, its ratio to another one of the same run, and its limit."""

    what: str
    who: str
    value: float  # the median
    measure: str = "ms"
    samples: int = 1
    p95: float | None = None
    ratio: float | None = None
    unit: str = ""  # of the ratio
    limit: float | None = None  # of the ratio; without one of the value

    @property
    def judged(self) -> float:
        return self.value if self.ratio is None else self.ratio

    @property
    def kept(self) -> bool | None:
        return None if self.limit is None else self.judged <= self.limit


def line_of(
    what: str,
    who: str,
    found: Samples,
    ratio: float | None = None,
    unit: str = "",
    limit: float | None = None,
) -> Line:
    p95 = None if found.p95 is None else found.p95 * 1000
    count = len(found.seconds)
    return Line(what, who, found.median * 1000, "ms", count, p95, ratio, unit, limit)


class Case:
    def __init__(self, world: World, quick: bool, hcom: Path | None) -> None:
        self.world, self.quick, self.hcom = world, quick, hcom
        self.py = 0.0
        self.points: dict[str, list[tuple[int, float]]] = {}

    # Small things

    def spawn(self, command: list[str], folder: Path | None = None) -> None:
        cwd = folder or self.world.folder
        subprocess.run(command, env=self.world.env, cwd=cwd, capture_output=True, check=False)

    def turns(
        self,
        ways: Mapping[str, Callable[[], object]],
        turns: int,
        less: float = 0.0,
        before: Mapping[str, Callable[[], object]] | None = None,
    ) -> dict[str, Samples]:
        """Measure `py` along with them, because the load of a busy machine changes."""
        samples = in_turns({"py": lambda: self.spawn(PLAIN), **ways}, turns, less, before)
        py = samples.pop("py")
        py.less = 0.0
        self.py = py.median
        return samples

    def line(self, what: str, who: str, samples: Samples, limit: float | None = None) -> Line:
        return line_of(what, who, samples, samples.median / self.py, "py", limit)

    def start_up(self) -> Iterator[Line]:
        self.world.sessions(["one"], str(self.world.sleeper) + " 1000", prompt=False)
        self.world.run("adopt", "one", "--agent", "bench")
        (pane,) = [line.split()[2] for line in self.world.panes()]
        told = {**self.world.env, "TMUX": f"{self.world.socket},1,0", "TMUX_PANE": pane}
        hook = json.dumps({"hook_event_name": "PostToolUse", "session_id": "none", "cwd": "/"})

        # As the script in bash asks for it; a failure or no word is an error.
        asking = {
            **self.world.env,
            "_TMUXREAP_COMPLETE": "complete_bash",
            "COMP_WORDS": "tmuxreap stop o",
            "COMP_CWORD": "2",
        }

        def completed() -> None:
            folder = self.world.folder
            words = subprocess.check_output(["tmuxreap"], env=asking, cwd=folder, text=True)
            assert words.split() == ["one"], words

        def hooked() -> None:
            command = ["tmuxreap", "hook", "claude"]
            subprocess.run(
                command,
                env=told,
                cwd=self.world.folder,
                input=hook,
                text=True,
                capture_output=True,
                check=True,
            )

        samples = in_turns(
            {
                "python -c pass": lambda: self.spawn(PLAIN),
                "tmux ls": lambda: self.spawn(["tmux", "ls"]),
                "heartbeat": lambda: self.spawn(
                    ["tmuxreap", "heartbeat", "one", "--state", "working"]
                ),
                "hook": hooked,
                "completion": completed,
                "--version": lambda: self.spawn(["tmuxreap", "--version"]),
                "of these: typer alone": lambda: self.spawn([sys.executable, "-c", "import typer"]),
                "of these: argparse alone": lambda: self.spawn(
                    [sys.executable, "-c", "import argparse"]
                ),
                "of these: all that stop loads": lambda: self.spawn(_loading("ending", "stop")),
                "of these: all that list loads": lambda: self.spawn(_loading("looking", "list")),
            },
            7 if self.quick else 25,
        )
        self.py = samples["python -c pass"].median
        limits = {"heartbeat": 4.0, "hook": 4.0, "completion": 11.0}
        for name, found in samples.items():
            yield self.line(name, "", found, limits.get(name))
        self.world.clear()

    # Stops

    def stop_one(self) -> Iterator[Line]:
        turns = 3 if self.quick else 9
        naive, floor = (
            [sys.executable, str(HERE / "naive.py"), "stop"],
            [sys.executable, str(HERE / "floor.py")],
        )
        ways: dict[str, Callable[[str], object]] = {
            "tmuxreap": lambda name: self.spawn(["tmuxreap", "stop", name]),
            "tmuxreap --dry-run": lambda name: self.spawn(["tmuxreap", "stop", name, "--dry-run"]),
            "script of the same libraries": lambda name: self.spawn(
                [*naive, name], self.world.folder / "naive"
            ),
            "shell loop": lambda name: self.spawn([str(HERE / "loop.sh"), name]),
            "floor": lambda name: self.spawn([*floor, name], self.world.folder / "floor"),
        }
        for delay, limit in ((0.0, None), (LEAVES_S, STOP_PY)):
            yield from self._stops(
                f"stop one, agent takes {delay * 1000:g} ms", ways, delay, turns, limit
            )
        self.world.sessions([f"s{n}" for n in range(3)], str(self.world.stubborn))
        self.world.register()
        names = iter(f"s{n}" for n in range(3))
        command = ["--keys-timeout", "0.2", "--grace", "0.2"]
        samples = self.turns(
            {"t": lambda: self.spawn(["tmuxreap", "stop", next(names), *command])}, 3, 0.4
        )["t"]
        yield self.line(
            "stop one that ignores everything (0.2 s for keys, 0.2 s grace)", "tmuxreap", samples
        )
        self.world.clear()

    def _stops(
        self,
        what: str,
        ways: dict[str, Callable[[str], object]],
        delay: float,
        turns: int,
        limit: float | None,
    ) -> Iterator[Line]:
        names = [f"a{number}" for number in range(turns * len(ways))]
        self.world.sessions(names, f"{self.world.agent} {delay:g}")
        self.world.register()
        for other in ("naive", "floor"):
            self.world.copied(other)
        left = iter(names)
        samples = self.turns(
            {who: lambda way=way: way(next(left)) for who, way in ways.items()}, turns, delay
        )
        samples["tmuxreap --dry-run"].less = 0.0
        for who, found in samples.items():
            yield self.line(what, who, found, limit if who == "tmuxreap" else None)
        self.world.clear()

    def kill_one(self) -> Iterator[Line]:
        turns = 3 if self.quick else 5
        names = [f"k{number}" for number in range(turns * 2)]
        self.world.sessions(names, f"{self.world.sleeper} 1000", prompt=False)
        self.world.register()
        left = iter(names)
        ways: dict[str, Callable[[], object]] = {
            "tmuxreap": lambda: self.spawn(["tmuxreap", "kill", next(left)]),
            "kill-session": lambda: self.spawn(["tmux", "kill-session", "-t", f"={next(left)}"]),
        }
        if self.hcom is not None:
            other = Hcom(self.world, self.hcom)
            launched = iter([other.launch() for _ in range(turns)])
            ways[other.version] = lambda: other.kill(next(launched))
        for who, found in self.turns(ways, turns).items():
            yield self.line("kill one", who, found)
        if self.hcom is not None:
            other.end()
        self.world.clear()

    def stop_many(self) -> Iterator[Line]:
        for count in (1, 10, 100):
            for verb in ("stop", "kill") if count == 100 else ("stop",):
                yield from self._many(verb, count)

        yield from self._claudes()

    def _claudes(self) -> Iterator[Line]:
        """Stop what has the profile of a real agent, whose screen is read between its keys."""
        world = self.world
        kinds = {"rows of ours": world.adopt_all, "rows of another tool": world.register_by_hand}
        for kind, register in kinds.items():
            yield from self._many("stop", 100, world.claude, register, f", {kind}, claude")

    def _many(
        self,
        verb: str,
        count: int,
        agent: Path | None = None,
        register: Callable[[], None] | None = None,
        kind: str = "",
    ) -> Iterator[Line]:
        names = [f"m{number}" for number in range(count)]
        script = "".join(f"kill-session -t ={name}\n" for name in names)

        def begin() -> None:
            self.world.clear()
            self.world.sessions(names, f"{agent or self.world.agent} {LEAVES_S}")
            (register or self.world.register)()

        ways: dict[str, Callable[[], object]] = {
            "tmuxreap": lambda: self.world.run(verb, "all", "--yes"),
            KILLS: lambda: self.world.tmux("source-file", "-", given=script),
        }
        turns = 1 if self.quick else 5
        found = in_turns(ways, turns, before=dict.fromkeys(ways, begin))
        ours, theirs = found["tmuxreap"], found[KILLS]
        ours.less = LEAVES_S if verb == "stop" else 0.0
        self.world.clear()
        if not kind:
            self.points.setdefault(f"{verb} all", []).append((count, ours.median))
        ratio = ours.median / theirs.median
        limit = 2.5 if (verb, count) == ("stop", 100) else None
        what = f"{verb} {count} at once{kind}"
        yield line_of(what, "tmuxreap", ours, ratio, "kills in one client", limit)
        yield line_of(what, KILLS, theirs)

    # Looks

    def listed(self) -> Iterator[Line]:
        started = 0
        for count in (1, 100) if self.quick else (1, 100, 1000):
            names = [f"l{number}" for number in range(started, count)]
            self.world.sessions(names, f"{self.world.sleeper} 1000", prompt=False)
            started = count
            self.world.register()
            ways = {
                "tmux ls": lambda: self.spawn(["tmux", "ls"]),
                "list --json": lambda: self.spawn(["tmuxreap", "list", "--json"]),
                "list": lambda: self.spawn(["tmuxreap", "list"]),
                "reconcile in sync": lambda: self.spawn(["tmuxreap", "reconcile"]),
            }
            if count <= 100:
                ways["script of the same libraries"] = lambda: self.spawn(
                    [sys.executable, str(HERE / "naive.py"), "list"]
                )
            samples = self.turns(ways, 5 if self.quick else 9)
            ls = samples["tmux ls"].median
            for who, found in samples.items():
                limit = None
                if (who, count) == ("list --json", 1000):
                    limit = LIST_LS + LIST_PY * self.py / ls
                yield line_of(f"{count} sessions", who, found, found.median / ls, "tmux ls", limit)
                if who not in ("tmux ls", "script of the same libraries"):
                    self.points.setdefault(who, []).append((count, found.median))
            peak = peak_mb(["tmuxreap", "list", "--json"], self.world.env, self.world.folder)
            yield Line(f"{count} sessions", "peak memory of list --json", peak, "MB")
        self.world.clear()

    # Writes

    def one_among_many(self) -> Iterator[Line]:
        for count in (10, 100, 1000) if self.quick else (10, 100, 1000, 10000):
            turns = 3 if self.quick else 5
            self.world.register({f"r{number}": "bench" for number in range(count)})
            names = iter(f"r{number}" for number in range(turns))
            found = self.turns(
                {"t": lambda names=names: self.world.run("forget", next(names))}, turns
            )["t"]
            self.points.setdefault("one row changed", []).append((count, found.median))
            yield self.line(f"one row changed among {count}", "tmuxreap", found)

    def hundred_writers(self) -> Iterator[Line]:
        names = [f"w{number}" for number in range(100)]
        lost = refused = 0

        def begin() -> None:
            self.world.register(dict.fromkeys(names, "bench"))

        def change() -> None:
            nonlocal lost, refused
            said = self._at_once([["tmuxreap", "forget", name] for name in names])
            text = self.world.registry.read_text()
            left = [f"- name: {name}\n" in text for name in names]
            lost += sum(there and not status for there, status in zip(left, said, strict=True))
            refused += sum(map(bool, said))

        ways = {
            "--dry-run": lambda: self._at_once(
                [["tmuxreap", "forget", "--dry-run", name] for name in names]
            ),
            "forget": change,
        }
        turns = 1 if self.quick else 3
        found = in_turns(ways, turns, before=dict.fromkeys(ways, begin))
        ratio = found["forget"].median / found["--dry-run"].median
        what = "100 processes change 100 rows at once"
        yield line_of(what, "tmuxreap", found["forget"], ratio, "the same with --dry-run", 3.0)
        yield Line(what, "lost changes", lost, "", turns, limit=0.0)
        yield Line(what, "refused: no lock in 10 s", refused, "", turns)

    # Watching

    def watched(self) -> Iterator[Line]:
        count = 20 if self.quick else 50
        names = [f"d{number}" for number in range(count)]
        self.world.sessions(names, f"{self.world.sleeper} 1000", prompt=False)
        self.world.register()
        pids = {line.split()[0]: int(line.split()[1]) for line in self.world.panes()}
        with self.watch() as watcher:
            time.sleep(2)
            samples = Samples([timed(partial(self._death, name, pids[name])) for name in names])
            held = memory_mb(watcher, "VmHWM")
        what = "death of an agent until its row is written"
        yield line_of(what, "watch", samples, limit=100.0)
        yield Line(what, "peak memory of watch", held, "MB", limit=60.0)
        self.world.clear()

    @contextmanager
    def watch(self) -> Iterator[int]:
        """Run `watch`, and yield its process."""
        env, folder = self.world.env, self.world.folder
        words = ["tmuxreap", "watch", "--json"]
        watcher = subprocess.Popen(words, env=env, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            yield watcher.pid
        finally:
            watcher.terminate()
            watcher.wait()

    def _death(self, name: str, pid: int) -> None:
        os.kill(pid, 9)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            row = self.world.registry.read_text().partition(f"- name: {name}\n")[2]
            if not row.lstrip().startswith("status: running"):
                return
            time.sleep(0.001)

    def _at_once(self, commands: list[list[str]]) -> list[int]:
        """Return their exit statuses."""
        quiet = subprocess.DEVNULL
        running = [
            subprocess.Popen(
                command, env=self.world.env, cwd=self.world.folder, stdout=quiet, stderr=quiet
            )
            for command in commands
        ]
        return [process.wait() for process in running]


def _loading(declared: str, verb: str) -> list[str]:
    modules = ("interfaces.cli.main", f"interfaces.cli.verbs.{declared}", f"commands.{verb}")
    return [sys.executable, "-c", "".join(f"import tmuxreap.{name};" for name in modules)]

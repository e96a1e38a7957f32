"""Everything at once, for hours, and what must not grow between start and end: `python -m
tests.soak HOURS [--seed N] [--share PERCENT] [--folder DIR] [--report FILE]`. Exit 1: a check
failed."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.mcp_client import WHOLE, ByHand
from tests.real import Real
from tests.soak.checks import Checks
from tests.soak.deeds import cpu_s
from tests.soak.report import Minute, report, sampled
from tests.soak.work import Work
from tests.soak.world import MARK, World

MINUTE_S = 60.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("soak", description=__doc__)
    parser.add_argument("hours", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=15.0, help="of one core, in percent")
    parser.add_argument("--folder", type=Path, help="where to keep all of it (default: nowhere)")
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    return parser.parse_args()


class Soak:
    def __init__(self, world: World, seed: int, share: float) -> None:
        self.world, self.share = world, share
        self.deeds = Work(world, seed)
        self.checks = Checks(world, self.deeds)
        self.minutes: list[Minute] = []
        self.wrong: list[str] = []
        self.began = time.monotonic()
        for place in world.places:
            for name in place.names[:3]:
                self.deeds.do_start(place, name)
            self.deeds.watch(place)
        self.deeds.all_done()
        place = world.places[0]
        real = cast(Real, SimpleNamespace(registry=place.registry, folder=place.folder))
        self.mcp = ByHand(real, WHOLE)

    def end(self) -> None:
        self.deeds.end()
        self.mcp.server.kill()
        self.mcp.server.communicate()

    def run(self, hours: float) -> None:
        self._sample()
        until = self.began + hours * 3600
        while time.monotonic() < until:
            self._minute(min(until, time.monotonic() + MINUTE_S))

    def _minute(self, until: float) -> None:
        while time.monotonic() < until:
            with self.going_on():
                self.deeds.step()
            time.sleep(self.deeds.random.uniform(0, 0.3))
            while self.cpu_s() > self.share * self.passed_s and time.monotonic() < until:
                self.deeds.wake()
                time.sleep(0.2)
        with self.going_on():
            for one in self.checks.all():
                self.keep(one)
            if not self.mcp.answer("list_sessions")["ok"]:
                self.keep("the MCP server does not list")
            self._sample()
        print(self.minutes[-1].line(), f"wrong={len(self.wrong)}", flush=True)

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Keep a fault of the soak itself, and go on: hours are not lost for one action."""
        try:
            yield
        except Exception:
            self.keep(f"a fault of the soak: {traceback.format_exc()}")

    def _sample(self) -> None:
        pids = {letter: one.process.pid for letter, one in self.deeds.watches.items()}
        pids["mcp"] = self.mcp.server.pid
        self.minutes.append(sampled(self.world, self.deeds, pids, self.passed_s, self.cpu_s()))

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self.began

    def cpu_s(self) -> float:
        """CPU time of ours, the verbs, the watches, and the servers with all exited agents."""
        uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        others = [one.process.pid for one in self.deeds.watches.values()]
        others += self.world.servers.values()
        return sum(use.ru_utime + use.ru_stime for use in uses) + sum(map(cpu_s, others))

    def keep(self, one: str) -> None:
        """Keep a failed check, with the files and last actions of that moment."""
        self.wrong.append(f"{self.passed_s:.0f} s: {one}")
        print("WRONG", self.wrong[-1], flush=True)
        kept = self.world.folder / "wrong" / str(len(self.wrong))
        kept.mkdir(parents=True)
        (kept / "what").write_text("\n".join([one, *self.deeds.lately]))
        for place in self.world.places:
            for path in place.registry.parent.glob("agent-sessions.*"):
                shutil.copy(path, kept / f"{place.letter}-{path.name}")


def main() -> int:
    asked = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda which, _: sys.exit(128 + which))  # and everything is ended
    mark = uuid.uuid4().hex
    for name in [name for name in os.environ if name.startswith(("TMUX", "XDG"))]:
        del os.environ[name]
    os.environ.update({MARK: mark, "SHELL": "/bin/sh"})
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="sk", dir="/tmp"))
    folder.mkdir(exist_ok=True)
    world = World(folder, mark)
    os.environ.update(world.mine.environ)
    try:
        world.begin()
        soak = Soak(world, asked.seed, asked.share / 100)
        try:
            soak.run(asked.hours)
        finally:  # also when it is ended from outside
            soak.end()
            text = report(soak.minutes, soak.deeds, soak.wrong, world, asked)
            print(text)
            if asked.report:
                asked.report.write_text(text)
    finally:
        world.end()
        if not asked.folder:
            shutil.rmtree(folder, ignore_errors=True)
    return int(bool(soak.wrong))


if __name__ == "__main__":
    sys.exit(main())

"""./scripts/bench: runs the parts, tells each line at once, and what was above its limit."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

import measured

import tmuxreap
from benchmark.cases import Case, Line
from benchmark.page import number, page, ratio_of
from benchmark.parts import LONG, PARTS
from benchmark.plot import plotted
from benchmark.world import World

MINUTES, QUICK_MINUTES = 13, 4  # on two idle cores


def main() -> int:
    asked = arguments()
    said = sys.stderr if asked.json else sys.stdout
    subprocess.run([sys.executable, "-m", "compileall", "-q", *map(str, _packages())], check=False)
    begun, load = time.monotonic(), _load()
    names = asked.part or [name for name in PARTS if not (asked.quick and name in LONG)]
    print(_announced(asked, names, load), file=said, flush=True)
    lines: list[Line] = []
    with World() as world:
        case = Case(world, asked.quick, asked.hcom)
        for name in names:
            for line in PARTS[name](case):
                lines.append(line)
                print(told(line), file=said, flush=True)
        about = {
            "version": tmuxreap.__version__,
            "commit": measured.commit(),
            "python": platform.python_version(),
            "tmux": world.tmux("-V").strip(),
            "machine": platform.machine(),
            "cores": str(os.cpu_count()),
            "load": load,
            "load_after": _load(),
            "minutes": f"{(time.monotonic() - begun) / 60:.0f}",
        }
    if asked.plot:
        asked.plot.write_text(plotted(case.points))
    if asked.page:
        asked.page.write_text(page(lines, about))
    if asked.json:
        print(json.dumps({**about, "lines": [asdict(line) for line in lines]}))
    return ended(lines, about, said)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./scripts/bench",
        description="How fast tmuxreap is, as ratios of one run.",
        epilog="Exit: 0 all limits are kept, 1 one is not, 2 it could not be set up.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer turns, and no more than 100 sessions"
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; repeatable")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    found = shutil.which("hcom")
    parser.add_argument(
        "--hcom", type=_path, default=found and Path(found), help="the program hcom, if not in PATH"
    )
    parser.add_argument(
        "--plot", type=_path, help="write how cost grows with the work into this SVG"
    )
    parser.add_argument("--page", type=_path, help="write the table into this Markdown file")
    return parser.parse_args()


def _path(name: str) -> Path:
    """Return a path that may be relative to the caller's folder, which `scripts/bench` left. What
    cannot be written is refused before the run, not after its minutes."""
    path = Path(os.environ.get("CALLED_FROM", "."), name)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def _announced(asked: argparse.Namespace, names: Sequence[str], load: str) -> str:
    minutes = QUICK_MINUTES if asked.quick else MINUTES
    takes = f"about {minutes} minutes" if not asked.part else f"a part of {minutes} minutes"
    beside = f"; beside hcom ({asked.hcom})" if asked.hcom else "; hcom is not installed"
    return (
        f"{', '.join(names)}: {takes} on two idle cores; the load is {load}"
        f" on {os.cpu_count()} cores{beside}"
    )


def told(line: Line) -> str:
    p95 = "" if line.p95 is None else f"p95 {line.p95:.1f}"
    limit = (
        ""
        if line.kept is None
        else f"(at most {number(line.limit)})"
        if line.kept
        else f"ABOVE {number(line.limit)}"
    )
    value = f"{number(line.value):>8} {line.measure:2}"
    return (
        f"{line.what:58} {line.who:32} {value} n={line.samples:<3} {p95:10}"
        f" {ratio_of(line):28} {limit}"
    ).rstrip()


def ended(lines: Sequence[Line], about: Mapping[str, str], said: IO[str]) -> int:
    """Name the limits that were broken; return the exit status."""
    broken = [line for line in lines if line.kept is False]
    print("\n" + ", ".join(f"{name} {one}" for name, one in about.items()), file=said)
    for line in broken:
        print(told(line), file=said)
    print(f"{len(broken)} above the limit", file=said)
    return 1 if broken else 0


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _packages() -> list[Path]:
    return [Path(tmuxreap.__file__).parent]


if __name__ == "__main__":
    sys.exit(main())

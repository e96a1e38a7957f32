"""./scripts/bench [--quick] [--hosts] [--json] [--plot FILE] [--page FILE] [--hcom PROGRAM]"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from benchmark import hosts, more
from benchmark.cases import Case, Line
from benchmark.page import page
from benchmark.plot import plotted
from benchmark.world import World


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./scripts/bench", description="How fast tmuxreap is, as ratios of one run."
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer turns, and no more than 100 sessions"
    )
    parser.add_argument("--hosts", action="store_true", help="other hosts alone")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--hcom", type=Path, help="the program hcom, to be measured beside")
    parser.add_argument(
        "--plot", type=Path, help="write how cost grows with the work into this SVG"
    )
    parser.add_argument("--page", type=Path, help="write the table into this Markdown file")
    asked = parser.parse_args()
    subprocess.run([sys.executable, "-m", "compileall", "-q", *map(str, _packages())], check=False)
    begun = time.monotonic()
    lines: list[Line] = []
    with World() as world:
        case = Case(world, asked.quick, asked.hcom)
        every = chain(case.lines(), more.lines(case))
        for line in hosts.lines(case) if asked.hosts else every:
            lines.append(line)
            print(told(line), file=sys.stderr if asked.json else sys.stdout, flush=True)
        about = {
            "python": platform.python_version(),
            "tmux": world.tmux("-V").strip(),
            "machine": platform.machine(),
            "cores": str(os.cpu_count()),
            "load": f"{os.getloadavg()[0]:.0f}",
        }
    if asked.plot:
        asked.plot.write_text(plotted(case.points))
    if asked.page:
        asked.page.write_text(page(lines, about))
    broken = [line for line in lines if line.kept is False]
    if asked.json:
        print(
            json.dumps(
                {
                    **about,
                    "seconds": round(time.monotonic() - begun),
                    "lines": [asdict(line) for line in lines],
                }
            )
        )
    else:
        print(f"\n{about}; {time.monotonic() - begun:.0f} s; {len(broken)} above the limit")
    return 0


def told(line: Line) -> str:
    ratio = "" if line.ratio is None else f"{line.ratio:7.1f} x {line.unit}" if line.unit else ""
    limit = (
        ""
        if line.kept is None
        else f"  (at most {line.limit:.3g})"
        if line.kept
        else f"  ABOVE {line.limit:.3g}"
    )
    times = f"{line.milliseconds:8.1f} ms  p95 {line.p95:8.1f}"
    return f"{line.what:58} {line.who:32} {times} {ratio}{limit}"


def _packages() -> list[Path]:
    import tmuxreap

    return [Path(tmuxreap.__file__).parent]


if __name__ == "__main__":
    sys.exit(main())

"""The table of one run as a documentation page."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from benchmark.cases import Line

HEAD = """# Figures

What `./scripts/bench` measured in one run, on {date}, with Python {python} and {tmux} on a small
shared machine of {cores} cores ({machine}) with a load of {load} at its end: medians and 95th
percentiles in milliseconds, and ratios. `py` is the time of `python -c pass` in the same minute.
Trust the ratios; the milliseconds are of that machine. A load beyond its cores slows what
waits for several others (tmux, a watch being woken, many at once) more than it slows `py`.
The time that an agent takes to exit is subtracted: nothing can save it. Contenders take turns,
each on its own sessions.

- *script of the same libraries*: an afternoon's work with typer, libtmux, psutil and PyYAML. It
  kills by name, trusts tmux and rewrites the whole registry
  ([naive.py](../../scripts/benchmark/naive.py)).
- *shell loop*: `send-keys`, a check every 0.1 s, `kill-session`. It proves and records nothing.
- *floor*: the minimum that Python must do, without lock, proof or check
  ([floor.py](../../scripts/benchmark/floor.py)).
- *hcom*: signals the process, closes the pane and answers `sent`; it waits for no death and keeps
  no registry.

| what | who | median | p95 | ratio | at most |
|---|---|---|---|---|---|
"""
WHERE = """
Where a stop spends its time, from the lines above. Work that overlaps the agent's own exit costs
nothing: the last part may be negative.

| part | ms | py |
|---|---|---|
"""
READER = """
Importing typer takes {typer:.1f} py with Python itself, argparse {other:.1f}. It parses
every line but those of `hook` and `heartbeat`, completes them, and prints help and errors.
"""
TAIL = """
`at most` is the project's own limit; beyond it the line says **above**. That of a list of a
thousand sessions is 8 `tmux ls` and 10 py, written as `tmux ls` of this run. How cost grows with
the work:

![cost against the number of sessions or rows](../pictures/cost.svg)
"""


def page(lines: Sequence[Line], about: Mapping[str, str]) -> str:
    date = datetime.date.today().isoformat()
    return HEAD.format(date=date, **about) + "".join(map(_row, lines)) + where(lines) + TAIL


def where(lines: Sequence[Line]) -> str:
    """Return how a stop spends its time: the cost of each part beyond the one above it."""
    found = {(line.what, line.who): line.milliseconds for line in lines}
    stop = "stop one, agent takes 100 ms"
    parts = (
        ("Python itself", ("python -c pass", "")),
        ("our own modules", ("of these: all that stop loads", "")),
        ("the look at tmux and processes, and the plan", (stop, "tmuxreap --dry-run")),
        ("intent, keys, proof and record, beyond what the agent takes", (stop, "tmuxreap")),
    )
    if not all(key in found for _, key in parts):
        return ""
    rows, before, py = [], 0.0, found["python -c pass", ""]
    for what, key in parts:
        spent = found[key] - before
        rows.append(f"| {what} | {spent:.1f} | {spent / py:.1f} |\n")
        before = found[key]
    return "".join([WHERE, *rows]) + _reader(found)


def _reader(found: Mapping[tuple[str, str], float]) -> str:
    """Return what parsing costs for a command line that needs typer."""
    py, typer = found["python -c pass", ""], found.get(("of these: typer alone", ""))
    other = found.get(("of these: argparse alone", ""))
    known = typer is not None and other is not None
    return READER.format(typer=typer / py, other=other / py) if known else ""


def _row(line: Line) -> str:
    ratio = "" if line.ratio is None or not line.unit else f"{line.ratio:.1f} {line.unit}"
    times = f"{line.milliseconds:.1f} | {line.p95:.1f}"
    return f"| {line.what} | {line.who} | {times} | {ratio} | {_limit(line)} |\n"


def _limit(line: Line) -> str:
    if line.kept is None:
        return ""
    return f"{line.limit:.3g}" if line.kept else f"{line.limit:.3g} **above**"

"""The table of one run as a documentation page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import measured

from benchmark.cases import Line

HEAD = """# Figures

What `./scripts/bench --page docs/reports/figures.md` measured on {date} in one run of {minutes}
minutes, with tmuxreap {version} at the commit {commit}, Python {python} and {tmux}, on {cores}
cores ({machine}). The load of the machine was {load} before it and {load_after} at its end. Beyond
the number of cores, what waits for several others (tmux, a watch, many at once) slows more than
`py` does.

How to read it:

- *median* is the middle one of so many *samples*. With twenty or more of them, *p95* is the time
  that one in twenty exceeds; with fewer there is none.
- *ratio* says how many times as long it takes as something else that was measured in the same
  minute. `10 py` is ten times as long as `python -c pass`; `3 tmux ls` is three times as long as
  that command. Milliseconds are of this machine, ratios hold on others, too.
- *at most* is the project's own limit, for the ratio, or for the value where there is no ratio. One
  that is broken says **above**, and the run fails. That of a list of a thousand sessions is 8
  `tmux ls` and 10 py, written as `tmux ls` of this run.
- The 100 ms that an agent takes to exit are subtracted from a stop; nothing can save them. They are
  not subtracted from `kill-session`, which does not wait for them.
- Contenders take turns, each on its own sessions. No real agent is played here; how long stops of
  those take is in [real-agents.md](real-agents.md).

{who}
| what | who | samples | median | p95 | ratio | at most |
|---|---|---|---|---|---|---|
"""
WHO = {
    "script of the same libraries": """an afternoon's work with typer, libtmux, psutil and
  PyYAML. It kills by name, trusts tmux and rewrites the whole registry
  ([naive.py](../../scripts/benchmark/naive.py)).""",
    "shell loop": """`send-keys`, a check every 0.1 s, `kill-session`. It proves and records
  nothing.""",
    "floor": """the minimum that Python must do, without lock, proof or check
  ([floor.py](../../scripts/benchmark/floor.py)).""",
    "hcom": """signals the process, closes the pane and answers `sent`; it waits for no death and
  keeps no registry.""",
}
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
How cost grows with the work:

![cost against the number of sessions or rows](../pictures/cost.svg)
"""


def page(lines: Sequence[Line], about: Mapping[str, str]) -> str:
    there = {line.who.split(" ")[0] for line in lines} | {line.who for line in lines}
    who = "".join(f"- *{name}*: {text}\n" for name, text in WHO.items() if name in there)
    head = HEAD.format(date=measured.date(), who=who, **about)
    return head + "".join(map(_row, lines)) + where(lines) + TAIL


def number(value: float | None) -> str:
    """Return a number with at least two digits that count."""
    if value is None:
        return ""
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def ratio_of(line: Line) -> str:
    return "" if line.ratio is None else f"{number(line.ratio)} {line.unit}"


def where(lines: Sequence[Line]) -> str:
    """Return how a stop spends its time: the cost of each part beyond the one above it."""
    found = {(line.what, line.who): line.value for line in lines}
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
    value = f"{number(line.value)} {line.measure}".rstrip()
    p95 = "" if line.p95 is None else f"{line.p95:.1f}"
    cells = (line.what, line.who, str(line.samples), value, p95, ratio_of(line), _limit(line))
    return f"| {' | '.join(cells)} |\n"


def _limit(line: Line) -> str:
    if line.kept is None:
        return ""
    measure = line.measure if line.ratio is None else ""
    limit = f"{line.limit:.3g} {measure}".rstrip()
    return limit if line.kept else f"{limit} **above**"

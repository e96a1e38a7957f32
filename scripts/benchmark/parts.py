"""The parts of the benchmark, in their order; each yields lines of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmark import hosts, more
from benchmark.cases import Case, Line

PARTS: dict[str, Callable[[Case], Iterator[Line]]] = {
    "start-up": Case.start_up,
    "stop": Case.stop_one,
    "kill": Case.kill_one,
    "many": Case.stop_many,
    "list": Case.listed,
    "change": Case.one_among_many,
    "writers": Case.hundred_writers,
    "watch": Case.watched,
    "foreign": more.foreign,
    "cold": more.cold_list,
    "ten-thousand": more.ten_thousand,
    "deaths": more.deaths,
    "wait": more.waiting,
    "restart": more.restarting,
    "hosts": hosts.lines,
    "tests": more.test_command,
}
LONG = {"deaths", "tests"}  # left out of a quick run

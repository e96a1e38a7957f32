"""How the benchmark processes its figures. Only `./scripts/bench` measures them, never a test."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from benchmark.__main__ import told
from benchmark.cases import Line
from benchmark.page import page, where
from benchmark.plot import plotted
from benchmark.timing import Samples, in_turns

ABOUT = {"python": "3.11", "tmux": "tmux 3.3a", "machine": "x86_64", "cores": "2", "load": "1"}


def test_the_agent_s_exit_time_is_subtracted() -> None:
    samples = Samples([0.3, 0.2, 0.4], less=0.1)
    assert (round(samples.median, 3), round(samples.p95, 3)) == (0.2, 0.3)
    assert Samples([0.05], less=0.1).median == 0.0


def test_contenders_take_turns_and_none_is_always_first() -> None:
    order: list[str] = []
    in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert "".join(order) == "abbaab"


@pytest.mark.parametrize(
    ("ratio", "kept", "said"), [(10.0, True, "(at most 11)"), (12.0, False, "ABOVE 11")]
)
def test_a_limit_is_reported_as_kept_or_not(ratio: float, kept: bool, said: str) -> None:
    line = Line("stop one", "tmuxreap", 80.0, 90.0, ratio, "py", 11.0)
    assert line.kept is kept
    assert said in told(line)
    assert ("11 **above**" in page([line], ABOUT)) is not kept


def test_the_page_has_a_row_for_each_line() -> None:
    lines = [
        Line("tmux ls", "", 2.0, 3.0, 0.2),
        Line("1 sessions", "peak memory (MB)", 20.0, 20.0, None, ""),
    ]
    rows = [row for row in page(lines, ABOUT).splitlines() if row.startswith("| ")][1:]
    assert rows == [
        "| tmux ls |  | 2.0 | 3.0 | 0.2 py |  |",
        "| 1 sessions | peak memory (MB) | 20.0 | 20.0 |  |  |",
    ]


def test_the_plot_rises_with_the_work() -> None:
    tree = ElementTree.fromstring(
        plotted({"list": [(1, 0.05), (100, 0.07), (1000, 0.15)], "stop": [(1, 0.1)]})
    )
    line = next(each for each in tree.iter() if each.tag.endswith("polyline"))
    places = [tuple(map(float, place.split(","))) for place in line.attrib["points"].split()]
    assert places == sorted(places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_each_part_of_a_stop_is_what_it_costs_more_than_the_one_before() -> None:
    parts = [
        Line("python -c pass", "", 10.0, 10.0, 1.0),
        Line("of these: all that stop loads", "", 50.0, 50.0, 5.0),
        Line("stop one, agent takes 100 ms", "tmuxreap --dry-run", 70.0, 70.0, 7.0),
        Line("stop one, agent takes 100 ms", "tmuxreap", 85.0, 90.0, 8.5),
    ]
    told = [row.split(" | ")[1:] for row in where(parts).splitlines()[6:]]
    assert [(float(ms), float(py.rstrip(" |"))) for ms, py in told] == [
        (10.0, 1.0),
        (40.0, 4.0),
        (20.0, 2.0),
        (15.0, 1.5),
    ]
    assert where(parts[1:]) == ""


def test_preparation_before_a_turn_is_not_timed() -> None:
    order: list[str] = []
    ways = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    in_turns(ways, 2, before={"b": lambda: order.append("-")})
    assert "".join(order) == "a-b-ba"

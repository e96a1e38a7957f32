"""How the benchmark processes its figures. Only `./scripts/bench` measures them, never a test."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from benchmark.__main__ import arguments, ended, told
from benchmark.cases import Case, Line, line_of
from benchmark.page import WHO, page, where
from benchmark.parts import LONG, PARTS
from benchmark.plot import plotted
from benchmark.timing import ENOUGH, Samples, in_turns

ABOUT = {
    "version": "1.2.3",
    "commit": "abc",
    "python": "3.11",
    "tmux": "tmux 3.3a",
    "machine": "x86_64",
    "cores": "2",
    "load": "1",
    "load_after": "2",
    "minutes": "9",
}


def rows_of(told: str) -> list[str]:
    return [row for row in told.splitlines() if row.startswith("| ")][1:]


def test_the_agents_exit_time_is_subtracted() -> None:
    samples = Samples([0.3, 0.2, 0.4] * ENOUGH, less=0.1)
    assert samples.p95 is not None
    assert (round(samples.median, 3), round(samples.p95, 3)) == (0.2, 0.3)


def test_a_time_below_the_subtracted_one_is_negative() -> None:
    assert round(Samples([0.05], less=0.1).median, 3) == -0.05


@pytest.mark.parametrize("count", [1, 3, 9, ENOUGH - 1])
def test_a_few_samples_have_no_95th_percentile(count: int) -> None:
    found = line_of("stop", "tmuxreap", Samples([0.1] * count))
    assert found.p95 is None
    assert found.samples == count
    assert f"| {count} | 100 ms |  |" in page([found], ABOUT)


def test_one_slow_sample_of_forty_is_no_percentile() -> None:
    seconds = [0.1] * 39 + [5.0]
    assert Samples(seconds).p95 == pytest.approx(0.1)


def test_contenders_take_turns_and_none_is_always_first() -> None:
    order: list[str] = []
    in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert "".join(order) == "abbaab"


@pytest.mark.parametrize(
    ("ratio", "kept", "said"), [(10.0, True, "(at most 11)"), (12.0, False, "ABOVE 11")]
)
def test_a_limit_is_reported_as_kept_or_not(ratio: float, kept: bool, said: str) -> None:
    line = Line("stop one", "tmuxreap", 80.0, ratio=ratio, unit="py", limit=11.0)
    assert line.kept is kept
    assert said in told(line)
    assert ("11 **above**" in page([line], ABOUT)) is not kept


def test_without_a_ratio_the_limit_is_that_of_the_value() -> None:
    line = Line("watch", "memory", 61.0, "MB", limit=60.0)
    assert line.kept is False
    assert "| 60 MB **above** |" in page([line], ABOUT)
    assert Line("writers", "lost changes", 0, "", limit=0.0).kept is True


def test_a_broken_limit_is_named_and_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    kept = Line("stop one", "tmuxreap", 80.0, ratio=10.0, unit="py", limit=11.0)
    broken = Line("list", "tmuxreap", 80.0, ratio=12.0, unit="py", limit=11.0)
    assert ended([kept], ABOUT, sys.stdout) == 0
    assert capsys.readouterr().out.endswith("\n0 above the limit\n")
    assert ended([kept, broken], ABOUT, sys.stdout) == 1
    said = capsys.readouterr().out
    assert "stop one" not in said
    assert said.endswith("ABOVE 11\n1 above the limit\n")


def test_the_page_has_a_row_for_each_line() -> None:
    lines = [
        Line("tmux ls", "", 2.0, "ms", 25, 3.0, 0.214, "py"),
        Line("1 sessions", "peak memory", 20.25, "MB"),
    ]
    assert rows_of(page(lines, ABOUT)) == [
        "| tmux ls |  | 25 | 2 ms | 3.0 | 0.21 py |  |",
        "| 1 sessions | peak memory | 1 | 20.2 MB |  |  |  |",
    ]


@pytest.mark.parametrize("who", WHO)
def test_the_page_describes_only_contenders_that_have_a_row(who: str) -> None:
    assert f"*{who}*" not in page([Line("kill one", "tmuxreap", 80.0)], ABOUT)
    version = f"{who} 0.7.31" if who == "hcom" else who
    assert f"*{who}*" in page([Line("kill one", version, 80.0)], ABOUT)


@pytest.mark.parametrize("load", ["3.5", "77.0"])
def test_the_page_says_load_and_commit(load: str) -> None:
    said = page([], {**ABOUT, "load": load, "commit": "f00d"})
    assert f"load of the machine was {load} before" in said
    assert "f00d" in said


def test_a_quick_run_leaves_out_parts_that_exist() -> None:
    assert set(PARTS) > LONG
    assert all(callable(part) for part in PARTS.values())
    assert PARTS["start-up"] is Case.start_up


def test_the_plot_rises_with_the_work() -> None:
    tree = ElementTree.fromstring(
        plotted({"list": [(1, 0.05), (100, 0.07), (1000, 0.15)], "stop": [(1, 0.1)]})
    )
    line = next(each for each in tree.iter() if each.tag.endswith("polyline"))
    places = [tuple(map(float, place.split(","))) for place in line.attrib["points"].split()]
    assert places == sorted(places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_each_part_of_a_stop_costs_what_it_adds_to_the_one_before() -> None:
    parts = [
        Line("python -c pass", "", 10.0),
        Line("of these: all that stop loads", "", 50.0),
        Line("stop one, agent takes 100 ms", "tmuxreap --dry-run", 70.0),
        Line("stop one, agent takes 100 ms", "tmuxreap", 85.0),
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


def test_a_page_is_written_below_the_folder_of_the_caller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.setenv("CALLED_FROM", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["bench", "--page", "docs/figures.md"])
    assert arguments().page == tmp_path / "docs" / "figures.md"


def test_a_page_that_cannot_be_written_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CALLED_FROM", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["bench", "--page", "docs/figures.md"])
    with pytest.raises(SystemExit) as refused:
        arguments()
    assert refused.value.code == 2
    assert f"argument --page: there is no folder {tmp_path}/docs" in capsys.readouterr().err

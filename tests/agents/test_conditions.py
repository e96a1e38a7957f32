"""The conditions that are drawn for the cells of the real agents."""

from __future__ import annotations

from pathlib import Path

from tests.real_agents.chance import HEIGHTS, PLAIN, STARTED, WIDTHS, drawn
from tests.real_agents.jobs import Job, played


def test_a_seed_draws_the_same_conditions_again() -> None:
    assert drawn(7, "claude", "stop, idle") == drawn(7, "claude", "stop, idle")
    cells = [drawn(seed, "claude", "stop, idle") for seed in range(50)]
    assert len(set(cells)) > 40
    assert {one.width for one in cells} == set(WIDTHS)
    assert {one.height for one in cells} == set(HEIGHTS)


def test_a_prompt_looks_like_an_option_only_where_that_was_drawn() -> None:
    numbered = next(one for one in (drawn(seed, "a", "b") for seed in range(50)) if one.numbered)
    assert numbered.worded("half", 2) == "2. half"
    assert PLAIN.worded("half") == "half"


def test_a_cell_that_begins_in_a_way_of_its_own_keeps_its_beginning() -> None:
    some = [drawn(seed, "a", "b").of_any_cell for seed in range(50)]
    assert {(one.row, one.numbered, one.frozen_s) for one in some} == {(STARTED, False, 0.0)}
    assert len({one.width for one in some}) > 1


def test_an_agent_that_could_not_be_installed_costs_its_own_cells_only(tmp_path: Path) -> None:
    def never(_: object) -> str:
        raise AssertionError("it is played without its program")

    cells = list(played([Job("claude", "stop, idle", never)], tmp_path))
    assert [(cell.word, bool(cell.fault)) for cell in cells] == [("**not installed**", True)]

"""Which of two lives of a row is the newer, by what the ledger kept of them."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxreap.core.model import Row
from tmuxreap.registry.rows import read_row
from tmuxreap.registry.transitions import Remove, life_changes, life_of, newer_lives, with_life

ENDED = {"stopped_at": "2026-11-18T09:12:33Z", "stop_reason": "done", "termination_mode": "kill"}


def row(status: str, pid: int, **fields: Any) -> Row:
    inner = {"pid": pid, "cwd": "/x", **fields.pop("pane", {})}
    return read_row(0, {"name": "a", "status": status, "note": "theirs", "pane": inner, **fields})


RUNS, STOPPED = row("running", 7), row("stopped", 7, **ENDED)
AGAIN = row("running", 8)
LATER = row("stopped", 8, **{**ENDED, "stop_reason": "later"})


@pytest.mark.parametrize(
    ("shown", "lives", "before", "newest"),
    [
        (RUNS, [STOPPED], [], STOPPED),
        (RUNS, [STOPPED, AGAIN], [STOPPED], AGAIN),
        (STOPPED, [AGAIN], [STOPPED], AGAIN),
        (STOPPED, [STOPPED, AGAIN], [], AGAIN),
        (RUNS, [STOPPED, AGAIN, LATER], [], LATER),
        (STOPPED, [STOPPED, AGAIN, LATER], [], LATER),
        (STOPPED, [AGAIN, LATER], [STOPPED], LATER),
    ],
)
def test_a_row_that_shows_an_older_life_has_a_newer_one(
    shown: Row, lives: list[Row], before: list[Row], newest: Row
) -> None:
    found = newer_lives(shown, [*map(life_of, lives)], [*map(life_of, before)])
    assert found[0] == life_of(newest)


@pytest.mark.parametrize(
    ("shown", "lives"),
    [
        (RUNS, []),
        (RUNS, [RUNS]),
        (AGAIN, [STOPPED]),  # another hand began it
        (row("running", 7, tmux={"host": "there"}), [row("stopped", 7, tmux={"host": "here"})]),
        (row("running", 7, tmux={"boot_id": "b"}), [row("stopped", 7, tmux={"boot_id": "a"})]),
        (row("running", 7, pane={"start_ticks": 2}), [row("stopped", 7, pane={"start_ticks": 1})]),
        (
            row("running", 7, pane={"created_epoch": 99.0}),
            [row("stopped", 7, pane={"created_epoch": 5.0})],
        ),
        (row("running", 7, pane={"pid": None}), [STOPPED]),
        (LATER, [STOPPED, AGAIN, LATER]),
        (row("stopped", 8, **{**ENDED, "stop_reason": "by hand"}), [STOPPED, AGAIN, LATER]),
        (row("stopped", 7, **{**ENDED, "stop_reason": "other"}), [STOPPED, AGAIN]),
        (row("stopped", 7), [row("stopped", 7), RUNS]),  # an end without a time may be new
    ],
)
def test_a_row_that_the_ledger_does_not_know_as_older_stays(shown: Row, lives: list[Row]) -> None:
    assert newer_lives(shown, [*map(life_of, lives)], []) == []


def test_where_the_newest_session_is_gone_the_end_of_its_own_process_is_next() -> None:
    found = newer_lives(RUNS, [*map(life_of, [STOPPED, AGAIN])], [])
    assert found == [life_of(AGAIN), life_of(STOPPED)]


def test_only_differing_fields_of_tmuxreap_are_written() -> None:
    assert life_changes(RUNS, life_of(STOPPED)) == {
        ("status",): "stopped",
        **{(name,): value for name, value in ENDED.items()},
    }
    assert life_changes(STOPPED, life_of(AGAIN)) == {
        ("status",): "running",
        ("pane", "pid"): 8,
        **{(name,): Remove.KEY for name in ENDED},
    }
    assert life_changes(STOPPED, life_of(STOPPED)) == {}
    assert "note" not in life_of(RUNS)


def test_a_row_of_a_newer_life_keeps_all_its_other_fields() -> None:
    then = with_life(row("running", 7, note="new"), life_of(LATER))
    assert (then.status.value, then.pane.pid, then.stop_reason) == ("stopped", 8, "later")
    assert then.data["note"] == "new"
    assert with_life(STOPPED, life_of(AGAIN)).stop_reason is None

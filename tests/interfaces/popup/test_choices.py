"""The popup's order, filter and folding, and what is saved of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.text.test_report import SHOP
from tmuxreap.core.model import AgentState, Status
from tmuxreap.core.values import replace
from tmuxreap.interfaces.popup.view import (
    FILE,
    SORTS,
    Choices,
    arranged,
    choices_path,
    load_choices,
    matches,
    save_choices,
)


def one(name: str, state: AgentState | None = None, **more: object) -> object:
    return replace(SHOP, name=name, state=state.value if state else None, drift=None, **more)  # type: ignore[arg-type]


SEEN = [
    one("a-idle", AgentState.IDLE, idle_s=9, memory_mb=5.0, agent="gemini"),
    one("b-working", AgentState.WORKING, memory_mb=9.0, agent="claude"),
    one("c-waits", AgentState.WAITING, agent="codex", tags=("Night",)),
    one("d-ended", status=Status.STOPPED),
]


def names(choices: Choices, *kept: str) -> list[str]:
    return [row.name for row in arranged(SEEN, choices, kept)]  # type: ignore[arg-type]


def test_waiting_sessions_come_first_and_ended_ones_are_folded() -> None:
    assert names(Choices()) == ["c-waits", "a-idle", "b-working"]
    assert names(Choices(ended=True))[-1] == "d-ended"
    assert names(Choices(), "d-ended")[-1] == "d-ended"


def test_each_sort_order_can_be_selected_in_turn() -> None:
    choices, seen = Choices(), []
    for _ in SORTS:
        choices = choices.next_sort()
        seen.append(choices.sort)
    assert sorted(seen) == sorted(SORTS)
    assert seen[-1] == "attention"
    assert names(Choices("idle"))[0] == "a-idle"
    assert names(Choices("memory"))[0] == "b-working"
    assert [name[0] for name in names(Choices("agent"))] == ["b", "c", "a"]


def test_a_filter_finds_names_tags_agents_and_states_of_ended_sessions_too() -> None:
    assert names(Choices(only="NIGHT")) == ["c-waits"]
    assert names(Choices(only="working clau")) == ["b-working"]
    assert names(Choices(only="ended")) == ["d-ended"]
    assert names(Choices(only="nothing like it")) == []
    assert matches(SEEN[0], "")  # type: ignore[arg-type]


def test_the_sort_order_is_remembered_and_the_filter_is_not(tmp_path: Path) -> None:
    path = choices_path({"XDG_STATE_HOME": str(tmp_path)}, None)
    assert path == tmp_path / FILE
    save_choices(path, Choices("memory", True, "x"))
    assert load_choices(path) == Choices("memory", True)
    assert choices_path({}, tmp_path) == tmp_path / ".local" / "state" / FILE
    assert choices_path({"XDG_STATE_HOME": "relative"}, None) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"sort": "nosuch"}', '{"sort": []}', "\xff"])
def test_a_file_that_is_not_understood_is_ignored(tmp_path: Path, text: str) -> None:
    path = tmp_path / "popup.json"
    path.write_text(text)
    assert load_choices(path) == Choices()
    assert load_choices(None) == Choices()


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "tmuxreap").write_text("a file in the way")
    save_choices(tmp_path / FILE, Choices("name"))
    save_choices(None, Choices())

"""`list`: the rows, selected and sorted."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.commands.list import SORT_KEYS, ListRequest, run, states_of
from tmuxreap.core.errors import Exit, Failure


def names(story: Story, **request: object) -> list[object]:
    return [item.as_json()["name"] for item in run(story.app(), ListRequest(**request)).results]  # type: ignore[arg-type]


@pytest.fixture
def rows(story: Story) -> Story:
    for name in ("b", "c", "a"):
        story.agent(name)
    story.stop("c")
    return story


def test_rows_are_listed_in_file_order_or_sorted_by_a_key(rows: Story) -> None:
    assert names(rows) == ["b", "c", "a"]
    assert names(rows, sort="name") == ["a", "b", "c"]
    assert names(rows, sort="status") == ["a", "b", "c"]
    assert all(sorted(names(rows, sort=key)) == ["a", "b", "c"] for key in SORT_KEYS)  # type: ignore[type-var]


def test_status_and_live_filters_select_rows(rows: Story) -> None:
    assert names(rows, status="stopped") == ["c"]
    assert names(rows, live=True) == ["b", "a"]
    assert names(rows, targets=("a", "nobody")) == ["a", "nobody"]


def test_a_shell_that_its_agent_has_left_is_no_live_session(rows: Story) -> None:
    agent = rows.agent("d", shell=True)
    assert names(rows, live=True) == ["b", "a", "d"]
    assert agent.shell is not None
    rows.processes.put_in_front(agent.shell)
    rows.processes.die(agent.process)
    assert names(rows, live=True) == ["b", "a"]
    told = {
        one.as_json()["name"]: one.as_json()["drift"]
        for one in run(rows.app(), ListRequest()).results
    }
    assert told == {"b": None, "c": None, "a": None, "d": "agent_gone"}


@pytest.mark.parametrize("request_", [{"sort": "size"}, {"status": "archived"}])
def test_a_word_that_means_nothing_is_refused(rows: Story, request_: dict[str, str]) -> None:
    with pytest.raises(Failure, match="unknown value") as caught:
        names(rows, **request_)
    assert caught.value.hint.startswith("use one of: ")


def test_only_an_empty_answer_to_a_filter_names_list_all(rows: Story) -> None:
    assert run(rows.app(), ListRequest(status="terminated")).greeting is not None
    rows.path.write_text("tmux_sessions: []\n")
    assert run(rows.app(), ListRequest()).greeting is None


def test_a_server_that_cannot_be_asked_is_named_once(rows: Story) -> None:
    rows.tmux.hung.add(rows.SOCKET)
    result = run(rows.app(), ListRequest())
    assert {item.as_json()["live"] for item in result.results} == {"unknown"}
    assert result.failure is not None
    assert result.failure.message.startswith(f"could not ask the server at {rows.SOCKET}: ")
    assert (result.exit, result.warnings) == (Exit.TMUX, ())
    rows.tmux.hung.clear()
    assert run(rows.app(), ListRequest()).exit is Exit.OK


def test_rows_that_cannot_be_used_are_not_called_no_sessions(story: Story) -> None:
    story.path.write_text("tmux_sessions: [{name: a, status: odd}]\n")
    listed = run(story.app(), ListRequest())
    assert listed.greeting is not None
    assert "can be used" in listed.greeting
    assert "'odd' is not one of" in listed.warnings[0]


def listed(story: Story, *states: str, sort: str | None = None) -> list[str]:
    result = run(story.app(), ListRequest(states=states, sort=sort))
    return [str(one.as_json()["name"]) for one in result.results]


def test_a_list_can_be_limited_to_states_and_sorted_by_them(story: Story) -> None:
    for name, state in (("a", "idle"), ("b", "busy"), ("c", "dialog")):
        story.agent(name, state=state)
    story.agent("d")
    story.stop("d")
    assert listed(story, "waiting", "working") == ["b", "c"]
    assert listed(story, "limited") == []
    assert listed(story, sort="state") == ["c", "a", "b", "d"]
    with pytest.raises(Failure, match="unknown value 'busy'") as caught:
        listed(story, "busy")
    assert "waiting" in caught.value.hint


def test_states_are_given_one_by_one_or_with_commas() -> None:
    assert states_of(["waiting, limited", "idle", "idle"]) == ("waiting", "limited", "idle")
    assert states_of([]) == ()
    assert states_of([""]) == ("",)

"""`stop` and `kill`: questions, required --yes, and names without a row."""

from __future__ import annotations

from signal import SIGHUP, SIGTERM

import pytest

from tests.ending.test_plan import KILL, STOP
from tests.fakes import DEMO, Story
from tmuxreap.commands import start
from tmuxreap.commands.start import StartRequest
from tmuxreap.commands.stop import EndRequest, is_inside, run
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace

PURGE = replace(STOP, purge=True)


def outcomes(result: Result) -> list[object]:
    return [item.as_json()["outcome"] for item in result.results]


def test_without_a_target_nothing_is_guessed(story: Story) -> None:
    with pytest.raises(Failure, match="none was named") as caught:
        run(story.app(), EndRequest((), STOP))
    assert caught.value.code.text == "usage"


def test_a_purge_without_a_terminal_needs_a_yes(story: Story) -> None:
    agent = story.agent()
    with pytest.raises(Failure, match="that deletes permanently") as caught:
        run(story.app(), EndRequest(("acme",), PURGE))
    assert caught.value.hint == "look at the plan with --dry-run, then add --yes"
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize("agreed", [True, False])
def test_a_person_is_asked_once_with_the_plan_before_all_are_ended(
    story: Story, agreed: bool
) -> None:
    story.agent("a")
    story.agent("b")
    asked: list[list[object]] = []

    def ask(plan: Result) -> bool:
        asked.append(outcomes(plan))
        return agreed

    result = run(story.app(), EndRequest(("all",), STOP, ask=ask))
    assert asked == [["planned", "planned"]]
    assert outcomes(result) == (["stopped", "stopped"] if agreed else [])
    assert (result.failure is None) is agreed
    assert int(result.exit) == (0 if agreed else 1)
    if result.failure is not None:
        assert result.failure.code is Code.DECLINED
        assert result.failure.message == "could not stop: the answer was no; nothing was done"


@pytest.mark.parametrize("target", ["zzz*", "tag:none", "agent:demo", "all"])
def test_stop_asks_nothing_when_nothing_would_end(story: Story, target: str) -> None:
    request = EndRequest((target,), STOP, ask=lambda plan: pytest.fail("there is nothing to ask"))
    result = run(story.app(), request)
    assert int(result.exit) == (0 if target == "all" else 3)


@pytest.mark.parametrize("at_terminal", [True, False])
def test_a_person_with_nothing_to_stop_learns_where_agents_run(
    story: Story, at_terminal: bool
) -> None:
    stray = story.tmux.open(story.SOCKET, "stray", *DEMO).panes[0].process
    ask = (lambda plan: True) if at_terminal else None
    result = run(story.app(), EndRequest(("all",), STOP, ask=ask))
    nothing = f"nothing to stop in {story.path}"
    others = f"; agents run that are not registered; 1 on {story.SOCKET}: tmuxreap adopt --all"
    assert result.greeting == (nothing + others if at_terminal else None)
    assert int(result.exit) == 0
    assert story.processes.alive(stray)


def test_a_named_session_is_stopped_without_a_question(story: Story) -> None:
    story.agent()
    request = EndRequest(("acme",), STOP, ask=lambda plan: pytest.fail("nobody needed to be asked"))
    assert outcomes(run(story.app(), request)) == ["stopped"]


def test_an_agent_must_say_yes_to_end_all(story: Story) -> None:
    agent = story.agent()
    inside = story.processes.add("sh", parent=agent.process)
    assert is_inside(story.app(inside.pid))
    assert not is_inside(story.app())
    result = run(story.app(inside.pid), EndRequest(("all",), STOP))
    assert result.failure is not None
    assert (result.failure.code.text, outcomes(result)) == ("usage", ["refused"])
    assert story.processes.alive(agent.process)


def test_a_name_without_a_row_is_a_session_only_where_that_was_given(story: Story) -> None:
    story.agent()
    story.tmux.open(story.SOCKET, "stray", "vim")
    plain = run(story.app(), EndRequest(("stray",), KILL))
    assert [item.error.code for item in plain.results if item.error] == ["session_not_registered"]
    said = replace(KILL, unregistered=True)
    assert outcomes(run(story.app(), EndRequest(("stray",), said, dry_run=True))) == ["planned"]
    assert outcomes(run(story.app(), EndRequest(("stray",), said))) == ["killed"]
    neither = run(story.app(), EndRequest(("nobody",), said))
    assert int(neither.exit) == 3


@pytest.mark.parametrize("swapped", [False, True])
def test_a_session_that_has_the_pane_of_a_row_is_not_without_one(
    story: Story, swapped: bool
) -> None:
    """A person has renamed it, or swapped its pane: the row would run on without its agent."""
    agent = story.agent()
    if swapped:
        session = story.tmux.open(story.SOCKET, "work", "sleep", "600")
        story.tmux.swap(agent.pane, session.panes[0])
    else:
        story.tmux.servers[story.SOCKET].sessions[0].name = "work"
    named = run(story.app(), EndRequest(("work",), KILL)).results[0].error
    assert named is not None
    assert "it has acme in it" in named.message
    assert "tmuxreap show acme" in named.hint
    said = replace(KILL, unregistered=True)
    for dry_run in (True, False):
        (item,) = run(story.app(), EndRequest(("work",), said, dry_run=dry_run)).results
        assert item.error is not None
        assert item.error.code == "registered_elsewhere"
        assert "tmuxreap kill acme" in item.error.hint
    wish = StartRequest("work", "demo", cwd="/", confirm_s=0.1, replace=True)
    with pytest.raises(Failure, match="it is the running session acme") as refused:
        start.run(story.app(), wish)
    assert refused.value.code.text == "registered_elsewhere"
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize("stale", [{"tmux": {"boot_id": "before"}}, {"pane": {"id": "%99"}}])
def test_a_row_whose_number_came_again_is_in_no_session(
    story: Story, stale: dict[str, dict[str, str]]
) -> None:
    """The machine was restarted, or tmux was: the row means a pane of before that."""
    leader = story.tmux.open(story.SOCKET, "work", "sleep", "600").panes[0].process
    row = {"name": "old", "status": "running", **stale}
    story.add_row({**row, "pane": {**stale.get("pane", {}), "pid": leader.pid}})
    said = replace(KILL, unregistered=True)
    assert outcomes(run(story.app(), EndRequest(("work",), said))) == ["killed"]
    assert not story.processes.alive(leader)


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_name_without_row_and_session_is_unknown_even_without_a_server(
    dry_run: bool, story: Story
) -> None:
    (item,) = story.stop("nobody", unregistered=True, dry_run=dry_run).results
    assert item.as_json()["error"]["code"] == "session_not_registered"


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_name_without_row_is_not_judged_where_tmux_does_not_answer(
    dry_run: bool, story: Story
) -> None:
    story.tmux.hung.add(story.SOCKET)
    (item,) = story.stop("nobody", unregistered=True, dry_run=dry_run).results
    assert item.as_json()["error"]["code"] == "tmux_unreachable"


def test_a_survivor_of_an_unknown_agent_is_ended_as_the_agent(story: Story) -> None:
    """Other tools record the pid of the pane without its start: the ledger has both by then."""
    (pane,) = story.tmux.open(story.SOCKET, "odd", "odd-one", ignores={SIGHUP, SIGTERM}).panes
    story.add_row({"name": "odd", "status": "running", "pane": {"pid": pane.process.pid}})
    assert outcomes(story.stop("odd", force=False)) == ["survived"]
    (item,) = story.kill("odd").results
    told = item.as_json()
    assert (told["outcome"], told["stopped_by"], told["swept"]) == ("killed", "sigkill", [])


@pytest.mark.parametrize("answer", [True, False])
def test_a_purge_without_a_registry_is_asked_first(story: Story, answer: bool) -> None:
    story.tmux.open(story.SOCKET, "stray", "vim")
    story.path.unlink()
    said = replace(KILL, unregistered=True, purge=True)
    asked: list[object] = []

    def ask(plan: object) -> bool:
        asked.append(plan)
        return answer

    result = run(story.app(), EndRequest(("stray",), said, ask=ask))
    assert len(asked) == 1
    declined = result.failure is not None and result.failure.code.text == "declined"
    assert declined is not answer

"""A user works in the session while it is being ended: panes that appear after the plan are never
ended unasked."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGHUP, SIGTERM

import pytest

from tests.fakes import DEMO, FakePane, Story
from tmuxreap.core.model import ProcessId, Scope
from tmuxreap.core.results import Result

DEAF = {"leaves": False, "ignores": {SIGHUP, SIGTERM}}
CAME = ("stopped", "pane")


def session_of(story: Story, name: str = "acme") -> object:
    return next(one for one in story.tmux.servers[story.SOCKET].sessions if one.name == name)


def told(result: Result) -> dict[str, object]:
    (item,) = result.results
    return item.as_json()


def code(result: Result) -> object:
    error = told(result)["error"]
    return error["code"] if isinstance(error, dict) else None


def warned(result: Result) -> bool:
    warnings = told(result)["warnings"]
    assert isinstance(warnings, list)
    return any(str(one).startswith("foreign_panes:") for one in warnings)


def split(story: Story, comm: str = "vim", *, window: bool = False) -> FakePane:
    return story.tmux.split(story.SOCKET, session_of(story), comm, window=window)  # type: ignore[arg-type]


def later(story: Story, seconds: float, deed: Callable[[], object]) -> list[object]:
    done: list[object] = []
    story.processes.after(seconds, lambda: done.append(deed()))
    return done


def lives(story: Story, pane: object) -> bool:
    assert isinstance(pane, FakePane)
    return story.processes.alive(pane.process)


def work(story: Story, theirs: list[ProcessId]) -> None:
    """Open a pane with a program and a child outside its terminal."""
    pane = split(story)
    theirs += [pane.process, story.processes.add("node", parent=pane.process, new_session=True)]


# Panes that appear during an ending


@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.SESSION])
def test_a_pane_split_during_the_exit_is_kept(story: Story, scope: Scope, window: bool) -> None:
    agent = story.agent(exit_delay_s=1.0)
    came = later(story, 0.5, lambda: split(story, window=window))
    result = story.stop(scope=scope)
    assert (told(result)["outcome"], story.row()["scope"]) == CAME
    assert (int(result.exit), warned(result)) == (0, True)
    assert lives(story, came[0])
    assert not story.processes.alive(agent.process)
    assert story.signals_to(came[0].process) == []  # type: ignore[attr-defined]
    assert told(story.stop())["outcome"] == "already_stopped"


def test_leftovers_of_the_agent_are_swept_and_those_of_a_newcomer_are_not(
    story: Story,
) -> None:
    agent = story.agent(exit_delay_s=1.0)
    helper = story.processes.add("npm", parent=agent.process, new_session=True)
    theirs: list[ProcessId] = []
    came = later(story, 0.5, lambda: work(story, theirs))
    result = story.stop()
    assert told(result)["outcome"] == "stopped"
    assert not story.processes.alive(helper)
    assert all(map(story.processes.alive, theirs))
    assert came


def test_a_daemon_of_an_exited_newcomer_lives_too(story: Story) -> None:
    story.agent(exit_delay_s=1.0, shell=True)
    theirs: list[ProcessId] = []
    later(story, 0.5, lambda: work(story, theirs))
    story.processes.after(0.8, lambda: story.processes.die(theirs[0]))
    story.stop()
    assert story.processes.alive(theirs[1])


def test_an_idle_shell_that_came_goes_with_the_session(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    came = later(story, 0.5, lambda: split(story, "bash"))
    result = story.stop()
    assert (told(result)["outcome"], story.row().get("scope"), warned(result)) == (
        "stopped",
        None,
        False,
    )
    assert not lives(story, came[0])


@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.SESSION])
def test_a_stop_that_ended_nothing_yet_is_refused(story: Story, scope: Scope) -> None:
    agent = story.agent(**DEAF)  # type: ignore[arg-type]
    came = later(story, 1.0, lambda: split(story))
    before = story.path.read_bytes()
    result = story.stop(scope=scope)
    assert (told(result)["outcome"], code(result), int(result.exit)) == (
        "refused",
        "foreign_panes",
        1,
    )
    assert story.path.read_bytes() == before
    assert (lives(story, came[0]), story.processes.alive(agent.process)) == (True, True)
    assert story.signals_to(agent.process) == []
    assert agent.pane.options == {}
    assert story.app().books.open_intents() == {}


def test_a_kill_that_has_begun_continues(story: Story) -> None:
    agent = story.agent(ignores={SIGTERM})
    came = later(story, 1.0, lambda: split(story))
    result = story.kill()
    assert (told(result)["outcome"], story.row()["scope"], warned(result)) == (
        "killed",
        "pane",
        True,
    )
    assert lives(story, came[0])
    assert not story.processes.alive(agent.process)


def test_a_pane_that_came_during_the_turn_is_refused(story: Story) -> None:
    agent = story.agent(state="busy")
    came = later(story, 30.0, lambda: split(story))
    result = story.stop(after_turn_s=60.0)
    assert (told(result)["outcome"], code(result)) == ("refused", "foreign_panes")
    assert agent.heard == []
    assert lives(story, came[0])


def test_a_stop_of_the_pane_alone_ignores_newcomers(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    came = later(story, 0.5, lambda: split(story))
    result = story.stop(scope=Scope.PANE)
    assert (told(result)["outcome"], story.row()["scope"], warned(result)) == (
        "stopped",
        "pane",
        False,
    )
    assert lives(story, came[0])


def test_a_command_started_in_an_idle_shell_protects_its_pane(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    pane = split(story, "bash")
    story.processes.after(
        0.5, lambda: story.processes.add("vim", parent=pane.process, foreground=True) and None
    )
    result = story.stop()
    assert (told(result)["outcome"], warned(result)) == ("stopped", True)
    assert lives(story, pane)


def test_a_prompt_that_draws_itself_does_not_count_as_work(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    pane = split(story, "bash")
    story.processes.after(0.5, lambda: story.processes.add("git", parent=pane.process) and None)
    result = story.stop()
    assert (told(result)["outcome"], warned(result)) == ("stopped", False)
    assert not lives(story, pane)


def test_a_pane_respawned_with_work_lives(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    pane = split(story, "bash")
    story.processes.after(0.5, lambda: story.tmux.respawn(pane, "vim") and None)
    result = story.stop(scope=Scope.SESSION)
    assert (told(result)["outcome"], warned(result)) == ("stopped", True)
    assert lives(story, pane)


@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.PANE])
def test_a_pane_that_is_left_is_not_taken_for_the_agents_own(story: Story, scope: Scope) -> None:
    agent = story.agent()
    pane = split(story)
    story.processes.die(agent.process)
    result = story.stop(scope=scope)
    expected = ("refused", "foreign_panes") if scope is Scope.AGENT else ("stopped", None)
    assert (told(result)["outcome"], code(result)) == expected
    assert lives(story, pane)


# Panes moved between sessions


def neighbour(story: Story) -> FakePane:
    return story.tmux.open(story.SOCKET, "theirs", "vim").panes[0]


def test_a_neighbours_pane_that_was_joined_lives(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    pane = neighbour(story)
    story.processes.after(0.5, lambda: story.tmux.join(pane, session_of(story)))  # type: ignore[arg-type]
    result = story.stop()
    assert (told(result)["outcome"], story.row()["scope"]) == CAME
    assert lives(story, pane)
    assert story.signals_to(pane.process) == []


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_the_agents_pane_is_not_followed(story: Story, verb: str) -> None:
    agent, pane = story.agent(**DEAF), neighbour(story)  # type: ignore[arg-type]
    story.processes.after(1.0, lambda: story.tmux.swap(agent.pane, pane))
    result = getattr(story, verb)()
    assert code(result) == "session_replaced"
    assert told(result)["outcome"] == ("refused" if verb == "stop" else "survived")
    assert story.row()["status"] == "running"
    assert lives(story, pane)
    assert story.processes.alive(agent.process)


def test_a_window_that_was_moved_away_is_not_followed(story: Story) -> None:
    agent, pane = story.agent(**DEAF), neighbour(story)  # type: ignore[arg-type]
    theirs = session_of(story, "theirs")
    story.processes.after(1.0, lambda: story.tmux.join(agent.pane, theirs))  # type: ignore[arg-type]
    result = story.stop()
    assert (told(result)["outcome"], code(result)) == ("refused", "session_replaced")
    assert lives(story, pane)
    assert story.processes.alive(agent.process)


def test_a_sibling_that_left_takes_its_processes_along(story: Story) -> None:
    story.agent(exit_delay_s=1.0)
    pane = split(story, "bash")
    neighbour(story)
    theirs = session_of(story, "theirs")
    story.processes.after(0.5, lambda: story.tmux.join(pane, theirs))  # type: ignore[arg-type]
    daemon = story.processes.add("node", parent=pane.process, new_session=True)
    result = story.stop(scope=Scope.SESSION)
    assert (told(result)["outcome"], story.row().get("scope")) == ("stopped", None)
    assert lives(story, pane)
    assert story.processes.alive(daemon)


def test_only_judged_panes_are_closed(story: Story) -> None:
    """A user splits between the look and the closing: only the judged panes are closed."""
    story.agent()
    came: list[FakePane] = []
    run = story.tmux.run

    def running(socket: str, commands: list[list[str]]) -> bool:
        if not came and any("kill-session" in word for command in commands for word in command):
            came.append(split(story))
        return run(socket, commands)

    story.tmux.run = running  # type: ignore[method-assign,assignment]
    result = story.stop()
    assert (told(result)["outcome"], story.row()["scope"]) == CAME
    assert lives(story, came[0])


# Ownership of panes


def test_a_team_mate_is_no_stranger(story: Story) -> None:
    agent = story.agent()
    flag = ("--mate-of", str(story.row()["demo_conversation_id_own"]))
    mate = story.tmux.split(story.SOCKET, session_of(story), *DEMO, *flag)  # type: ignore[arg-type]
    result = story.stop()
    assert told(result)["outcome"] == "stopped"
    assert not lives(story, mate)
    assert not story.processes.alive(agent.process)


def test_the_team_mate_of_another_agent_is_a_stranger(story: Story) -> None:
    story.agent()
    mate = story.tmux.split(story.SOCKET, session_of(story), *DEMO, "--mate-of", "another")  # type: ignore[arg-type]
    assert code(story.stop()) == "foreign_panes"
    assert lives(story, mate)


# The agent's own pane changes its session during an ending


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("daemon", [False, True])
@pytest.mark.parametrize("marked", [False, True])
def test_a_child_is_ended_after_its_pane_was_swapped_away(
    story: Story, marked: bool, daemon: bool, again: bool
) -> None:
    """The pane in its environment is another session's by now, even with a new program in it."""
    agent = story.agent(exit_delay_s=2.0)
    if not marked:
        del story.processes.table[agent.process.pid].environ["TMUXREAP_ID"]
    child = story.processes.add(
        "node", parent=agent.process, new_session=daemon, ignores={SIGHUP, SIGTERM}
    )
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    bystander = quiet.panes[0].process
    later(story, 0.5, lambda: story.tmux.swap(agent.pane, quiet.panes[0]))
    if again:
        later(story, 2.0, lambda: story.tmux.respawn(agent.pane, "vim"))
    result = story.stop()
    assert told(result)["outcome"] == "stopped"
    assert not story.processes.alive(child)
    assert story.processes.alive(bystander)
    assert story.signals_to(bystander) == []

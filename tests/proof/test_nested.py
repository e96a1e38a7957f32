"""An agent that its pane only displays: in another tmux, behind its client."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story
from tmuxreap.proof.ownership import Belonging, Owned
from tmuxreap.proof.panes import nested_in


def test_a_nested_server_is_followed_only_where_its_client_is_in_front(story: Story) -> None:
    pane = story.tmux.open(story.SOCKET, "acme", "bash").panes[0]
    other = story.tmux.open(f"/tmp/tmux-{Story.UID}/inner", "inner", *DEMO).panes[0].process
    client = story.processes.add("tmux: client", parent=pane.process, foreground=True)
    app = story.app()
    world = app.observer.look([story.SOCKET, f"/tmp/tmux-{Story.UID}/inner"], 0)
    own, spared = world.index.processes[client.pid], world.index.processes[other.pid]
    owned = Owned((Belonging(own, "tree"),), (Belonging(spared, "server"),))
    nested = nested_in(owned, app.profiles.agents["demo"], world)
    assert nested is not None
    assert (nested.agent.id, nested.socket) == (other, f"/tmp/tmux-{Story.UID}/inner")
    assert nested_in(Owned((), owned.spared), app.profiles.agents["demo"], world) is None
    assert nested_in(Owned(owned.own, ()), app.profiles.agents["demo"], world) is None
    assert nested_in(owned, app.profiles.agents["claude"], world) is None


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_processes_of_a_nested_tmux_are_not_reported_as_ended(story: Story, verb: str) -> None:
    outer = story.agent(shell=True)
    story.processes.die(outer.process)
    assert outer.shell is not None
    other, marks = f"/tmp/tmux-{Story.UID}/inner", {"TMUXREAP_ID": "mark-of-acme"}
    agent = story.tmux.open(other, "inner", *DEMO, environ=marks).panes[0].process
    server = story.tmux.servers[other].process  # started in the pane, like everything with its mark
    story.processes.table[server.pid].environ = marks
    story.processes.add("tmux: client", parent=outer.shell, foreground=True)
    (item,) = getattr(story, verb)().results
    answer = item.as_json()
    assert (answer["outcome"], answer["error"]["code"]) == ("refused", "beyond_reach"), answer
    assert (story.row()["status"], story.processes.identify(agent.pid)) == ("running", agent)
    assert story.processes.signals == []

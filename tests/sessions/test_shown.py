"""What panes show: each server asked once, the answers in the order of the sights."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.sessions.look import look_at
from tmuxreap.sessions.shown import BANNER_OPTION, Shown, shown_in


def test_one_question_to_each_server_and_nothing_for_who_is_gone(story: Story) -> None:
    for name in ("one", "two", "gone"):
        story.agent(name)
    story.agents["one"].pane.screen = "first"
    story.agents["two"].pane.screen = "second"
    story.tmux.servers[story.SOCKET].sessions.pop()
    story.processes.die(story.agents["gone"].process)
    app = story.app()
    sights = [sight for sight, _ in look_at(app, app.registry.look().usable)]
    asked: list[int] = []
    ask = story.tmux.ask
    story.tmux.ask = lambda socket, questions, first=(): (  # type: ignore[method-assign]
        asked.append(len(questions)) or ask(socket, questions, first)
    )
    found = shown_in(story.tmux, sights, [[BANNER_OPTION], [], []])
    assert [one.text for one in found] == ["first", "second", None]
    assert found[0].options == {BANNER_OPTION: None}
    assert found[2] == Shown()
    assert asked == [7]
    assert "TMUXREAP_ID=mark-of-one" in (found[0].environment or "")

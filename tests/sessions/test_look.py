"""Rows compared with one look at the world."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story
from tmuxreap.core.model import Live
from tmuxreap.core.values import replace
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.sessions.look import BANNER_OPTION, PaneContents, read_panes


def test_each_row_is_answered_in_its_place(story: Story) -> None:
    for name in ("one", "two", "three"):
        story.agent(name)
    story.tmux.servers[story.SOCKET].sessions.pop(1)
    story.processes.die(story.agents["two"].process)
    app = story.app()
    sights = [sight for sight, _ in app.sights.with_pasts(app.registry.look().usable)]
    assert [sight.live for sight in sights] == [Live.ALIVE, Live.GONE, Live.ALIVE]
    assert [sight.session.name if sight.session else None for sight in sights] == [
        "one",
        None,
        "three",
    ]


def test_a_sight_carries_the_agent_that_no_row_names(story: Story) -> None:
    story.agent()
    text = (
        story.path.read_text()
        .replace('"agent": "demo", ', "")
        .replace("demo_conversation_id_own", "other")
    )
    story.path.write_text(text)
    app = story.app()
    (row,) = app.registry.look().usable
    assert app.agents.of(row) is None
    (for_output,) = app.sights.of([row], briefly=True)
    assert app.agents.of(row, for_output) is None
    ((sight, _),) = app.sights.with_pasts([row])
    assert app.agents.of(row, sight) == "demo"
    assert app.agents.of(row) is None


@pytest.mark.parametrize(
    ("dies", "there", "live", "left"),
    [
        (("shell", "process"), "nothing", Live.GONE, 0),
        (("process",), "its session", Live.AGENT_GONE, 1),
        ((), "its agent", Live.ALIVE, 2),
        (("shell", "process"), "one of its name", Live.REPLACED, 0),
    ],
)
def test_an_ended_row_without_leftovers_is_over(
    story: Story,
    monkeypatch: pytest.MonkeyPatch,
    dies: tuple[str, ...],
    there: str,
    live: Live,
    left: int,
) -> None:
    """The quick answer for ten thousand rows equals that of a closer look."""
    agent = story.agent(shell=True, status="stopped")
    story.agent("other")
    for name in dies:
        story.processes.die(getattr(agent, name))
    if there == "one of its name":
        story.processes.wait((), 5.0)
        story.tmux.open(story.SOCKET, "acme", *DEMO)

    def seen() -> tuple[Live, int]:
        app = story.app()
        row = app.registry.look().named("acme")
        assert row is not None
        sight = app.sights.with_pasts([row])[0][0]
        return sight.live, len(sight.owned.own)

    assert seen() == (live, left), there
    monkeypatch.setattr("tmuxreap.sessions.look.is_certainly_gone", lambda *_: False)
    assert seen() == (live, left), there


@pytest.mark.parametrize("known", [True, False], ids=["ours", "another-tool's"])
@pytest.mark.parametrize("name", ["acme", "ac.me"])
@pytest.mark.parametrize("left", ["nothing", "an agent elsewhere", "its mark", "a shell", "all"])
def test_a_running_row_is_reported_at_once_what_a_closer_look_says(
    story: Story, monkeypatch: pytest.MonkeyPatch, left: str, name: str, known: bool
) -> None:
    agent = story.agent(name, shell=True)
    if not known:
        row = {key: value for key, value in story.row(name).items() if key != "tmux"}
        story.path.write_text("tmux_sessions: []\n")
        story.add_row({**row, "pane": {"cmd": "demo"}})
    if left == "an agent elsewhere":
        story.tmux.open(story.SOCKET, "other", *DEMO)
    if left == "its mark":
        marks = {"TMUXREAP_ID": f"mark-of-{name}"}
        story.processes.add("node", new_session=True, environ=marks)
        story.app().books.remember_mark(name, marks["TMUXREAP_ID"])
    if left == "all":  # under an older tmux's name for it
        story.tmux.servers[story.SOCKET].sessions[0].name = name.replace(".", "_")
    else:
        story.processes.die(agent.process)
    if left not in ("a shell", "all"):
        story.processes.die(agent.shell)  # type: ignore[arg-type]

    def seen() -> tuple[Sight, str]:
        app = story.app()
        (sight,) = app.sights.of([row for row in app.registry.look().usable if row.name == name])
        # Nobody looks again by its reach; a failure is equal to none but itself.
        return replace(sight, reach=None, trouble=None), str(sight.trouble)

    at_once = seen()
    monkeypatch.setattr("tmuxreap.sessions.look.is_certainly_gone", lambda *_: False)
    assert at_once == seen()


def test_details_of_a_gone_session_are_not_collected(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent()
    story.processes.die(story.agents["acme"].process)
    app = story.app()
    monkeypatch.setattr("tmuxreap.sessions.look.see", lambda *_: pytest.fail("looked closer"))
    assert [one.live for one in app.sights.of(app.registry.look().usable)] == [Live.GONE]


def test_a_given_past_replaces_the_ledger(story: Story) -> None:
    agent = story.agent(status="stopped")
    helper = story.processes.add("node", new_session=True)
    story.tmux.servers[story.SOCKET].sessions.clear()
    story.processes.die(agent.process)
    app = story.app()
    (row,) = app.registry.look().usable
    assert app.sights.with_pasts([row])[0][0].owned.ids == set()
    pasts = {"acme": Past(remembered=frozenset({helper}))}
    assert app.sights.with_pasts([row], known=pasts)[0][0].owned.ids == {helper}


def test_each_server_is_asked_once_and_not_about_gone_sessions(story: Story) -> None:
    for name in ("one", "two", "gone"):
        story.agent(name)
    story.agents["one"].pane.screen = "first"
    story.agents["two"].pane.screen = "second"
    story.tmux.servers[story.SOCKET].sessions.pop()
    story.processes.die(story.agents["gone"].process)
    app = story.app()
    sights = [sight for sight, _ in app.sights.with_pasts(app.registry.look().usable)]
    asked: list[int] = []
    ask = story.tmux.ask
    story.tmux.ask = lambda socket, questions, first=(): (  # type: ignore[method-assign]
        asked.append(len(questions)) or ask(socket, questions, first)
    )
    contents = read_panes(story.tmux, sights, [[BANNER_OPTION], [], []], [None] * 3)
    assert [one.text for one in contents] == ["first", "second", None]
    assert contents[0].options == {BANNER_OPTION: None}
    assert contents[2] == PaneContents()
    assert asked == [7]
    assert "TMUXREAP_ID=mark-of-one" in (contents[0].environment or "")


def test_a_process_that_an_older_pane_left_is_in_the_plan(story: Story) -> None:
    """The row knows the start of its agent alone, in a pane that came later."""
    session = story.tmux.open(story.SOCKET, "acme", "bash")
    shell = session.panes[0]
    daemon = story.processes.add("daemon", parent=shell.process, new_session=True)
    orphan = story.processes.table[daemon.pid]
    orphan.now = replace(orphan.now, ppid=1)
    story.processes.wait((), 5.0)
    story.tmux.split(story.SOCKET, session, *DEMO)
    session.panes.reverse()  # the row is of the first one
    story.add_row(story._row_of("acme", session, "running"))
    app = story.app()
    (looked,) = app.sights.with_pasts(app.registry.look().usable, whole_session=True)
    assert daemon in looked[0].owned.ids

"""One row compared with one look: the same session, another, none, or unknown."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story, row_of, sight
from tmuxreap.core.model import Live
from tmuxreap.core.values import replace
from tmuxreap.proof.sight import Sight


def code(seen: Sight) -> str | None:
    return seen.trouble.code.text if seen.trouble else None


def write(story: Story, old: str, new: str) -> None:
    text = story.path.read_text()
    assert old in text
    story.path.write_text(text.replace(old, new))


def test_an_agent_in_its_pane_is_alive(story: Story) -> None:
    agent = story.agent()
    seen = sight(story)
    assert (seen.live, seen.trouble, seen.contains_caller, seen.foreign) == (
        Live.ALIVE,
        None,
        False,
        (),
    )
    assert [process.id for process in seen.agent] == [agent.process]
    assert seen.pane is not None
    assert seen.pane.id == "%0"
    assert seen.owned.ids == {agent.process}


def test_a_shell_without_its_agent_is_agent_gone(story: Story) -> None:
    agent = story.agent(shell=True)
    assert agent.shell is not None
    story.processes.put_in_front(agent.shell)
    story.processes.die(agent.process)
    seen = sight(story)
    assert (seen.live, seen.agent, seen.owned.ids) == (Live.AGENT_GONE, (), {agent.shell})


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("wrappers", [1, 2])
@pytest.mark.parametrize("foreign", [True, False])
def test_an_agent_that_left_below_wrapper_shells_is_gone(
    story: Story, foreign: bool, wrappers: int, named: bool
) -> None:
    story.agent()
    (session,) = story.tmux.servers[story.SOCKET].sessions
    pane = story.tmux.split(story.SOCKET, session, "sh", "-c", "demo; bash")
    (story.tmux.swap(session.panes[0], pane), session.panes.pop())
    if foreign:
        foreign_row(story, pane.process.pid)
    else:
        write(story, '"id": "%0"', '"id": "%1"')
    if not named:
        write(story, '"agent": "demo", ', "")
        story.path.write_text(story.path.read_text().replace('"cmd": "python3", ', ""))
    below = pane.process
    for _ in range(wrappers - 1):
        below = story.processes.add("sh", "-c", "demo; bash", parent=below)
    shell = story.processes.add("bash", parent=below, foreground=True)
    assert sight(story).live is Live.AGENT_GONE
    # What the user runs in that shell is no agent either, as far as agents are known.
    story.processes.add("vim", parent=shell, foreground=True)
    assert (sight(story).live is Live.AGENT_GONE) is named


def test_a_wrapper_shell_with_another_program_below_may_hold_the_agent(story: Story) -> None:
    session = story.tmux.open(story.SOCKET, "acme", "sh", "-c", "mine; bash")
    foreign_row(story, session.panes[0].process.pid)
    story.processes.add("mine", parent=session.panes[0].process, foreground=True)
    assert sight(story).live is Live.ALIVE


def test_a_session_is_gone_with_its_server_or_alone(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    assert sight(story).live is Live.GONE
    story.agent("other")
    assert sight(story).live is Live.GONE


def test_a_session_is_replaced_by_a_later_one_of_that_name(story: Story) -> None:
    agent = story.agent()
    story.agent("other")
    story.processes.die(agent.process)
    story.processes.wait((), 5.0)
    story.tmux.open(story.SOCKET, "acme", *DEMO)
    seen = sight(story)
    assert (seen.live, code(seen), seen.owned.own) == (Live.REPLACED, "session_replaced", ())


@pytest.mark.parametrize("field", ["session_created", "server_pid", "server_started"])
def test_every_part_of_the_identity_counts(story: Story, field: str) -> None:
    story.agent()
    known = getattr(row_of(story).tmux, field)
    write(story, f'"{field}": {known}', f'"{field}": {known + 1}')
    assert code(sight(story)) == "session_replaced"


def test_a_renamed_session_is_the_same(story: Story) -> None:
    agent = story.agent()
    story.tmux.servers[story.SOCKET].sessions[0].name = "renamed"
    seen = sight(story)
    assert (seen.live, [process.id for process in seen.agent]) == (Live.ALIVE, [agent.process])


def test_after_a_boot_nothing_is_the_same(story: Story) -> None:
    story.agent()
    write(story, '"boot_id": "this-boot"', '"boot_id": "another"')
    app = story.app()
    seen = app.sights.with_pasts([row_of(story)])[0][0]
    assert seen.live is not Live.ALIVE
    assert seen.owned.own == ()


def test_a_row_of_another_host_is_not_judged(story: Story) -> None:
    story.agent()
    write(story, '"host": "here"', '"host": "there"')
    seen = sight(story)
    assert (seen.live, code(seen)) == (Live.UNKNOWN, "tmux_unreachable")
    assert seen.trouble is not None
    assert "there" in seen.trouble.message


# Rows by other tools


def foreign_row(story: Story, pane_pid: int | None, name: str = "acme") -> None:
    story.path.write_text("tmux_sessions: []\n")
    pane = {"pid": pane_pid, "cmd": "python3", "cwd": "/"}
    story.add_row(
        {
            "name": name,
            "status": "running",
            "agent": "demo",
            "tmux_server": story.SOCKET,
            "pane": pane,
        }
    )


def test_a_row_with_only_the_pid_of_a_pane_has_its_agent(story: Story) -> None:
    agent = story.agent()
    foreign_row(story, agent.process.pid)
    assert [process.id for process in sight(story).agent] == [agent.process]


def test_a_row_with_an_old_pid_is_taken_when_the_agent_is_there(story: Story) -> None:
    agent = story.agent()
    foreign_row(story, 4242)
    assert [process.id for process in sight(story).agent] == [agent.process]


def test_a_row_with_an_old_pid_and_another_program_is_not_taken(story: Story) -> None:
    story.tmux.open(story.SOCKET, "acme", "nginx")
    foreign_row(story, 4242)
    assert (sight(story).live, code(sight(story))) == (Live.REPLACED, "session_replaced")


def test_a_foreign_rows_pid_alone_proves_nothing(story: Story) -> None:
    stranger = story.processes.add("nginx")
    foreign_row(story, stranger.pid)
    seen = sight(story)
    assert (seen.live, seen.owned.own) == (Live.GONE, ())


# The pane


def test_the_agents_window_need_not_be_in_front(story: Story) -> None:
    agent = story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.tmux.split(story.SOCKET, session, "bash")
    session.panes.reverse()
    seen = sight(story)
    assert (seen.pane and seen.pane.id, [p.id for p in seen.agent]) == ("%0", [agent.process])
    assert seen.foreign == ()  # an idle shell


def test_a_pane_that_is_at_work_is_foreign(story: Story) -> None:
    story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.tmux.split(story.SOCKET, session, "vim")
    assert [pane.id for pane in sight(story).foreign] == ["%1"]


def test_a_shell_with_a_child_is_at_work(story: Story) -> None:
    story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    pane = story.tmux.split(story.SOCKET, session, "bash")
    story.processes.add("make", parent=pane.process, foreground=True)
    assert [one.id for one in sight(story).foreign] == ["%1"]


def test_a_script_is_no_idle_shell(story: Story) -> None:
    story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.tmux.split(story.SOCKET, session, "bash", "-c", "read x")
    assert [one.id for one in sight(story).foreign] == ["%1"]


def test_the_only_pane_with_the_agent_is_taken(story: Story) -> None:
    agent = story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.tmux.split(story.SOCKET, session, "bash")
    foreign_row(story, 4242)
    assert [process.id for process in sight(story).agent] == [agent.process]


def test_two_agents_in_one_session_are_an_ambiguous_pane(story: Story) -> None:
    story.agent()
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.tmux.split(story.SOCKET, session, *DEMO)
    foreign_row(story, 4242)
    seen = sight(story)
    assert code(seen) == "ambiguous_pane"
    assert seen.trouble is not None
    assert "%0" in seen.trouble.message
    assert "%1" in seen.trouble.message


# The caller, and spared processes


def test_a_caller_inside_the_session_is_seen(story: Story) -> None:
    agent = story.agent(shell=True)
    caller = story.processes.add("tmuxreap", parent=agent.process)
    assert sight(story, pid=caller.pid).contains_caller
    assert not sight(story).contains_caller


def test_a_caller_in_the_background_of_the_session_is_seen(story: Story) -> None:
    agent = story.agent()
    marks = {
        "TMUXREAP_ID": "mark-of-acme",
        "TMUX": f"{story.SOCKET},{story.tmux.servers[story.SOCKET].process.pid},0",
    }
    caller = story.processes.add(
        "tmuxreap", new_session=True, environ={**marks, "TMUX_PANE": agent.pane.now.id}
    )
    assert sight(story, pid=caller.pid).contains_caller


def test_a_dead_pane_holds_no_agent(story: Story) -> None:
    agent = story.agent()
    story.tmux.change(agent.pane, remain_on_exit="on")
    story.processes.die(agent.process)
    story.processes.wait((), 1.0)
    story.processes.add(*DEMO, pid=agent.process.pid)  # now an unrelated process
    seen = sight(story)
    assert (seen.live, seen.agent, seen.owned.own) == (Live.AGENT_GONE, (), ())


def test_a_row_renamed_since_the_look_is_still_alive(story: Story) -> None:
    story.agent()
    row = replace(row_of(story), name="renamed row")
    assert story.app().sights.with_pasts([row])[0][0].live is Live.ALIVE


def test_an_unknown_agent_without_tmux_is_alive_by_its_mark(story: Story) -> None:
    """What was started is gone; what it became carries the mark."""
    row = {"name": "acme", "status": "running", "agent": "mystery", "terminal": "none"}
    row["pane"] = {"pid": 77_777, "created_epoch": story.clock.now(), "start_ticks": 7}
    story.add_row(row)
    with story.ledger() as ledger:
        ledger.remember_mark("acme", "mark-of-acme", story.clock.now())
    assert sight(story).live is Live.GONE
    story.processes.add("node", new_session=True, environ={"TMUXREAP_ID": "mark-of-acme"})
    assert sight(story).live is Live.ALIVE


def test_a_process_seen_once_is_not_forgotten_as_others_come(story: Story) -> None:
    """A helper that nothing but an earlier look ties to its session."""
    agent = story.agent()
    sh = story.processes.add("sh", parent=agent.process)
    helper = story.processes.add("node", parent=sh, new_session=True)
    story.processes.table[helper.pid].environ = {}
    assert helper in sight(story).owned.ids
    story.processes.die(sh)
    for _ in range(2):
        story.processes.add("node", parent=agent.process)  # news for the ledger
        assert helper in sight(story).owned.ids


def test_an_agent_on_a_persons_terminal_has_nothing_else_of_it(story: Story) -> None:
    """The row names its process, and no pane: it runs below a shell of the person."""
    shell = story.processes.add("bash", tty=7, new_session=True)
    agent = story.processes.add(*DEMO, parent=shell, foreground=True)
    editor = story.processes.add("vim", parent=shell, new_group=True)
    began = story.processes.started_epoch(agent)
    pane = {"pid": agent.pid, "created_epoch": began, "cwd": "/"}
    tmux = {"host": story.HOST, "boot_id": story.BOOT}
    row = {"name": "acme", "status": "running", "agent": "demo", "terminal": "none", "pane": pane}
    story.add_row({**row, "tmux": tmux})
    assert [one.process.id for one in sight(story).owned.own] == [agent]
    story.kill()
    alive = [story.processes.alive(one) for one in (agent, shell, editor)]
    assert alive == [False, True, True]

"""`start`: what is refused and reported before anything is created."""

from __future__ import annotations

import contextlib
from pathlib import Path
from signal import SIGHUP

import pytest

from tests.fakes import FakeSession, Story
from tmuxreap.commands import adopt, forget, start
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.start import StartRequest
from tmuxreap.core import faults
from tmuxreap.core.errors import Failure


def test_a_second_agent_in_one_folder_is_reported(story: Story, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    story.agent()
    story.path.write_text(story.path.read_text().replace('"cwd": "/"', f'"cwd": "{folder}"'))
    wish = StartRequest(
        "other", agent="demo", cwd=str(folder), command=("demo-agent",), dry_run=True
    )
    (said,) = start.run(story.app(), wish).warnings
    assert said.startswith(f"folder_in_use: acme works in {folder} too")
    story.stop("acme")
    assert not start.run(story.app(), wish).warnings


@pytest.mark.parametrize(
    ("restart", "limit", "flag"),
    [
        ("sometimes", None, "--restart:"),
        ("", None, "--restart:"),
        ("always", "0/1m", "--restart-limit:"),
        ("always", "5/1000y", "--restart-limit:"),
        ("on-failure", "", "--restart-limit:"),
        (None, "5/10m", "limits no restart"),
        ("never", "5/10m", "limits no restart"),
    ],
)
def test_restarts_that_make_no_sense_are_refused_before_anything_is_made(
    story: Story, restart: str | None, limit: str | None, flag: str
) -> None:
    before = story.written()
    wish = StartRequest(
        "acme", agent="demo", command=("demo-agent",), restart=restart, restart_limit=limit
    )
    with pytest.raises(Failure, match=flag) as caught:
        start.run(story.app(), wish)
    assert (caught.value.code.text, story.written(), story.told()) == ("usage", before, [])


@pytest.mark.parametrize("replace", [False, True])
def test_a_start_ends_an_agent_that_outlived_its_session_or_is_refused(
    story: Story, replace: bool
) -> None:
    """Its tmux server is gone. With a second agent, one row would have two."""
    agent = story.agent(ignores={SIGHUP})
    story.processes.die(story.tmux.servers[story.SOCKET].process)
    assert story.processes.alive(agent.process)
    wish = StartRequest("acme", "demo", cwd="/", confirm_s=0.1, replace=replace)
    if replace:
        start.run(story.app(), wish)
        assert not story.processes.alive(agent.process)
        assert story.row()["pane"]["pid"] != agent.process.pid
        return
    before = story.row()
    with pytest.raises(Failure, match="its agent lives on without its session") as caught:
        start.run(story.app(), wish)
    assert (caught.value.code.text, story.row()) == ("still_running", before)
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("shell", [False, True])
def test_a_start_leaves_the_row_of_an_agent_whose_pane_a_person_moved(
    story: Story, shell: bool, replace: bool
) -> None:
    """The row is all that tells of that agent; the way out that is named can be taken."""
    agent = story.agent(shell=shell)
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    story.tmux.join(agent.pane, quiet)
    before = story.row()
    wish = StartRequest("acme", "demo", cwd="/", confirm_s=0.1, replace=replace)
    with pytest.raises(Failure, match="its agent lives on in the session quiet") as caught:
        start.run(story.app(), wish)
    assert (caught.value.code.text, story.row()) == ("still_running", before)
    assert story.processes.alive(agent.process)
    assert "tmuxreap forget acme --force, then: tmuxreap adopt quiet" in caught.value.hint
    forget.run(story.app(), forget.ForgetRequest(("acme",), force=True))
    adopt.run(story.app(), adopt.AdoptRequest("quiet", "demo"))
    assert story.row("quiet")["pane"]["pid"] == agent.pane.process.pid
    start.run(story.app(), wish)
    assert story.row()["status"] == "running"


def test_a_shell_in_a_moved_pane_blocks_no_start(story: Story) -> None:
    agent = story.agent(shell=True)
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    story.tmux.join(agent.pane, quiet)
    story.processes.die(agent.process)
    start.run(story.app(), StartRequest("acme", "demo", cwd="/", confirm_s=0.1))
    assert story.row()["pane"]["pid"] != agent.pane.process.pid
    assert story.processes.alive(agent.pane.process)


@pytest.mark.parametrize("how", ["swap", "join"])
def test_a_start_that_fails_leaves_the_panes_that_a_person_brought(story: Story, how: str) -> None:
    """The agent ends while it is confirmed, and somebody has put a pane into its session."""
    quiet = story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    theirs = quiet.panes[0]
    theirs_too = story.tmux.split(story.SOCKET, quiet, "vim")

    def meddle(socket: str, session: FakeSession) -> None:
        mine = session.panes[0]

        def move() -> None:
            if how == "swap":
                story.tmux.swap(mine, theirs)
            else:
                story.tmux.join(theirs, session)
            story.processes.die(mine.process)

        story.processes.after(0.2, move)

    story.tmux.when_created.append(meddle)
    wish = StartRequest("acme", agent="demo", cwd="/", confirm_s=0.5)
    with pytest.raises(Failure, match="could not start acme"):
        start.run(story.app(), wish)
    assert story.processes.alive(theirs.process)
    assert story.processes.alive(theirs_too.process)
    assert story.signals_to(theirs.process) == []


def test_a_replacement_leaves_the_panes_that_a_person_opened_meanwhile(story: Story) -> None:
    agent = story.agent(exit_delay_s=0.5)
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.processes.after(0.3, lambda: story.tmux.split(story.SOCKET, session, "vim"))
    wish = StartRequest("acme", agent="demo", cwd="/", confirm_s=0.5, replace=True)
    with pytest.raises(Failure, match="already running"):
        start.run(story.app(), wish)
    assert not story.processes.alive(agent.process)
    (theirs,) = session.panes
    assert story.processes.alive(theirs.process)


def test_the_reason_of_a_stop_that_was_cut_off_outlives_a_start_that_fails(story: Story) -> None:
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    agent = story.agent()
    faults.arm(f"{faults.Step.PROVEN.value}=EIO")
    try:
        with contextlib.suppress(OSError):
            story.stop(reason="done for good")
    finally:
        faults.arm("")
    assert not story.processes.alive(agent.process)
    assert story.row()["status"] == "running"
    wish = StartRequest("acme", agent="claude", cwd="/", confirm_s=0.1, command=("mystery",))
    with pytest.raises(Failure) as failed:
        start.run(story.app(), wish)
    assert failed.value.code.text == "start_failed"
    reconcile.run(story.app())
    assert (story.row()["status"], story.row()["stop_reason"]) == ("stopped", "done for good")


def test_a_command_that_ends_before_it_is_looked_at_is_a_failed_start(story: Story) -> None:
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")

    def end(_: str, session: FakeSession) -> None:
        (pane,) = session.panes
        story.tmux.change(pane, remain_on_exit="on")
        story.processes.die(pane.process)

    story.tmux.when_created.append(end)
    wish = StartRequest("acme", agent="demo", cwd="/", confirm_s=0.5)
    with pytest.raises(Failure, match=r"its command ended within 0.5 s"):
        start.run(story.app(), wish)
    assert "acme" not in story.path.read_text()


@pytest.mark.parametrize("there", [True, False])
def test_a_session_that_tmux_does_not_make_is_a_failed_start_with_a_way_out(
    story: Story, tmp_path: Path, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sockets"
    if there:
        folder.mkdir()
    monkeypatch.setattr(story.tmux, "create", lambda *_, **__: "no space for it")
    wish = StartRequest("acme", agent="demo", cwd="/", server=str(folder / "own"))
    with pytest.raises(Failure, match="tmux said: no space for it") as refused:
        start.run(story.app(), wish)
    if there:
        assert refused.value.hint == "check the setup with: tmuxreap doctor"
    else:
        assert refused.value.hint.endswith(f"mkdir -p -m 700 {folder}")


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("status", ["stopped", None])
@pytest.mark.parametrize("how", ["full", "pid", "name"])
def test_a_row_that_came_meanwhile_is_not_written_over(
    story: Story, how: str, status: str | None, replace: bool
) -> None:
    """What it means lives on another tmux server, and is in no other row."""
    socket = f"/tmp/tmux-{story.UID}/other"
    before = story.path.read_text()
    if status is not None:
        mine = story.agent(status=status)
        story.processes.die(mine.process)
    theirs = story.tmux.open(socket, "acme", "vim")
    leader = theirs.panes[0].process
    row = story._row_of("acme", theirs, "running", socket=socket)
    if how != "full":
        row = {"name": "acme", "status": "running", "tmux_server": "other"}
    if how == "pid":
        row["pane"] = {"pid": leader.pid}

    def record() -> None:
        story.path.write_text(before)
        story.add_row(row)

    story.processes.after(0.2, record)
    wish = StartRequest("acme", agent="demo", cwd="/", confirm_s=0.5, replace=replace)
    with pytest.raises(Failure, match="another session was recorded under that name") as refused:
        start.run(story.app(), wish)
    assert (refused.value.code.text, story.row()) == ("session_exists", row)
    assert story.processes.alive(leader)
    server = story.tmux.servers.get(story.SOCKET)
    assert [one.name for one in (server.sessions if server else ())] == []
    assert not reconcile.run(story.app()).failure


@pytest.mark.parametrize("how", ["pid", "name"])
def test_a_row_of_the_session_that_is_begun_is_written_over(story: Story, how: str) -> None:
    """A hook of tmux may record every new session."""

    def record(_: str, session: FakeSession) -> None:
        row: dict[str, object] = {"name": "acme", "status": "running"}
        if how == "pid":
            row["pane"] = {"pid": session.panes[0].process.pid}
        story.add_row(row)

    story.tmux.when_created.append(record)
    start.run(story.app(), StartRequest("acme", agent="demo", cwd="/", confirm_s=0.5))
    assert story.row()["tmux"]["session_id"]  # type: ignore[index]


def test_a_start_that_was_planned_over_a_dead_row_takes_it(story: Story) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    assert story.row()["status"] == "running"
    start.run(story.app(), StartRequest("acme", agent="demo", cwd="/", confirm_s=0.5))
    assert story.row()["pane"]["pid"] != agent.process.pid  # type: ignore[index]

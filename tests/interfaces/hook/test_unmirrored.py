"""Reports of agents whose rows the ledger does not mirror: another tool has just written them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hook_desk import Desk
from tmuxreap.interfaces.hook import unmirrored

IN_TMUX = {"TMUX": "/tmp/tmux-0/default,42,0", "TMUX_PANE": "%1", "TMUXREAP_ID": ""}
BLOCK = "- name: hand\n  status: running\n  pane:\n    cmd: sh\n    pid: {pid}   # its\n{more}"
FLOW = "- {{name: 'hand', status: running, pane: {{cwd: /, pid: {pid}}}{comma}}}\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk without a ledger."""
    made = Desk(tmp_path)
    made.path.unlink()
    return made


def write(desk: Desk, *rows: str) -> None:
    desk.registry.write_text("# by hand\ntmux_sessions:\n" + "".join(rows) + "other: 1\n")


@pytest.mark.parametrize("text", [BLOCK, FLOW])
def test_the_first_word_of_a_row_of_another_tool_is_heard(desk: Desk, text: str) -> None:
    write(desk, text.format(pid=os.getpid(), more="", comma=""))
    for words in (("hook", "claude"), ("heartbeat",), ("heartbeat", "hand", "--state", "idle")):
        assert desk.run(*words, said=b'{"hook_event_name": "Stop"}', **IN_TMUX).returncode == 0
    assert [beat.state for beat in desk.beats("hand")] == ["idle", "working", "idle"]
    assert desk.path.stat().st_mode & 0o777 == 0o600
    with desk.ledger() as ledger:  # migrated by the first full use
        assert ledger.mirrored_digest() is None
        assert ledger.warnings == []


@pytest.mark.parametrize(
    ("rows", "server"),
    [
        ([BLOCK.format(pid=1, more="")], "default"),
        ([BLOCK.format(pid="{pid}", more="  tmux_server: work\n")], "default"),
        ([BLOCK.format(pid="{pid}", more="  tmux: {{socket: /x}}\n")], "default"),
        ([BLOCK.format(pid="{pid}", more="  agent: codex\n")], "default"),
        ([BLOCK.replace("running", "stopped").format(pid="{pid}", more="")], "default"),
        ([BLOCK.format(pid="{pid}", more="")], "work"),
        (
            [
                BLOCK.format(pid="{pid}", more=""),
                BLOCK.replace("hand", "x").format(pid="{pid}", more=""),
            ],
            "default",
        ),
    ],
)
def test_who_may_be_another_is_not_heard_and_leaves_nothing(
    desk: Desk, rows: list[str], server: str
) -> None:
    write(desk, *(row.format(pid=os.getpid()) for row in rows))
    given = {**IN_TMUX, "TMUX": f"/tmp/tmux-0/{server},42,0"}
    said = b'{"hook_event_name": "Stop"}'
    assert desk.run("hook", "claude", said=said, **given).returncode == 0
    assert not desk.path.exists()


def test_a_row_that_came_after_the_mirror_is_heard(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    write(desk, BLOCK.format(pid=os.getpid(), more=""))
    assert desk.run("hook", "claude", said=b'{"hook_event_name": "Stop"}', **IN_TMUX).stdout == b""
    assert desk.run("heartbeat", "hand").returncode == 0
    assert [beat.kind for beat in desk.beats("hand")] == ["heartbeat", "turn_end"]


def test_a_folder_of_another_gets_no_ledger(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert unmirrored.create_ledger(str(desk.registry)) is None
    assert not desk.path.exists()

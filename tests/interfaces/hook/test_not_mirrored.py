"""Reports of agents whose rows the ledger does not mirror: another tool has just written them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hook_desk import Desk
from tmuxreap.app import real_app
from tmuxreap.interfaces.hook import answer, speaker
from tmuxreap.ledger.records import Heartbeat
from tmuxreap.system.environment import Settings

BLOCK = "- name: hand\n  status: running\n  pane:\n    cmd: sh\n    pid: {pid}   # its\n{more}"
FLOW = "- {{name: 'hand', status: running, pane: {{cwd: /, pid: {pid}}}{comma}}}\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk without a ledger."""
    made = Desk(tmp_path)
    made.path.unlink()
    return made


def in_tmux(server: str = "default") -> dict[str, str]:
    socket = f"{os.environ['TMUX_TMPDIR']}/tmux-{os.getuid()}/{server}"
    return {"TMUX": f"{socket},42,0", "TMUX_PANE": "%1", "TMUXREAP_ID": ""}


def heard(desk: Desk, name: str) -> list[Heartbeat]:
    """Return the row's reports as a look reads them."""
    context = real_app(Settings.from_environment(), str(desk.registry))
    try:
        return context.books.heartbeats_of(name)
    finally:
        context.close()


def write(desk: Desk, *rows: str) -> None:
    desk.registry.write_text("# by hand\ntmux_sessions:\n" + "".join(rows) + "other: 1\n")


@pytest.mark.parametrize("text", [BLOCK, FLOW])
def test_the_first_report_of_a_row_of_another_tool_is_recorded(desk: Desk, text: str) -> None:
    write(desk, text.format(pid=os.getpid(), more="", comma=""))
    for words in (("hook", "claude"), ("heartbeat",), ("heartbeat", "hand", "--state", "idle")):
        assert desk.run(*words, said=b'{"hook_event_name": "Stop"}', **in_tmux()).returncode == 0
    assert [beat.state for beat in heard(desk, "hand")] == ["idle", "working", "idle"]
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
def test_a_hook_that_may_belong_to_another_row_is_ignored(
    desk: Desk, rows: list[str], server: str
) -> None:
    write(desk, *(row.format(pid=os.getpid()) for row in rows))
    said = b'{"hook_event_name": "Stop"}'
    assert desk.run("hook", "claude", said=said, **in_tmux(server)).returncode == 0
    assert heard(desk, "hand") == []


class Agent:
    """A shell that waits for a word before it calls one of ours, as the agent of a row does."""

    def __init__(self, desk: Desk, number: int, *words: str) -> None:
        self.name = f"a{number}"
        self.conversation = f"e4d745b8-0584-46dc-828b-{number:012d}"
        command = ["sh", "-c", 'read go && "$@"; exit', "sh", sys.executable, "-m", "tmuxreap"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        self.process = subprocess.Popen(
            [*command, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**kept, **in_tmux(), "TMUXREAP_REGISTRY": str(desk.registry)},
        )

    def speak(self) -> None:
        assert self.process.stdin is not None
        said = {"hook_event_name": "SessionStart", "session_id": self.conversation}
        self.process.stdin.write(b"go\n" + json.dumps(said).encode())
        self.process.stdin.close()


@pytest.mark.parametrize("count", [5, 5, 5, 20])
def test_the_first_reports_of_many_at_once_are_all_recorded(desk: Desk, count: int) -> None:
    agents = [Agent(desk, number, "hook", "claude") for number in range(count)]
    beating = Agent(desk, count, "heartbeat")
    rows = (
        f"- {{name: {agent.name}, status: running, pane: {{cwd: /, pid: {agent.process.pid}}}}}\n"
        for agent in (*agents, beating)
    )
    write(desk, *rows)
    others = [
        Agent(desk, 0, *words)
        for words in (["list", "--json"], ["stop", "none"], ["stop", "a0", "--dry-run"])
    ]
    for agent in (*agents, beating, *others):
        agent.speak()
    assert [agent.process.wait(60) for agent in (*agents, beating)] == [0] * (count + 1)
    assert [other.process.wait(60) for other in others][:2] == [0, 3]
    said = [[beat.conversation_id for beat in heard(desk, agent.name)] for agent in agents]
    assert said == [[agent.conversation] for agent in agents]
    assert len(heard(desk, beating.name)) == 1
    assert list(desk.registry.parent.glob("*.broken*")) == []


def test_a_ledger_that_is_still_empty_gets_its_tables(desk: Desk) -> None:
    write(desk, BLOCK.format(pid=os.getpid(), more=""))
    desk.path.touch()
    assert (
        desk.run("hook", "claude", said=b'{"hook_event_name": "Stop"}', **in_tmux()).stdout == b""
    )
    assert [beat.kind for beat in heard(desk, "hand")] == ["turn_end"]


def test_a_report_of_a_row_newer_than_the_mirror_is_recorded(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    write(desk, BLOCK.format(pid=os.getpid(), more=""))
    assert (
        desk.run("hook", "claude", said=b'{"hook_event_name": "Stop"}', **in_tmux()).stdout == b""
    )
    assert desk.run("heartbeat", "hand").returncode == 0
    assert [beat.kind for beat in heard(desk, "hand")] == ["heartbeat", "turn_end"]


def test_a_report_from_a_new_process_is_placed_by_its_pane(tmp_path: Path) -> None:
    """As after a respawn of the pane: no look has seen the process yet."""
    desk = Desk(tmp_path)
    tmux = f"{{socket: {tmp_path}/s, server_pid: 42}}"
    write(desk, f"- {{name: hand, status: running, pane: {{id: '%7'}}, tmux: {tmux}}}\n")
    said = b'{"hook_event_name": "Stop"}'
    for socket, server, pane in (("s", 43, "%7"), ("s", 42, "%77"), ("sx", 42, "%7")):
        where = {"TMUX": f"{tmp_path}/{socket},{server},0", "TMUX_PANE": pane, "TMUXREAP_ID": ""}
        assert desk.run("hook", "claude", said=said, **where).returncode == 0
    assert heard(desk, "hand") == []
    where = {"TMUX": f"{tmp_path}/s,42,0", "TMUX_PANE": "%7", "TMUXREAP_ID": ""}
    assert desk.run("hook", "claude", said=said, **where).returncode == 0
    assert [beat.kind for beat in heard(desk, "hand")] == ["turn_end"]


def test_a_hook_without_a_row_records_nothing(desk: Desk) -> None:
    write(desk, BLOCK.format(pid=1, more=""))
    said = b'{"hook_event_name": "Stop"}'
    assert desk.run("hook", "claude", said=said, **in_tmux()).returncode == 0
    assert desk.run("heartbeat", "nobody", **in_tmux()).returncode == 3
    assert not desk.path.exists()


@pytest.mark.parametrize("line", ["name: 'hand'", 'name:  "hand"  # it', "{name: hand, a: 1}"])
def test_a_report_of_a_plainly_written_name_is_recorded_at_once(desk: Desk, line: str) -> None:
    desk.registry.write_text(f"tmux_sessions:\n- {line}\n")
    assert speaker.is_written(str(desk.registry), "hand")
    assert not speaker.is_written(str(desk.registry), "han")
    assert not speaker.is_written(str(desk.registry), "name")


def test_a_report_keeps_its_place_among_those_that_came_when_its_row_was_known(
    desk: Desk,
) -> None:
    write(desk, BLOCK.format(pid=os.getpid(), more=""))
    said = {"hook_event_name": "SessionStart", "session_id": "e4d745b8-0584-46dc-828b-77f88ae13a1a"}
    desk.run("hook", "claude", said=json.dumps(said).encode(), **in_tmux())
    desk.run("heartbeat", "hand", "--state", "waiting")
    assert [beat.kind for beat in heard(desk, "hand")] == ["heartbeat", "session_start"]


def test_a_folder_of_another_user_gets_no_ledger(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert answer._create_ledger(str(desk.registry)) is None
    assert not desk.path.exists()

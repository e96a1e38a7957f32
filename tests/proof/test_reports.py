"""Whose a report is that came before its row was mirrored."""

from __future__ import annotations

import pytest

from tests.fakes import Story
from tmuxreap.core.model import RecordedPane, RecordedTmux, Row, Status
from tmuxreap.core.values import replace
from tmuxreap.proof.servers import row_of_report

AT = 1_800_000_000.0
PID, START = 41, 9
HAND = Row("hand", pane=RecordedPane(pid=PID))


def told(story: Story, *rows: Row, start: int = START, agent: str = "claude") -> str | None:
    context = story.app()
    socket = context.servers.socket(None)
    said = {"agent": agent, "socket": socket, "above": [[40, 8], [PID, start]]}
    return row_of_report(said, AT, rows, context.servers, context.processes)


def test_a_report_belongs_to_the_row_whose_pane_process_is_an_ancestor(story: Story) -> None:
    other = replace(HAND, name="other", pane=RecordedPane(pid=42))
    assert told(story, other, HAND) == "hand"
    assert told(story, other) is None


@pytest.mark.parametrize(
    "row",
    [
        replace(HAND, agent="codex"),
        replace(HAND, tmux_server="work"),
        replace(HAND, tmux=RecordedTmux(socket="/x")),
        replace(HAND, status=Status.STOPPED, data={"stopped_at_epoch": AT - 1}),
        replace(HAND, status=Status.STOPPED),
    ],
)
def test_a_row_that_contradicts_the_report_is_not_selected(row: Row, story: Story) -> None:
    assert told(story, row) is None


def test_a_row_that_ended_since_was_running_then(story: Story) -> None:
    assert told(story, replace(HAND, status=Status.STOPPED, data={"stopped_at_epoch": AT + 1}))


def test_a_report_that_fits_two_rows_selects_neither(story: Story) -> None:
    assert told(story, HAND, replace(HAND, name="twin")) is None


@pytest.mark.parametrize(
    ("server", "pane", "name"), [("50", "%3", "hand"), ("51", "%3", None), ("50", "%4", None)]
)
def test_a_row_of_tmuxreap_is_identified_by_its_pane_and_server(
    story: Story, server: str, pane: str, name: str | None
) -> None:
    context = story.app()
    socket = context.servers.socket(None)
    row = Row("hand", pane=RecordedPane(id="%3"), tmux=RecordedTmux(socket, server_pid=50))
    said = {"socket": socket, "server": server, "pane": pane, "above": [[PID, START]]}
    assert row_of_report(said, AT, [row], context.servers, context.processes) == name


def test_a_pid_that_another_process_has_now_proves_nothing(story: Story) -> None:
    process = story.agent().process
    row = replace(HAND, pane=RecordedPane(pid=process.pid))
    context = story.app()
    said = {"agent": "", "socket": context.servers.socket(None), "above": [[*process]]}
    assert row_of_report(said, AT, [row], context.servers, context.processes) == "hand"
    said["above"] = [[process.pid, process.start - 1]]
    assert row_of_report(said, AT, [row], context.servers, context.processes) is None


@pytest.mark.parametrize("said", [{}, {"socket": 1, "above": []}, {"socket": "/s", "above": "x"}])
def test_a_report_without_a_place_belongs_to_no_row(said: dict[str, object], story: Story) -> None:
    context = story.app()
    assert row_of_report(said, AT, [HAND], context.servers, context.processes) is None

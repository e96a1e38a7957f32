"""Rows that other tools write: by hand with name, status and pane alone, and dumped by
`yaml.safe_dump` with lists that the rows share. Their agents were started by plain tmux."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import plain_yaml
from tests.command_line import tmuxreap
from tests.real import DEMO, Real, alive, answer
from tmuxreap.commands import forget

pytestmark = pytest.mark.live

Write = Callable[[Real, Sequence[str]], None]


def rows_of(real: Real, names: Sequence[str]) -> list[dict[str, Any]]:
    pids = {name: real.bystander(name, *DEMO) for name in names}
    for name in names:
        real.shows(name, "demo agent · conversation")
    return [
        {
            "name": name,
            "status": "running",
            "tmux_server": real.socket,
            "pane": {"pid": pids[name], "cmd": "demo", "cwd": str(real.folder)},
        }
        for name in names
    ]


def by_hand(real: Real, names: Sequence[str]) -> None:
    text = "tmux_sessions:\n"
    for row in rows_of(real, names):
        pane = row["pane"]
        text += f"  - name: {row['name']}   # mine\n    status: running\n"
        text += f"    tmux_server: {row['tmux_server']}\n"
        text += f"    pane: {{pid: {pane['pid']}, cmd: demo, cwd: {pane['cwd']}}}\n"
    real.registry.write_text(text)


def dumped(real: Real, names: Sequence[str]) -> None:
    rows = rows_of(real, names)
    tags = ["nightly"]
    for row in rows:
        row["tags"] = tags
    real.registry.write_text(yaml.safe_dump({"tmux_sessions": rows}))
    assert "&id001" in real.registry.read_text()


def merged(real: Real, names: Sequence[str]) -> None:
    text = f"defaults: &defaults {{status: running, tmux_server: {real.socket}}}\ntmux_sessions:\n"
    for row in rows_of(real, names):
        text += f"- <<: *defaults\n  name: {row['name']}\n  pane: {{pid: {row['pane']['pid']}}}\n"
    real.registry.write_text(text)


@pytest.fixture(params=[by_hand, dumped, merged])
def write(request: pytest.FixtureRequest) -> Write:
    chosen: Write = request.param
    return chosen


def test_rows_of_other_tools_are_listed_stopped_and_killed(real: Real, write: Write) -> None:
    write(real, "abc")
    assert [(one["name"], one["live"]) for one in real.list()] == [(n, "alive") for n in "abc"]
    pids = {name: real.pid(name) for name in "abc"}
    before = plain_yaml.load(real.registry.read_text())
    assert answer(real.stop("a", reason="mine"))["outcome"] == "stopped"
    assert answer(real.kill("b"))["outcome"] == "killed"
    assert [alive(pids[name]) for name in "abc"] == [False, False, True]
    ended = {name: (row["status"], row.get("stop_reason")) for name, row in real.rows().items()}
    assert ended == {"a": ("stopped", "mine"), "b": ("stopped", "killed"), "c": ("running", None)}
    for index, name in enumerate("abc"):
        row = {key: value for key, value in real.row(name).items() if key != "status"}
        was = before["tmux_sessions"][index]
        assert {key: row[key] for key in was if key != "status"} == {
            key: value for key, value in was.items() if key != "status"
        }


def test_the_list_of_the_command_line_has_them(real: Real, write: Write, tmp_path: Path) -> None:
    write(real, "ab")
    listed = tmuxreap("list", "--registry", str(real.registry))
    assert (listed.exit, listed.err) == (0, "")
    assert "no sessions yet" not in listed.out
    assert len(listed.out.splitlines()) == 3


def test_a_row_that_only_remembers_the_pid_keeps_its_conversation(real: Real) -> None:
    by_hand(real, "b")
    pane = f"    tmux_server: {real.socket}\n    pane: {{pid: {real.pid('b')}, cmd: demo}}\n"
    stale = "  - name: a\n    status: running\n    demo_conversation_id_own: FIRST\n" + pane
    real.registry.write_text(real.registry.read_text() + stale)
    assert answer(real.stop("b"))["outcome"] == "stopped"
    assert real.registry.read_text().endswith(stale)
    assert real.row("b")["demo_conversation_id_own"] not in (None, "FIRST")


def test_shared_parts_of_a_dumped_row_stay_when_one_is_started_or_forgotten(real: Real) -> None:
    dumped(real, "abc")
    real.say("hello", "a")
    for name in "ab":
        assert answer(real.stop(name))["error"] is None
    assert real.resume("a").get("error") is None
    real.shows("a", "You said: hello")
    begun = real.start("b", tags=("mine",))
    assert (begun.get("error"), begun["tags"]) == (None, ["mine"])
    assert answer(real.stop("a"))["error"] is None
    with real.app() as app:
        assert forget.run(app, forget.ForgetRequest(("a",))).failure is None
    rows = real.rows()
    assert {name: row["tags"] for name, row in rows.items()} == {"b": ["mine"], "c": ["nightly"]}

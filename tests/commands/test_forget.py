"""`forget`: removes the row of an ended session, and nothing else unless named."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from tests.fakes import Story
from tmuxreap.commands import show
from tmuxreap.commands.forget import ForgetRequest, run
from tmuxreap.ledger.database import ledger_path
from tmuxreap.registry.file import RegistryFile, RegistryLook


def forget(story: Story, **request: object) -> tuple[object, str | None]:
    (item,) = run(story.app(), ForgetRequest(("acme",), **request)).results  # type: ignore[arg-type]
    return item.as_json().get("forgotten"), item.error.code if item.error else None


def kinds(story: Story) -> list[str]:
    with story.ledger() as ledger:
        return [event.kind for event in ledger.events() if event.name == "acme"]


def test_a_running_row_is_forgotten_only_with_the_flag(story: Story) -> None:
    story.agent()
    items = run(story.app(), ForgetRequest(("acme",))).results
    assert [item.error is not None for item in items] == [True]
    assert story.row()["status"] == "running"
    assert forget(story, force=True) == (True, None)
    assert "acme" not in story.path.read_text()


def test_forget_keeps_the_events_with_the_row_as_it_was(story: Story) -> None:
    story.agent()
    story.stop()
    assert forget(story, reason="cleaning") == (True, None)
    assert kinds(story) == ["stopped", "forgotten"]
    with story.ledger() as ledger:
        last = list(ledger.events())[-1]
    assert (last.data, '"status": "stopped"' in (last.before or "")) == (
        {"reason": "cleaning"},
        True,
    )


def test_forget_deletes_the_history_on_request(story: Story) -> None:
    story.agent()
    story.stop()
    forget(story, history=True)
    assert kinds(story) == []


def test_a_reason_is_kept_when_the_history_goes(story: Story) -> None:
    story.agent()
    story.stop()
    forget(story, history=True, reason="cleaning")
    with story.ledger() as ledger:
        (only,) = ledger.events()
    assert (only.kind, only.data, only.before) == ("forgotten", {"reason": "cleaning"}, None)


def test_a_plan_forgets_nothing(story: Story) -> None:
    story.agent()
    story.stop()
    before = story.path.read_bytes()
    assert forget(story, dry_run=True) == (False, None)
    assert story.path.read_bytes() == before


def test_only_rows_that_ended_long_enough_ago_are_forgotten(story: Story) -> None:
    story.agent("old")
    story.agent("new")
    story.stop("old")
    story.processes.wait((), 3600)
    story.stop("new")
    items = run(story.app(), ForgetRequest((), older_than_s=600.0)).results
    assert [item.as_json()["name"] for item in items] == ["old"]


def endings(story: Story, *names: str) -> list[tuple[object, str | None]]:
    items = run(story.app(), ForgetRequest(names or ("all",))).results
    return [
        (item.as_json()["name"], item.error.code if item.error is not None else None)
        for item in items
    ]


def add_ended(story: Story, *names: str) -> None:
    for name in names:
        story.add_row({"name": name, "status": "stopped"})


def test_many_rows_are_forgotten_with_one_write(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_ended(story, "a", "b", "c")
    writes: list[str] = []
    replace_file = RegistryFile.replace

    def counted(registry: RegistryFile, before: RegistryLook, text: str) -> RegistryLook:
        writes.append(text)
        return replace_file(registry, before, text)

    monkeypatch.setattr(RegistryFile, "replace", counted)
    assert endings(story) == [("a", None), ("b", None), ("c", None)]
    assert len(writes) == 1
    with story.ledger() as ledger:
        images = [(event.name, event.before) for event in ledger.events()]
    assert images == [(name, f'{{"name": "{name}", "status": "stopped"}}') for name in "abc"]


def test_rows_in_one_line_go_too(story: Story) -> None:
    rows = "{name: a, status: stopped}, {name: b, status: running}, {name: c, status: stopped}"
    story.path.write_text(f"tmux_sessions: [{rows}]\n")
    assert endings(story, "a", "b", "c") == [("a", None), ("b", "session_alive"), ("c", None)]
    assert story.path.read_text() == "tmux_sessions: [{name: b, status: running}]\n"


def test_the_cache_keeps_nothing_of_a_deleted_history(story: Story) -> None:
    story.agent()
    story.stop(reason="a private reason")
    show.run(story.app(), ["acme"])
    forget(story, history=True)
    for table in ("readings", "events", "sessions", "ends", "intents", "seen"):
        with contextlib.closing(sqlite3.connect(ledger_path(story.path))) as db:
            rows = db.execute(f"SELECT * FROM {table}").fetchall()
        assert "private reason" not in str(rows), table
        assert "acme" not in str(rows), table

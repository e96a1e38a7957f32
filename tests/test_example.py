"""The example registry: a row of each kind, readable, and editable without unintended changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tmuxreap.core.model import Row, Status, StoppedBy, Terminal
from tmuxreap.core.results import Conversation
from tmuxreap.core.times import iso
from tmuxreap.registry import edits
from tmuxreap.registry.file import RegistryFile, RegistryLook, edited
from tmuxreap.registry.rows import conversation_field
from tmuxreap.registry.transitions import (
    TRANSITIONS,
    Changes,
    End,
    RowEvent,
    end_changes,
    revive_changes,
)

EXAMPLE = Path(__file__).parent.parent / ".hermes-example" / "agent-sessions.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")
NAMES = [
    "acme-claude",
    "billing-claude",
    "docs-codex",
    "secrets-gemini",
    "nightly-opencode",
    "old: experiment",
    "batch-codex",
    "side-claude",
    "flow-gemini",
    "feat-claude",
    "farm-claude",
    "job-claude",
    "web-agy",
]


def look() -> RegistryLook:
    return RegistryFile(EXAMPLE).look()


def row_of(name: str) -> Row:
    row = look().named(name)
    assert row is not None
    return row


def chunks(text: str) -> list[str]:
    """Split the text at the dashes alone: [before, row, row, ...]; tails belong to rows."""
    return re.split(r"(?m)^(?=  - )", text)


def test_every_row_is_read() -> None:
    assert [row.name for row in look().rows] == NAMES
    assert all(isinstance(row, Row) for row in look().rows)
    assert len(chunks(TEXT)) == len(NAMES) + 1


def test_the_kinds_of_rows_are_all_there() -> None:
    rows = [row for row in look().rows if isinstance(row, Row)]
    assert {row.status for row in rows} == set(Status)
    assert {row.terminal for row in rows} >= {Terminal.TMUX, Terminal.NONE, Terminal.KITTY}
    assert [row.name for row in rows if row.tmux.known] == ["acme-claude"]
    assert row_of("billing-claude").conversations == (("claude_session_id_own", None),)
    assert row_of("feat-claude").tags == ("acme", "nightly")
    assert row_of("feat-claude").task_id == "T-1042"
    assert row_of("farm-claude").tmux_server == "agents"
    assert row_of("web-agy").conversations[0][0] == conversation_field("agy")
    modes = {row.data.get("termination_mode") for row in rows}
    assert modes == {None, "graceful", "kill", "purge", "lost"}


def test_each_time_agrees_with_its_epoch() -> None:
    for row in yaml.safe_load(TEXT)["tmux_sessions"]:
        for word in ("stopped", "terminated"):
            if f"{word}_at" in row:
                assert row[f"{word}_at"] == iso(row[f"{word}_at_epoch"])


def changes_of(row: Row, event: RowEvent) -> Changes:
    if event in (RowEvent.STARTED, RowEvent.ADOPTED, RowEvent.RESUMED, RowEvent.RESTARTED):
        return {**revive_changes(set(row.data)), ("pane", "pid"): 7, ("tmux", "session_id"): "$9"}
    conversation = Conversation("0123456", "hook", None, exists=True)
    field = conversation_field(row.agent or "claude")
    return end_changes(
        row.status,
        End(
            event,
            1795000000,
            StoppedBy.SIGKILL,
            "no: reason",
            None,
            conversation,
            field,
            True,
            "a\n  b # c",
        ),
    )


POSSIBLE = [
    (name, event)
    for name in NAMES
    for event in RowEvent
    if TRANSITIONS[event][row_of(name).status] is not None
]


@pytest.mark.parametrize(
    ("name", "event"), POSSIBLE, ids=lambda value: getattr(value, "value", value)
)
def test_an_event_changes_its_row_alone(name: str, event: RowEvent) -> None:
    row = row_of(name)
    after = edited(look(), {name: changes_of(row, event)})
    old, new = chunks(TEXT), chunks(after)
    differing = [at for at, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert differing == [row.index + 1]
    # In the row itself only lines that it must change; a one-line row changes as a whole.
    meant = {path[0] for path in changes_of(row, event)}
    below = bool(
        meant & {"last_visible_status", "pane", "tmux"}
    )  # their lines are indented further
    if not old[row.index + 1].startswith("  - {"):
        for line in set(old[row.index + 1].splitlines()) - set(new[row.index + 1].splitlines()):
            key = line.strip().split(":")[0].strip("- ")
            assert key in meant or (below and line.startswith("      ")), line
    assert {
        k
        for k, v in yaml.safe_load(after)["tmux_sessions"][row.index].items()
        if v != row.data.get(k)
    } <= meant


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_removed_alone(name: str) -> None:
    row = row_of(name)
    after = chunks(edits.remove_rows(look().document, row.index))
    old = chunks(TEXT)
    assert len(after) == len(old) - 1
    joined = "".join(after)
    kept = "".join(old[: row.index + 1]), "".join(old[row.index + 2 :])
    assert joined.startswith(kept[0])
    assert joined.endswith(kept[1])
    # Between them stands what stood between the rows: the blank line and the comment of the next
    # one.
    between = joined[len(kept[0]) : len(joined) - len(kept[1])]
    assert re.fullmatch(r"\n( *#.*\n)+(owner:.*\n)?", between)
    assert old[row.index + 1].endswith(between)


def test_a_new_row_comes_after_the_last() -> None:
    after = edits.add_row(look().document, {"name": "new", "status": "running"})
    added = "\n  - name: new\n    status: running"
    assert after.count(added) == 1
    assert after.replace(added, "") == TEXT

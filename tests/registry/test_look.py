"""A look at the registry: good and bad rows, and edits that leave out what cannot be edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.registry_text import ROWS as TEXT
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row
from tmuxreap.registry.file import RegistryFile, edited, edited_where_safe
from tmuxreap.registry.rows import folder_of
from tmuxreap.registry.transitions import Remove


def test_rows_and_bad_rows_keep_their_order(registry: RegistryFile) -> None:
    rows = registry.look().rows
    assert [(row.index, row.name, isinstance(row, Row)) for row in rows] == [
        (0, "a", True),
        (1, "b", True),
        (2, "c", False),
        (3, "d", False),
        (4, "e", False),
        (5, "e", False),
        (6, None, False),
    ]


def test_named_means_a_good_row_of_exactly_that_name(registry: RegistryFile) -> None:
    look = registry.look()
    assert look.named("a") is look.rows[0]
    for name in ("c", "d", "e", "A", "", "nosuch"):
        assert look.named(name) is None


def test_the_before_image_is_the_row_unchanged(registry: RegistryFile) -> None:
    look = registry.look()
    texts = [look.text_of(row) for row in look.rows[:2] if isinstance(row, Row)]
    assert texts == ["name: a\n    status: running", "{name: b, status: stopped}"]


def test_edited_changes_what_was_asked_for(registry: RegistryFile) -> None:
    look = registry.look()
    text = edited(
        look,
        {
            "a": {("status",): "stopped"},
            "b": {("status",): Remove.KEY, ("x",): 1},
            "nosuch": {("y",): 1},
        },
    )
    assert text == TEXT.replace("running   # of a", "stopped   # of a").replace(
        "b, status: stopped", "b, x: 1"
    )


UNSAFE = (
    "tmux_sessions:\n  - name: a\n    status: running\n  - name: b\n    ? status\n    : running\n"
)


def test_a_row_that_cannot_be_edited_stops_no_other(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "x.yaml")
    registry.path.write_text(UNSAFE)
    changes = {"a": {("status",): "stopped"}, "b": {("status",): "stopped"}}
    with pytest.raises(Failure) as caught:
        edited(registry.look(), changes)
    assert caught.value.code is Code.ROW_INVALID
    assert "line 5, column 7" in caught.value.message
    text, stuck = edited_where_safe(registry.look(), changes)
    assert text == UNSAFE.replace("name: a\n    status: running", "name: a\n    status: stopped")
    assert list(stuck) == ["b"]
    assert stuck["b"].code is Code.ROW_INVALID


@pytest.mark.parametrize("data", [b"\xff", "tmux_sessions: []\n# \xe9".encode("latin-1")])
def test_invalid_utf8_is_reported_with_its_line(data: bytes, registry: RegistryFile) -> None:
    registry.path.write_bytes(data)
    with pytest.raises(Failure, match=f"line {data.count(10) + 1}, column 1: it is not UTF-8 text"):
        registry.look()


@pytest.mark.parametrize("bad", ["", "  - name: a\n    status: odd\n", "  - just words\n"])
def test_after_an_edit_the_rows_are_those_that_a_reader_finds(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "agent-sessions.yaml"
    path.write_text(
        "tmux_sessions:\n  - name: one\n    status: running\n    pane: {pid: 7, cwd: /srv}\n"
        f"{bad}  - name: two\n    status: stopped\n"
    )
    _, after = RegistryFile(path).change(
        lambda look: edited(look, {"two": {("status",): "running"}})
    )
    found = RegistryFile(path).look()
    assert after.rows == found.rows
    assert [folder_of(row) for row in after.usable] == [row.pane.cwd for row in found.usable]
    assert len(after.usable) == 2

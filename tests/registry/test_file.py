"""The registry file: bad rows, changes under the lock, and a retry when another program wrote
without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import temporaries
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.core.model import BadRow, Remove, Row
from tmuxreap.registry import edits
from tmuxreap.registry.file import Registry, RegistryLook, edited, edited_where_safe, row_invalid
from tmuxreap.registry.rows import folder_of
from tmuxreap.system import files

TEXT = """\
tmux_sessions:
  - name: a
    status: running   # of a
  - {name: b, status: stopped}
  - &anchor
    name: c
    status: running
  - name: d
    status: odd
  - name: e
    status: running
  - name: e
    status: stopped
  - status: running
"""


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    path = tmp_path / "rows.yaml"
    path.write_text(TEXT)
    return Registry(path)


def test_rows_and_bad_rows_in_their_order(registry: Registry) -> None:
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


def bad(registry: Registry, index: int) -> BadRow:
    row = registry.look().rows[index]
    assert isinstance(row, BadRow)
    return row


@pytest.mark.parametrize(
    ("index", "reason", "line"),
    [
        (2, "anchor", 5),
        (3, "'odd' is not one of", 8),
        (4, "stands 2 times", 10),
        (5, "stands 2 times", 12),
    ],
)
def test_a_bad_row_says_why_and_where(
    index: int, reason: str, line: int, registry: Registry
) -> None:
    row = bad(registry, index)
    assert reason in row.reason
    assert row.line == line
    failure = row_invalid(registry.path, row)
    assert failure.code is Code.ROW_INVALID
    assert failure.message.startswith(f"could not use the row '{row.name}': ")
    assert f"line {line}, column {row.column}" in failure.message
    assert str(line) in failure.hint


def test_a_row_without_a_name_is_told_by_its_number(registry: Registry) -> None:
    assert row_invalid(registry.path, bad(registry, 6)).message.startswith(
        "could not use the row number 7: it has no"
    )


def test_named_means_a_good_row_of_exactly_that_name(registry: Registry) -> None:
    look = registry.look()
    assert look.named("a") is look.rows[0]
    for name in ("c", "d", "e", "A", "", "nosuch"):
        assert look.named(name) is None


def test_the_before_image_is_the_row_as_it_stands(registry: Registry) -> None:
    look = registry.look()
    texts = [look.text_of(row) for row in look.rows[:2] if isinstance(row, Row)]
    assert texts == ["name: a\n    status: running", "{name: b, status: stopped}"]


def test_edited_changes_what_was_asked_for(registry: Registry) -> None:
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


def test_one_row_that_cannot_be_edited_stops_no_other(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "x.yaml")
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


# Under the lock


def stop_a(look: RegistryLook) -> str:
    return edited(look, {"a": {("status",): "stopped"}})


def test_a_change_gives_before_and_after(registry: Registry) -> None:
    before, after = registry.change(stop_a)
    assert before.document.text == TEXT
    assert (
        after.document.text
        == registry.path.read_text()
        == TEXT.replace("running   #", "stopped   #")
    )
    now = files.read(registry.path)
    assert (after.content.data, after.content.stamp) == (
        now.data,
        now.stamp,
    )  # the next change starts from this look


def test_an_edit_that_was_tried_is_not_made_again_under_the_lock(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    edit = edits.edit_rows
    monkeypatch.setattr(edits, "edit_rows", lambda *of: made.append(of) or edit(*of))
    tried = stop_a(registry.look())
    assert (registry.change(stop_a)[1].text, len(made)) == (tried, 1)
    registry.path.write_text(TEXT + "  - name: f\n")
    assert "name: f" in registry.change(stop_a)[1].text
    assert len(made) == 2


def test_a_change_that_changes_nothing_writes_nothing(registry: Registry) -> None:
    stamp = files.stamp_of(registry.path)
    before, after = registry.change(lambda look: look.document.text)
    assert after is before
    assert files.stamp_of(registry.path) == stamp


def test_what_is_edited_is_read_under_the_lock(registry: Registry) -> None:
    def look_at_the_lock(look: RegistryLook) -> str:
        with pytest.raises(Failure), pytest.MonkeyPatch.context() as quick:
            quick.setattr(files, "LOCK_WAIT_S", 0)
            with registry.locked():
                pass
        return stop_a(look)

    registry.change(look_at_the_lock)
    assert "stopped   # of a" in registry.path.read_text()


def with_foreign(registry: Registry, times: int) -> tuple[Callable[[RegistryLook], str], list[str]]:
    """Return an edit during which another program writes without the lock, that many times."""
    seen: list[str] = []

    def edit(look: RegistryLook) -> str:
        seen.append(look.document.text)
        if len(seen) <= times:
            registry.path.write_text(look.document.text + f"# foreign {len(seen)}\n")
        return stop_a(look)

    return edit, seen


def test_a_writer_without_the_lock_is_noticed_and_nothing_is_lost(registry: Registry) -> None:
    edit, seen = with_foreign(registry, 1)
    registry.change(edit)
    assert registry.path.read_text() == TEXT.replace("running   #", "stopped   #") + "# foreign 1\n"
    assert seen == [TEXT, TEXT + "# foreign 1\n"]
    assert temporaries(registry.path.parent) == []


def test_one_that_never_rests_is_told(registry: Registry) -> None:
    edit, seen = with_foreign(registry, 9)
    with pytest.raises(Failure) as caught:
        registry.change(edit)
    assert caught.value.code is Code.REGISTRY_UNWRITABLE
    assert "another program changes it without the lock" in caught.value.message
    assert f"{registry.path}.lock" in caught.value.hint
    assert len(seen) == 2
    assert registry.path.read_text() == TEXT + "# foreign 1\n# foreign 2\n"


def test_a_foreign_row_is_kept_and_a_row_taken_away_is_not_made_again(registry: Registry) -> None:
    swapped = "tmux_sessions:\n  - name: new\n    status: running\n"
    calls = []

    def edit(look: RegistryLook) -> str:
        calls.append(1)
        if len(calls) == 1:
            registry.path.write_text(swapped)
        return stop_a(look)

    registry.change(edit)
    assert registry.path.read_text() == swapped


def test_an_edit_that_fails_frees_the_lock(registry: Registry) -> None:
    def fail(_look: RegistryLook) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        registry.change(fail)
    assert registry.path.read_text() == TEXT
    registry.change(stop_a)


def test_half_a_foreign_write_is_no_registry_and_nothing_is_written(registry: Registry) -> None:
    """A writer that truncates first leaves the file empty for a moment."""
    registry.path.write_text("")
    with pytest.raises(Failure) as caught:
        registry.change(stop_a)
    assert caught.value.code is Code.REGISTRY_INVALID
    assert registry.path.read_text() == ""


def test_lock_and_write_stand_beside_the_file_itself(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "rows.yaml", tmp_path / "link.yaml"
    real.parent.mkdir()
    real.write_text(TEXT)
    link.symlink_to(real)
    Registry(link).change(stop_a)
    assert link.is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.yaml", "real"]
    assert sorted(one.name for one in real.parent.iterdir()) == ["rows.yaml", "rows.yaml.lock"]


def test_a_new_registry_is_empty_and_valid(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "deep" / "rows.yaml")
    registry.create()
    assert registry.resolved.stat().st_mode & 0o777 == 0o600
    assert registry.path.read_text() == edits.new_document()
    assert registry.look().rows == ()


def test_one_that_is_there_is_not_made_anew(registry: Registry) -> None:
    registry.create()
    assert registry.path.read_text() == TEXT


@pytest.mark.parametrize(
    "step", [Step.TEMP_CREATED, Step.FOLDER_SYNCED], ids=lambda step: step.value
)
def test_one_that_cannot_be_made(step: Step, tmp_path: Path) -> None:
    from tmuxreap.core import faults

    faults.arm(f"{step.value}=ENOSPC")
    try:
        with pytest.raises(Failure) as caught:
            Registry(tmp_path / "rows.yaml").create()
    finally:
        faults.arm("")
    assert caught.value.code is Code.REGISTRY_UNWRITABLE
    assert temporaries(tmp_path) == []


def test_one_that_is_away_since_it_was_read_is_nobodys(registry: Registry) -> None:
    assert registry.is_ours
    registry.path.unlink()
    assert not registry.is_ours


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure) as caught:
        Registry(tmp_path / "file" / "rows.yaml").create()
    assert caught.value.code is Code.REGISTRY_UNWRITABLE


@pytest.mark.parametrize("data", [b"\xff", "tmux_sessions: []\n# \xe9".encode("latin-1")])
def test_what_is_not_utf8_says_its_line(data: bytes, registry: Registry) -> None:
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
    _, after = Registry(path).change(lambda look: edited(look, {"two": {("status",): "running"}}))
    found = Registry(path).look()
    assert after.rows == found.rows
    assert [folder_of(row) for row in after.usable] == [row.pane.cwd for row in found.usable]
    assert len(after.usable) == 2

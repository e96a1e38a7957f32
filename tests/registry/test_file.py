"""The registry file: changes under the lock, and a retry when another program wrote
without it."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.command_line import temporaries
from tests.registry_text import ROWS as TEXT
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.faults import Step
from tmuxreap.registry import edits
from tmuxreap.registry.file import RegistryFile, RegistryLook, edited
from tmuxreap.system import files, lock


def stop_a(look: RegistryLook) -> str:
    return edited(look, {"a": {("status",): "stopped"}})


def test_a_change_returns_the_registry_before_and_after(registry: RegistryFile) -> None:
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
    registry: RegistryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    edit = edits.edit_rows
    monkeypatch.setattr(edits, "edit_rows", lambda *of: made.append(of) or edit(*of))
    tried = stop_a(registry.look())
    assert (registry.change(stop_a)[1].text, len(made)) == (tried, 1)
    registry.path.write_text(TEXT + "  - name: f\n")
    assert "name: f" in registry.change(stop_a)[1].text
    assert len(made) == 2


def test_a_change_that_changes_nothing_writes_nothing(registry: RegistryFile) -> None:
    stamp = files.stamp_of(registry.path)
    before, after = registry.change(lambda look: look.document.text)
    assert after is before
    assert files.stamp_of(registry.path) == stamp


def test_edits_read_the_file_under_the_lock(registry: RegistryFile) -> None:
    def take() -> None:
        with registry.locked():
            pass

    def look_at_the_lock(look: RegistryLook) -> str:
        with pytest.MonkeyPatch.context() as quick, ThreadPoolExecutor(1) as others:
            quick.setattr(lock, "WAIT_S", 0)
            assert isinstance(others.submit(take).exception(), Failure)
        return stop_a(look)

    registry.change(look_at_the_lock)
    assert "stopped   # of a" in registry.path.read_text()


def with_foreign(
    registry: RegistryFile, times: int
) -> tuple[Callable[[RegistryLook], str], list[str]]:
    """Return an edit during which another program writes without the lock, that many times."""
    seen: list[str] = []

    def edit(look: RegistryLook) -> str:
        seen.append(look.document.text)
        if len(seen) <= times:
            registry.path.write_text(look.document.text + f"# foreign {len(seen)}\n")
        return stop_a(look)

    return edit, seen


def test_a_writer_without_the_lock_is_noticed_and_nothing_is_lost(registry: RegistryFile) -> None:
    edit, seen = with_foreign(registry, 1)
    registry.change(edit)
    assert registry.path.read_text() == TEXT.replace("running   #", "stopped   #") + "# foreign 1\n"
    assert seen == [TEXT, TEXT + "# foreign 1\n"]
    assert temporaries(registry.path.parent) == []


def test_a_registry_that_keeps_changing_is_reported(registry: RegistryFile) -> None:
    edit, seen = with_foreign(registry, 9)
    with pytest.raises(Failure) as caught:
        registry.change(edit)
    assert caught.value.code is Code.REGISTRY_UNWRITABLE
    assert "another program changes it without the lock" in caught.value.message
    assert f"{registry.path}.lock" in caught.value.hint
    assert len(seen) == 2
    assert registry.path.read_text() == TEXT + "# foreign 1\n# foreign 2\n"


def test_a_foreign_row_is_kept_and_a_row_taken_away_is_not_made_again(
    registry: RegistryFile,
) -> None:
    swapped = "tmux_sessions:\n  - name: new\n    status: running\n"
    calls = []

    def edit(look: RegistryLook) -> str:
        calls.append(1)
        if len(calls) == 1:
            registry.path.write_text(swapped)
        return stop_a(look)

    registry.change(edit)
    assert registry.path.read_text() == swapped


def test_an_edit_that_fails_frees_the_lock(registry: RegistryFile) -> None:
    def fail(_look: RegistryLook) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        registry.change(fail)
    assert registry.path.read_text() == TEXT
    registry.change(stop_a)


def test_half_a_foreign_write_is_no_registry_and_nothing_is_written(registry: RegistryFile) -> None:
    """A writer that truncates first leaves the file empty for a moment."""
    registry.path.write_text("")
    with pytest.raises(Failure) as caught:
        registry.change(stop_a)
    assert caught.value.code is Code.REGISTRY_INVALID
    assert registry.path.read_text() == ""


def test_lock_and_write_are_beside_the_file_itself(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "rows.yaml", tmp_path / "link.yaml"
    real.parent.mkdir()
    real.write_text(TEXT)
    link.symlink_to(real)
    RegistryFile(link).change(stop_a)
    assert link.is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.yaml", "real"]
    assert sorted(one.name for one in real.parent.iterdir()) == ["rows.yaml", "rows.yaml.lock"]


def test_a_new_registry_is_empty_and_valid(tmp_path: Path) -> None:
    registry = RegistryFile(tmp_path / "deep" / "rows.yaml")
    registry.create()
    assert registry.resolved.stat().st_mode & 0o777 == 0o600
    assert registry.path.read_text() == edits.new_document()
    assert registry.look().rows == ()


def test_an_existing_registry_is_not_recreated(registry: RegistryFile) -> None:
    registry.create()
    assert registry.path.read_text() == TEXT


@pytest.mark.parametrize(
    "step", [Step.TEMP_CREATED, Step.FOLDER_SYNCED], ids=lambda step: step.value
)
def test_a_registry_that_cannot_be_created_is_an_error(step: Step, tmp_path: Path) -> None:
    from tmuxreap.core import faults

    faults.arm(f"{step.value}=ENOSPC")
    try:
        with pytest.raises(Failure) as caught:
            RegistryFile(tmp_path / "rows.yaml").create()
    finally:
        faults.arm("")
    assert caught.value.code is Code.REGISTRY_UNWRITABLE
    assert temporaries(tmp_path) == []


def test_the_hint_for_a_registry_that_is_too_large_shows_what_fills_it(tmp_path: Path) -> None:
    path = tmp_path / "sessions.yaml"
    path.touch()
    os.truncate(path, files.LARGEST + 1)
    with pytest.raises(Failure, match="it is larger than 100 MB") as failed:
        RegistryFile(path).look()
    assert failed.value.code is Code.REGISTRY_INVALID
    assert failed.value.hint == f"see what fills it: head -c 1000 {path}"


def test_a_registry_removed_after_reading_is_no_longer_ours(registry: RegistryFile) -> None:
    assert registry.is_ours
    registry.path.unlink()
    assert not registry.is_ours


def test_a_folder_that_cannot_be_made_is_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure) as caught:
        RegistryFile(tmp_path / "file" / "rows.yaml").create()
    assert caught.value.code is Code.REGISTRY_UNWRITABLE


@pytest.mark.parametrize("torn", ["", TEXT[:30] + "'", "# a comment\n", "tmux_sess"])
@pytest.mark.parametrize("known", [True, False])
def test_a_file_in_the_middle_of_a_write_is_looked_at_again(
    registry: RegistryFile, monkeypatch: pytest.MonkeyPatch, torn: str, known: bool
) -> None:
    monkeypatch.setattr(files, "SETTLES_S", 30.0)
    if known:
        registry.look()
    registry.path.write_text(torn)
    read = files.read

    def read_and_finish(path: Path) -> files.Content:
        content = read(path)
        registry.path.write_text(TEXT)
        return content

    monkeypatch.setattr(files, "read", read_and_finish)
    look = registry.look()
    assert (look.text, look.named("a") is not None) == (TEXT, True)


def test_a_broken_file_is_answered_as_broken_after_a_moment(
    registry: RegistryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SETTLES_S", 0.05)
    registry.path.write_text("")
    with pytest.raises(Failure, match="the file is empty") as caught:
        registry.look()
    assert caught.value.code is Code.REGISTRY_INVALID


def rested(registry: RegistryFile, text: str) -> None:
    registry.path.write_text(text)
    os.utime(registry.path, (1e9, 1e9))


def test_a_broken_file_that_has_rested_is_looked_at_once_more(
    registry: RegistryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SETTLES_S", 1000.0)
    rested(registry, "")
    with pytest.raises(Failure, match="the file is empty"):
        registry.look()


def test_a_file_truncated_before_its_time_changes_is_read_again(
    registry: RegistryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who truncates it gives it its new size first, and its new time a moment later."""
    monkeypatch.setattr(files, "SETTLES_S", 30.0)
    rested(registry, "")
    reads, read = iter(["", TEXT, TEXT]), files.read

    def read_next(path: Path) -> files.Content:
        content = read(path)
        registry.path.write_text(next(reads))
        return content

    monkeypatch.setattr(files, "read", read_next)
    assert registry.look().named("a") is not None


def test_a_folder_is_no_registry(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        RegistryFile(tmp_path).look()
    message = f"could not read the registry {tmp_path}: it is a folder, not a file"
    assert refused.value.message == message
    assert refused.value.hint.startswith("name the file in it")

"""Files are never half-written, and the lock is released when its holder dies."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import Child, temporaries
from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.system import files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "rows.yaml"
    file.write_bytes(b"old")
    return file


@pytest.fixture(autouse=True)
def unarmed() -> Iterator[None]:
    yield
    faults.arm("")


# Read and replace


def test_the_file_that_was_read_is_the_one_replaced(path: Path) -> None:
    content = files.read(path)
    assert content.data == b"old"
    stamp, unsynced = files.replace(path, b"new", content.stamp)
    assert unsynced is None
    assert path.read_bytes() == b"new"
    assert stamp == files.read(path).stamp != content.stamp


@pytest.mark.parametrize("length", [0, 1, files.SHORT, files.SHORT + 1])
def test_the_digest_is_the_same_by_whichever_way_it_is_made(length: int, path: Path) -> None:
    path.write_bytes(b"x" * length)
    assert files.read(path).digest == hashlib.sha256(b"x" * length).hexdigest()


def test_the_digest_is_of_the_bytes(path: Path) -> None:
    first = files.read(path)
    path.touch()
    assert files.read(path).digest == first.digest
    path.write_bytes(b"olD")
    assert files.read(path).digest != first.digest


def rewritten(path: Path) -> None:
    path.write_bytes(b"foreign")


def same_size(path: Path) -> None:
    path.write_bytes(b"OLD")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def old_time(path: Path) -> None:
    before = path.stat()
    path.write_bytes(b"OLD")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def another_file(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"OLD")
    other.replace(path)


@pytest.mark.parametrize(
    "hand", [rewritten, same_size, old_time, another_file], ids=lambda hand: hand.__name__
)
def test_a_writer_without_the_lock_is_noticed(hand: object, path: Path) -> None:
    content = files.read(path)
    hand(path)  # type: ignore[operator]
    theirs = path.read_bytes()
    with pytest.raises(files.ChangedMeanwhile):
        files.replace(path, b"new", content.stamp)
    assert path.read_bytes() == theirs
    assert temporaries(path.parent) == []


def test_a_link_is_followed(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path.name)
    files.replace(link, b"new", files.read(link).stamp)
    assert (str(link.readlink()), path.read_bytes()) == ("rows.yaml", b"new")


def test_a_file_that_vanished_is_not_made_again(path: Path) -> None:
    content = files.read(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        files.replace(path, b"new", content.stamp)
    assert list(path.parent.iterdir()) == []


def test_readers_see_the_old_or_the_new_never_half(path: Path) -> None:
    """A reader that has the old file open keeps reading it whole."""
    with path.open("rb") as reader:
        files.replace(path, b"x" * 100_000, files.read(path).stamp)
        assert reader.read() == b"old"
    assert len(path.read_bytes()) == 100_000


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "EROFS"])
@pytest.mark.parametrize(
    "step", [Step.TEMP_CREATED, Step.TEMP_WRITTEN, Step.TEMP_SYNCED], ids=lambda step: step.value
)
def test_a_write_that_fails_leaves_the_old_and_no_rest(step: Step, fault: str, path: Path) -> None:
    content = files.read(path)
    faults.arm(f"{step.value}={fault}")
    with pytest.raises(OSError) as caught:
        files.replace(path, b"new", content.stamp)
    assert caught.value.errno == getattr(errno, fault)
    assert path.read_bytes() == b"old"
    assert temporaries(path.parent) == []


def test_a_rename_that_fails_leaves_no_rest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = files.read(path)

    def no_rename(_self: Path, _target: Path) -> None:
        raise OSError(errno.EXDEV, "no")

    monkeypatch.setattr(Path, "replace", no_rename)
    with pytest.raises(OSError, match="no"):
        files.replace(path, b"new", content.stamp)
    assert temporaries(path.parent) == []
    assert path.read_bytes() == b"old"


def test_file_and_folder_are_synced_in_that_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data before the rename, the name after it."""
    done: list[str] = []
    sync, rename = os.fsync, Path.replace

    def noted_sync(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def noted_rename(self: Path, target: Path) -> Path:
        done.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_rename)
    files.replace(path, b"new", files.read(path).stamp)
    assert done == ["file", "rename", "folder"]


def test_leftovers_of_a_killed_writer_do_no_harm(path: Path) -> None:
    def die() -> int:
        faults.arm("temp_written=kill")
        files.replace(path, b"new", files.read(path).stamp)
        return 0

    assert Child(die).answer().exit == -signal.SIGKILL
    (left,) = temporaries(path.parent)
    files.replace(path, b"newer", files.read(path).stamp)
    assert (path.read_bytes(), temporaries(path.parent)) == (b"newer", [left])


# Create


def test_a_new_file_is_created_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "rows.yaml"
    files.create(path, b"x")
    assert path.read_bytes() == b"x"
    assert [one.name for one in path.parent.iterdir()] == ["rows.yaml"]


def test_create_does_not_overwrite_a_file(path: Path) -> None:
    with pytest.raises(FileExistsError):
        files.create(path, b"new")
    assert path.read_bytes() == b"old"
    assert temporaries(path.parent) == []


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_is_as_open_as_the_user_wants_his_files(
    mask: int, mode: int, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        files.create(tmp_path / "rows.yaml", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "rows.yaml").stat().st_mode) == mode


def test_only_its_owner_can_read_a_private_file(tmp_path: Path) -> None:
    files.create(tmp_path / "rows.yaml", b"x", files.PRIVATE)
    assert stat.S_IMODE((tmp_path / "rows.yaml").stat().st_mode) == 0o600


def test_a_temporary_file_is_private_until_it_has_the_mode_of_the_old(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o664)
    seen: list[int] = []
    monkeypatch.setattr(
        files.faults,
        "at",
        lambda step: (
            seen.append(stat.S_IMODE(next(path.parent.glob(".*.tmp")).stat().st_mode))
            if step in (Step.TEMP_CREATED, Step.TEMP_SYNCED)
            else None
        ),
    )
    files.replace(path, b"new", files.read(path).stamp)
    assert seen == [0o600, 0o664]


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, files.LARGEST + 1)
    with pytest.raises(OSError, match="it is larger than 100 MB"):
        files.read(large)


def test_reading_a_fifo_or_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no regular file"):
        files.read(pipe)
    with pytest.raises(IsADirectoryError):
        files.read(tmp_path)

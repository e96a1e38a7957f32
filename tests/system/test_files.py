"""Files are never half-written, and the lock is released when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.command_line import Child, temporaries, without_powers
from tmuxreap.core import faults
from tmuxreap.core.errors import Code, Failure
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.03)


# Read and replace


def test_what_was_read_is_what_is_replaced(path: Path) -> None:
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


def test_leftovers_of_a_killed_writer_are_in_nobodys_way(path: Path) -> None:
    def die() -> int:
        faults.arm("temp_written=kill")
        files.replace(path, b"new", files.read(path).stamp)
        return 0

    assert Child(die).answer().exit == -signal.SIGKILL
    (left,) = temporaries(path.parent)
    files.replace(path, b"newer", files.read(path).stamp)
    assert (path.read_bytes(), temporaries(path.parent)) == (b"newer", [left])


# Create


def test_a_new_file_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "rows.yaml"
    files.create(path, b"x")
    assert path.read_bytes() == b"x"
    assert [one.name for one in path.parent.iterdir()] == ["rows.yaml"]


def test_what_is_there_is_not_created_over(path: Path) -> None:
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


def test_a_private_file_is_nobody_elses_to_read(tmp_path: Path) -> None:
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


# The lock


def held_by_another(path: Path) -> bool:
    with open(f"{path}.lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_held_inside_and_free_outside(path: Path) -> None:
    with files.locked(path):
        assert held_by_another(path)
    assert not held_by_another(path)
    with pytest.raises(ZeroDivisionError), files.locked(path):
        raise ZeroDivisionError
    assert not held_by_another(path)


def test_other_workflows_take_the_same_lock(path: Path) -> None:
    with files.locked(path):
        from filelock import Timeout

        with pytest.raises(Timeout):
            FileLock(f"{path}.lock").acquire(timeout=0)
    with FileLock(f"{path}.lock"):
        pass


@pytest.mark.usefixtures("impatient")
def test_one_that_is_not_had_in_time_says_who_to_ask(path: Path) -> None:
    with FileLock(f"{path}.lock"), pytest.raises(Failure) as caught, files.locked(path):
        pass
    assert caught.value.code is Code.LOCK_TIMEOUT
    ours = f"{Path('/proc/self/comm').read_text().strip()} (pid {os.getpid()})"
    assert caught.value.message == f"could not lock {path}.lock: {ours} held it for 0.03 s"
    assert f"{path}.lock" in caught.value.hint


@pytest.mark.usefixtures("impatient")
def test_it_excludes_its_own_process_too(path: Path) -> None:
    with files.locked(path), pytest.raises(Failure), files.locked(path):
        pass


def test_the_kernel_frees_it_when_its_holder_is_killed(path: Path) -> None:
    reader, writer = os.pipe()

    def hold() -> int:
        with files.locked(path):
            os.write(writer, b".")
            signal.pause()
        return 0

    child = Child(hold)
    os.read(reader, 1)
    assert held_by_another(path)
    os.kill(child.pid, signal.SIGKILL)
    assert child.answer().exit == -signal.SIGKILL
    with files.locked(path):
        pass
    os.close(reader)
    os.close(writer)


def test_a_lock_file_that_is_deleted_while_one_waits(path: Path) -> None:
    """Old versions of filelock delete the file on release: a lock on a deleted file locks
    nothing."""
    lock = Path(f"{path}.lock")
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def wait() -> int:
            with files.locked(path):
                return 0 if held_by_another(path) else 1

        child = Child(wait)
        assert os.waitpid(child.pid, os.WNOHANG) == (0, 0)
        lock.unlink()
    assert child.answer().exit == 0
    assert lock.exists()


def test_a_lock_file_that_is_deleted_between_opening_and_locking(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, opened = Path(f"{path}.lock"), files._open_lock
    calls: list[int] = []

    def deleted_once(name: Path) -> int:
        descriptor = opened(name)
        calls.append(descriptor)
        if len(calls) == 1:
            lock.unlink()
        return descriptor

    monkeypatch.setattr(files, "_open_lock", deleted_once)
    with files.locked(path):
        assert held_by_another(path)
    assert len(calls) == 2


def test_a_lock_file_of_another_user_will_do(path: Path) -> None:
    lock = Path(f"{path}.lock")
    lock.touch()
    lock.chmod(0o444)

    def work() -> int:
        without_powers()
        with files.locked(path):
            return 0

    assert Child(work).answer().exit == 0


def test_a_link_in_place_of_the_lock_is_not_followed(path: Path) -> None:
    Path(f"{path}.lock").symlink_to("victim")
    with pytest.raises(OSError) as caught, files.locked(path):
        pass
    assert caught.value.errno == errno.ELOOP
    assert not (path.parent / "victim").exists()


def test_a_lock_leaves_no_descriptor(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with files.locked(path):
            files.replace(path, os.urandom(8), files.read(path).stamp)
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no regular file"):
        files.read(pipe)
    with pytest.raises(IsADirectoryError):
        files.read(tmp_path)

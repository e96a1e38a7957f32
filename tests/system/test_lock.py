"""The lock of a registry excludes everybody else, and is released when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from tests.command_line import Child, without_powers
from tmuxreap.core.errors import Code, Failure
from tmuxreap.system import files
from tmuxreap.system import lock as module
from tmuxreap.system.lock import is_held, lock, locked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "rows.yaml"
    file.write_bytes(b"old")
    return file


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.03)


def held_by_another(path: Path, mode: str = "a") -> bool:
    with open(f"{path}.lock", mode) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_the_lock_is_held_inside_and_free_outside(path: Path) -> None:
    with locked(path):
        assert held_by_another(path)
    assert not held_by_another(path)
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError
    assert not held_by_another(path)


def test_other_workflows_take_the_same_lock(path: Path) -> None:
    with locked(path):
        from filelock import Timeout

        with pytest.raises(Timeout):
            FileLock(f"{path}.lock").acquire(timeout=0)
    with FileLock(f"{path}.lock"):
        pass


@pytest.mark.usefixtures("impatient")
def test_a_lock_timeout_names_the_holder(path: Path) -> None:
    with FileLock(f"{path}.lock"), pytest.raises(Failure) as caught, locked(path):
        pass
    assert caught.value.code is Code.LOCK_TIMEOUT
    ours = f"{Path('/proc/self/comm').read_text().strip()} (pid {os.getpid()})"
    assert caught.value.message == f"could not lock {path}.lock: {ours} held it for 0.03 s"
    assert f"{path}.lock" in caught.value.hint


@pytest.mark.usefixtures("impatient")
def test_the_lock_excludes_other_threads_of_its_process(path: Path) -> None:
    def take() -> None:
        with locked(path):
            pass

    with locked(path), ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(take).exception(), Failure)
    take()


def test_the_holding_thread_can_take_the_lock_again(path: Path) -> None:
    with lock(path, 0), locked(path), lock(path, 0):
        assert held_by_another(path)
        assert is_held(path)
    assert not held_by_another(path)
    assert not is_held(path)


def test_a_forked_process_holds_nothing_of_its_parent(path: Path) -> None:
    def take() -> int:
        with locked(path):
            return 0

    with locked(path):
        assert Child(lambda: 1 if is_held(path) else 0).answer().exit == 0
        child = Child(take)
        assert os.waitpid(child.pid, os.WNOHANG) == (0, 0)
    assert child.answer().exit == 0


@pytest.mark.usefixtures("impatient")
def test_a_holder_by_flock_is_named(path: Path) -> None:
    holder = subprocess.Popen(
        ["flock", "-F", f"{path}.lock", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Failure) as caught, locked(path):
            pass
        assert caught.value.code is Code.LOCK_TIMEOUT
        assert f"(pid {holder.pid}) held it" in caught.value.message
    finally:
        holder.kill()
        holder.communicate()
    with locked(path):
        pass


def test_a_file_system_without_locks_gets_no_soft_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", missing)
    with pytest.raises(OSError) as caught, locked(path):
        pass
    assert caught.value.errno == errno.ENOSYS


def test_the_kernel_frees_it_when_its_holder_is_killed(path: Path) -> None:
    reader, writer = os.pipe()

    def hold() -> int:
        with locked(path):
            os.write(writer, b".")
            signal.pause()
        return 0

    child = Child(hold)
    os.read(reader, 1)
    assert held_by_another(path)
    os.kill(child.pid, signal.SIGKILL)
    assert child.answer().exit == -signal.SIGKILL
    with locked(path):
        pass
    os.close(reader)
    os.close(writer)


def test_a_lock_file_deleted_during_the_wait_is_made_again(path: Path) -> None:
    """Old versions of filelock delete the file on release: a lock on a deleted file locks
    nothing."""
    lock = Path(f"{path}.lock")
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def wait() -> int:
            with locked(path):
                return 0 if held_by_another(path) else 1

        child = Child(wait)
        assert os.waitpid(child.pid, os.WNOHANG) == (0, 0)
        lock.unlink()
    assert child.answer().exit == 0
    assert lock.exists()


def test_a_lock_file_deleted_before_locking_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, flock = Path(f"{path}.lock"), fcntl.flock
    calls: list[int] = []

    def deleted_once(descriptor: int, operation: int) -> None:
        if operation & fcntl.LOCK_EX:
            calls.append(descriptor)
            if len(calls) == 1:
                name.unlink()
        flock(descriptor, operation)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", deleted_once)
        with locked(path):
            assert len(calls) == 2
            patch.undo()
            assert held_by_another(path)


NOBODY = 65534


@pytest.mark.parametrize("mode", [0o444, 0o644])
def test_a_lock_file_of_another_user_is_used(path: Path, mode: int) -> None:
    name = Path(f"{path}.lock")
    name.touch()
    name.chmod(mode)
    if os.getuid() == 0:
        os.chown(name, NOBODY, NOBODY)

    def work() -> int:
        without_powers()
        with locked(path), locked(path):
            return 0 if held_by_another(path, "r") else 1

    before = name.stat()
    assert Child(work).answer().exit == 0
    assert name.stat().st_mtime_ns == before.st_mtime_ns
    with locked(path):
        child = Child(work)
        assert os.waitpid(child.pid, os.WNOHANG) == (0, 0)
    assert child.answer().exit == 0


def test_a_link_in_place_of_the_lock_is_not_followed(path: Path) -> None:
    Path(f"{path}.lock").symlink_to("victim")
    with pytest.raises(OSError) as caught, locked(path):
        pass
    assert caught.value.errno == errno.ELOOP
    assert not (path.parent / "victim").exists()


def test_a_lock_leaves_no_descriptor(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with locked(path):
            files.replace(path, os.urandom(8), files.read(path).stamp)
    assert len(os.listdir("/proc/self/fd")) == before

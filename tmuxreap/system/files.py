"""Owns safe access to files: reads with a stamp, the atomic replace; and tells which process holds
a lock file. Knows bytes, not YAML. Never takes a lock."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.core.values import frozen

SETTLES_S = 0.5
SETTLE_POLL_S = 0.01
SHORT = 64 * 1024  # bytes: OpenSSL is faster for more
MEGABYTE = 1024**2
LARGEST = 100 * MEGABYTE  # a registry of 10,000 rows has 10; a sparse file may have any size


@frozen
class Stamp:
    """A file's identity and state: differs after another writer has replaced or rewritten it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def _sha256(data: bytes) -> str:
    """Hash short data with the built-in module, as `random` of the standard library does: hashlib
    loads OpenSSL, which takes as long as a tmux call."""
    if len(data) <= SHORT:
        with contextlib.suppress(ImportError):  # it was renamed in Python 3.12
            from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]

            digest: str = sha256(data).hexdigest()
            return digest
    import hashlib

    return hashlib.sha256(data).hexdigest()


@frozen
class Content:
    data: bytes
    stamp: Stamp

    @property
    def digest(self) -> str:
        return _sha256(self.data)

    @property
    def marks(self) -> tuple[int, ...]:
        """A cheap substitute for the digest: the file's state on disk and a checksum."""
        return self.stamp.inode, self.stamp.mtime_ns, self.stamp.size, zlib.crc32(self.data)


class ChangedMeanwhile(Exception):  # noqa: N818 - a result rather than an error: the caller retries
    """Another program wrote the file without holding the lock."""


def stamp_of(path: Path) -> Stamp:
    return _stamp(path.stat())


def read(path: Path) -> Content:
    """Read a file with its stamp, which reveals a write during the read."""
    faults.at(Step.READ)
    with open(path, "rb", opener=_open_nonblocking) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if found.st_size > LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST // MEGABYTE} MB")
        data = file.read()
        return Content(data, _stamp(os.fstat(file.fileno())))


def while_it_settles(path: Path) -> Iterator[None]:
    """Pause, again and again, while a file that was written just now may still be being written;
    once in any case: a file that is being truncated shows its new size before its new time."""
    deadline = time.monotonic() + SETTLES_S
    while time.monotonic() < deadline:
        time.sleep(SETTLE_POLL_S)
        yield
        if _has_rested(path):
            return


def _has_rested(path: Path) -> bool:
    try:
        written_at = path.stat().st_mtime
    except OSError:  # it was deleted
        return True
    return abs(time.time() - written_at) >= SETTLES_S


def _open_nonblocking(path: str, flags: int) -> int:
    """Open without blocking: opening a pipe would wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def replace(path: Path, data: bytes, expected: Stamp) -> tuple[Stamp, OSError | None]:
    """Replace the file that was read atomically, even across a power failure.

    The returned error is that of the last step alone: the new file is in place, but a power failure
    could bring the old one back."""
    target = Path(os.path.realpath(path))
    before = target.stat()
    temporary = _write_temporary(target, data, before)
    try:
        if _stamp(target.stat()) != expected:
            raise ChangedMeanwhile(str(target))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    unsynced = None
    try:
        faults.at(Step.REPLACED)
        sync_folder(target.parent)
        faults.at(Step.FOLDER_SYNCED)
    except OSError as error:
        unsynced = error
    return stamp_of(target), unsynced


PRIVATE = 0o600
AS_THE_USER_WANTS = 0o666  # subject to the umask


def create(path: Path, data: bytes, mode: int = AS_THE_USER_WANTS) -> None:
    """Create a new file; raise FileExistsError if it exists."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:  # a parent is a file; the file itself may not exist
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
    temporary = _write_temporary(path, data, None, mode)
    try:
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    faults.at(Step.FOLDER_SYNCED)


def check_space(target: Path, size: int) -> None:
    """Raise OSError if no file of that size could be written next to the target: the disk is asked,
    and then it is tried, as a quota or a limit of this process shows in no figure."""
    disk = os.statvfs(target.parent)
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    if disk.f_blocks and free * disk.f_frsize < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    descriptor = _nameless_file(target)
    try:
        os.write(descriptor, b"a trial\n")
        _allocate(descriptor, size)
    finally:
        os.close(descriptor)


def _nameless_file(target: Path) -> int:
    """Open a new file next to the target that vanishes when it is closed."""
    flags = os.O_WRONLY | os.O_CLOEXEC
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(OSError):  # a file system that has no such, as NFS
            return os.open(target.parent, flags | os.O_TMPFILE, PRIVATE)
    name = _temporary_name(target)
    descriptor = os.open(name, flags | os.O_CREAT | os.O_EXCL, PRIVATE)
    name.unlink()
    return descriptor


def _allocate(descriptor: int, size: int) -> None:
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a file system that has no such
            raise


def temporary_files(target: Path) -> list[tuple[Path, int]]:
    """Return temporary files next to it, each with its writer's pid: a killed writer leaves them
    behind."""
    candidates = []
    for path in target.parent.glob(f".{target.name}.*.*.tmp"):
        candidates.append((path, path.name.split(".")[-3]))
    return [(path, int(pid)) for path, pid in candidates if pid.isdigit()]


def _write_temporary(
    target: Path, data: bytes, like: os.stat_result | None, mode: int = PRIVATE
) -> Path:
    name = _temporary_name(target)
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            faults.at(Step.TEMP_CREATED)
            file.write(data)
            file.flush()
            faults.at(Step.TEMP_WRITTEN)
            if like is not None:
                _keep_owner_and_mode(file.fileno(), like)
            os.fsync(file.fileno())
            faults.at(Step.TEMP_SYNCED)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    return name


def _temporary_name(target: Path) -> Path:
    """Return a name for one write: with a shared one, two concurrent writers would lose rows."""
    return target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")


def _keep_owner_and_mode(descriptor: int, like: os.stat_result) -> None:
    created = os.fstat(descriptor)
    if (created.st_uid, created.st_gid) != (like.st_uid, like.st_gid):
        os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))


def sync_folder(folder: Path | str) -> None:
    """Sync a folder, so that what was created, renamed or removed in it survives a power
    failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(result: os.stat_result) -> Stamp:
    return Stamp(
        result.st_dev, result.st_ino, result.st_size, result.st_mtime_ns, result.st_ctime_ns
    )


LOCKS = Path("/proc/locks")
MOUNTS = Path("/proc/self/mountinfo")
LONGEST_RECORD = 200  # bytes of a soft lock: a pid, a host and little more
# File systems on which a lock may not be seen by other hosts, or not work at all.
SHARED = ("nfs", "cifs", "smb", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "afs")


def holders(inode: int) -> set[int]:
    """Return the pids that hold a flock on this file. Linux only."""
    try:
        lines = LOCKS.read_text("ascii").splitlines()
    except OSError:
        return set()
    fields = [line.split() for line in lines if "->" not in line]
    found: set[int] = set()
    for f in fields:
        if f[1] == "FLOCK" and f[5].rpartition(":")[2] == str(inode):
            found.add(int(f[4]))
    return found


def holder_name(lock: Path) -> str:
    """Name the holder for a message, as far as it is known."""
    try:
        pid = min(holders(lock.stat().st_ino), default=None)
        if pid is None:
            return "another program"
        return f"{_name(pid)} (pid {pid})"
    except OSError:
        return "another program"


def soft_owner(lock: Path) -> int | None:
    """Return the pid that a soft lock has in its file; a kernel lock's file is empty."""
    try:
        first, *more = lock.read_bytes()[:LONGEST_RECORD].decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return int(first) if more and first.isdigit() else None


def shared_filesystem(folder: Path) -> str | None:
    """Return a folder's file system type if several hosts may share it; None if it is local."""
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    mounts = {}
    for fields in map(str.split, lines):
        mounts[fields[4]] = fields[fields.index("-") + 1]
    kinds = []
    for path in (folder, *folder.parents):
        if str(path) in mounts:
            kinds.append(mounts[str(path)])
    return next((kind for kind in kinds[:1] if kind.startswith(SHARED)), None)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a process"

"""Tells who is at a lock file, and whether locks hold in its folder at all: for messages and
`doctor`.

Asks the kernel and reads; takes no lock, for that would be in a writer's way."""

from __future__ import annotations

from pathlib import Path

LOCKS, MOUNTS = Path("/proc/locks"), Path("/proc/self/mountinfo")
LONGEST_RECORD = 200  # of a soft lock: a pid, a host and little more
# Where a lock of one host may mean nothing on another, or nothing at all.
SHARED = ("nfs", "cifs", "smb", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "afs")


def holders(inode: int) -> set[int]:
    """Find the processes that hold a flock on this file. Linux only."""
    try:
        lines = LOCKS.read_text("ascii").splitlines()
    except OSError:
        return set()
    fields = [line.split() for line in lines if "->" not in line]
    return {int(f[4]) for f in fields if f[1] == "FLOCK" and f[5].rpartition(":")[2] == str(inode)}


def who_holds(lock: Path) -> str:
    """Name the holder for a message, as far as it can be told."""
    try:
        pid = min(holders(lock.stat().st_ino), default=None)
        return "another program" if pid is None else f"{_name(pid)} (pid {pid})"
    except OSError:
        return "another program"


def soft_owner(lock: Path) -> int | None:
    """Find the pid that a soft lock has written into the file; a kernel lock leaves it empty."""
    try:
        first, *more = lock.read_bytes()[:LONGEST_RECORD].decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return int(first) if more and first.isdigit() else None


def shared_filesystem(folder: Path) -> str | None:
    """Name the file system of a folder that several hosts may share; None for one of this
    host's."""
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    mounts = {fields[4]: fields[fields.index("-") + 1] for fields in map(str.split, lines)}
    kinds = [mounts[str(path)] for path in (folder, *folder.parents) if str(path) in mounts]
    return next((kind for kind in kinds[:1] if kind.startswith(SHARED)), None)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a process"

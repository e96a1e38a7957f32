"""Tells which process holds a lock file, and whether locks work in its folder: for messages and
`doctor`.

Only reads what the kernel reports; never takes a lock, which would block a writer."""

from __future__ import annotations

from pathlib import Path

LOCKS, MOUNTS = Path("/proc/locks"), Path("/proc/self/mountinfo")
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
    return {int(f[4]) for f in fields if f[1] == "FLOCK" and f[5].rpartition(":")[2] == str(inode)}


def holder_name(lock: Path) -> str:
    """Name the holder for a message, as far as it is known."""
    try:
        pid = min(holders(lock.stat().st_ino), default=None)
        return "another program" if pid is None else f"{_name(pid)} (pid {pid})"
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
    mounts = {fields[4]: fields[fields.index("-") + 1] for fields in map(str.split, lines)}
    kinds = [mounts[str(path)] for path in (folder, *folder.parents) if str(path) in mounts]
    return next((kind for kind in kinds[:1] if kind.startswith(SHARED)), None)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a process"

"""Reads /proc: what the kernel tells of one process. Signals nobody, and compares nothing but where
it says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from tmuxreap.core.model import Process, ProcessId

READ_AT_ONCE = 1 << 16
DELETED = " (deleted)"
GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")
MEMBERS = "cgroup.procs"
FLAGS, START, EXIT_CODE = 6, 19, 49  # counted from the third field on
EXITING = 0x4  # PF_EXITING: it closes its files, and comes back to nothing


class Facts(NamedTuple):
    name: bytes
    numbers: list[bytes]  # from the third field on: the state first


def stat(pid: int) -> Process | None:
    """One process, zombies too; None when it is gone or hidden."""
    facts = facts_of(pid)
    return None if facts is None else process_of(pid, facts)


def facts_of(pid: int) -> Facts | None:
    try:
        text = read(f"/proc/{pid}/stat")
    except OSError:
        return None
    name, _, rest = text.partition(b"(")[2].rpartition(
        b")"
    )  # a name may hold spaces and parentheses
    return Facts(name, rest.split(None, 22))


def process_of(pid: int, facts: Facts) -> Process:
    ppid, pgrp, sid, tty, tpgid = map(int, facts.numbers[1:6])
    identity, name = (
        ProcessId(pid, int(facts.numbers[19])),
        facts.name.decode("utf-8", "surrogateescape"),
    )
    return Process(identity, ppid, pgrp, sid, tty, tpgid, state_in(facts.numbers).decode(), name)


def state_in(numbers: list[bytes]) -> bytes:
    """Of a zombie with other threads only the first thread has ended."""
    return b"S" if numbers[0] == b"Z" and int(numbers[17]) > 1 else numbers[0]


def is_still(process: ProcessId) -> bool:
    """The same, and alive: `stat` in short, since it is asked after each thing that is read of a
    process."""
    try:
        facts = read(f"/proc/{process.pid}/stat").rpartition(b")")[2].split(None, 20)
    except OSError:
        return False
    return int(facts[19]) == process.start and state_in(facts) not in (b"Z", b"X", b"x")


def is_gone(process: ProcessId) -> bool:
    found = stat(process.pid)
    if found is not None:
        return found.dead or found.id != process
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def is_leaving(process: ProcessId) -> bool:
    """Tell that it is dying: what it held is closed already, and it is still there."""
    facts = facts_of(process.pid)
    if facts is None or int(facts.numbers[START]) != process.start:
        return False
    return bool(int(facts.numbers[FLAGS]) & EXITING)


def exit_status(process: ProcessId) -> int | None:
    """Of a zombie, as its parent will be told; None of all others, and where the kernel shows it to
    its own alone."""
    try:
        numbers = read(f"/proc/{process.pid}/stat").rpartition(b")")[2].split()
        owner = os.stat(f"/proc/{process.pid}").st_uid  # noqa: PTH116 - as cheaply as the rest
    except OSError:
        return None
    if int(numbers[START]) != process.start or state_in(numbers) != b"Z" or owner != os.geteuid():
        return None
    return int(numbers[EXIT_CODE]) if len(numbers) > EXIT_CODE else None


def read(path: str) -> bytes:
    descriptor = os.open(
        path, os.O_RDONLY | os.O_CLOEXEC
    )  # a third of the time of a file object, thousands of times
    try:
        found = part = os.read(descriptor, READ_AT_ONCE)
        while len(part) == READ_AT_ONCE:  # the kernel fills what it can: less is the end
            part = os.read(descriptor, READ_AT_ONCE)
            found += part
        return found
    finally:
        os.close(descriptor)


def boot_epoch() -> int:
    return next(
        int(line.split()[1])
        for line in read("/proc/stat").splitlines()
        if line.startswith(b"btime ")
    )


def argv_in(home: str) -> tuple[str, ...]:
    words = read(f"{home}/cmdline").rstrip(b"\0")
    return tuple(map(os.fsdecode, words.split(b"\0"))) if words else ()


def called_in(home: str) -> tuple[tuple[str, ...], str | None]:
    try:
        program = linked(f"{home}/exe")
    except OSError:  # another user's may be hidden, and its words not
        program = None
    try:
        return argv_in(home), program
    except OSError:
        return (), program


def environ_in(home: str) -> Mapping[str, str]:
    """Tolerant: a program may have written over it. The first of two settings counts, as for
    getenv."""
    entries = read(f"{home}/environ").decode("utf-8", "surrogateescape").split("\0")
    settings = (entry.partition("=") for entry in reversed(entries))
    return {name: value for name, equals, value in settings if name and equals}


def linked(path: str) -> str:
    """The path behind it, also when it was deleted: an agent that updated itself still runs from
    there."""
    target = os.readlink(path)  # noqa: PTH115
    return (
        target
        if not target.endswith(DELETED) or os.path.lexists(target)
        else target.removesuffix(DELETED)
    )


def open_files_in(home: str) -> tuple[str, ...]:
    paths = []
    for descriptor in os.listdir(f"{home}/fd"):  # noqa: PTH208
        try:
            paths.append(os.readlink(f"{home}/fd/{descriptor}"))  # noqa: PTH115
        except OSError:
            continue
    return tuple(paths)


def scope_in(home: str) -> str | None:
    """Where the members of its group are listed, if that is one that tmux made for a pane: it makes
    them with systemd, and calls each tmux-spawn-UUID.scope."""
    pid = int(home.rpartition("/")[2])
    for line in os.fsdecode(read(f"{home}/cgroup")).splitlines():
        path = line.split(":", 2)[2]
        name = path.rpartition("/")[2]
        if name.startswith("tmux-spawn-") and name.endswith(".scope"):
            lists = (f"{mounted}{path}/{MEMBERS}" for mounted in GROUPS)
            return next((one for one in lists if pid in members_in(one)), None)
    return None


def members_in(scope: str) -> frozenset[int]:
    """Those of another process namespace, which cannot be told apart, left out."""
    try:
        return frozenset(map(int, read(scope).split())) - {0}
    except OSError:
        return frozenset()


def resident_pages(home: str) -> int:
    return int(read(f"{home}/statm").split()[1])

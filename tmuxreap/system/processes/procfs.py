"""Reads /proc: what the kernel tells of one process, and the name of this boot. Signals nobody, and
compares nothing but where it says so. On the way of every hook of an agent: imports next to
nothing."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself costs a millisecond
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxreap.core.model import ProcessId

BOOT_ID = "/proc/sys/kernel/random/boot_id"
READ_AT_ONCE = 1 << 16
# Counted from the third field on, the state.
STATE, PPID, TTY, FLAGS, THREADS, START, PAGES, EXIT_CODE = 0, 1, 4, 6, 17, 19, 21, 49
DEAD = (b"Z", b"X", b"x")
DELETED = " (deleted)"
GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")
MEMBERS = "cgroup.procs"
EXITING = 0x4  # PF_EXITING: it closes its files, and comes back to nothing


def facts_of(pid: int, *, whole: bool = False) -> tuple[bytes, list[bytes]] | None:
    """Its name and its numbers, as far as its pages or of the `whole` line, zombies too; None when
    it is gone or hidden."""
    try:
        text = read(f"/proc/{pid}/stat")
    except OSError:
        return None
    # a name may hold spaces and parentheses
    name, _, rest = text.partition(b"(")[2].rpartition(b")")
    return name, rest.split(None, -1 if whole else PAGES + 1)


def state_in(numbers: list[bytes]) -> bytes:
    """Of a zombie with other threads only the first thread has ended."""
    state = numbers[STATE]
    return b"S" if state == b"Z" and int(numbers[THREADS]) > 1 else state


def is_dead(numbers: list[bytes]) -> bool:
    return state_in(numbers) in DEAD


def boot_id() -> str:
    return read(BOOT_ID).decode("ascii").strip()


def read(path: str) -> bytes:
    # a third of the time of a file object, thousands of times
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = part = os.read(descriptor, READ_AT_ONCE)
        while len(part) == READ_AT_ONCE:  # the kernel fills what it can: less is the end
            part = os.read(descriptor, READ_AT_ONCE)
            found += part
        return found
    finally:
        os.close(descriptor)


def is_still(process: ProcessId) -> bool:
    """The same, and alive: asked after each thing that is read of a process."""
    facts = facts_of(process.pid)
    return facts is not None and int(facts[1][START]) == process.start and not is_dead(facts[1])


def is_gone(process: ProcessId) -> bool:
    facts = facts_of(process.pid)
    if facts is not None:
        return int(facts[1][START]) != process.start or is_dead(facts[1])
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
    if facts is None or int(facts[1][START]) != process.start:
        return False
    return bool(int(facts[1][FLAGS]) & EXITING)


def exit_status(process: ProcessId) -> int | None:
    """Of a zombie, as its parent will be told; None of all others, and where the kernel shows it to
    its own alone."""
    facts = facts_of(process.pid, whole=True)
    if facts is None:
        return None
    numbers = facts[1]
    if int(numbers[START]) != process.start or state_in(numbers) != b"Z":
        return None
    try:
        if os.stat(f"/proc/{process.pid}").st_uid != os.geteuid():  # noqa: PTH116 - as cheaply as the rest
            return None
    except OSError:
        return None
    return int(numbers[EXIT_CODE]) if len(numbers) > EXIT_CODE else None


def boot_epoch() -> int:
    return next(
        int(line.split()[1])
        for line in read("/proc/stat").splitlines()
        if line.startswith(b"btime ")
    )


def argv_in(home: str) -> tuple[str, ...]:
    words = os.fsdecode(read(f"{home}/cmdline")).rstrip("\0")
    return tuple(words.split("\0")) if words else ()


def called_in(home: str) -> tuple[tuple[str, ...], str | None]:
    try:
        program = linked(f"{home}/exe")
    except OSError:  # another user's may be hidden, and its words not
        program = None
    try:
        return argv_in(home), program
    except OSError:
        return (), program


def environ_in(home: str, begin: str = "") -> Mapping[str, str]:
    """Of the names that begin so. Tolerant: a program may have written over it. The first of two
    settings counts, as for getenv."""
    entries = read(f"{home}/environ").decode("utf-8", "surrogateescape").split("\0")
    settings = (entry.partition("=") for entry in reversed(entries) if entry.startswith(begin))
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

"""Reads /proc: the kernel's facts about one process, and the boot ID; and tells when a terminal was
made. Never signals a process, and checks an identity only where a function says so.

Every agent hook imports it: it imports next to nothing itself."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # importing `typing` costs a millisecond
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tmuxreap.core.model import ProcessId

BOOT_ID = "/proc/sys/kernel/random/boot_id"
READ_AT_ONCE = 1 << 16
# Indexes into /proc/PID/stat, counted from its third field, the state.
STATE = 0
PPID = 1
TTY = 4
FLAGS = 6
THREADS = 17
START = 19
PAGES = 21
EXIT_CODE = 49
DEAD = (b"Z", b"X", b"x")
DELETED = " (deleted)"
GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")
MEMBERS = "cgroup.procs"
SOCKET = "socket:["
TCP = ("/proc/net/tcp", "/proc/net/tcp6")
# How what listens on an address, as the kernel writes it, is reached on loopback.
REACHED_BY = {
    "0100007F": "127.0.0.1",
    "00000000": "127.0.0.1",
    "00000000000000000000000001000000": "::1",
    "0000000000000000FFFF00000100007F": "127.0.0.1",
    "0" * 32: "::1",
}
LISTENS = "0A"
CONNECTED = "01"
ACCEPTS = "00010000"
TCP_INODE = 9
UNIX_INODE = 6
TICK_S = 0.02  # the clock of files is behind by a tick of the kernel, 10 ms at most
EXITING = 0x4  # PF_EXITING: it is closing its files and runs no more of its code


def facts_of(pid: int, *, whole: bool = False) -> tuple[bytes, list[bytes]] | None:
    """Return its name and numbers, up to PAGES or of the `whole` line, even of a zombie; None when
    it is gone or hidden."""
    text = stat_of(pid)
    return None if text is None else facts_in(text, whole=whole)


def stat_of(pid: int) -> bytes | None:
    try:
        return read(f"/proc/{pid}/stat")
    except OSError:
        return None


def facts_in(text: bytes, *, whole: bool = False) -> tuple[bytes, list[bytes]]:
    # A name may contain spaces and parentheses.
    name, _, rest = text.partition(b"(")[2].rpartition(b")")
    return name, rest.split(None, -1 if whole else PAGES + 1)


def state_in(numbers: list[bytes]) -> bytes:
    """Return its state. A zombie with other threads is alive: only its first thread has ended."""
    state = numbers[STATE]
    if state == b"Z" and int(numbers[THREADS]) > 1:
        return b"S"
    return state


def is_dead(numbers: list[bytes]) -> bool:
    return state_in(numbers) in DEAD


def boot_id() -> str:
    return read(BOOT_ID).decode("ascii").strip()


def read(path: str) -> bytes:
    # Takes a third of the time of a file object, and is called thousands of times.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = part = os.read(descriptor, READ_AT_ONCE)
        while len(part) == READ_AT_ONCE:  # the kernel fills the buffer: a short read is the end
            part = os.read(descriptor, READ_AT_ONCE)
            data += part
        return data
    finally:
        os.close(descriptor)


def read_list(path: str) -> bytes:
    """Read a list that the kernel writes line by line: it gives a page at a time, and only an empty
    read is its end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, READ_AT_ONCE):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _numbers_of(process: ProcessId, *, whole: bool = False) -> list[bytes] | None:
    """Return its numbers if its pid is still its own; None as for `facts_of`."""
    facts = facts_of(process.pid, whole=whole)
    if facts is not None and int(facts[1][START]) == process.start:
        return facts[1]
    return None


def is_alive(process: ProcessId) -> bool:
    """Tell whether its pid is still its own and it is alive. Checked after each read."""
    numbers = _numbers_of(process)
    return numbers is not None and not is_dead(numbers)


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


def is_exiting(process: ProcessId) -> bool:
    """Tell whether it is exiting: its files are closed or closing, but it still exists."""
    numbers = _numbers_of(process)
    return numbers is not None and bool(int(numbers[FLAGS]) & EXITING)


def exit_status(process: ProcessId) -> int | None:
    """Return a zombie's exit status as its parent will get it; None for any other process, and for
    another user's, as the kernel hides it."""
    numbers = _numbers_of(process, whole=True)
    if numbers is None or state_in(numbers) != b"Z":
        return None
    try:
        if os.stat(f"/proc/{process.pid}").st_uid != os.geteuid():  # noqa: PTH116 - pathlib costs more
            return None
    except OSError:
        return None
    if len(numbers) > EXIT_CODE:
        return int(numbers[EXIT_CODE])
    return None


def boot_epoch() -> int:
    lines = read("/proc/stat").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(b"btime "))


def argv_in(home: str) -> tuple[str, ...]:
    words = os.fsdecode(read(f"{home}/cmdline")).rstrip("\0")
    return tuple(words.split("\0")) if words else ()


def argv_and_executable_in(home: str) -> tuple[tuple[str, ...], str | None]:
    try:
        program = linked(f"{home}/exe")
    except OSError:  # for another user's process it may be hidden while its argv is not
        program = None
    try:
        return argv_in(home), program
    except OSError:
        return (), program


def environ_in(home: str, begin: str = "") -> Mapping[str, str]:
    """Return the variables with this prefix. Tolerant: a program may have overwritten it. The first
    of duplicates counts, as for getenv."""
    text = read(f"{home}/environ")
    if os.fsencode(begin) not in text:  # most have none: not worth decoding
        return {}
    entries = text.decode("utf-8", "surrogateescape").split("\0")
    settings = (entry.partition("=") for entry in reversed(entries) if entry.startswith(begin))
    return {name: value for name, equals, value in settings if name and equals}


def linked(path: str) -> str:
    """Return a link's target, even if it was deleted: an agent that has updated itself still runs
    from it."""
    target = os.readlink(path)  # noqa: PTH115
    if target.endswith(DELETED) and not os.path.lexists(target):
        return target.removesuffix(DELETED)
    return target


def open_files_in(home: str, begin: str = "") -> tuple[str, ...]:
    paths = []
    for descriptor in os.listdir(f"{home}/fd"):  # noqa: PTH208
        try:
            paths.append(os.readlink(f"{home}/fd/{descriptor}"))  # noqa: PTH115
        except OSError:
            continue
    return tuple(path for path in paths if path.startswith(begin))


def client_ends(sockets: Collection[str]) -> frozenset[str] | None:
    """Return the sockets at the other ends of the connections to the ports on which these listen;
    None if one of them listens without a port, where the kernel names no other end."""
    try:
        unix = [line.split() for line in os.fsdecode(read_list("/proc/net/unix")).splitlines()]
        tcp = _connections()
    except OSError:
        return None
    if any(len(it) > UNIX_INODE and it[3] == ACCEPTS and it[UNIX_INODE] in sockets for it in unix):
        return None
    rows = []
    for it in tcp:
        if len(it) > TCP_INODE:
            rows.append((it[1], it[2], it[3], it[TCP_INODE]))
    ports = set()
    for here, _, state, inode in rows:
        if state == LISTENS and inode in sockets:
            ports.add(here.rpartition(":")[2])
    return frozenset(
        inode
        for _, there, state, inode in rows
        if state == CONNECTED and there.rpartition(":")[2] in ports and inode not in sockets
    )


def owner_of(home: str) -> int:
    return os.stat(home).st_uid  # noqa: PTH116


def addresses_of(sockets: Collection[str]) -> tuple[tuple[str, int], ...]:
    """Return the addresses of loopback on which these sockets listen, and no other with the same
    port: what is for all addresses is overruled by what is for one."""
    try:
        tcp = _connections()
    except OSError:
        return ()
    own = set()
    others = set()
    for it in tcp:
        if len(it) <= TCP_INODE or it[3] != LISTENS:
            continue
        address, _, port = it[1].rpartition(":")
        if it[TCP_INODE] not in sockets:
            others.add(port)
        elif address in REACHED_BY:
            own.add((REACHED_BY[address], port))
    return tuple(sorted((host, int(port, 16)) for host, port in own if port not in others))


def _connections() -> list[list[str]]:
    """Return the lines of the lists of TCP; a kernel without IPv6 has one list."""
    lists = [read_list(path) for path in TCP if os.path.exists(path)]  # noqa: PTH110
    return [line.split() for line in os.fsdecode(b"".join(lists)).splitlines()]


def scope_in(home: str) -> str | None:
    """Return the file that lists its control group's members, if tmux made the group for a pane: it
    does so through systemd, as tmux-spawn-UUID.scope."""
    pid = int(home.rpartition("/")[2])
    for line in os.fsdecode(read(f"{home}/cgroup")).splitlines():
        path = line.split(":", 2)[2]
        name = path.rpartition("/")[2]
        if name.startswith("tmux-spawn-") and name.endswith(".scope"):
            lists = (f"{mounted}{path}/{MEMBERS}" for mounted in GROUPS)
            return next((one for one in lists if pid in members_in(one)), None)
    return None


def members_in(scope: str) -> frozenset[int]:
    """Return the pids in a control group, except for those of other namespaces, all listed as 0."""
    try:
        return frozenset(map(int, read_list(scope).split())) - {0}
    except OSError:
        return frozenset()


def resident_pages(home: str) -> int:
    return int(read(f"{home}/statm").split()[1])


def is_newer(terminal: str, moment: float) -> bool:
    """Tell it by when its device was made. One that was made later than now is older: the clock was
    set since."""
    try:
        made = os.stat(terminal).st_ctime  # noqa: PTH116
    except OSError:
        return True
    return moment - TICK_S <= made <= time.time() + TICK_S

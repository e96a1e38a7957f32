"""What only /proc can get wrong."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.real import until
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.system.processes import linux as module
from tmuxreap.system.processes import procfs
from tmuxreap.system.processes.linux import LinuxProcesses, boot_id, host, real_processes
from tmuxreap.system.processes.portable import PsutilProcesses


@pytest.fixture
def processes() -> LinuxProcesses:
    return LinuxProcesses()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_pidfds_are_kept_for_what_is_waited_for_and_no_longer(processes: LinuxProcesses) -> None:
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    identities = {processes.identify(child.pid) for child in children}
    assert None not in identities
    before = descriptors()
    processes.wait(identities, 0.0)  # type: ignore[arg-type]
    assert descriptors() == before + 3
    processes.wait(identities, 0.0)  # type: ignore[arg-type]
    assert descriptors() == before + 3
    children[0].kill()
    assert len(processes.wait(identities, 10)) == 1  # type: ignore[arg-type]
    assert descriptors() == before + 2
    last = processes.identify(children[2].pid)
    assert last is not None
    processes.wait({last}, 0.0)
    assert descriptors() == before + 1
    processes.close()
    assert descriptors() == before
    for child in children:
        child.kill()
        child.wait()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOSYS, errno.EPERM])
def test_without_a_pidfd_a_wait_looks_again(
    processes: LinuxProcesses, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int) -> int:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "pidfd_open", refused)
    monkeypatch.setattr(module, "_more_descriptors", lambda: False)
    child = subprocess.Popen(["sleep", "60"])
    identity = processes.identify(child.pid)
    assert identity is not None
    assert processes.wait({identity}, 0.05) == set()
    processes.signal(identity, SIGKILL)
    assert processes.wait({identity}, 10) == {identity}
    child.wait()


def test_a_lack_of_descriptors_raises_the_limit_once(
    processes: LinuxProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.pidfd_open
    asked: list[int] = []

    def scarce(pid: int) -> int:
        if not asked:
            raise OSError(errno.EMFILE, "none left")
        return opened(pid)

    def more() -> bool:
        asked.append(1)
        return True

    monkeypatch.setattr(os, "pidfd_open", scarce)
    monkeypatch.setattr(module, "_more_descriptors", more)
    me = processes.identify(os.getpid())
    assert me is not None
    before = descriptors()
    assert processes.wait({me}, 0.0) == set()
    assert (asked, descriptors()) == ([1], before + 1)
    processes.close()


def test_a_pid_that_nobody_has_is_gone(processes: LinuxProcesses) -> None:
    nobody = ProcessId(2**22 - 3, 5)
    assert processes.wait({nobody}, 10) == {nobody}


def test_this_machine_and_this_boot_have_names() -> None:
    assert uuid.UUID(boot_id())
    assert boot_id() == boot_id()
    assert host() == os.uname().nodename
    assert isinstance(real_processes(), LinuxProcesses)


def test_no_look_misses_a_chain_of_forks(processes: LinuxProcesses, tmp_path: Path) -> None:
    """Each process lives for a moment, shorter than a look; exactly one is alive at any time."""
    code = (
        "import os, sys, time\n"
        "os.setsid()\n"
        "print(os.getpid(), flush=True)\n"
        "while os.path.exists(sys.argv[1]):\n"
        "    if os.fork(): os._exit(0)\n"
        "    time.sleep(0.002)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    session = int(child.stdout.readline())
    child.wait()
    looks = [processes.look() for _ in range(50)]
    tmp_path.rmdir()
    assert child.stdout.read() == ""  # the last of them has exited
    child.stdout.close()
    assert all(any(one.sid == session for one in look.values()) for look in looks)


def test_a_second_look_reads_all_and_takes_apart_what_has_changed(
    processes: LinuxProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_apart = list[int]()
    process_of = module.process_of

    def counted(pid: int, *facts: object) -> object:
        taken_apart.append(pid)
        return process_of(pid, *facts)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "process_of", counted)
    child = subprocess.Popen(["sh", "-c", "read _; exec sleep 60"], stdin=subprocess.PIPE)
    kept = subprocess.Popen(["sleep", "60"])
    try:
        until("both sleep", lambda: processes.look()[child.pid].state == "S" and sleeps(kept.pid))
        assert processes.look()[child.pid].comm == "sh"
        taken_apart.clear()
        before = processes.look()
        assert child.stdin
        child.stdin.close()
        until("the exec", lambda: processes.look()[child.pid].comm == "sleep")
        assert child.pid in taken_apart
        assert kept.pid not in taken_apart
        assert processes.look()[kept.pid] is before[kept.pid]
        assert processes.memory(before[kept.pid].id) > 0
    finally:
        for one in (child, kept):
            one.kill()
            one.wait()
    assert kept.pid not in processes.look()


def sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text() == "sleep\n"


@pytest.mark.parametrize("seam", [LinuxProcesses, PsutilProcesses])
def test_a_terminal_made_since_or_closed_is_not_the_earlier_one(
    seam: Callable[[], Processes], monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = seam()
    before = processes.moment()
    leader, terminal = os.openpty()
    path = os.ttyname(terminal)
    try:
        assert processes.is_newer(path, before)
        made = os.stat(path).st_ctime
        until("a tick of the clock", lambda: processes.moment() > made + procfs.TICK_S)
        assert not processes.is_newer(path, processes.moment())
        os.write(terminal, b"words")
        assert not processes.is_newer(path, processes.moment())
        with monkeypatch.context() as patch:  # the clock was set back since
            patch.setattr(time, "time", lambda: made - 3600)
            assert not processes.is_newer(path, processes.moment())
    finally:
        os.close(terminal)
        os.close(leader)
    assert processes.is_newer("/dev/pts/99999999", before)

"""What only /proc can get wrong."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from signal import SIGKILL

import pytest

from tmuxreap.core.model import ProcessId
from tmuxreap.system.processes import linux as module
from tmuxreap.system.processes import procfs
from tmuxreap.system.processes.linux import LinuxProcesses, boot_id, host, real_processes

pytestmark = pytest.mark.usefixtures("no_leftovers")


@pytest.fixture
def processes() -> LinuxProcesses:
    return LinuxProcesses()


def started(*argv: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_name_may_hold_spaces_and_parentheses(processes: LinuxProcesses, tmp_path: Path) -> None:
    program = tmp_path / "a) R (b c"
    program.symlink_to("/bin/cat")
    child = subprocess.Popen([program], stdin=subprocess.PIPE)
    seen = processes.look()[child.pid]
    assert (seen.comm, seen.ppid) == ("a) R (b c", os.getpid())
    child.kill()
    child.communicate()


def test_a_process_whose_first_thread_has_ended_is_alive(processes: LinuxProcesses) -> None:
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "print('up', flush=True)\n"
        "ctypes.CDLL(None).syscall(60, 0)\n"
    )
    child = started(sys.executable, "-c", code)
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        processes.wait((), 0.01)
    identity = processes.identify(child.pid)
    assert identity is not None
    assert child.pid in processes.look()
    assert processes.wait({identity}, 0.05) == set()
    processes.signal(identity, SIGKILL)
    assert processes.wait({identity}, 10) == {identity}
    child.communicate()
    processes.close()


def test_a_program_and_a_folder_that_were_deleted_keep_their_names(processes: LinuxProcesses, tmp_path: Path) -> None:
    program, folder = tmp_path / "agent", tmp_path / "work"
    shutil.copy("/bin/cat", program)
    folder.mkdir()
    child = subprocess.Popen([program], stdin=subprocess.PIPE, cwd=folder)
    program.unlink()
    folder.rmdir()
    identity = processes.identify(child.pid)
    assert identity is not None
    assert (processes.executable(identity), processes.cwd(identity)) == (str(program), str(folder))
    child.kill()
    child.communicate()


def test_an_environment_may_hold_anything(processes: LinuxProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    overwritten = b"A=1\0nonsense\0\0=x\0B=a=b\0A=2\0C=\xff\0D=\0"
    monkeypatch.setattr(procfs, "read", lambda path: overwritten)
    assert procfs.environ_in("/proc/1") == {"A": "1", "B": "a=b", "C": "\udcff", "D": ""}


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
def test_without_a_pidfd_it_looks_again(
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


def test_out_of_descriptors_it_asks_for_more_once(processes: LinuxProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_this_machine_and_this_run_of_it_have_names() -> None:
    assert uuid.UUID(boot_id())
    assert boot_id() == boot_id()
    assert host() == os.uname().nodename
    assert isinstance(real_processes(), LinuxProcesses)


def test_no_look_misses_a_chain_of_forks(processes: LinuxProcesses, tmp_path: Path) -> None:
    """Each lives for a moment and is gone before the next look at it; one of them lives at any time."""
    code = (
        "import os, sys, time\n"
        "os.setsid()\n"
        "print(os.getpid(), flush=True)\n"
        "while os.path.exists(sys.argv[1]):\n"
        "    if os.fork(): os._exit(0)\n"
        "    time.sleep(0.002)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    session = int(child.stdout.readline())
    child.wait()
    looks = [processes.look() for _ in range(50)]
    tmp_path.rmdir()
    assert child.stdout.read() == ""  # the last of them has left
    child.stdout.close()
    assert all(any(one.sid == session for one in look.values()) for look in looks)

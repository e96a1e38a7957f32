"""What the kernel tells of one process in /proc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.real import until
from tmuxreap.core.model import ProcessId
from tmuxreap.system.processes import procfs
from tmuxreap.system.processes.linux import LinuxProcesses


@pytest.fixture
def processes() -> LinuxProcesses:
    return LinuxProcesses()


def started(*argv: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


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


def test_who_is_dying_is_told_from_who_lives_and_from_a_stranger_of_that_pid() -> None:
    child = started("sh", "-c", "echo; exec sleep 60")
    facts = procfs.facts_of(child.pid)
    assert facts is not None
    process = procfs.process_of(child.pid, facts).id
    assert not procfs.is_leaving(process)
    child.kill()
    until("a zombie", lambda: procfs.exit_status(process) is not None)
    assert procfs.is_leaving(process)
    assert not procfs.is_leaving(ProcessId(process.pid, process.start + 1))
    child.communicate()


def test_a_program_and_a_folder_that_were_deleted_keep_their_names(
    processes: LinuxProcesses, tmp_path: Path
) -> None:
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


def test_an_environment_may_hold_anything(
    processes: LinuxProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwritten = b"A=1\0nonsense\0\0=x\0B=a=b\0A=2\0C=\xff\0D=\0"
    monkeypatch.setattr(procfs, "read", lambda path: overwritten)
    assert procfs.environ_in("/proc/1") == {"A": "1", "B": "a=b", "C": "\udcff", "D": ""}

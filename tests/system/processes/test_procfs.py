"""The kernel's facts about one process in /proc."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.real import until
from tmuxreap.core.model import ProcessId
from tmuxreap.system.processes import procfs
from tmuxreap.system.processes.linux import LinuxProcesses, stat


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


def test_a_dying_process_is_neither_alive_nor_a_stranger() -> None:
    child = started("sh", "-c", "echo; exec sleep 60")
    found = stat(child.pid)
    assert found is not None
    process = found.id
    assert not procfs.is_exiting(process)
    child.kill()
    until("a zombie", lambda: procfs.exit_status(process) is not None)
    assert procfs.is_exiting(process)
    assert not procfs.is_exiting(ProcessId(process.pid, process.start + 1))
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
    assert processes.argv_and_executable(identity)[1] == str(program)
    assert processes.cwd(identity) == str(folder)
    child.kill()
    child.communicate()


def test_an_environment_may_hold_anything(
    processes: LinuxProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwritten = b"A=1\0nonsense\0\0=x\0B=a=b\0A=2\0C=\xff\0D=\0"
    monkeypatch.setattr(procfs, "read", lambda path: overwritten)
    assert procfs.environ_in("/proc/1") == {"A": "1", "B": "a=b", "C": "\udcff", "D": ""}


SCOPE = "/user.slice/user@1.service/tmux-spawn-5e7e3043-7e67-435b-8b1a-80cba8dbd5ee.scope"


@pytest.mark.parametrize(
    ("told", "where"),
    [
        (f"0::{SCOPE}", f"/sys/fs/cgroup{SCOPE}/cgroup.procs"),
        (f"1:name=systemd:{SCOPE}\n0::/", f"/sys/fs/cgroup/systemd{SCOPE}/cgroup.procs"),
        (f"1:name=systemd:{SCOPE}\n0::{SCOPE}", f"/sys/fs/cgroup/unified{SCOPE}/cgroup.procs"),
        (f"0::{SCOPE}", None),
        (f"0::{SCOPE}/below", None),
        (f"0::{SCOPE.replace('spawn', 'server')}", None),
        ("0::/user.slice/session-3.scope", None),
        ("0::/", None),
    ],
)
def test_the_group_that_tmux_made_for_a_pane_is_found(
    monkeypatch: pytest.MonkeyPatch, told: str, where: str | None
) -> None:
    """For any mount of control groups; in a container the list may be missing, or another
    group's."""
    files = {"/proc/7/cgroup": told, f"/sys/fs/cgroup{SCOPE}/cgroup.procs": "8\n"}
    files |= {where: "0\n7\n9\n"} if where else {}

    def read(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError
        return files[path].encode()

    monkeypatch.setattr(procfs, "read", read)
    monkeypatch.setattr(procfs, "read_list", read)
    assert procfs.scope_in("/proc/7") == where
    assert where is None or procfs.members_in(where) == {7, 9}


NUMBERS = "1 2 3 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 {threads} 0 4711 100 42 0"


@pytest.mark.parametrize("name", ["sh", "tmux: server", "a) S 1 (b", ""])
def test_a_name_may_hold_anything(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    line = f"7 ({name}) S {NUMBERS.format(threads=1)}".encode()
    monkeypatch.setattr(procfs, "read", lambda path: line)
    told = procfs.facts_of(7)
    assert told is not None
    called, numbers = told
    assert called.decode() == name
    assert [int(numbers[at]) for at in (procfs.PPID, procfs.START, procfs.PAGES)] == [1, 4711, 42]


@pytest.mark.parametrize(
    ("state", "threads", "dead"), [("S", 1, False), ("Z", 1, True), ("Z", 2, False), ("X", 1, True)]
)
def test_a_zombie_is_dead_only_without_living_threads(state: str, threads: int, dead: bool) -> None:
    numbers = f"{state} {NUMBERS.format(threads=threads)}".encode().split()
    assert procfs.is_dead(numbers) is dead


def test_this_process_is_there_and_a_number_without_one_is_not() -> None:
    told = procfs.facts_of(os.getpid(), whole=True)
    assert told is not None
    assert int(told[1][procfs.PPID]) == os.getppid()
    assert len(told[1]) > procfs.EXIT_CODE
    assert procfs.facts_of(2**22 + 1) is None


def inode_of(opened: socket.socket) -> str:
    return str(os.fstat(opened.fileno()).st_ino)


def test_a_listener_on_loopback_has_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert procfs.addresses_of({inode_of(server)}) == (server.getsockname(),)
        assert procfs.addresses_of({"1"}) == ()


def test_a_listener_for_all_is_reached_on_loopback_unless_another_is_there() -> None:
    with socket.socket() as server, socket.socket() as other:
        for one in (server, other):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(("0.0.0.0", 0))
        server.listen()
        port = server.getsockname()[1]
        assert procfs.addresses_of({inode_of(server)}) == (("127.0.0.1", port),)
        other.bind(("127.0.0.1", port))
        other.listen()
        assert procfs.addresses_of({inode_of(server)}) == ()


def test_the_clients_of_a_port_are_found_among_many_connections() -> None:
    with contextlib.ExitStack() as opened:
        for _ in range(60):
            server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            client = opened.enter_context(socket.create_connection(server.getsockname()))
            ends = procfs.client_ends({str(os.fstat(server.fileno()).st_ino)})
            assert ends == {str(os.fstat(client.fileno()).st_ino)}

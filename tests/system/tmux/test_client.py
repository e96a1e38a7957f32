from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tmuxreap.system.tmux.client import TooSlow, ask

ENV = {"PATH": os.environ["PATH"], "A": "1"}


def python(program: str, given: bytes = b"", timeout_s: float = 60.0) -> tuple[bool, bytes, bytes]:
    answer = ask(sys.executable, ["-c", program], given, ENV, timeout_s)
    return answer.ok, answer.out, answer.err


def children() -> set[str]:
    return set(Path("/proc/thread-self/children").read_text().split())


def test_both_streams_and_the_end_of_a_program_are_returned() -> None:
    assert python("import os; print(os.environ['A']); os.write(2, b'bad'); os._exit(0)") == (
        True,
        b"",
        b"bad",
    )
    assert python("import sys; print('yes'); sys.exit(3)") == (False, b"yes\n", b"")
    assert not python("import os; os.kill(os.getpid(), 9)")[0]


def test_more_text_than_a_pipe_holds_goes_both_ways() -> None:
    given = b"x" * 700_000
    assert python("import sys; d = sys.stdin.buffer.read(); sys.stdout.buffer.write(d)", given) == (
        True,
        given,
        b"",
    )


def test_a_client_that_does_not_read_is_not_awaited() -> None:
    assert python("import os; os.close(0); print('done')", b"x" * 700_000)[:2] == (True, b"done\n")


def test_a_client_without_input_reads_an_end() -> None:
    assert python("import sys; print(len(sys.stdin.read()))") == (True, b"0\n", b"")


def test_a_client_gets_the_signal_settings_of_a_shell() -> None:
    said = ask("grep", ["SigIgn", "/proc/self/status"], b"", ENV, 20).text
    assert not int(said.split()[1], 16) & (1 << (signal.SIGPIPE - 1))


def test_a_client_beyond_its_time_is_ended() -> None:
    before = children()
    with pytest.raises(TooSlow):
        ask("sleep", ["600"], b"", ENV, 0.2)
    assert children() == before


@pytest.mark.parametrize("pidfds", [True, False])
def test_a_client_that_closes_its_streams_and_lives_is_ended(
    pidfds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pidfds:
        monkeypatch.delattr(os, "pidfd_open")
    before = children()
    with pytest.raises(TooSlow):
        ask("sh", ["-c", "exec <&- >&- 2>&-; exec sleep 600"], b"", ENV, 1.0)
    assert children() == before
    assert python("import os, time; os.closerange(0, 3); time.sleep(0.1); os._exit(0)") == (
        True,
        b"",
        b"",
    )


def test_a_client_that_never_stops_writing_is_ended() -> None:
    with pytest.raises(TooSlow):
        ask("sh", ["-c", "while :; do echo; sleep 0.02; done"], b"", ENV, 0.5)
    with pytest.raises(OSError, match="said more than can be read"):
        ask("yes", ["x" * 4096], b"", ENV, 60.0)


def test_a_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def strike() -> None:
        while not (note.exists() and note.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        python(f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_the_program_is_looked_for_on_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "tmux").mkdir()
    (tmp_path / "tmux").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "tmux").chmod(0o755)
    path = f"{tmp_path}/nowhere:{tmp_path}/folder:{tmp_path}"
    assert ask("tmux", [], b"", {"PATH": path}, 20).out == b"mine\n"
    with pytest.raises(FileNotFoundError):
        ask("tmux", [], b"", {"PATH": f"{tmp_path}/nowhere"}, 20)


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    python("pass")
    with pytest.raises(FileNotFoundError):
        ask("tmux", [], b"", {"PATH": "/nowhere"}, 20)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def no_children() -> Iterator[None]:
    """Nobody is told how a child ended, as a supervisor may leave it."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("pidfds", [True, False])
def test_without_an_exit_status_the_output_decides(
    no_children: None, monkeypatch: pytest.MonkeyPatch, pidfds: bool
) -> None:
    if not pidfds:
        monkeypatch.delattr(os, "pidfd_open")
    assert python("print('yes')") == (True, b"yes\n", b"")
    assert python("import os; os.write(2, b'no such session')")[0] is False
    assert ask("true", [], b"", ENV, 20).status is None
    with pytest.raises(TooSlow):
        ask("sleep", ["60"], b"", ENV, 0.05)


@pytest.mark.parametrize("pidfds", [True, False])
def test_a_client_that_exits_before_its_streams_are_closed_leaves_its_pid_to_others(
    no_children: None, monkeypatch: pytest.MonkeyPatch, pidfds: bool
) -> None:
    """What it left behind has its streams open. Beyond its time, the pid may be another's."""
    if not pidfds:
        monkeypatch.delattr(os, "pidfd_open")
    struck: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: struck.append(pid))
    with pytest.raises(TooSlow):
        ask("sh", ["-c", "sleep 2 & exit"], b"", ENV, 0.5)
    assert struck == []


def test_without_pidfds_and_waitid_a_client_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS before Python 3.13."""
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(os, "waitid")
    assert python("import os, time; os.closerange(0, 3); time.sleep(0.1); os._exit(3)")[0] is False


def test_a_detached_command_inherits_no_descriptor() -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    look = ["-c", f"test -e /proc/self/fd/{writer}"]
    try:
        assert ask("sh", look, b"", ENV, 20).ok
        assert not ask("sh", look, b"", ENV, 20, alone=True).ok
        assert ask("sh", ["-c", "cat; echo $A"], b"in ", ENV, 20, alone=True).out == b"in 1\n"
    finally:
        os.close(reader)
        os.close(writer)

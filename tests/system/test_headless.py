"""A program on its own terminal: what it finds there, what is logged, and when its keeper exits."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from tests.real import alive, until
from tmuxreap.system import headless
from tmuxreap.system.headless import StartedProgram

pytestmark = pytest.mark.usefixtures("no_leftovers")


def start(tmp_path: Path, script: str, **more: str) -> StartedProgram:
    environ = {**os.environ, **more}
    return headless.start_program(
        ["sh", "-c", script], str(tmp_path), environ, tmp_path / "l" / "a.log"
    )


def kept(tmp_path: Path) -> str:
    return headless.tail(tmp_path / "l" / "a.log", 0.0) or ""


def ends(begun: StartedProgram) -> None:
    until("the keeper's leaving", lambda: not alive(begun.keeper))
    assert not alive(begun.pid)


def test_a_headless_agent_has_its_own_terminal_and_its_output_is_kept(tmp_path: Path) -> None:
    told = "tty >/dev/null && stty size && pwd && echo $TERM/$TMUX/$TMUX_PANE/$ONE && exit 3"
    ends(start(tmp_path, told, TMUX="/t,1,0", TMUX_PANE="%1", ONE="1"))
    said = kept(tmp_path).replace("\r\n", "\n")
    assert said == (
        f"40 120\n{tmp_path}\nxterm-256color///1\n\n[tmuxreap: left with exit status 3]\n"
    )
    assert stat.S_IMODE((tmp_path / "l" / "a.log").stat().st_mode) == 0o600


def test_a_headless_agent_leads_a_session_without_its_keeper(tmp_path: Path) -> None:
    begun = start(tmp_path, "exec sleep 600", TMUXREAP_ID="m")
    assert os.getsid(begun.pid) == begun.pid != os.getsid(begun.keeper)
    assert os.getsid(begun.keeper) != os.getsid(0)
    environ = Path(f"/proc/{begun.pid}/environ")  # empty for a moment during an exec
    until("its mark", lambda: b"TMUXREAP_ID=m" in environ.read_bytes())
    assert b"TMUXREAP" not in Path(f"/proc/{begun.keeper}/environ").read_bytes()
    os.kill(begun.pid, signal.SIGKILL)
    ends(begun)
    assert "[tmuxreap: ended by signal 9]" in kept(tmp_path)


def test_the_end_of_the_keeper_closes_the_terminal(tmp_path: Path) -> None:
    begun = start(tmp_path, "exec sleep 600")
    os.kill(begun.keeper, signal.SIGKILL)
    until("its hangup", lambda: not alive(begun.pid))


def test_a_signal_that_the_caller_ignores_is_heard_there(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        begun = start(tmp_path, "exec sleep 600")
    finally:
        signal.signal(signal.SIGHUP, before)
    os.kill(begun.pid, signal.SIGHUP)
    ends(begun)


@pytest.mark.parametrize("word", ["/nowhere/agent", "/etc/passwd"])
def test_a_program_that_cannot_be_run_is_reported_at_once(tmp_path: Path, word: str) -> None:
    with pytest.raises(OSError, match=r"No such file|Permission denied"):
        headless.start_program([word], str(tmp_path), dict(os.environ), tmp_path / "l" / "a.log")


def test_a_link_in_the_place_of_its_log_is_not_followed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    (tmp_path / "l").mkdir()
    (tmp_path / "l" / "a.log").symlink_to(theirs)
    begun = start(tmp_path, "echo mine")
    ends(begun)
    assert (theirs.read_text(), (tmp_path / "l" / "a.old").is_symlink()) == ("precious", True)


def test_a_log_keeps_its_newer_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headless, "LIMIT", 100)
    path = tmp_path / "a.log"
    path.touch()
    with headless._open_log(path) as log:
        for number in range(40):
            headless._append(log, b"%02d\n" % number)
            assert path.stat().st_size <= 100
    assert path.read_bytes().endswith(b"37\n38\n39\n")


def test_the_log_of_the_life_before_is_kept(tmp_path: Path) -> None:
    for word in ("one", "two", "three"):
        ends(start(tmp_path, f"echo {word}"))
    assert (tmp_path / "l" / "a.old").read_text().startswith("two")
    assert kept(tmp_path).startswith("three")


def test_a_log_of_another_life_says_nothing(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert headless.tail(log, 0.0) is None
    log.write_text("long ago")
    os.utime(log, (1000, 1000))
    assert (headless.tail(log, 2000.0), headless.tail(log, 1000.5)) == (None, "long ago")


def test_a_name_is_not_read_as_a_path(tmp_path: Path) -> None:
    path = headless.log_path(tmp_path / "agent-sessions.yaml", "../a/b")
    assert path == tmp_path / "agent-sessions.logs" / "..%2Fa%2Fb.log"

"""The tmux client against a real, private server: what only a real one can get wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tmuxreap.core.model import Created, LeaveMode, NewSession, NoServer, Server, Unreachable
from tmuxreap.system.processes.linux import LinuxProcesses
from tmuxreap.system.tmux import client
from tmuxreap.system.tmux import server as server_module
from tmuxreap.system.tmux.client import ClientAnswer, TooSlow
from tmuxreap.system.tmux.server import HUNG_S, TIMEOUT_S, RealTmux

NASTY = [
    "a;",
    ";",
    "\\;",
    "a\\",
    "\\\\",
    "~",
    "~root/x",
    "$HOME ${HOME}",
    "#{pid} #[x] ##",
    "# comment",
    "{",
    "}",
    "{ x }",
    "'",
    '"',
    "-l",
    "--",
    "-",
    "é日本🎉",
    "x=y",
    "%if",
    "%3",
    "a\n  b # c\n\td",
    "Enter",
    "a ; kill-server ;",
    " ",
    "\udcff",
]


LINE = "$0:1:1:1:0::@0:1:%0:7:0:0:0:0:/dev/pts/1:off:one"


@pytest.fixture
def tmux(tmux_socket: str) -> RealTmux:
    return RealTmux(os.environ)


def settle(path: Path, size: int) -> bytes:
    for _ in range(300):
        if path.exists() and path.stat().st_size >= size:
            break
        LinuxProcesses().wait((), 0.01)
    return path.read_bytes() if path.exists() else b""


def test_a_server_that_hangs_is_given_little_time_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A verb with four questions must not take twenty seconds to report it."""
    given: list[tuple[str, float]] = []
    hung = {"/tmp/a": 2}

    def ask(*words: object, **_: object) -> ClientAnswer:
        socket, limit_s = words[1][2], words[4]  # type: ignore[index]
        given.append((socket, limit_s))  # type: ignore[arg-type]
        hung[socket] = hung.get(socket, 0) - 1
        if hung[socket] >= 0:
            raise TooSlow
        return ClientAnswer(0, b"", b"")

    monkeypatch.setattr(server_module, "ask", ask)
    asked = RealTmux({})
    for socket in ("/tmp/a", "/tmp/b", "/tmp/a", "/tmp/a", "/tmp/a"):
        asked.capture(socket, "%0")
    assert given == [
        ("/tmp/a", TIMEOUT_S),
        ("/tmp/b", TIMEOUT_S),
        ("/tmp/a", HUNG_S),
        ("/tmp/a", HUNG_S),
        ("/tmp/a", TIMEOUT_S),
    ]
    assert HUNG_S < TIMEOUT_S


@pytest.mark.live
def test_every_text_arrives_as_it_is(tmux: RealTmux, tmux_socket: str, tmp_path: Path) -> None:
    typed = tmp_path / "typed"
    program = ["sh", "-c", f"stty raw -echo; echo ready > {tmp_path}/up; exec cat > {typed}"]
    assert isinstance(tmux.create(tmux_socket, NewSession("one", "/", program)), Created)
    assert settle(tmp_path / "up", 6) == b"ready\n"
    assert tmux.run(tmux_socket, [client.typed("%0", (), text) for text in NASTY])
    expected = "".join(NASTY).encode("utf-8", "surrogateescape")
    assert settle(typed, len(expected)) == expected


@pytest.mark.live
def test_thousands_of_commands_go_in_one_call(tmux: RealTmux, tmux_socket: str) -> None:
    tmux.create(tmux_socket, NewSession("one", "/", ["sleep", "99"]))
    patient = RealTmux(os.environ, timeout_s=60.0)
    assert patient.do(tmux_socket, [LeaveMode("%0")] * 3000)


@pytest.mark.live
@pytest.mark.parametrize(
    "name", ["a b", "x;", "#{pid}", "a#[b]", "##", "日本", "-d", "a,b}", "'", "%0", "@0"]
)
def test_names_marks_and_folders_are_taken_as_they_are(
    tmux: RealTmux, tmux_socket: str, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    new = NewSession(name, str(folder), ["sleep", "99"], {"A": f"{name};"})
    assert isinstance(tmux.create(tmux_socket, new), Created)
    server = tmux.look(tmux_socket)
    assert isinstance(server, Server)
    session = server.named(name)
    assert session is not None
    processes = LinuxProcesses()
    leader = processes.identify(session.panes[0].pid)
    assert leader is not None
    while processes.argv(leader)[:1] != (
        "sleep",
    ):  # until its exec it looks like a second tmux server
        assert processes.wait({leader}, 0.01) == set()
    assert processes.cwd(leader) == str(folder)
    assert (processes.environ(leader) or {})["A"] == f"{name};"


@pytest.mark.live
def test_a_single_word_is_run_without_a_shell(
    tmux: RealTmux, tmux_socket: str, tmp_path: Path
) -> None:
    program = tmp_path / "my agent"
    program.symlink_to("/bin/cat")
    tmux.create(tmux_socket, NewSession("one", "/", [str(program)]))
    server = tmux.look(tmux_socket)
    assert isinstance(server, Server)
    processes = LinuxProcesses()
    leader = processes.identify(server.sessions[0].panes[0].pid)
    assert leader is not None
    while processes.argv(leader)[:1] != (str(program),):
        assert processes.wait({leader}, 0.01) == set()
    assert processes.argv(leader) == (str(program),)


@pytest.mark.live
def test_a_server_that_we_start_has_no_marks_of_the_caller(tmux_socket: str) -> None:
    tmux = RealTmux(
        {**os.environ, "TMUX": "/x,1,0", "TMUX_PANE": "%9", "TMUXREAP_ID": "u", "KEPT": "1"}
    )
    tmux.create(tmux_socket, NewSession("one", "/", ["sleep", "99"], {"TMUXREAP_ID": "own"}))
    server = tmux.look(tmux_socket)
    assert isinstance(server, Server)
    processes = LinuxProcesses()
    process = processes.identify(server.pid)
    assert process is not None
    environ = processes.environ(process) or {}
    assert environ["KEPT"] == "1"
    assert not environ.keys() & {"TMUX", "TMUX_PANE", "TMUXREAP_ID"}


@pytest.mark.live
def test_a_server_without_sessions_is_a_server(tmux: RealTmux, tmux_socket: str) -> None:
    tmux.create(tmux_socket, NewSession("one", "/", ["sleep", "99"]))
    before = tmux.look(tmux_socket)
    assert isinstance(before, Server)
    assert tmux.run(
        tmux_socket, [["set-option", "-s", "exit-empty", "off"], ["kill-session", "-t", "$0"]]
    )
    assert tmux.look(tmux_socket) == Server(tmux_socket, before.pid, before.started, ())


@pytest.mark.live
def test_shared_windows_are_seen(tmux: RealTmux, tmux_socket: str) -> None:
    for name in ("grouped", "linked", "alone"):
        tmux.create(tmux_socket, NewSession(name, "/", ["sleep", "99"]))
    assert tmux.run(
        tmux_socket,
        [["new-session", "-d", "-t", "$0"], ["link-window", "-s", "$1:0", "-t", "$2:7"]],
    )
    server = tmux.look(tmux_socket)
    assert isinstance(server, Server)
    shared = [
        (one.name, one.grouped, [(it.id, it.linked or one.grouped) for it in one.panes])
        for one in server.sessions
    ]
    assert sorted(shared) == [
        ("alone", False, [("%2", False), ("%1", True)]),
        ("grouped", True, [("%0", True)]),
        ("grouped-3", True, [("%0", True)]),
        ("linked", False, [("%1", True)]),
    ]


@pytest.mark.live
def test_output_is_activity(tmux: RealTmux, tmux_socket: str) -> None:
    loud = ["sh", "-c", "while :; do echo x; sleep 0.2; done"]
    tmux.create(tmux_socket, NewSession("loud", "/", loud))
    for _ in range(300):
        server = tmux.look(tmux_socket)
        assert isinstance(server, Server)
        if server.sessions[0].activity > server.sessions[0].created:
            return
        LinuxProcesses().wait((), 0.01)
    raise AssertionError("its output was not seen")


@pytest.mark.live
def test_no_question_starts_a_server(tmux: RealTmux, tmux_socket: str) -> None:
    assert not tmux.run(tmux_socket, [["new-session", "-d"]])
    assert tmux.look(tmux_socket) == NoServer(tmux_socket)
    assert not Path(tmux_socket).exists()


def test_without_tmux_nothing_is_known() -> None:
    tmux = RealTmux({}, program="/nowhere/tmux")
    seen = tmux.look("/tmp/none/s")
    assert isinstance(seen, Unreachable)
    assert seen.missing
    assert not tmux.do("/tmp/none/s", [LeaveMode("%0")])
    assert tmux.create("/tmp/none/s", NewSession("one", "/", [])) == seen.reason


@pytest.mark.live
@pytest.mark.parametrize(
    "said", ["echo 1:2:what", "", "exit 1", f"echo {LINE!r}", "echo =:1", "printf =:1:2"]
)
def test_an_answer_without_our_own_last_line_is_no_look(
    said: str, tmp_path: Path, tmux_socket: str
) -> None:
    odd = tmp_path / "tmux"
    odd.write_text(f"#!/bin/sh\n{said}\n")
    odd.chmod(0o755)
    real = RealTmux(os.environ)
    real.create(tmux_socket, NewSession("one", "/", ["sleep", "99"]))
    assert isinstance(RealTmux({}, program=str(odd)).look(tmux_socket), Unreachable)


@pytest.mark.live
def test_a_listing_that_is_odd_for_a_moment_is_asked_for_again(
    tmp_path: Path, tmux_socket: str
) -> None:
    real = RealTmux(os.environ)
    real.create(tmux_socket, NewSession("one", "/", ["sleep", "99"]))
    odd = tmp_path / "tmux"
    asked = tmp_path / "asked"
    odd.write_text(
        f'#!/bin/sh\n[ -e {asked} ] && exec tmux "$@"\n: > {asked}\necho odd\necho =:1:2\n'
    )
    odd.chmod(0o755)
    assert RealTmux(os.environ, program=str(odd)).look(tmux_socket) == real.look(tmux_socket)

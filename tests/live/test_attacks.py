"""Malicious or unlucky actions: each of these failed once."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.core.errors import Code, Failure

pytestmark = pytest.mark.live


def daemon_of(folder: Path) -> str:
    """Return a shell command: a process without a terminal that has its pane's environment and
    records its pid."""
    return f"setsid -f sh -c 'echo $$ > {folder}/daemon; exec sleep 600'"


def daemon_in(folder: Path) -> int:
    until(
        "the pid", lambda: (folder / "daemon").exists() and (folder / "daemon").read_text().strip()
    )
    return int((folder / "daemon").read_text())


def test_a_new_server_on_the_old_socket_has_the_old_pane_ids_and_is_a_neighbour(real: Real) -> None:
    real.start()
    old = real.ask("acme", "#{pane_id}")
    real.tmux("kill-server")
    until("the end of the server", lambda: not real.sessions())
    real.bystander("quiet", "sh", "-c", f"{daemon_of(real.folder)}; exec sleep 600")
    neighbour = daemon_in(real.folder)
    assert real.ask("quiet", "#{pane_id}") == old
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"], result["swept"]) == (
        "stopped",
        "already_gone",
        [],
    )
    assert alive(neighbour)
    real.tmux("kill-server")
    subprocess.run(["kill", str(neighbour)], check=True)


def test_a_pane_that_was_moved_to_another_session_is_not_gone(real: Real) -> None:
    real.start()
    agent = real.pid()
    real.bystander()
    real.tmux("join-pane", "-d", "-s", "=acme:", "-t", "=quiet:")
    assert [one["live"] for one in real.list()] == ["replaced"]
    result = answer(real.stop())
    assert result["error"]["code"] == Code.SESSION_REPLACED.text
    assert "quiet" in result["error"]["message"]
    assert alive(agent)
    assert real.row()["status"] == "running"


def test_a_pane_that_was_moved_is_not_mistaken_for_the_one_that_stayed(real: Real) -> None:
    real.start()
    agent = real.pid()
    real.bystander()
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep", "600")
    real.tmux("join-pane", "-d", "-s", "=acme:.0", "-t", "=quiet:")
    assert answer(real.stop(force=False))["error"]["code"] == Code.SESSION_REPLACED.text
    assert alive(agent)


def legacy(real: Real, name: str, pid: int, server: str) -> None:
    real.registry.write_text(
        f"tmux_sessions:\n- name: {name}\n  status: running\n  agent: demo\n  tmux_server:"
        f" {server}\n  pane: {{pid: {pid}, cmd: python, cwd: {real.folder}}}\n"
    )


def test_without_the_users_tmux_tmpdir_no_server_says_nothing(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    real.start()
    agent = real.pid()
    legacy(real, "acme", agent, Path(real.socket).name)
    monkeypatch.setenv("TMUX_TMPDIR", str(real.folder))
    before = real.registry.read_bytes()
    assert [one["live"] for one in real.list()] == ["unknown"]
    assert answer(real.stop())["error"]["code"] == Code.TMUX_UNREACHABLE.text
    assert real.registry.read_bytes() == before
    assert alive(agent)


def test_a_row_of_another_tool_whose_session_was_renamed_is_not_gone(real: Real) -> None:
    real.start()
    agent = real.pid()
    legacy(real, "acme", agent, real.socket)
    real.tmux("rename-session", "-t", "=acme", "renamed")
    assert answer(real.stop())["error"]["code"] == Code.SESSION_REPLACED.text
    assert alive(agent)


def test_an_agent_that_outlived_its_session_is_found_by_its_recorded_start(real: Real) -> None:
    """Its environment is empty, its terminal is closed: only the row's pid and start identify
    it."""
    naked = [
        "env",
        "-i",
        f"PYTHONPATH={Path(__file__).parents[2]}",
        f"HOME={real.folder}",
        *DEMO,
        "--ignore",
        "hup",
    ]
    real.start(command=naked)
    agent = real.pid()
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")
    assert alive(agent)
    result = answer(real.stop(grace_s=1.0))
    assert (result["outcome"], result["status"]) == ("stopped", "stopped")
    assert not alive(agent)


def test_an_ended_row_with_a_strangers_session_of_its_name_says_adopt(real: Real) -> None:
    real.start()
    answer(real.stop())
    stranger = real.bystander("acme")
    before = real.registry.read_bytes()
    result = answer(real.stop())
    assert (result["outcome"], result["error"]["code"]) == ("refused", Code.SESSION_ALIVE.text)
    assert "adopt acme" in result["error"]["hint"]
    assert alive(stranger)
    assert real.registry.read_bytes() == before


HOST = """
import fcntl, os, pty, select, struct, sys, termios, tty
pid, agent = pty.fork()
if pid == 0:
    os.read(0, 1)
    os.execv(sys.executable, [sys.executable, "-m", "tmuxreap.demo_agent"])
fcntl.ioctl(agent, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
os.write(agent, b"\\n")
tty.setraw(0)
log = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.write(1, b"\\x1b[2J\\x1b[H> ")
while True:
    ready = select.select([0, agent], [], [])[0]
    if agent in ready:
        os.read(agent, 4096)
    if 0 in ready:
        typed = os.read(0, 100)
        os.write(log, typed)
        os.write(1, typed)
"""


def test_an_agent_on_a_terminal_of_its_own_is_not_in_front_of_the_pane(real: Real) -> None:
    log = real.folder / "typed"
    real.bystander("acme", sys.executable, "-c", HOST, str(log))
    until("the agent", lambda: list((real.store / "sessions").glob("*.json")))
    assert real.adopt()["live"] == "alive"
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "hangup")
    assert result["rungs"][0]["skipped"] == "the agent is not in front"
    assert log.read_bytes() == b""


HOOKS = [
    "rename-session hooked",
    "display-message -p '$7:%8:9'",
    "run-shell 'exit 3'",
    "split-window -d 'sleep 600'",
]


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_on_new_sessions_leaves_no_session_without_a_row(real: Real, hook: str) -> None:
    real.bystander()
    real.tmux("set-hook", "-g", "after-new-session", hook)
    try:
        real.start()
    except Failure as failure:
        assert failure.code is Code.START_FAILED
        assert real.sessions() == {"quiet"}
    else:
        assert real.sessions() == {"quiet", "acme"}
        assert (
            real.row()["pane"]["id"]
            in real.tmux("list-panes", "-s", "-t", "=acme:", "-F", "#{pane_id}").split()
        )


def test_a_name_that_tmux_changes_leaves_no_session(real: Real) -> None:
    real.bystander()
    assert real.fails(lambda: real.start("a\\b")).code is Code.USAGE
    assert (real.sessions(), real.rows()) == ({"quiet"}, {})


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_an_interrupted_start_leaves_no_session_and_one_document(
    real: Real, number: signal.Signals
) -> None:
    real.bystander()
    words = [
        sys.executable,
        "-m",
        "tmuxreap",
        "start",
        "acme",
        "--agent",
        "demo",
        "--server",
        real.socket,
    ]
    words += ["--confirm", "60", "--json", "--registry", str(real.registry)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, preexec_fn=hears_interrupts
    ) as child:
        until("the session", lambda: "acme" in real.sessions())
        real.shows("acme", "demo agent")
        child.send_signal(number)
        answered = json.loads(child.communicate(timeout=60)[0])
    assert (child.returncode, answered["exit_code"], answered["error"]["code"]) == (
        130,
        130,
        "interrupted",
    )
    assert (real.sessions(), real.rows()) == ({"quiet"}, {})


def hears_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run(
    real: Real, redirection: str, *words: str, last: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    line = shlex.join(
        [
            sys.executable,
            "-m",
            "tmuxreap",
            *words,
            *(["--registry", str(real.registry)] if last else []),
        ]
    )
    environ = {**os.environ, **env}
    return subprocess.run(
        f"{line} {redirection}",
        shell=True,
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_reported_as_a_bug(real: Real, closed: str) -> None:
    told = run(real, closed, "list", "--json")
    assert (told.returncode, told.stderr) == (0, "")


def test_closed_streams_stop_no_stop(real: Real) -> None:
    real.start()
    assert run(real, ">&- 2>&-", "stop", "acme").returncode == 0
    assert real.row()["status"] == "stopped"


def test_a_full_disk_behind_stdout_is_reported_plainly(real: Real) -> None:
    told = run(real, "> /dev/full", "list", "--json")
    assert (told.returncode, told.stderr) == (
        1,
        "error: could not write the answer: No space left on device\n",
    )


def test_names_that_stdout_cannot_hold_are_escaped(real: Real) -> None:
    told = run(real, "", "show", "é", "--json", PYTHONIOENCODING="ascii")
    assert told.returncode == 3
    assert json.loads(told.stdout)["results"][0]["name"] == "é"
    assert run(real, "", "show", "é", PYTHONIOENCODING="ascii").returncode == 3
    assert run(real, "", "show", "\udcff", "--json").returncode == 3
    assert run(real, "< /dev/stdin", "show", "-", "--json").returncode == 2


def test_a_closed_progress_pipe_does_not_end_a_stop(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term,int")
    assert (
        run(
            real, "2> /dev/full", "stop", "acme", "--keys-timeout", "0", "--grace", "0.1"
        ).returncode
        == 0
    )
    assert real.row()["status"] == "stopped"


def test_a_wait_of_a_month_does_not_overflow(real: Real) -> None:
    real.start("acme", "--exit-delay", "0.1")
    result = answer(real.stop(keys_timeout_s=0, grace_s=30 * 86400.0))
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "hangup")


@pytest.mark.parametrize(
    ("registry", "code"),
    [("", "usage"), ("~nosuchuser/x", "registry_not_found"), ("/nosuch/x", "registry_not_found")],
)
def test_a_meaningless_registry_is_refused(real: Real, registry: str, code: str) -> None:
    told = run(real, "", "list", "--json", "--registry", registry, last=False)
    assert json.loads(told.stdout)["error"]["code"] == code


def test_a_number_too_long_for_a_pid_is_no_target(real: Real) -> None:
    told = run(real, "", "stop", "9" * 5000, "--json")
    assert (told.returncode, json.loads(told.stdout)["results"][0]["error"]["code"]) == (
        3,
        "session_not_registered",
    )


@pytest.mark.parametrize("limit", range(5, 10))
def test_a_lack_of_descriptors_causes_no_traceback(real: Real, limit: int) -> None:
    real.start()
    before = real.registry.read_bytes()
    words = [sys.executable, "-m", "tmuxreap", "stop", "acme", "--registry", str(real.registry)]
    line = f"ulimit -n {limit}; exec {shlex.join([*words, '--dry-run'])}"
    told = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert told.returncode in (0, 4, 6), told.stderr
    assert "Traceback" not in told.stderr
    assert (real.registry.read_bytes(), alive(real.pid())) == (before, True)

"""Promise 2: no signal, key or kill reaches a process that was not identified as the target's."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.kinds import ALL, FEW, for_each
from tests.real import DEMO, Real, alive, answer, until

pytestmark = pytest.mark.live


@pytest.fixture
def other_server(real: Real) -> Iterator[str]:
    socket = f"{real.socket}2"
    yield socket
    subprocess.run(
        ["tmux", "-N", "-S", socket, "kill-server"], capture_output=True, check=False, timeout=60
    )


def code(result: dict[str, object]) -> tuple[object, object]:
    error = result["error"]
    assert isinstance(error, dict)
    return result["outcome"], error["code"]


@for_each(FEW)
def test_a_session_with_the_same_prefix_lives(real: Real) -> None:
    real.start("a")
    real.start("a-2")
    other = real.pid("a-2")
    assert answer(real.stop("a"))["outcome"] == "stopped"
    assert alive(other)
    assert real.screen("a-2").rstrip().endswith(">")
    again = answer(real.stop("a"))
    assert again["outcome"] == "already_stopped"
    assert alive(other)


def test_only_the_longer_name_is_alive(real: Real) -> None:
    """tmux takes `a` for `a-2` if there is no `a`."""
    real.start("a")
    other = real.bystander("a-2")
    os.kill(real.pid("a"), 9)
    until("its end", lambda: real.sessions() == {"a-2"})
    result = answer(real.stop("a"))
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "already_gone")
    assert alive(other)


def test_a_session_of_the_same_name_on_another_server_lives(real: Real, other_server: str) -> None:
    real.start()
    real.tmux("new-session", "-d", "-s", "acme", "sleep", "600", socket=other_server)
    stranger = int(real.tmux("list-panes", "-a", "-F", "#{pane_pid}", socket=other_server))
    assert answer(real.stop())["outcome"] == "stopped"
    assert alive(stranger)
    assert real.sessions(other_server) == {"acme"}


@for_each(ALL)
def test_foreign_panes_are_refused(real: Real) -> None:
    real.start()
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep", "600")
    pids = [
        int(pid) for pid in real.tmux("list-panes", "-t", "=acme:", "-F", "#{pane_pid}").split()
    ]
    before = real.registry.read_bytes()
    result = real.stop()
    assert code(answer(result)) == ("refused", "foreign_panes")
    assert f"pid {pids[1]}" in answer(result)["error"]["message"]
    assert all(alive(pid) for pid in pids)
    assert (int(result.exit), real.registry.read_bytes()) == (1, before)
    assert real.screen().rstrip().endswith(">")


def test_the_callers_own_session_is_refused(real: Real) -> None:
    real.start()
    agent, out = real.pid(), real.folder / "out"
    stop = shlex.join(
        [
            sys.executable,
            "-m",
            "tmuxreap",
            "stop",
            "acme",
            "--json",
            "--registry",
            str(real.registry),
        ]
    )
    real.tmux(
        "split-window",
        "-d",
        "-t",
        "=acme:",
        "sh",
        "-c",
        f"{stop} > {out}.new; echo $? >> {out}.new; mv {out}.new {out}",
    )
    until("the answer", out.exists)
    said, status = out.read_text().strip().rsplit("\n", 1)
    (result,) = json.loads(said)["results"]
    assert (code(result), status) == (("refused", "own_session"), "1")
    assert alive(agent)
    assert real.row()["status"] == "running"


def test_a_session_that_was_replaced_is_refused(real: Real) -> None:
    real.start()
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")
    stranger = real.bystander("acme")
    before = real.registry.read_bytes()
    assert code(answer(real.stop())) == ("refused", "session_replaced")
    assert code(answer(real.kill())) == ("refused", "session_replaced")
    assert alive(stranger)
    assert real.registry.read_bytes() == before


def test_a_stranger_with_the_same_ids_on_a_restarted_server_lives(real: Real) -> None:
    real.start()
    agent, ids = real.pid(), real.ask("acme", "#{session_id} #{pane_id}")
    real.tmux("kill-server")
    until("the end of the agent", lambda: not alive(agent))
    until("the end of the server", lambda: real.sessions() == set())
    stranger = real.bystander("acme")
    assert real.ask("acme", "#{session_id} #{pane_id}") == ids
    before = real.registry.read_bytes()
    assert code(answer(real.stop())) == ("refused", "session_replaced")
    assert code(answer(real.kill())) == ("refused", "session_replaced")
    assert alive(stranger)
    assert real.registry.read_bytes() == before


@for_each(FEW)
def test_another_tmux_server_and_a_shared_daemon_live_on_and_are_named(real: Real) -> None:
    shared = real.folder / "ssh-agent"
    shutil.copy("/bin/sleep", shared)
    inner = "tmux -L nested -f /dev/null new-session -d -s inner sleep 600"
    real.start(command=["sh", "-c", f"{inner}; setsid {shared} 600 & exec {real.words}"])
    nested = f"{os.environ['TMUX_TMPDIR']}/tmux-{os.getuid()}/nested"
    until("the nested server", lambda: real.sessions(nested) == {"inner"})
    asleep = int(real.tmux("list-panes", "-a", "-F", "#{pane_pid}", socket=nested))
    server = int(real.tmux("display-message", "-p", "#{pid}", socket=nested))
    result = answer(real.stop())
    assert result["outcome"] == "stopped"
    spared = {one["name"]: one for one in result["spared"]}
    assert set(spared) == {"tmux: server", "sleep", "ssh-agent"}
    assert spared["tmux: server"]["pid"] == server
    assert alive(server)
    assert alive(asleep)
    daemon = spared["ssh-agent"]["pid"]
    assert alive(daemon)
    assert real.sessions(nested) == {"inner"}
    os.kill(daemon, 9)


@pytest.mark.parametrize(
    ("verb", "told"),
    [("stop", ("stopped", "already_gone")), ("kill", ("killed", "already_gone"))],
)
def test_a_pid_known_from_a_file_alone_proves_nothing(
    real: Real, verb: str, told: tuple[str, str]
) -> None:
    real.bystander()
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        row = {
            "name": "acme",
            "status": "running",
            "agent": "demo",
            "tmux_server": real.socket,
            "pane": {"pid": stranger.pid, "cmd": "sleep", "cwd": "/"},
        }
        real.registry.write_text(f"tmux_sessions:\n  - {json.dumps(row)}\n")
        ended = answer(real.stop() if verb == "stop" else real.kill())
        assert (ended["outcome"], ended["stopped_by"]) == told
        real.edit('"stopped"', '"running"')  # an old copy of the row: its end is known
        again = answer(real.stop() if verb == "stop" else real.kill())
        assert (again["outcome"], again.get("error")) == ("already_stopped", None)
        assert alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


def test_a_stranger_in_the_session_of_a_hand_written_row_lives(real: Real) -> None:
    stranger = real.bystander("acme")
    row = {
        "name": "acme",
        "status": "running",
        "agent": "demo",
        "tmux_server": real.socket,
        "pane": {"pid": 1, "cmd": "python3", "cwd": "/"},
    }
    real.registry.write_text(f"tmux_sessions:\n  - {json.dumps(row)}\n")
    assert code(answer(real.stop())) == ("refused", "session_replaced")
    assert alive(stranger)


@for_each(FEW)
def test_an_agent_of_the_same_folder_and_store_lives(real: Real) -> None:
    """A search by command line or by folder would end both."""
    real.start("one")
    real.start("two")
    unregistered = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)", *DEMO], cwd=real.folder
    )
    try:
        two = real.pid("two")
        assert answer(real.kill("one", grace_s=0))["outcome"] == "killed"
        assert alive(two)
        assert alive(unregistered.pid)
    finally:
        unregistered.kill()
        unregistered.wait()

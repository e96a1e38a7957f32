"""Promise 1: `stopped` is written only when every process of the session is proven dead, and the
session is gone."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from tests.kinds import ALL, FEW, for_each
from tests.real import DEMO, Real, alive, answer, freeze, until
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import Scope

pytestmark = pytest.mark.live

AGENT = shlex.join(DEMO)
DEAF = "trap '' HUP TERM INT;"
DOUBLE_FORK = (
    "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); {note};"
    " time.sleep(600)"
)
CHAIN = (
    "import os, time; os.setsid()\nwhile True:\n {note}\n time.sleep(0.05)\n os.fork() and"
    " os._exit(0)"
)
# Written atomically: its writer may be killed in the middle.
NOTE = "open({path!r} + '+', 'w').write(str(os.getpid())); os.replace({path!r} + '+', {path!r})"


def python(code: str, note: Path) -> str:
    return (
        f"{sys.executable} -c {shlex.quote(code.format(note=NOTE.format(path=str(note))))}"
        " </dev/null >/dev/null 2>&1 &"
    )


def shell(words: str, note: Path) -> str:
    return f"sh -c {shlex.quote(f'echo $$ > {note}; {words}')} </dev/null >/dev/null 2>&1 &"


def runaway(kind: str, note: Path) -> str:
    """Return a shell line that starts a background process, which writes its pid into the note."""
    if kind in ("double fork", "fork chain"):
        return python(DOUBLE_FORK if kind == "double fork" else CHAIN, note)
    return {
        "nohup": "nohup " + shell("exec sleep 600", note),
        "setsid": "setsid " + shell("exec sleep 600", note),
        "deaf": shell(f"{DEAF} exec sleep 600", note),
        "deaf and away": "setsid " + shell(f"{DEAF} exec sleep 600", note),
        "no mark": "setsid env -i " + shell("exec sleep 600", note),
    }[kind]


RUNAWAYS = ["nohup", "setsid", "double fork", "deaf", "deaf and away", "no mark", "fork chain"]


@pytest.mark.parametrize("kind", RUNAWAYS)
def test_nothing_runs_away_from_a_stop(real: Real, kind: str) -> None:
    note = real.folder / "pid"
    real.start(command=["sh", "-c", f"{runaway(kind, note)} exec {real.words}"])
    until("its pid", lambda: note.exists() and note.read_text().strip())
    agent = real.pid()
    result = answer(real.stop(grace_s=0.5))
    assert (result["outcome"], result["error"], result["survivors"]) == ("stopped", None, [])
    assert not alive(agent)
    assert not alive(int(note.read_text()))
    assert real.row()["status"] == "stopped"
    assert result["swept"], "what was swept is named"


def test_a_process_with_only_the_mark_is_found_after_a_manual_end(real: Real) -> None:
    note = real.folder / "pid"
    away = "setsid env -u TMUX -u TMUX_PANE " + shell("exec sleep 600", note)
    real.start(command=["sh", "-c", f"{away} exec {real.words}"])
    real.bystander()
    until("its pid", lambda: note.exists() and note.read_text().strip())
    agent, left = real.pid(), int(note.read_text())
    real.tmux("kill-session", "-t", "=acme")
    until("the end of the agent", lambda: not alive(agent))
    (row,) = real.list()
    assert (row["live"], row["drift"]) == ("gone", "survivors")
    with real.app() as app:
        (drift,) = reconcile.run(app).as_json()["drifts"]  # type: ignore[attr-defined]
    assert (drift["drift"], real.row()["status"]) == ("survivors", "running")
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "already_gone")
    assert [one["pid"] for one in result["swept"]] == [left]
    assert not alive(left)


@for_each(ALL)
def test_an_agent_that_outlived_its_session_is_ended_and_not_reported_as_gone(real: Real) -> None:
    """Its session was ended by another hand, and nobody had asked us about it before."""
    real.start("acme", "--ignore", "hup,term")
    real.bystander()
    agent = real.pid()
    real.tmux("kill-session", "-t", "=acme")
    result = answer(real.kill(grace_s=0.2))
    assert (result["outcome"], result["error"]) == ("killed", None)
    assert not alive(agent)


@for_each(ALL)
def test_nothing_runs_away_from_a_kill(real: Real) -> None:
    notes = {
        kind: real.folder / kind.replace(" ", "-") for kind in RUNAWAYS if kind != "fork chain"
    }
    lines = " ".join(runaway(kind, note) for kind, note in notes.items())
    real.start(command=["sh", "-c", f"{lines} exec {real.words} --ignore term"])
    until(
        "their pids",
        lambda: all(note.exists() and note.read_text().strip() for note in notes.values()),
    )
    result = answer(real.kill(grace_s=0.2))
    assert (result["outcome"], result["stopped_by"], result["error"]) == ("killed", "sigkill", None)
    assert [kind for kind, note in notes.items() if alive(int(note.read_text()))] == []


def suspended(real: Real, *options: str) -> int:
    """Start an agent and suspend it. It is below a shell: tmux continues a process that it started
    itself."""
    line = shlex.join((*real.program, *options))
    real.start(command=["sh", "-c", f"{line}; exit $?"])
    (file,) = (real.store / "sessions").glob("*.json")
    pid = int(file.stem)
    freeze(pid)
    return pid


@for_each(FEW)
def test_an_agent_that_ignores_everything_is_killed(real: Real) -> None:
    pid = suspended(real, "--ignore", "hup,term,int")
    result = answer(real.stop(keys_timeout_s=0.1, grace_s=0.2))
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "sigkill")
    assert not alive(pid)


@for_each(FEW)
def test_a_survivor_is_named_and_the_row_stays_running(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term")
    pid = real.pid()
    before = real.registry.read_bytes()
    result = real.stop(keys_timeout_s=0, grace_s=0.2, force=False)
    item = answer(result)
    assert (item["outcome"], item["status"], int(result.exit)) == ("survived", "running", 1)
    assert (item["error"]["code"], [one["pid"] for one in item["survivors"]]) == (
        "still_running",
        [pid],
    )
    assert real.registry.read_bytes() == before
    assert "acme" not in real.sessions()
    assert alive(pid)
    again = answer(real.stop(grace_s=0.1))
    assert (again["outcome"], again["stopped_by"]) == ("stopped", "sigkill")
    assert not alive(pid)


NEVER_WAITS = """
import ctypes, subprocess, sys, time
# Orphans come to us, as in a container whose first process reaps nobody.
ctypes.CDLL(None).prctl(36, 1)
tmux = ["tmux", "-f", "/dev/null", "-S", sys.argv[1]]
subprocess.run([*tmux, "new-session", "-d", "-s", "quiet", "sleep", "600"])
print("ready", flush=True)
time.sleep(600)
"""


def test_a_zombie_is_dead(real: Real) -> None:
    """Its parent, an unrelated process, never waits for it."""
    note = real.folder / "pid"
    stranger = subprocess.Popen(
        [sys.executable, "-c", NEVER_WAITS, real.socket], stdout=subprocess.PIPE
    )
    try:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"ready\n"
        real.start(command=["sh", "-c", f"{runaway('double fork', note)} exec {real.words}"])
        until("its pid", lambda: note.exists() and note.read_text())
        result = answer(real.stop())
        assert (result["outcome"], result["stopped_by"], result["survivors"]) == (
            "stopped",
            "exit_keys",
            [],
        )
        assert (
            Path(f"/proc/{note.read_text()}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )
        last = result["rungs"][-1]  # nobody waits for it to go
        assert (last["name"], last["skipped"], last["waited_ms"]) == ("kill", "nothing was left", 0)
    finally:
        stranger.kill()
        stranger.communicate()


@for_each(FEW)
def test_a_dead_pane_with_a_stale_pid_is_cleared_away(real: Real) -> None:
    real.start()
    real.tmux("set-option", "-p", "-t", "=acme:", "remain-on-exit", "on")
    os.kill(real.pid(), SIGKILL)
    until("a dead pane", lambda: real.ask("acme", "#{pane_dead}") == "1")
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"], result["swept"]) == (
        "stopped",
        "already_gone",
        [],
    )
    assert "acme" not in real.sessions()


def test_a_grouped_session_keeps_no_agent_alive(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term")
    pid = real.pid()
    real.bystander()
    real.tmux("new-session", "-d", "-t", "=acme", "-s", "view")
    result = answer(real.stop(keys_timeout_s=0, grace_s=0.2))
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "sigkill")
    assert not alive(pid)
    assert real.sessions() == {"quiet"}


def test_a_shell_that_ignores_term_goes_with_its_agent(real: Real) -> None:
    real.start(
        command=["bash", "--norc", "--noprofile", "-ic", f"{real.words}; exec bash --norc -i"]
    )
    shell_pid = real.pid()
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "exit_keys")
    assert not alive(shell_pid)


@for_each(FEW)
def test_a_shell_left_by_its_agent_is_ended(real: Real) -> None:
    real.start(
        command=["bash", "--norc", "--noprofile", "-ic", f"{real.words}; exec bash --norc -i"]
    )
    (file,) = (real.store / "sessions").glob("*.json")
    shell_pid, agent = real.pid(), int(file.stem)
    os.kill(agent, SIGTERM)
    until("the end of the agent", lambda: not alive(agent))
    until("the shell", lambda: "$" in real.screen() or "#" in real.screen())
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "already_gone")
    assert not alive(shell_pid)


@for_each(FEW)
def test_other_panes_go_when_the_whole_session_is_selected(real: Real) -> None:
    real.start()
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep", "600")
    pids = [
        int(pid) for pid in real.tmux("list-panes", "-t", "=acme:", "-F", "#{pane_pid}").split()
    ]
    assert answer(real.stop(scope=Scope.SESSION))["outcome"] == "stopped"
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_a_stopped_agent_is_woken_to_leave(real: Real) -> None:
    pid = suspended(real)
    result = answer(real.stop(keys_timeout_s=0.1, grace_s=5.0))
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "hangup")
    assert not alive(pid)
    assert not (real.store / "sessions" / f"{pid}.json").exists(), "it left in good order"


def test_an_agent_in_another_tmux_that_the_pane_only_shows_is_not_stopped_with_the_pane(
    real: Real,
) -> None:
    inner = f"{real.folder}/inner"
    real.bystander(
        "acme", "sh", "-c", f"TMUX= exec tmux -f /dev/null -S {inner} new-session -s inner {AGENT}"
    )
    real.registry.write_text(
        "tmux_sessions:\n  - name: acme\n    agent: demo\n    status: running\n    tmux_server:"
        f" {real.socket}\n"
    )
    try:
        until("the agent", lambda: "demo agent" in real.screen())
        agent = int(real.tmux("display-message", "-p", "-t", "inner", "#{pane_pid}", socket=inner))
        for ended in (real.stop, real.kill):
            told = answer(ended())
            assert (told["outcome"], told["error"]["code"]) == ("refused", "beyond_reach")
            assert inner in told["error"]["hint"]
        assert alive(agent)
        assert real.row()["status"] == "running"
        assert "acme" in real.sessions()
    finally:
        real.tmux("kill-server", socket=inner)

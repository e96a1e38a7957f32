"""`restart` on real panes: the same pane, window, name, history and conversation."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.real import Real, alive, until
from tmuxreap.core.model import Scope

pytestmark = pytest.mark.live

PLACE = "#{session_id} #{window_id} #{pane_id} #{window_layout} #{window_zoomed_flag}"


def place(real: Real, name: str = "acme") -> str:
    return real.ask(name, PLACE)


def restarted(real: Real, *targets: str, **more: Any) -> dict[str, Any]:
    (one,) = real.restart(*targets, **more)
    assert (one["outcome"], one["error"]) == ("restarted", None), one
    return one


def talked(real: Real, name: str = "acme", **more: Any) -> None:
    real.start(name, **more)
    real.say(f"hello {name}", name)


def pane_options(real: Real, name: str = "acme") -> str:
    return real.tmux("show-options", "-p", "-t", f"={name}:")


def check_back(real: Real, name: str = "acme") -> None:
    """Check that the agent is there, in its conversation, and its row is true."""
    real.shows(name, f"You said: hello {name}")
    row = real.row(name)
    assert (row["status"], row["pane"]["pid"]) == ("running", real.pid(name))
    assert {"stopped_at", "stop_reason", "stopped_by", "scope"}.isdisjoint(row)
    assert pane_options(real, name) == ""


def test_an_agent_comes_back_in_its_own_pane(real: Real) -> None:
    talked(real)
    before, old = place(real), real.pid()
    row = real.row()
    one = restarted(real)
    assert (one["old_pid"], one["pid"], one["status"]) == (old, real.pid(), "running")
    assert old != real.pid()
    assert not alive(old)
    assert place(real) == before
    check_back(real)
    now = real.row()
    changing = {"pid", "start_ticks", "created_epoch"}
    assert {k: v for k, v in now["pane"].items() if k not in changing} == {
        k: v for k, v in row["pane"].items() if k not in changing
    }
    kept = row.keys() - {"pane", "conversation_source"}  # no longer that of the launch
    assert {name: now[name] for name in kept} == {name: row[name] for name in kept}
    (event,) = real.events("restarted")
    assert (event["by"], event["old_pid"]) == ("restart", old)
    (ended,) = real.events("stopped")
    assert (ended["reason"], "set" in ended) == ("restarted", False)


def test_a_draft_is_in_the_input_again_without_enter(real: Real) -> None:
    talked(real)
    real.tmux("send-keys", "-l", "-t", "=acme:", "half a thought")
    real.shows("acme", "> half a thought")
    one = restarted(real)
    assert (one["draft"]["chars"], one["draft_back"]) == (14, True)
    real.shows("acme", "> half a thought")
    assert real.prompts() == ["hello acme"]


def test_a_restart_repeats_the_flags_of_the_agent(real: Real) -> None:
    command = (*real.program, "--exit-delay", "0.01")
    talked(real, command=command)
    restarted(real)
    words = Path(f"/proc/{real.pid()}/cmdline").read_text().split("\0")
    assert "--exit-delay" in words
    assert "--resume" in words


@pytest.mark.parametrize("shell", ["bash --norc", "bash --norc -i", "dash", "sh", "zsh -f"])
def test_an_agent_below_a_shell_comes_back_below_one(real: Real, shell: str) -> None:
    real.tmux("new-session", "-d", "-s", "acme", "-c", str(real.folder), f"exec {shell}")
    real.tmux("send-keys", "-l", "-t", "=acme:", real.words)
    real.keys("acme", "Enter")
    real.shows("acme", "demo agent · conversation")
    real.say("hello acme")
    real.adopt()
    before, leader = place(real), real.pid()
    restarted(real)
    assert not alive(leader)
    check_back(real)
    assert place(real) == before
    restarted(real)  # also from our own command line
    check_back(real)
    real.submit("/exit")
    until("the shell", lambda: "demo agent" not in real.screen())
    real.tmux("send-keys", "-l", "-t", "=acme:", "echo here $((40 + 2))")
    real.keys("acme", "Enter")
    real.shows("acme", "here 42")
    assert real.ask("acme", "#{pane_current_command}") == shlex.split(shell)[0]


def test_a_suspended_agent_below_a_shell_continues(real: Real) -> None:
    real.tmux("new-session", "-d", "-s", "acme", "-c", str(real.folder), "exec bash --norc")
    real.tmux("send-keys", "-l", "-t", "=acme:", real.words)
    real.keys("acme", "Enter")
    real.shows("acme", "demo agent · conversation")
    real.say("hello acme")
    real.adopt()
    restarted(real)
    agent = real.agent_pid()
    os.kill(agent, signal.SIGSTOP)
    until("it goes on", lambda: state_of(agent) != "T")


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_an_agent_of_a_script_comes_back_below_the_users_shell(real: Real) -> None:
    command = ("sh", "-c", f"{real.words}; exec sleep 100")
    real.bystander()
    real.tmux("set-option", "-g", "default-shell", "/bin/bash")
    real.tmux("new-session", "-d", "-s", "acme", "-c", str(real.folder), *command)
    real.shows("acme", "demo agent · conversation")
    real.say("hello acme")
    real.adopt()
    restarted(real)
    check_back(real)
    real.submit("/exit")
    until("the shell", lambda: real.ask("acme", "#{pane_current_command}") == "bash")


def test_a_split_and_zoomed_window_stays_as_it_is(real: Real) -> None:
    talked(real)
    real.tmux("split-window", "-h", "-t", "=acme:", "sleep 600")
    other = real.pid()
    real.tmux("select-pane", "-t", "=acme:.0")
    real.tmux("resize-pane", "-x", "61", "-t", "=acme:.0")
    real.tmux("resize-pane", "-Z", "-t", "=acme:.0")
    real.tmux("rename-window", "-t", "=acme:", "work")
    before = place(real)
    restarted(real)
    assert place(real) == before
    assert real.ask("acme", "#{window_name}") == "work"
    check_back(real)
    assert alive(other)


def test_a_restart_keeps_the_history_of_the_pane(real: Real) -> None:
    command = ("sh", "-c", f"seq 500 700; exec {real.words}")
    talked(real, command=command)
    lines = int(real.ask("acme", "#{history_size}"))
    assert lines > 100
    restarted(real)
    assert int(real.ask("acme", "#{history_size}")) >= lines
    assert "\n520\n" in real.tmux("capture-pane", "-p", "-S", "-", "-t", "=acme:")


def test_a_grouped_session_stays_in_its_group(real: Real) -> None:
    talked(real)
    real.tmux("new-session", "-d", "-s", "mirror", "-t", "acme")
    before = place(real)
    restarted(real)
    assert place(real) == before
    assert real.ask("mirror", "#{pane_id}") == real.ask("acme", "#{pane_id}")
    check_back(real)


@pytest.mark.parametrize("value", ["on", "failed"])
def test_the_users_own_option_is_restored(real: Real, value: str) -> None:
    talked(real)
    real.tmux("set-option", "-p", "-t", "=acme:", "remain-on-exit", value)
    restarted(real)
    assert pane_options(real) == f"remain-on-exit {value}"
    real.shows("acme", "You said: hello acme")


def test_a_new_version_on_disk_is_the_one_that_runs(real: Real, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "tmuxreap-demo"
    program.parent.mkdir()

    def install(version: str) -> None:
        new = program.with_suffix(".new")
        new.write_text(f'#!/bin/sh\nVERSION={version} exec {real.words} "$@"\n')
        new.chmod(0o755)
        new.replace(program)

    def version() -> str:
        words = Path(f"/proc/{real.pid()}/environ").read_text().split("\0")
        return next(word for word in words if word.startswith("VERSION="))

    install("1")
    talked(real, command=(str(program),))
    assert version() == "VERSION=1"
    install("2")
    restarted(real)
    assert version() == "VERSION=2"
    check_back(real)


def mark_of(pid: int) -> str:
    environ = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return next(word for word in environ if word.startswith("TMUXREAP_ID="))


def test_a_pane_opened_after_a_restart_has_the_mark_of_the_agent(real: Real) -> None:
    talked(real)
    restarted(real)
    restarted(real)
    agent = real.pid()
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep 600")
    panes = real.tmux("list-panes", "-t", "=acme:", "-F", "#{pane_pid}").split()
    assert len(panes) == 2
    (later,) = [pid for pid in panes if int(pid) != agent]
    until("its program", lambda: "sleep" in Path(f"/proc/{later}/cmdline").read_text())
    assert {mark_of(int(pid)) for pid in panes} == {mark_of(agent)}


def test_a_helper_from_a_pane_opened_after_a_restart_is_ended_with_its_session(real: Real) -> None:
    """It has left the pane's terminal: only the mark tells where it comes from."""
    talked(real)
    restarted(real)
    helper = "exec env -u TMUX -u TMUX_PANE sleep 600"
    script = f"setsid -f sh -c 'echo $$ > helper.part; mv helper.part helper; {helper}'"
    work = f"{script} </dev/null >/dev/null 2>&1; exec sleep 600"
    real.tmux("split-window", "-d", "-t", "=acme:", "-c", str(real.folder), work)
    file = real.folder / "helper"
    until("the helper", file.exists)
    pid = int(file.read_text())
    until("its program", lambda: "sleep" in Path(f"/proc/{pid}/cmdline").read_text())
    (one,) = real.kill(scope=Scope.SESSION).results
    assert one.error is None
    assert not alive(pid)


def test_a_failed_restart_leaves_a_row_that_can_be_resumed(real: Real, tmp_path: Path) -> None:
    program = tmp_path / "tmuxreap-demo"
    program.write_text(f'#!/bin/sh\nexec {real.words} "$@"\n')
    program.chmod(0o755)
    talked(real, command=(str(program),))
    quiet = real.bystander()
    real.tmux("send-keys", "-l", "-t", "=acme:", "half a thought")
    real.shows("acme", "> half a thought")
    program.write_text("#!/bin/sh\necho broken release\nsleep 0.2\nexit 3\n")
    (one,) = real.restart(confirm_s=1.0)
    assert (one["outcome"], one["error"]["code"], one["status"]) == (
        "failed",
        "start_failed",
        "stopped",
    )
    assert one["resumable"] is True
    assert "broken release" in one["error"]["message"]
    assert "tmuxreap resume acme" in one["error"]["hint"]
    row = real.row()
    assert (row["status"], row["resumable"], row["stop_reason"]) == ("stopped", True, "restarted")
    assert real.sessions() == {"quiet"}
    assert alive(quiet)
    program.write_text(f'#!/bin/sh\nexec {real.words} "$@"\n')
    assert real.resume()["status"] == "running"
    real.shows("acme", "You said: hello acme")


def test_the_other_panes_live_when_a_restart_fails(real: Real, tmp_path: Path) -> None:
    program = tmp_path / "tmuxreap-demo"
    program.write_text(f'#!/bin/sh\nexec {real.words} "$@"\n')
    program.chmod(0o755)
    talked(real, command=(str(program),))
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep 600")
    program.unlink()
    (one,) = real.restart()
    assert one["error"]["code"] == "start_failed"
    assert real.ask("acme", "#{window_panes} #{pane_start_command}") == '1 "sleep 600"'


def test_several_agents_are_restarted_a_few_at_once(real: Real) -> None:
    names = ["one", "two", "three"]
    for name in names:
        talked(real, name)
    before = {name: place(real, name) for name in names}
    answers = real.restart("all", at_once=2)
    assert [one["outcome"] for one in answers] == ["restarted"] * 3
    for name in names:
        check_back(real, name)
    assert {name: place(real, name) for name in names} == before

"""Stop, on a real terminal, from every state of the agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes import plans_of
from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.core.model import Scope

pytestmark = pytest.mark.live

READER = """
import os, sys, termios, tty
tty.setraw(0)
log = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.write(1, b"ready")
while typed := os.read(0, 100):
    os.write(log, typed)
"""


def ended(real: Real, **policy: object) -> dict[str, object]:
    """Stop a session, and check what must hold after every stop."""
    pid = real.pid()
    result = answer(real.stop(**policy))
    assert (result["outcome"], result["error"]) == ("stopped", None)
    assert not alive(pid)
    assert "acme" not in real.sessions()
    assert real.row()["status"] == "stopped"
    assert ("tool", "approved") not in real.said()
    assert real.prompts() == []
    return result


def rung(result: dict[str, object], name: str) -> dict[str, object]:
    rungs = result["rungs"]
    assert isinstance(rungs, list)
    return next(one for one in rungs if one["name"] == name)


def test_an_idle_agent_leaves_by_its_keys(real: Real) -> None:
    real.start()
    real.bystander()
    result = ended(real)
    assert result["stopped_by"] == "exit_keys"
    assert real.sessions() == {"quiet"}
    assert rung(result, "hangup")["enough"] is False
    row = real.row()
    assert (row["termination_mode"], row["stop_reason"], row["resumable"]) == (
        "graceful",
        "manual_stop",
        False,
    )


def test_a_draft_is_kept_and_never_sent(real: Real) -> None:
    real.start("acme", "--state", "draft")
    result = ended(real)
    assert result["stopped_by"] == "exit_keys"
    (draft,) = real.events("draft")
    assert draft["text"] == "half a thought"
    assert result["draft"]["chars"] == len("half a thought")  # type: ignore[index]


def test_a_busy_agent_leaves_by_its_keys(real: Real) -> None:
    real.start("acme", "--state", "busy")
    result = ended(real)
    assert result["stopped_by"] == "exit_keys"


def test_a_dialog_is_closed_and_never_approved(real: Real) -> None:
    real.start("acme", "--state", "dialog")
    real.shows("acme", "Allow the tool")
    result = ended(real)
    assert result["stopped_by"] == "exit_keys"


@pytest.mark.parametrize(("mode", "state"), [("copy-mode", "dialog"), ("choose-tree", "draft")])
def test_an_agent_in_a_mode_that_swallows_keys_exits_by_its_keys(
    real: Real, mode: str, state: str
) -> None:
    real.start("acme", "--state", state)
    real.tmux(mode, "-t", "=acme:")
    assert ended(real)["stopped_by"] == "exit_keys"


def test_an_agent_below_a_shell_leaves_by_its_keys(real: Real) -> None:
    real.start(command=["sh", "-c", f"{' '.join(DEMO)}; read line"])
    result = ended(real)
    assert result["stopped_by"] == "exit_keys"
    assert [one["name"] for one in result["swept"]] == ["sh"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("shell", ["bash --norc --noprofile", "zsh -f"])
def test_a_kill_below_an_interactive_shell_is_no_sigkill(real: Real, shell: str) -> None:
    """The shell ignores TERM; when the agent exits at TERM, the shell ends with its terminal."""
    words = [*shell.split(), "-i"]
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    real.bystander()
    real.tmux("new-session", "-d", "-s", "acme", "-c", str(real.folder), *words)
    real.keys("acme", " ".join(DEMO), "Enter")
    real.shows("acme", "demo agent")
    real.adopt()
    result = answer(real.kill(grace_s=10.0))
    assert (result["outcome"], result["stopped_by"]) == ("killed", "sigterm")
    assert result["rungs"][0]["enough"] and result["rungs"][0]["waited_ms"] < 10_000
    assert real.sessions() == {"quiet"}


def test_a_suspended_agent_behind_another_program_gets_no_key(real: Real) -> None:
    """Keys would reach that program: none is sent."""
    log = real.folder / "typed"
    real.start(
        command=["bash", "--norc", "--noprofile", "-ic", f"{' '.join(DEMO)}; exec bash --norc -i"]
    )
    pid = real.agent_pid()
    os.kill(pid, 19)
    until("the shell in front", lambda: real.ask("acme", "#{pane_current_command}") == "bash")
    real.tmux("send-keys", "-t", "=acme:", f"exec {sys.executable} -c '{READER}' {log}", "Enter")
    until("the other program", log.exists)
    result = answer(real.stop(scope=Scope.SESSION))
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "hangup")
    assert rung(result, "keys")["skipped"] == "the agent is not in front"
    assert log.read_bytes() == b""
    assert not alive(pid)


def test_a_pane_that_takes_no_input_is_hung_up(real: Real) -> None:
    real.start("acme", "--state", "dialog")
    real.tmux("select-pane", "-d", "-t", "=acme:")
    result = ended(real)
    assert (result["stopped_by"], rung(result, "keys")["skipped"]) == (
        "hangup",
        "the pane takes no input",
    )


def test_a_synchronized_sibling_gets_nothing(real: Real) -> None:
    real.start()
    log = real.folder / "typed"
    real.tmux("split-window", "-d", "-t", "=acme:", sys.executable, "-c", READER, str(log))
    until("the sibling", log.exists)
    real.tmux("set-option", "-w", "-t", "=acme:", "synchronize-panes", "on")
    result = ended(real, scope=Scope.SESSION)
    assert result["stopped_by"] == "exit_keys"
    assert log.read_bytes() == b""


def test_a_survivor_of_a_linked_window_is_named_and_ended_the_next_time(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term,int")
    pid = real.pid()
    real.bystander()
    real.tmux("link-window", "-d", "-s", "=acme:0", "-t", "=quiet:5")
    real.tmux("set-option", "-w", "-t", "=acme:0", "synchronize-panes", "on")
    real.tmux("split-window", "-d", "-t", "=acme:0")
    until("an idle shell", lambda: real.tmux("capture-pane", "-p", "-t", "=acme:0.1"))
    result = answer(real.stop(keys_timeout_s=0, grace_s=0.2, force=False))
    assert (result["outcome"], result["status"]) == ("survived", "running")
    assert pid in [one["pid"] for one in result["survivors"]]
    assert real.row()["status"] == "running"
    assert windows(real) == {0}
    again = answer(real.stop(keys_timeout_s=0, grace_s=0.2))
    assert (again["outcome"], again["stopped_by"]) == ("stopped", "sigkill")
    assert not alive(pid)
    assert real.sessions() == {"quiet"}


def test_a_window_that_belongs_to_another_session_lives_on(real: Real) -> None:
    real.start()
    theirs = real.bystander("quiet", "sh", "-i")
    real.tmux("link-window", "-d", "-s", "=quiet:0", "-t", "=acme:7")
    ended(real)
    assert alive(theirs)
    assert real.sessions() == {"quiet"}


def windows(real: Real, name: str = "quiet") -> set[int]:
    return set(
        map(int, real.tmux("list-windows", "-t", f"={name}", "-F", "#{window_index}").split())
    )


def test_a_stop_leaves_no_linked_window(real: Real) -> None:
    real.start()
    real.bystander()
    real.tmux("link-window", "-d", "-s", "=acme:0", "-t", "=quiet:5")
    assert ended(real)["stopped_by"] == "exit_keys"
    assert real.sessions() == {"quiet"}
    assert windows(real) == {0}


def test_a_slow_agent_exits_by_its_keys(real: Real) -> None:
    real.start("acme", "--exit-delay", "0.4")
    result = ended(real)
    assert result["stopped_by"] == "exit_keys"
    assert int(str(rung(result, "keys")["waited_ms"])) >= 400


def test_helpers_end_with_their_agent(real: Real) -> None:
    real.start("acme", "--spawn", "2")
    children = Path(f"/proc/{real.pid()}/task/{real.pid()}/children").read_text().split()
    ended(real)
    assert len(children) == 2
    assert not any(alive(int(child)) for child in children)


def test_the_plan_that_is_shown_is_the_plan_that_is_recorded(real: Real) -> None:
    real.start("acme", "--state", "draft", "--spawn", "1")
    planned = answer(real.stop(dry_run=True))
    assert planned["outcome"] == "planned"
    assert real.row()["status"] == "running"
    ended(real)
    assert plans_of(real.registry) == [json.dumps(planned["plan"])]


def test_a_users_option_stays_as_it_was(real: Real) -> None:
    """remain-on-exit is the user's: a session that is only looked at, or refused, keeps it."""
    real.start()
    real.tmux("set-option", "-p", "-t", "=acme:", "remain-on-exit", "failed")
    real.tmux("split-window", "-d", "-t", "=acme:", "sleep", "600")
    assert answer(real.stop())["error"]["code"] == "foreign_panes"
    assert real.tmux("show-options", "-p", "-v", "-t", "=acme:.0", "remain-on-exit") == "failed"


def test_a_stop_from_the_command_line_prints_json(real: Real) -> None:
    real.start()
    words = [
        sys.executable,
        "-m",
        "tmuxreap",
        "stop",
        "acme",
        "--json",
        "--registry",
        str(real.registry),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (result,) = json.loads(done.stdout)["results"]
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "exit_keys")


def test_a_session_without_a_row_is_ended(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    before = real.registry.read_bytes()
    default = f"{os.environ['TMUX_TMPDIR']}/tmux-{os.getuid()}/default"
    Path(default).parent.mkdir(mode=0o700)
    real.tmux(
        "new-session", "-d", "-s", "loose", "sh", "-c", "trap '' HUP; sleep 600", socket=default
    )
    pid = int(real.tmux("list-panes", "-a", "-F", "#{pane_pid}", socket=default))
    refused = real.stop("loose")
    assert int(refused.exit) == 3
    done = answer(real.stop("loose", unregistered=True))
    assert (done["outcome"], done["error"]) == ("stopped", None)
    assert not alive(pid)
    assert real.registry.read_bytes() == before

"""Every shell block in our skills is run verbatim and in order; and the scripts for what the skills
do not show."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.real import until
from tests.workflows import ROOT, Project

pytestmark = pytest.mark.live

NAME = "shop-demo"
ENVIRON = {"SESSION_NAME": NAME, "AGENT": "demo", "JOB_ID": "readme-1"}
STOP = f".agents/skills/tmux-agent-orchestrate-stop/scripts/stop_session.sh --session {NAME}"
CREATE = ".agents/skills/tmux-agent-orchestrate-create/scripts/create_session.sh"
RESUME = ".agents/skills/tmux-agent-orchestrate-resume/scripts/resume_session.sh"
RECONCILE = ".agents/skills/tmux-agent-orchestrate-monitor/scripts/reconcile.sh"


def blocks(what: str) -> list[str]:
    text = (ROOT / "skills" / f"tmux-agent-orchestrate-{what}" / "SKILL.md").read_text(
        encoding="utf-8"
    )
    found = re.findall(r"^```bash\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    # As an agent reads it: relative to the skill's folder.
    return [
        block.replace(
            "bash scripts/", f"bash .agents/skills/tmux-agent-orchestrate-{what}/scripts/"
        )
        for block in found
    ]


@pytest.fixture
def project(tmux_socket: str, tmp_path: Path) -> Project:
    return Project(tmp_path)


def told(project: Project, what: str) -> list[str]:
    """Run each block after the previous ones, in a shell that stops at the first failure."""
    return [project.run("set -euo pipefail\n" + block, **ENVIRON) for block in blocks(what)]


def test_every_block_of_shell_is_marked_as_one() -> None:
    for what in ("create", "stop", "resume", "monitor", "delegate-job"):
        text = (ROOT / "skills" / f"tmux-agent-orchestrate-{what}" / "SKILL.md").read_text(
            encoding="utf-8"
        )
        assert text.count("```") == 2 * len(blocks(what)) > 4


def test_the_blocks_of_create_work_as_written(project: Project) -> None:
    plan, started, sent, verified = told(project, "create")
    assert plan.startswith("would start it: ")
    assert "tmuxreap.demo_agent" in plan
    assert f"{NAME}: running, alive" in started
    assert sent.startswith(f"{NAME}: sent, ")
    assert verified.split()[:2] == [NAME, "demo"]
    row = project.row(NAME)
    assert (row["tags"], row["ttl"], row["pane"]["cwd"]) == (["nightly"], "2h", str(project.folder))
    until("the answer", lambda: "You said: Read README.md" in project.screen(NAME))


def test_the_blocks_of_stop_work_as_written(project: Project) -> None:
    project.start(NAME, say="hello")
    plan, stopped, verified, purged = told(project, "stop")
    assert "would stop it" in plan
    assert "exited on its own exit keys" in stopped
    assert "already stopped (end_of_day at " in stopped.splitlines()[-1]
    assert verified.startswith(f"{NAME} stopped resumable\n")
    assert "terminated" in purged
    assert project.row(NAME)["termination_mode"] == "purge"


def test_the_blocks_of_delegate_job_work_as_written(project: Project) -> None:
    project.start(NAME)
    before, delegated, killed, verified = told(project, "delegate-job")
    assert before == ""
    assert '"status": "running"' in delegated
    assert "killed" in killed
    assert verified.startswith("readme-1 cancelled 4\n")
    assert project.row(NAME)["delegate_job_id"] == "readme-1"
    log = (project.folder / ".hermes" / "jobs" / "readme-1.events.log").read_text().splitlines()
    told_of = [(line["seq"], line["event"], line.get("detail")) for line in map(json.loads, log)]
    assert told_of[1:] == [
        (2, "progress", "half of it"),
        (3, "progress", "terminating"),
        (4, "cancelled", "cancelled"),
    ]


def test_a_job_is_assigned_in_one_line_of_the_row(project: Project) -> None:
    project.start(NAME)
    job = ".agents/skills/tmux-agent-orchestrate-delegate-job/scripts/delegate_job.sh"
    before = project.registry.read_text()
    project.run(f"{job} assign --session {NAME} --job one")
    project.run(f"{job} assign --session {NAME} --job two")
    assert project.registry.read_text().replace('    delegate_job_id: "two"\n', "") == before
    project.run(f"{job} assign --session nobody --job three", exit_code=3)
    project.run(f"{job} tell --job three --event progress", exit_code=3)
    project.run(f"{job} status --job ../../x", exit_code=2)
    project.run(f"tmuxreap kill {NAME}")


def test_the_blocks_of_resume_work_as_written(project: Project) -> None:
    project.start(NAME, say="hello")
    project.run(STOP)
    conversation = project.row(NAME)["demo_conversation_id_own"]
    looked, resumed, verified = told(project, "resume")
    assert conversation in looked
    assert f"{NAME}: running, alive" in resumed
    assert verified == f"{NAME} goes on with {conversation}\n"
    until("what was said before", lambda: "user: hello" in project.screen(NAME))


def test_the_blocks_of_monitor_work_as_written(project: Project) -> None:
    project.start(NAME)
    project.start("crashed-demo")
    project.run("kill -9 $(tmux list-panes -s -t '=crashed-demo:' -F '#{pane_pid}')")
    until("its session is gone", lambda: "crashed" not in project.run("tmux ls", exit_code=None))
    before, reconciled, watch, reap, *after = blocks("monitor")
    assert "crashed-demo" in project.run(before)
    once = project.run("set -eu\n" + reconciled)
    assert re.match(r"crashed-demo\tdead\twritten\t\S", once)
    assert "they did not" in once
    assert "registry and tmux agree" in project.run("set -eu\n" + reconciled)
    watching = Watcher(project, watch)
    project.run("kill -9 $(tmux list-panes -s -t '=shop-demo:' -F '#{pane_pid}')")
    assert '"drift": "dead"' in watching.line()
    assert watching.interrupted() == 0
    for block in (reap, *after):
        project.run("set -euo pipefail\n" + block)
    assert {project.row(name)["status"] for name in (NAME, "crashed-demo")} == {"terminated"}


class Watcher:
    """A process that runs until it is interrupted."""

    def __init__(self, project: Project, block: str) -> None:
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {block.strip()}"],
            cwd=project.folder,
            env=project.environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def interrupted(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        return self.process.returncode


# What the blocks do not show.


def test_the_environment_stands_in_for_flags(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    environ = {
        "SESSION_NAME": NAME,
        "AGENT_SESSIONS_YAML": str(elsewhere),
        "TMUX_SERVER_NAME": "farm",
    }
    project.run(f"{CREATE} --agent demo --quiet", **environ)
    assert not project.registry.exists()
    assert "tmux_server: farm" in elsewhere.read_text()
    assert project.run("tmux -L farm ls").startswith(f"{NAME}:")
    project.run(STOP.partition(" ")[0], **environ)
    assert "status: stopped" in elsewhere.read_text()
    assert f"no server running on {os.environ['TMUX_TMPDIR']}" in project.run(
        "tmux -L farm ls", exit_code=1
    )
    assert "already stopped (manual_stop" in project.run(STOP.partition(" ")[0], **environ)


def test_the_command_of_a_start_is_kept_unchanged(project: Project) -> None:
    command = "python3 -m tmuxreap.demo_agent --say 'two words'"
    said = project.run(
        f"{CREATE} --session {NAME} --agent demo --dry-run --json --tag x -- {command}"
    )
    words = json.loads(said)["plan"]["command"]
    assert words[:5] == ["python3", "-m", "tmuxreap.demo_agent", "--say", "two words"]


@pytest.mark.parametrize("server", ["", "farm"])
def test_a_session_without_a_row_is_ended_where_the_caller_says(
    server: str, project: Project
) -> None:
    tmux = f"tmux {'-L ' + server if server else ''}"
    project.run(
        f"{tmux} new-session -d -s {NAME} 'exec sleep 600'; {tmux} new-session -d -s {NAME}-2 'exec"
        " sleep 600'"
    )
    assert project.run(STOP, exit_code=None, TMUX_SERVER_NAME=server).count("could not") == 1
    project.run(f"{STOP} --force-no-yaml", TMUX_SERVER_NAME=server)
    assert [line.partition(":")[0] for line in project.run(f"{tmux} ls").splitlines()] == [
        f"{NAME}-2"
    ]
    assert not project.registry.exists()


def test_a_row_is_stopped_by_what_it_says_whatever_server_the_caller_names(
    project: Project,
) -> None:
    project.start(NAME)
    project.run(f"tmux -L farm new-session -d -s {NAME} 'exec sleep 600'")
    project.run(f"{STOP} --force-no-yaml", TMUX_SERVER_NAME="farm")
    assert project.row(NAME)["status"] == "stopped"
    assert project.run("tmux -L farm ls").startswith(NAME)


@pytest.mark.parametrize("wide", ["all", "shop*", "tag:x", "agent:demo", "-", "pid:1", ""])
def test_no_script_means_more_than_one_session(wide: str, project: Project) -> None:
    project.start(NAME)
    for script in (STOP.partition(" ")[0], RESUME):
        assert "could not" in project.run(f"{script} --session '{wide}'", exit_code=2)
        assert "could not read" in project.run(
            f"{script} --session {NAME} {wide or 'more'}", exit_code=2
        )
    assert project.row(NAME)["status"] == "running"


def test_a_script_says_what_is_missing(project: Project) -> None:
    said = project.run(STOP, exit_code=2, TMUXREAP="/nowhere/tmuxreap")
    assert "could not find /nowhere/tmuxreap" in said
    assert "nothing follows" in project.run(f"{STOP} --reason", exit_code=2)


def test_a_reconcile_distinguishes_agreement_disagreement_and_ignorance(project: Project) -> None:
    project.start(NAME)
    assert project.run(f"{RECONCILE} --once --emit-diff") == ""
    project.run("tmux kill-session -t '=shop-demo:'")
    until(
        "the agent is gone",
        lambda: "tmux_confirmed" in project.run("tmuxreap reconcile --dry-run --json"),
    )
    planned = project.run(f"{RECONCILE} --once --emit-diff --dry-run", exit_code=1)
    assert planned.startswith(f"{NAME}\t")
    assert "written" not in planned
    assert project.row(NAME)["status"] == "running"
    assert project.run(f"{RECONCILE} --once", exit_code=1) == ""
    assert project.row(NAME)["status"] == "terminated"
    assert project.run(f"{RECONCILE} --once --emit-diff") == ""
    without = "/nowhere/agent-sessions.yaml"
    said = project.run(f"{RECONCILE} --once --emit-diff", exit_code=2, AGENT_SESSIONS_YAML=without)
    assert without in said


def test_a_server_that_cannot_be_asked_is_no_drift(project: Project, tmp_path: Path) -> None:
    project.start(NAME)
    deaf = tmp_path / "programs" / "tmux"
    deaf.write_text("#!/bin/sh\necho 'lost server' >&2\nexit 1\n")
    deaf.chmod(0o755)
    project.run(f"{RECONCILE} --once --emit-diff", exit_code=2)
    deaf.unlink()
    assert project.row(NAME)["status"] == "running"

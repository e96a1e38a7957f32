"""The recipes for the night, run as cron and systemd run them: nothing is printed unless something
failed, as cron mails whatever is printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real import Real

pytestmark = pytest.mark.live

RECIPES = Path(__file__).parents[2] / "docs" / "recipes.md"
PROGRAM = Path(sys.executable).with_name("tmuxreap")
SILENT = (0, "", "")
GUARD = "TESTED_BY"  # what is left over is found by it


def blocks(kind: str, title: str) -> list[str]:
    """Return the blocks of this kind in a section of the page."""
    section = RECIPES.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)


def cron_lines(title: str) -> list[str]:
    (block,) = blocks("crontab", title)
    return block.splitlines()


def cron_jobs(title: str) -> dict[str, str]:
    """Return the commands of the jobs, by verb."""
    jobs = {}
    for line in cron_lines(title):
        if re.match(r"[\d*]", line):
            command = line.split(None, 5)[5]
            jobs[command.split()[1]] = command
    return jobs


class Machine:
    """A user's machine, on which nobody is logged in."""

    def __init__(self, real: Real) -> None:
        self.real = real
        self.home = Path(os.environ["HOME"])
        programs = self.home / ".local" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        if not (programs / "tmuxreap").exists():
            (programs / "tmuxreap").symlink_to(PROGRAM)

    def here(self, text: str) -> str:
        """Return a line of the recipes with the folders of this machine."""
        places = {
            "/home/me/shop/.hermes/agent-sessions.yaml": str(self.real.registry),
            "%h/shop/.hermes/agent-sessions.yaml": str(self.real.registry),
            "/home/me": str(self.home),
            "%h": str(self.home),
            "/run/user/1000": os.environ["TMUX_TMPDIR"],
        }
        for place, ours in places.items():
            text = text.replace(place, ours)
        return text

    def by_cron(self, command: str) -> tuple[int, str, str]:
        """Run a job as cron does: with these variables only, by /bin/sh, in the home folder."""
        given = {"HOME": str(self.home), "LOGNAME": "me", "SHELL": "/bin/sh"}
        for line in cron_lines("From cron"):
            if re.match(r"[A-Z_]+=", line):
                name, _, value = self.here(line).partition("=")
                given[name] = value
        return self.run(["/bin/sh", "-c", command], given)

    def by_systemd(self, service: str) -> tuple[int, str, str]:
        """Run the command of a user's service as systemd does: without a shell."""
        given = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "me"}
        (command,) = re.findall(r"^ExecStart=(.*)$", service, flags=re.MULTILINE)
        for setting in re.findall(r"^Environment=(.*)$", service, flags=re.MULTILINE):
            name, _, value = self.here(setting).partition("=")
            given[name] = value
        return self.run(shlex.split(self.here(command)), given)

    def run(self, words: list[str], environ: dict[str, str]) -> tuple[int, str, str]:
        guarded = {**environ, GUARD: os.environ[GUARD]}
        # A machine has one tmux: that of these tests may stand elsewhere than the system's.
        tmux = Path(shutil.which("tmux") or "").parent
        guarded["PATH"] = f"{tmux}:{environ['PATH']}"
        done = subprocess.run(
            words, env=guarded, cwd=self.home, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def machine(real: Real) -> Machine:
    for name in ("a", "b"):  # in one folder, of which a start warns
        real.start(name)
        real.say(f"hello {name}", name)
    return Machine(real)


def test_a_night_by_cron_mails_nothing(machine: Machine) -> None:
    jobs = cron_jobs("Away for the night")
    real = machine.real
    assert machine.by_cron(jobs["stop"]) == SILENT
    assert real.sessions() == set()
    assert machine.by_cron(jobs["stop"]) == SILENT
    assert machine.by_cron(jobs["resume"]) == SILENT
    assert real.sessions() == {"a", "b"}
    real.shows("a", "You said: hello a")
    assert machine.by_cron(jobs["resume"]) == SILENT  # they run again: somebody was up earlier
    real.stop("all")


def test_the_other_jobs_of_cron_mail_nothing(machine: Machine) -> None:
    jobs = cron_jobs("From cron")
    assert machine.by_cron(jobs["reconcile"]) == SILENT
    assert machine.by_cron(jobs["stop"].replace("agent:claude", "agent:demo")) == SILENT
    assert machine.real.sessions() == set()
    assert machine.by_cron(jobs["reconcile"]) == SILENT


def test_a_resume_that_failed_is_mailed(machine: Machine) -> None:
    jobs = cron_jobs("Away for the night")
    assert machine.by_cron(jobs["stop"]) == SILENT
    shutil.rmtree(machine.real.store / "conversations")
    status, out, mail = machine.by_cron(jobs["resume"])
    assert (status, out) == (1, "")
    assert "error: could not resume a: the conversation" in mail
    assert "error: could not resume b: the conversation" in mail


def test_a_stop_that_failed_is_mailed(machine: Machine) -> None:
    text = machine.real.registry.read_text()
    machine.real.registry.write_text("tmux_sessions: [\n")
    status, out, mail = machine.by_cron(cron_jobs("Away for the night")["stop"])
    assert (status, out) == (6, "")
    assert mail.startswith("error: could not ")
    machine.real.registry.write_text(text)
    machine.real.stop("all")


def test_a_night_by_systemd_timers_prints_nothing(machine: Machine) -> None:
    morning = blocks("ini", "Away for the night")[0]
    evening = re.sub(r"tmuxreap .*", cron_jobs("Away for the night")["stop"], morning)
    real = machine.real
    assert machine.by_systemd(evening) == SILENT
    assert real.sessions() == set()
    assert machine.by_systemd(morning) == SILENT
    assert real.sessions() == {"a", "b"}
    real.stop("all")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_systemd_takes_the_units_of_the_night(tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "tmuxreap"
    program.parent.mkdir(parents=True)
    program.symlink_to("/bin/true")
    service, timer = blocks("ini", "Away for the night")
    units = {"agents-morning.service": service, "agents-morning.timer": timer}
    for name, text in units.items():
        (tmp_path / name).write_text(text)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    words = ["systemd-analyze", "--user", "verify", "--man=no", *units]
    done = subprocess.run(
        words, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "agents-morning" in done.stderr) == (0, False), done.stderr

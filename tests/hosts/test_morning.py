"""A morning with three hosts and a container: docs/hosts.md shows exactly the output of these
commands. One sshd plays all three, each with its own key, HOME and tmux."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.conftest import PROGRAM, Fleet
from tests.hosts.relay import Relay
from tests.hosts.test_ssh import SSH, SSHD, key, wait_for
from tests.ports import free_port
from tests.real import DEMO

PAGE = Path(__file__).parents[2] / "docs" / "hosts.md"
HOSTS = ("build-1", "gpu", "spare", "dev")
AGENTS = {  # by host: its sessions, each with its tag and how the agent starts
    "build-1": {"api": ("night", ()), "site": ("day", ())},
    "gpu": {"train": ("night", ("--state", "busy"))},
    "spare": {"sweep": ("night", ())},
    "dev": {"docs": ("day", ("--state", "dialog"))},
}


@dataclass
class Morning:
    fleet: Fleet
    relay: Relay

    def says(self, line: str) -> str:
        """Return what a user sees."""
        result = self.fleet.run(*line.split()[1:])
        return "\n".join([f"$ {line}", *result.out.splitlines(), *result.err.splitlines()])


def environ(fleet: Fleet, host: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TMUX")}
    home = fleet.home(host)
    return {**kept, "HOME": str(home), "TMUX_TMPDIR": f"{home}/t"}


@contextlib.contextmanager
def begun(tmp_path: Path) -> Iterator[Morning]:
    if not (SSHD and SSH):
        pytest.skip("no SSH server or client")
    fleet, port = Fleet(tmp_path), free_port()
    relay = Relay(port)
    for name in ("me", *HOSTS):
        fleet.add(name)
    server = key(tmp_path / "server")
    allowed, config = [], [f"Host *\n HostName 127.0.0.1\n Port {port}\n IdentitiesOnly yes\n"]
    for host in HOSTS[:-1]:
        home = fleet.home(host)
        forced_command = fleet.script(
            f"on-{host}",
            f'cd {home}; export HOME={home} TMUX_TMPDIR={home}/t; eval "$SSH_ORIGINAL_COMMAND"',
        )
        public = key(tmp_path / f"key-{host}").with_suffix(".pub").read_text()
        allowed.append(f'command="{forced_command}" {public}')
        own = f" Port {relay.port}\n" if host == "spare" else ""
        config.insert(0, f"Host {host}\n{own} IdentityFile {tmp_path}/key-{host}\n")
    (tmp_path / "allowed").write_text("".join(allowed))
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {server}\nAuthorizedKeysFile"
        f" {tmp_path}/allowed\nStrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\n"
        f"SetEnv HOME={tmp_path}\n"  # the user's shell files are not read
    )
    config.append(f" HostKeyAlias fleet\n UserKnownHostsFile {tmp_path}/known\n")
    (tmp_path / "ssh_config").write_text("".join(config))
    (tmp_path / "known").write_text(f"fleet {server.with_suffix('.pub').read_text()}")
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec {SSH} -F {tmp_path}/ssh_config "$@"\n')
    wrapper.chmod(0o755)
    # Plays docker: runs the words after the name.
    docker = tmp_path / "bin" / "docker"
    home = fleet.home("dev")
    docker.write_text(f'#!/bin/sh\nshift 3\nexec env HOME={home} TMUX_TMPDIR={home}/t "$@"\n')
    docker.chmod(0o755)
    fleet.hosts.clear()
    program = {"program": str(PROGRAM)}
    fleet.configure(dict.fromkeys(HOSTS[:-1], program))
    fleet.configure({"dev": {"via": ["docker", "exec", "-i", "dev"], **program}})
    fleet.environ["PATH"] = f"{tmp_path}/bin:{os.environ['PATH']}"
    Path("/run/sshd").mkdir(exist_ok=True)
    words = [SSHD, "-D", "-e", "-f", str(tmp_path / "sshd_config")]
    with (tmp_path / "log").open("w") as log:
        daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    try:
        wait_for(port)
        for host, agents in AGENTS.items():
            for name, (tag, flags) in agents.items():
                _start(fleet, host, name, tag, *flags)
        yield Morning(fleet, relay)
    finally:
        for host in HOSTS:
            subprocess.run(
                ["tmux", "kill-server"], env=environ(fleet, host), capture_output=True, check=False
            )
        daemon.kill()
        daemon.wait()
        relay.close()


@pytest.fixture
def morning(tmp_path: Path) -> Iterator[Morning]:
    with begun(tmp_path) as found:
        yield found


def _start(fleet: Fleet, host: str, name: str, tag: str, *flags: str) -> None:
    words = ["start", name, "--agent", "demo", "--tag", tag, "--json", "--", *DEMO, *flags]
    command = [str(PROGRAM), *words]
    done = subprocess.run(
        command,
        env=environ(fleet, host),
        cwd=fleet.home(host),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done


def played(morning: Morning) -> str:
    outputs = [morning.says("tmuxreap hosts"), morning.says("tmuxreap list --host all")]
    morning.relay.refusing = True  # one host goes down
    outputs.append(morning.says("tmuxreap stop tag:night --host all --reason morning"))
    assert morning.fleet.rows("spare")["sweep"]["status"] == "running"
    morning.relay.refusing = False  # and is up again
    outputs.append(morning.says("tmuxreap stop sweep@spare --reason morning"))
    outputs.append(morning.says("tmuxreap list --host all --status running"))
    return "\n".join(outputs)


def test_the_transcript_of_the_page_is_the_real_output(morning: Morning) -> None:
    output = played(morning)
    for host, name in (("build-1", "api"), ("gpu", "train"), ("spare", "sweep")):
        assert morning.fleet.rows(host)[name]["stop_reason"] == "morning"
    page = PAGE.read_text(encoding="utf-8")
    block = page.split("## A morning")[1].split("```console\n")[1].split("```")[0]
    assert normalized(block) == normalized(output)


def normalized(text: str) -> str:
    """Remove what differs from day to day."""
    return "\n".join(map(_plain, text.strip().splitlines()))


def _plain(line: str) -> str:
    line = re.sub(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?\b", "ID", line)
    line = re.sub(r"(could not reach \w+): .*", r"\1", line)  # ssh has several messages for it
    line = re.sub(r"(\d+[mh]) \d\d[sm]\b", r"\1", line)  # 36s, and later 1m 05s
    return re.sub(r"\d+(?:[.:]\d+)*[smh]?\b", "0", re.sub(r" {2,}", "  ", line.rstrip()))

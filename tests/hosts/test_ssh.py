"""The same over real OpenSSH: a server of the test's own on loopback, with its own keys and
configuration."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.conftest import PROGRAM, Fleet

SSHD, SSH = shutil.which("sshd", path="/usr/sbin:/usr/bin"), shutil.which("ssh")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture
def over_ssh(fleet: Fleet) -> Iterator[Fleet]:
    """Host `b` is reached by `ssh far`; the caller has a runtime folder of its own."""
    assert SSHD
    assert SSH
    folder, home, port = fleet.folder, fleet.home("b"), free_port()
    server, client = key(folder / "server"), key(folder / "client")
    Path("/run/sshd").mkdir(exist_ok=True)
    forced = fleet.script(
        "there", f'cd {home}; export HOME={home} TMUX_TMPDIR={home}/t; eval "$SSH_ORIGINAL_COMMAND"'
    )
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {server}\nAuthorizedKeysFile"
        f" {client}.pub\nStrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication"
        f" no\nForceCommand {forced}\n"
    )
    (folder / "ssh_config").write_text(
        f"Host far\n HostName 127.0.0.1\n Port {port}\n IdentityFile {client}\n IdentitiesOnly"
        f" yes\n UserKnownHostsFile {folder}/known\nHost down\n HostName 127.0.0.1\n Port"
        f" {free_port()}\n"
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {server.with_suffix('.pub').read_text()}")
    (folder / "bin").mkdir()
    wrapper = folder / "bin" / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec {SSH} -F {folder}/ssh_config "$@"\n')
    wrapper.chmod(0o755)
    runtime = Path(f"/tmp/tr{os.getpid()}.{port}")
    runtime.mkdir(mode=0o700)
    fleet.environ |= {"PATH": f"{folder}/bin:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(runtime)}
    fleet.configure({"b": {"ssh": "far", "program": str(PROGRAM)}, "down": {"ssh": "down"}})
    words = [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")]
    with (folder / "log").open("w") as log:
        daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    try:
        wait_for(port)
        yield fleet
    finally:
        for shared in (runtime / "tmuxreap").glob("*"):
            subprocess.run(
                [SSH, "-O", "exit", "-o", f"ControlPath={shared}", "far"],
                capture_output=True,
                check=False,
            )
        daemon.kill()
        daemon.wait()
        shutil.rmtree(runtime)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        else:
            return


def test_verbs_go_over_ssh_and_the_connection_is_kept(over_ssh: Fleet) -> None:
    assert [one["target"] for one in over_ssh.run("list", "--host", "b", "--json").results] == [
        "web@b",
        "db@b",
    ]
    shared = Path(over_ssh.environ["XDG_RUNTIME_DIR"]) / "tmuxreap"
    assert shared.stat().st_mode & 0o777 == 0o700
    assert len(list(shared.iterdir())) == 1
    said = over_ssh.run("stop", "all", "--host", "b,a", "--json")
    assert said.exit == 0
    assert {one["target"]: one["outcome"] for one in said.results} == {
        "web@b": "stopped",
        "db@b": "stopped",
        "web@a": "stopped",
    }
    assert over_ssh.rows("b")["db"]["status"] == "stopped"


def test_a_host_that_is_down_stops_no_other(over_ssh: Fleet) -> None:
    said = over_ssh.run("list", "--host", "all", "--json")
    assert said.exit == 4
    assert said.hosts["down"]["error"]["code"] == "host_unreachable"
    assert "refused" in said.hosts["down"]["error"]["message"]
    assert {one["host"] for one in said.results} == {"a", "b"}


def test_a_program_that_is_not_there(over_ssh: Fleet) -> None:
    over_ssh.configure({"b": {"ssh": "far", "program": "~/no/tmuxreap"}})
    assert (
        over_ssh.run("list", "--host", "b", "--json").hosts["b"]["error"]["code"]
        == "host_without_tmuxreap"
    )


def test_a_changed_host_key_is_ssh_s_own_refusal(over_ssh: Fleet) -> None:
    known = over_ssh.folder / "known"
    other = key(over_ssh.folder / "other").with_suffix(".pub").read_text()
    known.write_text(known.read_text().split()[0] + " " + other)
    error = over_ssh.run("list", "--host", "b", "--json").hosts["b"]["error"]
    assert error["code"] == "host_unreachable"
    assert "Host key verification failed" in error["message"]

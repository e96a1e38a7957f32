"""The same over real OpenSSH: the test's own server on loopback, with its own keys and
configuration."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.conftest import PROGRAM, Fleet
from tests.hosts.relay import Relay
from tests.ledger_records import Ledger
from tests.ports import free_port
from tests.real import DEMO, until
from tmuxreap.ledger.database import ledger_path

SOCKETS = "[0-9a-f]*"
SSHD, SSH = shutil.which("sshd", path="/usr/sbin:/usr/bin"), shutil.which("ssh")


def key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture
def relay() -> Iterator[Relay]:
    link = Relay(free_port())
    yield link
    link.close()


@pytest.fixture
def over_ssh(fleet: Fleet, relay: Relay) -> Iterator[Fleet]:
    """Host `b` is reached by `ssh far`; the caller has its own runtime folder. `relayed` is the
    same host through a link that can be disturbed."""
    if not (SSHD and SSH):
        pytest.skip("no SSH server or client")
    folder, home, port = fleet.folder, fleet.home("b"), relay.server_port
    server, client = key(folder / "server"), key(folder / "client")
    Path("/run/sshd").mkdir(exist_ok=True)
    forced = fleet.script(
        "there", f'cd {home}; export HOME={home} TMUX_TMPDIR={home}/t; eval "$SSH_ORIGINAL_COMMAND"'
    )
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {server}\nAuthorizedKeysFile"
        f" {client}.pub\nStrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication"
        f" no\nForceCommand {forced}\nSetEnv HOME={home}\n"  # the user's shell files are not read
    )
    (folder / "ssh_config").write_text(
        f"Host far\n HostName 127.0.0.1\n Port {port}\n IdentityFile {client}\n IdentitiesOnly"
        f" yes\n UserKnownHostsFile {folder}/known\nHost relayed\n HostName 127.0.0.1\n Port"
        f" {relay.port}\n HostKeyAlias [127.0.0.1]:{port}\n IdentityFile {client}\n"
        f" IdentitiesOnly yes\n UserKnownHostsFile {folder}/known\nHost down\n"
        " HostName 127.0.0.1\n Port 1\n"  # a free one may become that of another test
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
        for shared in (runtime / "tmuxreap").glob(SOCKETS):
            subprocess.run(
                [SSH, "-O", "exit", "-o", f"ControlPath={shared}", "far"],
                capture_output=True,
                check=False,
            )
        daemon.kill()
        daemon.wait()
        shutil.rmtree(runtime)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
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
    assert len(list(shared.glob(SOCKETS))) == 1
    result = over_ssh.run("stop", "all", "--host", "b,a", "--json")
    assert result.exit == 0
    assert {one["target"]: one["outcome"] for one in result.results} == {
        "web@b": "stopped",
        "db@b": "stopped",
        "web@a": "stopped",
    }
    assert over_ssh.rows("b")["db"]["status"] == "stopped"


def test_the_connection_that_the_user_has_is_used_first(over_ssh: Fleet) -> None:
    """Only it works: no new one could be made, as with a second factor."""
    config = over_ssh.folder / "ssh_config"
    before = config.read_text()
    own = Path(over_ssh.environ["XDG_RUNTIME_DIR"]) / "own"
    text = before.replace("Host far\n", f"Host far\n ControlPath {own}\n", 1)
    config.write_text(text)
    ssh = [str(SSH), "-F", str(config), "-o", "ControlPersist=yes"]
    master = subprocess.Popen([*ssh, "-M", "-N", "far"], stdin=subprocess.DEVNULL)
    try:
        until("the user's connection", own.exists)
        config.write_text(text.replace(str(over_ssh.folder / "client"), "/nonexistent"))
        told = over_ssh.run("list", "--host", "b", "--json")
        assert told.exit == 0, told
        assert [one["target"] for one in told.results] == ["web@b", "db@b"]
        assert own.exists()
    finally:
        subprocess.run([*ssh, "-O", "exit", "far"], capture_output=True, check=False)
        master.kill()
        master.wait()


def test_a_host_that_is_down_stops_no_other(over_ssh: Fleet) -> None:
    result = over_ssh.run("list", "--host", "all", "--json")
    assert result.exit == 4
    assert result.hosts["down"]["error"]["code"] == "host_unreachable"
    assert "refused" in result.hosts["down"]["error"]["message"]
    assert {one["host"] for one in result.results} == {"a", "b"}


def test_a_missing_program_is_reported_as_host_without_tmuxreap(over_ssh: Fleet) -> None:
    over_ssh.configure({"b": {"ssh": "far", "program": "~/no/tmuxreap"}})
    assert (
        over_ssh.run("list", "--host", "b", "--json").hosts["b"]["error"]["code"]
        == "host_without_tmuxreap"
    )


def test_ssh_refuses_a_changed_host_key(over_ssh: Fleet) -> None:
    known = over_ssh.folder / "known"
    other = key(over_ssh.folder / "other").with_suffix(".pub").read_text()
    known.write_text(known.read_text().split()[0] + " " + other)
    error = over_ssh.run("list", "--host", "b", "--json").hosts["b"]["error"]
    assert error["code"] == "host_unreachable"
    assert "Host key verification failed" in error["message"]


def test_a_key_that_the_host_does_not_know_is_refused(over_ssh: Fleet) -> None:
    stranger = key(over_ssh.folder / "stranger")
    config = over_ssh.folder / "ssh_config"
    config.write_text(config.read_text().replace(f"{over_ssh.folder}/client", str(stranger)))
    result = over_ssh.run("list", "--host", "b,a", "--json")
    error = result.hosts["b"]["error"]
    assert (error["code"], result.hosts["a"]["ok"]) == ("host_unreachable", True)
    assert "Permission denied" in error["message"]


def master(fleet: Fleet) -> int:
    """Return the process that keeps the connection to `far`."""
    (shared,) = (Path(fleet.environ["XDG_RUNTIME_DIR"]) / "tmuxreap").glob(SOCKETS)
    words = [str(SSH), "-O", "check", "-o", f"ControlPath={shared}", "far"]
    errors = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    return int(errors.split("pid=")[1].split(")")[0])


def test_an_ssh_master_carries_no_mark_of_the_calling_session(over_ssh: Fleet) -> None:
    """A stop of the calling session must not find it: its streams, process session and environment
    are its own."""
    over_ssh.environ |= {"TMUX": "/tmp/x,1,0", "TMUX_PANE": "%0", "TMUXREAP_ID": "a-mark"}
    wrapper, seen = over_ssh.folder / "bin" / "ssh", over_ssh.folder / "environ"
    # ssh overwrites its environment, as the kernel shows it, with its title.
    wrapper.write_text(wrapper.read_text().replace("exec", f"env > {seen}; exec", 1))
    assert over_ssh.run("list", "--host", "b", "--json").exit == 0
    pid = master(over_ssh)
    process = Path(f"/proc/{pid}")
    assert {os.readlink(process / "fd" / str(number)) for number in (0, 1, 2)} == {"/dev/null"}
    assert os.getsid(pid) not in (0, os.getsid(0))
    assert (os.readlink(process / "cwd"), process.joinpath("stat").read_text().split()[6]) == (
        "/",
        "0",  # no terminal
    )
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert "HOME" in names
    assert not names & {"TMUX", "TMUX_PANE", "TMUXREAP_ID"}


# Disturbed links


@pytest.fixture
def living(over_ssh: Fleet) -> Iterator[Fleet]:
    """An agent on host `b`, behind the relay, that exits slowly."""
    over_ssh.configure({"b": {"ssh": "relayed", "program": str(PROGRAM)}})
    words = ["start", "live", "--agent", "demo", "--registry", str(over_ssh.registry("b"))]
    environ = {"HOME": str(over_ssh.home("b")), "TMUX_TMPDIR": f"{over_ssh.home('b')}/t"}
    done = subprocess.run(
        [str(PROGRAM), *words, "--json", "--", *DEMO, "--exit-delay", "1.5"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    yield over_ssh
    subprocess.run(
        ["tmux", "kill-server"], env={**os.environ, **environ}, capture_output=True, check=False
    )


def begun(fleet: Fleet) -> bool:
    """Wait until a stop is in progress there, with its intent recorded."""
    path = ledger_path(fleet.registry("b"))
    with Ledger.open(path, now=time.time()) as ledger:
        return ledger.open_intent("live") is not None


@pytest.mark.parametrize("shared", [True, False])
def test_a_stop_survives_a_link_that_breaks_in_the_middle(
    living: Fleet, relay: Relay, shared: bool
) -> None:
    if not shared:
        del living.environ["XDG_RUNTIME_DIR"]
    process = living.begin("stop", "live@b", "--json")
    until("the stop there", lambda: begun(living))
    relay.cut()
    out, err = process.communicate(timeout=60)
    (one,) = json.loads(out)["results"]
    assert (one["target"], one["outcome"], one["joined"]) == ("live@b", "stopped", False), err
    assert process.returncode == 0
    kinds = [one["kind"] for one in events(living)]
    assert kinds.count("stopped") == 1


def events(fleet: Fleet) -> list[dict[str, Any]]:
    return fleet.run("events", "live", "--registry", str(fleet.registry("b")), "--json").results


def test_a_link_that_breaks_before_the_answer_does_not_lose_the_outcome(
    living: Fleet, relay: Relay
) -> None:
    process = living.begin("stop", "live@b", "--json")
    until("the stop there", lambda: begun(living))
    relay.held = True
    until("its end", lambda: living.rows("b")["live"]["status"] == "stopped")
    relay.cut()
    relay.held = False
    out, _ = process.communicate(timeout=60)
    (one,) = json.loads(out)["results"]
    assert (one["outcome"], one["error"], process.returncode) == ("stopped", None, 0)
    assert [one["kind"] for one in events(living)].count("stopped") == 1


def test_a_link_that_breaks_before_the_stop_ends_nothing(living: Fleet, relay: Relay) -> None:
    relay.refusing = True
    result = living.run("stop", "live@b", "--json")
    assert (result.exit, result.hosts["b"]["error"]["code"]) == (4, "host_unreachable")
    assert living.rows("b")["live"]["status"] == "running"
    assert [one["kind"] for one in events(living)] == ["started"]


def test_a_link_that_garbles_is_reported_by_ssh_and_disturbs_no_other_host(
    living: Fleet, relay: Relay
) -> None:
    relay.garbled = True
    result = living.run("stop", "live@b", "web@a", "--json")
    assert result.hosts["b"]["error"]["code"] == "host_unreachable"
    assert {one["target"]: one["outcome"] for one in result.results} == {"web@a": "stopped"}
    assert living.rows("b")["live"]["status"] == "running"


def test_a_slow_link_is_waited_for(living: Fleet, relay: Relay) -> None:
    relay.delay_s = 0.1
    result = living.run("list", "--host", "b", "--json")
    assert result.exit == 0
    assert "live@b" in {one["target"] for one in result.results}
    assert relay.accepted == 1

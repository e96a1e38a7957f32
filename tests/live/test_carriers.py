"""Agents behind carriers: stand-ins for docker, kubectl and ssh, a real sshd on loopback, real sudo
and real process namespaces."""

from __future__ import annotations

import grp
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests import carriers
from tests.ports import free_port
from tests.real import DEMO, Real, agents_of, alive, answer, until

pytestmark = pytest.mark.live

DOCKER = ("docker", "exec", "-it", "dev", "--")
SILENT = "import sys, tty; tty.setraw(0); print('ready', flush=True); sys.stdin.read()"


class Container:
    """Where the stand-ins' programs run, with a separate store."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.path = folder / "inside", folder / "d"
        self.bin = folder / "bin"
        self.bin.mkdir()
        # A short path: messages cut a command line, and the checkout may be in a long one.
        self.python = folder / "p"
        self.python.symlink_to(Path(sys.executable).resolve())
        monkeypatch.setenv("CARRIED_BY", str(self.path))
        environ = {**os.environ, "TMUXREAP_DEMO_HOME": str(self.store)}
        words = [sys.executable, carriers.__file__, "serve", str(self.path)]
        self.daemon = subprocess.Popen(words, env=environ, start_new_session=True)
        until("the daemon", self.path.exists)

    def client(self, *words: str) -> tuple[str, ...]:
        """Create a program with the carrier's name."""
        program = self.bin / words[0]
        program.write_text(f"#!{self.python}\n" + Path(carriers.__file__).read_text())
        program.chmod(0o755)
        return (str(program), *words[1:])

    def agents(self) -> list[int]:
        return agents_of(self.store)

    def close(self) -> None:
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        os.killpg(self.daemon.pid, signal.SIGKILL)
        self.daemon.wait()


@pytest.fixture
def container(real: Real, monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    folder = Path(real.socket).parent / "c"
    folder.mkdir()
    made = Container(folder, monkeypatch)
    yield made
    made.close()


def start(real: Real, container: Container, *client: str, options: Sequence[str] = ()) -> int:
    real.start(command=(*container.client(*(client or DOCKER)), *DEMO, *options))
    (agent,) = container.agents()
    return agent


def keys_of(result: dict[str, object]) -> object:
    rungs = result["rungs"]
    assert isinstance(rungs, list)
    return rungs[0]["skipped"]


@pytest.mark.parametrize(
    "client", [DOCKER, ("kubectl", "exec", "-it", "pod", "--"), ("ssh", "-t", "far", "--")]
)
def test_an_agent_behind_a_carrier_exits_by_keys_and_is_reported_as_unproven(
    real: Real, container: Container, client: tuple[str, ...]
) -> None:
    agent = start(real, container, *client)
    real.bystander()
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"], result["error"]) == (
        "stopped",
        "exit_keys",
        None,
    )
    assert f"beyond_reach: it ran behind {client[0]} (" in result["warnings"][0]
    assert " ".join(client[1:3]) in result["warnings"][0]  # which container, pod or host
    assert not alive(agent)
    assert real.row()["status"] == "stopped"
    assert real.sessions() == {"quiet"}


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_an_agent_beyond_a_container_is_never_called_gone(
    real: Real, container: Container, verb: str
) -> None:
    agent = start(real, container)
    run = real.stop(keys_timeout_s=0.0) if verb == "stop" else real.kill()
    result = answer(run)
    assert (result["outcome"], result["error"]["code"]) == ("survived", "beyond_reach")
    assert result["error"]["hint"].endswith("--host if that is one of: tmuxreap hosts")
    assert " ".join(DOCKER[1:3]) in result["error"]["message"]
    assert run.exit == 1
    assert alive(agent)
    row = real.row()
    assert (row["status"], row["resumable"]) == ("stopped", False)
    assert "acme" not in real.sessions()
    assert answer(real.stop())["outcome"] == "already_stopped"


def test_an_agent_without_a_name_behind_a_carrier_gets_no_key(
    real: Real, container: Container
) -> None:
    real.start("acme-demo", command=(*container.client(*DOCKER), *DEMO))
    (agent,) = container.agents()
    real.edit("    agent: demo\n", "")
    result = answer(real.stop("acme-demo", grace_s=1.0))
    assert keys_of(result) == "it is behind docker, and the row does not say which agent it is"
    assert (result["error"]["code"], alive(agent)) == ("beyond_reach", True)


def test_an_agent_without_a_visible_state_gets_no_key(real: Real, container: Container) -> None:
    command = (*container.client(*DOCKER), sys.executable, "-c", SILENT)
    real.tmux("new-session", "-d", "-s", "acme", *command)
    real.shows("acme", "ready")
    real.adopt()
    result = answer(real.stop(grace_s=1.0))
    assert keys_of(result) == "behind docker no state of the agent was seen twice"
    assert result["error"]["code"] == "beyond_reach"


def test_a_tmux_behind_a_carrier_gets_no_key(real: Real, container: Container) -> None:
    agent = start(real, container, "ssh", "-t", "far", "tmux", "new", "--")
    result = answer(real.stop(grace_s=1.0))
    assert keys_of(result) == "tmux takes the keys behind ssh"
    assert alive(agent)


def test_a_dialog_behind_a_carrier_is_closed_and_never_approved(
    real: Real, container: Container
) -> None:
    agent = start(real, container, options=["--state", "dialog"])
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"], result["error"]) == (
        "stopped",
        "exit_keys",
        None,
    ), result
    assert not alive(agent)
    said = [file.read_text() for file in (container.store / "conversations").glob("*.jsonl")]
    assert not any("approved" in text for text in said)


def test_a_carrier_started_from_the_agents_shell_is_not_the_agents(
    real: Real, container: Container
) -> None:
    """The agent in this pane is gone; what the user reached from there is no agent's."""
    real.tmux("new-session", "-d", "-s", "acme", "bash", "--norc", "--noprofile", "-i")
    real.keys("acme", f"{' '.join(DEMO)}", "Enter")
    real.shows("acme", "demo agent · conversation")
    real.adopt()
    real.submit("/exit")
    until("the shell in front", lambda: real.ask("acme", "#{pane_current_command}") == "bash")
    client = container.client("ssh", "-t", "far", "--")
    real.keys("acme", " ".join((*client, sys.executable, "-c", f'"{SILENT}"')), "Enter")
    real.shows("acme", "ready")
    assert real.show()["live"] == "agent_gone"
    result = answer(real.stop(grace_s=1.0))
    assert (result["outcome"], result["stopped_by"], result["error"]) == (
        "stopped",
        "already_gone",
        None,
    )


# What this kernel can see


def demo_behind(real: Real) -> tuple[str, ...]:
    """The demo agent with the environment that a carrier may remove."""
    environ = (
        f"TMUXREAP_DEMO_HOME={real.store}",
        f"PYTHONPATH={os.environ['PYTHONPATH']}",
        "TERM=screen",
    )
    return ("env", *environ, *DEMO)


def may(*words: str) -> bool:
    """A program that is there may still ask for a password, or be forbidden."""
    try:
        told = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return told.returncode == 0


NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
NEEDED = {
    "sudo": ("sudo", "-n", "true"),
    "doas": ("unshare", "--mount", "true"),
    "bwrap": ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"),
    "script": ("script", "-qec", "true", "/dev/null"),
}


def by_sudo(real: Real) -> tuple[str, ...]:
    return ("sudo", "-n", *demo_behind(real))


def by_doas(real: Real) -> tuple[str, ...]:
    """Run it by doas, with private rules that only this pane sees."""
    rules = real.folder / "doas.conf"
    rules.write_text("permit nopass root\n")
    rules.chmod(0o600)
    see = f"mount -t tmpfs none /mnt && cp -a /etc/. /mnt && cp -p {rules} /mnt/doas.conf"
    words = " ".join(demo_behind(real))
    enter = f"{see} && chown 0:0 /mnt/doas.conf && mount --bind /mnt /etc && exec doas {words}"
    return ("unshare", "--mount", "sh", "-c", enter)


def by_bwrap(real: Real) -> tuple[str, ...]:
    alone = ("--unshare-pid", "--proc", "/proc", "--die-with-parent")
    return ("bwrap", "--dev-bind", "/", "/", *alone, *demo_behind(real))


def by_script(real: Real) -> tuple[str, ...]:
    return ("script", "-qfc", shlex.join(demo_behind(real)), "/dev/null")


@pytest.mark.parametrize("keys", [None, 0.0])
@pytest.mark.parametrize(
    ("carrier", "behind"),
    [("sudo", by_sudo), ("doas", by_doas), ("bwrap", by_bwrap), ("script", by_script)],
    ids=["sudo", "doas", "bwrap", "script"],
)
def test_processes_behind_a_carrier_are_proven_if_the_kernel_shows_them(
    real: Real, carrier: str, behind: Callable[[Real], tuple[str, ...]], keys: float | None
) -> None:
    if shutil.which(carrier) is None:
        pytest.skip(f"no {carrier}")
    if carrier == "doas" and os.getuid():
        pytest.skip("only root can give doas rules of a test's own")
    if not may(*NEEDED[carrier]):
        pytest.skip(f"{carrier} asks or may not")
    real.bystander()
    real.start(command=behind(real), confirm_s=1.0)
    inside = descendants(real.pid())
    assert any(Path(f"/proc/{pid}/comm").read_text().startswith("python") for pid in inside)
    result = answer(real.stop(keys_timeout_s=keys, grace_s=1.0))
    assert (result["outcome"], result["error"]) == ("stopped", None)
    if keys is None:
        assert result["stopped_by"] == "exit_keys", result
    assert [pid for pid in inside if alive(pid)] == []
    assert not any("beyond_reach" in warning for warning in result["warnings"])
    assert real.sessions() == {"quiet"}


@pytest.mark.parametrize("keys", [None, 0.0])
def test_an_agent_in_a_process_namespace_is_killed_with_everything_in_it(
    real: Real, keys: float | None
) -> None:
    """Its leader ignores signals without a handler: only a kill ends it, with everything in it."""
    if not may(*NAMESPACE, "true"):
        pytest.skip("no process namespace can be made here")
    marker = str(real.folder / "deep")
    deep = ["sh", "-c", f"setsid sleep 300.125 & touch {marker}; {' '.join(DEMO)}; true"]
    real.start(command=(*NAMESPACE, *deep))
    inside = descendants(real.pid())
    assert len(inside) >= 3
    result = answer(real.stop(keys_timeout_s=keys, grace_s=0.5))
    assert (result["outcome"], result["error"]) == ("stopped", None)
    assert [pid for pid in inside if alive(pid)] == []


def descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        children = Path(f"/proc/{one}/task/{one}/children").read_text()
        found += map(int, children.split())
    return found[1:]


# A real sshd


def terminals_belong_to_tty() -> bool:
    """Tell what devpts is mounted with: without gid=5 an sshd has to chown each terminal."""
    ours, theirs = os.openpty()
    group = os.fstat(theirs).st_gid
    os.close(ours)
    os.close(theirs)
    return group == grp.getgrnam("tty").gr_gid


def skip_without_terminals() -> None:
    if os.getuid() and not terminals_belong_to_tty():
        pytest.skip("an SSH server that is not root's needs terminals of the group tty")


class Far:
    """A real sshd on loopback with its own keys."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("sshd", path="/usr/sbin:/usr/bin")
        if program is None or shutil.which("ssh") is None:
            pytest.skip("no SSH server or client")
        skip_without_terminals()
        self.folder, self.port = folder, free_port()
        for key in ("host", "mine"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
            subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        (folder / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile"
            " none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nAuthorizedKeysFile"
            f" {folder}/mine.pub\nPermitRootLogin yes\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        words = [program, "-D", "-e", "-f", str(folder / "config")]
        self.log = (folder / "log").open("w")
        self.sshd = subprocess.Popen(words, stderr=self.log, stdin=subprocess.DEVNULL)
        until("the sshd", lambda: "listening" in (folder / "log").read_text())

    def client(self, *options: str) -> tuple[str, ...]:
        known = (
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        )
        where = ("-F", "none", "-i", str(self.folder / "mine"), "-p", str(self.port), *known)
        return ("ssh", *where, *options, "-t", "127.0.0.1", "--")

    def close(self) -> None:
        children = descendants(self.sshd.pid)
        self.sshd.kill()
        self.sshd.wait()
        for pid in children:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.log.close()


@pytest.fixture
def far(real: Real) -> Iterator[Far]:
    folder = Path(real.socket).parent / "k"
    folder.mkdir(mode=0o700)
    made = Far(folder)
    yield made
    made.close()


def over_ssh(real: Real, far: Far, *options: str) -> int:
    store = f"{real.folder}/far"
    environ = (f"TMUXREAP_DEMO_HOME={store}", f"PYTHONPATH={os.environ['PYTHONPATH']}")
    real.start(command=(*far.client(), "env", *environ, *DEMO, *options))
    return agent_with(store)


def agent_with(store: str) -> int:
    """Start an agent behind a carrier, of which only the carrier's start is confirmed."""
    until("the agent behind it", lambda: list(Path(store, "sessions").glob("*.json")))
    (file,) = Path(store, "sessions").glob("*.json")
    return int(file.stem)


def test_a_stop_ends_an_agent_over_a_real_ssh(real: Real, far: Far) -> None:
    agent = over_ssh(real, far)
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"], result["error"]) == (
        "stopped",
        "exit_keys",
        None,
    )
    assert "behind ssh" in result["warnings"][0]
    assert not alive(agent)


def test_an_agent_cut_off_from_a_real_ssh_is_reported_as_surviving(real: Real, far: Far) -> None:
    agent = over_ssh(real, far, "--ignore", "hup,term,int")
    result = answer(real.stop(keys_timeout_s=0.0, grace_s=1.0))
    assert (result["outcome"], result["error"]["code"]) == ("survived", "beyond_reach")
    assert alive(agent)
    os.kill(agent, signal.SIGKILL)


# A real mosh, by that sshd


def over_mosh(real: Real, far: Far, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    """Return the agent's pid. The mosh server is a daemon: no child of the sshd."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    store = f"{real.folder}/far"
    environ = (f"TMUXREAP_DEMO_HOME={store}", f"PYTHONPATH={os.environ['PYTHONPATH']}")
    ssh = " ".join(far.client()[:-3])
    words = ("mosh", f"--ssh={ssh}", "127.0.0.1", "--", "env", *environ, *DEMO, *options)
    real.start(command=words)
    return agent_with(store)


def server_of(agent: int) -> int:
    return int(Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.skipif(shutil.which("mosh") is None, reason="no mosh")
def test_a_stop_ends_an_agent_over_a_real_mosh(
    real: Real, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = over_mosh(real, far, monkeypatch)
    server = server_of(agent)
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"], result["error"]) == (
        "stopped",
        "exit_keys",
        None,
    ), result
    assert "behind mosh" in result["warnings"][0]
    until("the end of the agent and its server", lambda: not (alive(agent) or alive(server)))


@pytest.mark.skipif(shutil.which("mosh") is None, reason="no mosh")
def test_an_agent_cut_off_from_a_real_mosh_is_reported_as_surviving(
    real: Real, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that must exit closes the remote terminal; a program that ignores that lives on."""
    agent = over_mosh(real, far, monkeypatch, "--ignore", "hup,term,int")
    server = server_of(agent)
    try:
        result = answer(real.kill(grace_s=1.0))
        assert (result["outcome"], result["error"]["code"]) == ("survived", "beyond_reach")
        assert alive(agent)
    finally:
        for pid in (server, agent):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)

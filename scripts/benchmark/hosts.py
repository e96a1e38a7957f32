"""`--host` over a private sshd on loopback: many destinations, each with a registry. Unlike real
hosts they share this machine's cores; simulated hosts are measured too, which answer after a delay
and need no core."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tmuxreap
from benchmark.cases import Case, Line, line_of
from benchmark.timing import in_turns

MOST = 50
ANSWER_S = 0.3  # of a simulated host
SOCKETS = "tmuxreap/[0-9a-f]*"
PROGRAM = Path(sys.executable).with_name("tmuxreap")


class Fleet:
    """Destinations h0, h1, ...; `dead` refuses, `silent` takes the connection and says nothing."""

    def __init__(self, case: Case, sshd: str) -> None:
        self.case, self.folder = case, case.world.folder / "fleet"
        self.folder.mkdir()
        self.runtime = Path(f"/tmp/trb{os.getpid()}")
        self.runtime.mkdir(mode=0o700)
        self._listener = socket.create_server(("127.0.0.1", 0))  # never accepts
        port = _free_port()
        for name in ("server", "client"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(words, check=True)
        self._configure(port)
        Path("/run/sshd").mkdir(exist_ok=True)
        config = str(self.folder / "sshd_config")
        self._daemon = subprocess.Popen([sshd, "-D", "-f", config], stderr=subprocess.DEVNULL)
        _wait_for(port)

    def _configure(self, port: int) -> None:
        folder, env = self.folder, self.case.world.env
        kept = [f"{name}={shlex.quote(env[name])}" for name in ("PATH", "HOME", "TMUX_TMPDIR")]
        there = folder / "there"
        there.write_text(
            f'#!/bin/sh\nexport {" ".join(kept)} LANG=C.UTF-8\neval "$SSH_ORIGINAL_COMMAND"\n'
        )
        there.chmod(0o755)
        (folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/server\nAuthorizedKeysFile"
            f" {folder}/client.pub\nStrictModes no\nPidFile none\nUsePAM no\nMaxStartups 100\n"
            f"PasswordAuthentication no\nForceCommand {there}\n"
            f"SetEnv HOME={folder}\n"  # reads no shell files of the user
        )
        silent = self._listener.getsockname()[1]
        (folder / "ssh_config").write_text(
            f"Host dead\n Port {_free_port()}\nHost silent\n Port {silent}\nHost *\n"
            f" HostName 127.0.0.1\n Port {port}\n IdentityFile {folder}/client\n"
            f" IdentitiesOnly yes\n HostKeyAlias fleet\n UserKnownHostsFile {folder}/known\n"
        )
        (folder / "known").write_text("fleet " + (folder / "server.pub").read_text())
        wrapper = folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n')
        wrapper.chmod(0o755)
        self.env = {**env, "PATH": f"{wrapper.parent}:{env['PATH']}"}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget_connections()
        self._daemon.kill()
        self._daemon.wait()
        self._listener.close()
        self.file.unlink(missing_ok=True)
        shutil.rmtree(self.runtime)
        shutil.rmtree(self.folder)

    @property
    def file(self) -> Path:
        return self.case.world.folder / "home" / ".config" / "tmuxreap" / "hosts.yaml"

    def registry(self, number: int) -> Path:
        return self.folder / f"h{number}" / "agent-sessions.yaml"

    def hosts(self, count: int, rows: Callable[[int], str], program: Path = PROGRAM) -> None:
        blocks: dict[str, object] = {"dead": {}, "silent": {}}
        for number in range(count):
            path = self.registry(number)
            shutil.rmtree(path.parent, ignore_errors=True)
            path.parent.mkdir()
            path.write_text(f"tmux_sessions:\n{rows(number)}")
            blocks[f"h{number}"] = {"registry": str(path), "program": str(program)}
        self.file.write_text(json.dumps({"hosts": blocks}))

    def played(self) -> Path:
        """Return the command of a simulated host: a fixed listing after a delay."""
        hello = {"schema": "tmuxreap/1", "at": "hello", "version": tmuxreap.__version__}
        row = {"name": "a", "status": "running", "live": "alive", "tags": [], "error": None}
        answer = {"exit_code": 0, "warnings": [], "results": [row]}
        told = {"schema": "tmuxreap/1", "at": "answer", "answer": answer}
        told |= {"texts": [["a"]], "identities": {}}
        said = [shlex.quote(json.dumps(one)) for one in (hello, told)]
        path = self.folder / "played"
        path.write_text(f"#!/bin/sh\necho {said[0]}\nread -r _\nsleep {ANSWER_S}\necho {said[1]}\n")
        path.chmod(0o755)
        return path

    def ask(self, *words: str, warm: bool) -> Callable[[], None]:
        """Run a command; without a private folder no connection is kept."""
        env = {**self.env, **({"XDG_RUNTIME_DIR": str(self.runtime)} if warm else {})}
        folder = self.case.world.folder

        def asked() -> None:
            subprocess.run(words, env=env, cwd=folder, capture_output=True, check=False)

        return asked

    def listing(self, hosts: Sequence[str], *, warm: bool) -> Callable[[], None]:
        return self.ask("tmuxreap", "list", "--json", "--host", ",".join(hosts), warm=warm)

    def by_ssh(self, words: str, *, warm: bool) -> Callable[[], None]:
        """Run plain ssh, with its own kept connection or none."""
        path = f"ControlPath={self.runtime}/own"
        shared = ("-o", path, "-o", "ControlMaster=auto", "-o", "ControlPersist=60")
        return self.ask("ssh", "-T", *(shared if warm else ()), "h0", words, warm=warm)

    def forget_connections(self) -> None:
        for shared in [*self.runtime.glob(SOCKETS), self.runtime / "own"]:
            words = ["ssh", "-O", "exit", "-o", f"ControlPath={shared}", "h0"]
            subprocess.run(words, env=self.env, capture_output=True, check=False)


def lines(case: Case) -> Iterator[Line]:
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    if sshd is None:
        return
    with Fleet(case, sshd) as fleet:
        fleet.hosts(MOST, lambda _: "  - {name: a, status: stopped}\n")
        alone = f"{PROGRAM} list --json --registry {fleet.registry(0)}"
        yield from _listed(fleet, "this machine's cores", alone)
        played = fleet.played()
        fleet.hosts(MOST, lambda _: "  - {name: a, status: stopped}\n", played)
        yield from _listed(fleet, "played, 0.3 s each", f"echo x | {played}")
    with Fleet(case, sshd) as fleet:
        yield from _stopped(fleet)


def _listed(fleet: Fleet, kind: str, alone: str) -> Iterator[Line]:
    counts = [count for count in (1, 5, 20, MOST) if count <= (5 if fleet.case.quick else MOST)]
    for warm in (False, True):
        how = "warm" if warm else "cold"
        ways = {"one ssh alone": fleet.by_ssh(alone, warm=warm)}
        named = {count: [f"h{number}" for number in range(count)] for count in counts}
        ways |= {f"{n} hosts": fleet.listing(names, warm=warm) for n, names in named.items()}
        ways["5 hosts and one that refuses"] = fleet.listing([*named[5], "dead"], warm=warm)
        if warm:
            for way in ("one ssh alone", f"{counts[-1]} hosts"):
                ways[way]()  # opens the connections
        samples = in_turns(ways, 3)
        one = samples["one ssh alone"].median
        for name, found in samples.items():
            what = f"list --host, {how} ({kind})"
            bound = 1.5 if warm and name == "20 hosts" and "played" in kind else None
            yield line_of(what, name, found, found.median / one, "of one ssh", bound)
    fleet.forget_connections()


def _stopped(fleet: Fleet) -> Iterator[Line]:
    """Time a stop of 100 sessions on ten hosts, until the last is recorded in their ledgers."""
    each, hosts = (2, 3) if fleet.case.quick else (10, 10)
    world = fleet.case.world
    for other in ((), ("silent",)):
        names = [f"s{host}-{number}" for host in range(hosts) for number in range(each)]
        world.sessions(names, f"{world.agent} 0.1")
        world.register()
        blocks = world.registry.read_text().split("  - name: ")[1:]
        rows = {block.split("\n")[0].strip(): f"  - name: {block}" for block in blocks}
        parts = ["".join(rows[f"s{host}-{n}"] for n in range(each)) for host in range(hosts)]
        fleet.hosts(hosts, parts.__getitem__)
        fleet.listing([f"h{n}" for n in range(hosts)], warm=True)()
        asked = ",".join([*(f"h{n}" for n in range(hosts)), *other])
        begun = time.time()
        fleet.ask("tmuxreap", "stop", "all", "--yes", "--host", asked, warm=True)()
        took = time.time() - begun
        last = max((at for n in range(hosts) for at in _stops(fleet, n, each)), default=0.0)
        beside = " beside one that never answers" if other else ""
        what = f"stop of {len(names)} sessions on {hosts} hosts{beside}"
        yield Line(what, "until the last is recorded", (last - begun) * 1000)
        yield Line(what, "until it is told", took * 1000)
        world.clear()


def _stops(fleet: Fleet, number: int, each: int) -> list[float]:
    books = sqlite3.connect(fleet.registry(number).with_suffix(".db"))
    found = [at for (at,) in books.execute("SELECT at FROM events WHERE kind = 'stopped'")]
    books.close()
    assert len(found) == each, (number, found)
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError("sshd did not begin")

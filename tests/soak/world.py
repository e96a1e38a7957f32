"""The environment of a soak: three registries on two tmux servers, two hosts, neighbors that must
not be affected, and a small disk that fills up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROGRAM = Path(sys.executable).with_name("tmuxreap")
DEMO = [sys.executable, "-m", "tmuxreap.demo_agent"]
MARK = "SOAKED_BY"
DISK_MB = 24
ABOVE = (
    "# of somebody else\r\nhead: {keep: [1,  2]}\r\ntmux_sessions:\r\n"
    "  - {name: flow,  status: stopped, note: 'n00000'}   # as it is\r\n"
    '  - "name": odd   # quoted\n    status:   stopped\n    unknown: {a: [1,2],}\n'
)
BELOW = "foot:\r\n  - name: not a row\r\n"
NOTE = re.compile(rb"n(\d{5})")
OURS = re.compile(r"(?m)^  - name: ['\"]?[a-z]s?\d['\"]?\r?\n(?:    .*\r?\n|\r?\n)*")
OURS_NAME = re.compile(r"[a-z]s?\d")


@dataclass(frozen=True)
class Machine:
    """A HOME with a folder for tmux; `via` makes it a host."""

    home: Path

    @property
    def socket(self) -> str:
        return str(self.home / "t" / f"tmux-{os.getuid()}" / "default")

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "TMUX_TMPDIR": str(self.home / "t")}

    @property
    def heard(self) -> Path:
        """Return the keys that reached the neighbor."""
        return self.home / "heard"

    def tmux(self, *words: str) -> str:
        line = ["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *words]
        done = subprocess.run(
            line, capture_output=True, text=True, timeout=30, check=False, env=self.environ
        )
        return done.stdout.rstrip("\n")

    def begin(self) -> None:
        """Start its server, with a neighbor that sets its own options."""
        Path(self.socket).parent.mkdir(parents=True, exist_ok=True)
        Path(self.socket).parent.chmod(0o700)
        listener = f"stty raw -echo; exec cat > {self.heard}"
        self.tmux("new-session", "-d", "-s", "quiet", "sh", "-c", listener)
        self.tmux("set-option", "-g", "@mine", "kept")
        self.tmux("set-option", "-p", "-t", "=quiet:", "@pane", "kept")
        self.tmux("set-hook", "-g", "client-attached", "display-message hello")
        self.tmux("set-buffer", "a buffer")

    def options(self) -> str:
        """Return all options of the server, without those that `watch` maintains for the status
        line."""
        told = [
            self.tmux("show-options", *where)
            for where in (("-g",), ("-s",), ("-gw",), ("-p", "-t", "=quiet:"))
        ]
        told += [self.tmux("show-hooks", "-g"), self.tmux("list-buffers"), self.tmux("lsc")]
        return "\n".join(line for line in "\n".join(told).split("\n") if "@tmuxreap" not in line)

    def server_pid(self) -> int:
        return int(self.tmux("-N", "display-message", "-p", "#{pid}") or 0)

    def panes(self) -> dict[str, int]:
        """Map session names to the process of their first pane."""
        told = self.tmux("-N", "list-panes", "-a", "-F", "#{session_name} #{pane_pid}")
        return {name: int(pid) for name, pid in (line.split() for line in told.splitlines())}


@dataclass(frozen=True)
class Place:
    """A registry, on a machine."""

    letter: str
    machine: Machine
    folder: Path
    host: str | None  # its name for remote access
    dumped: bool = False  # another tool dumps the whole file, now and then

    @property
    def registry(self) -> Path:
        return self.folder / ".hermes" / "agent-sessions.yaml"

    @property
    def ledger(self) -> Path:
        return self.registry.with_suffix(".db")

    @property
    def names(self) -> list[str]:
        return [f"{self.letter}{number}" for number in range(10)]

    @property
    def seats(self) -> list[str]:
        """Return the names for sessions in the machine's own daemon."""
        return [f"{self.letter}s{number}" for number in range(3)]

    @property
    def ours(self) -> list[str]:
        return [*self.names, *self.seats]

    def begin(self) -> None:
        self.registry.parent.mkdir(parents=True)
        self.registry.write_bytes((ABOVE + BELOW).encode())

    def rows(self) -> dict[str, dict[str, Any]]:
        found = yaml.load(
            self.registry.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.Loader)
        )
        return {row["name"]: row for row in found["tmux_sessions"]}

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Read the ledger like another tool."""
        db = sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True, timeout=10)
        with contextlib.closing(db):
            yield db

    def frame(self) -> str:
        """Return the registry without our rows: its bytes, or its data where a tool dumps it."""
        with self.registry.open(newline="") as file:
            text = file.read()
        text = NOTE.sub(b"n00000", OURS.sub("", text).encode(), count=1).decode()
        if not self.dumped:
            return text
        data = yaml.safe_load(text)
        rows = [row for row in data["tmux_sessions"] if not OURS_NAME.fullmatch(row["name"])]
        for row in rows:
            row.pop("counted", None)
        return json.dumps({**data, "tmux_sessions": rows}, default=str)


@dataclass
class World:
    folder: Path
    mark: str
    mounted: bool = False

    def __post_init__(self) -> None:
        self.mine = Machine(self.folder / "m")
        self.far = Machine(self.folder / "a")
        disk = self.folder / "disk"
        self.places = [
            Place("p", self.mine, disk, None),
            Place("q", self.mine, self.mine.home / "q", "b", dumped=True),
            Place("a", self.far, self.far.home, "a"),
        ]
        self.loose = 0
        self.servers: dict[Path, int] = {}
        self.filler = disk / "filler"

    @property
    def machines(self) -> list[Machine]:
        return [self.mine, self.far]

    def begin(self) -> None:
        (self.folder / "disk").mkdir()
        if os.geteuid() == 0:
            size = f"size={DISK_MB}m"
            words = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(self.folder / "disk")]
            self.mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
        for machine in self.machines:
            (machine.home / "t").mkdir(parents=True)
            self.begin_server(machine)
        for place in self.places:
            place.begin()
        self._name_hosts()
        words, environ = ["sleep", "999999"], {**self.mine.environ}
        self.loose = os.posix_spawnp(words[0], words, environ, setsid=True)

    def begin_server(self, machine: Machine) -> None:
        machine.begin()
        self.servers[machine.home] = machine.server_pid()

    def _name_hosts(self) -> None:
        hosts = {
            place.host: {
                "via": ["env", f"HOME={place.machine.home}", f"TMUX_TMPDIR={place.machine.home}/t"],
                "program": str(PROGRAM),
                "registry": str(place.registry),
            }
            for place in self.places
            if place.host
        }
        file = self.mine.home / ".config" / "tmuxreap" / "hosts.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(yaml.safe_dump({"hosts": hosts}))

    def fill(self) -> None:
        with self.filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass

    def drain(self) -> None:
        self.filler.unlink(missing_ok=True)

    def end(self) -> None:
        """End everything with our mark, twice, as some of it starts others."""
        for _ in range(2):
            for pid in marked(self.mark):
                kill(pid, signal.SIGKILL)
            time.sleep(0.2)
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            os.waitpid(self.loose, 0)
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder / "disk")], check=False)


def kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def started(pid: int) -> int | None:
    """Return its start in ticks, or None if it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] == b"Z" else int(fields[19])


def lives(row: Mapping[str, Any]) -> bool:
    """Tell whether exactly that row's process lives, not a later one with its pid."""
    pane = row.get("pane") or {}
    return "start_ticks" in pane and started(pane.get("pid", 0)) == pane["start_ticks"]


def marked(mark: str) -> dict[int, dict[str, str]]:
    """Return live processes of the soak, except itself: their environments, with the command line
    as `line`."""
    return {pid: env for pid, env in _all() if env.get(MARK) == mark and pid != os.getpid()}


def _all() -> Iterator[tuple[int, dict[str, str]]]:
    for home in Path("/proc").glob("[0-9]*"):
        try:
            words = (home / "environ").read_bytes().decode(errors="replace").split("\0")
            line = (home / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if started(int(home.name)) is not None:
            yield int(home.name), {**dict(word.partition("=")[::2] for word in words), "line": line}


def conversation_lines(machine: Machine, name: str) -> list[dict[str, str]]:
    path = machine.home / ".tmuxreap-demo" / "conversations" / f"{name}.jsonl"
    with contextlib.suppress(OSError):
        lines = path.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]
    return []

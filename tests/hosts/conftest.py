"""Hosts that are folders: each with its own HOME, tmux folder and registry, reached by a
command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import plain_yaml, warm
from tests.command_line import Child
from tmuxreap.__main__ import main

PROGRAM = Path(sys.executable).with_name("tmuxreap")
GONE = {"status": "running", "agent": "demo", "pane": {"pid": 4194305, "cmd": "python", "cwd": "/"}}


@dataclass(frozen=True)
class CommandResult:
    exit: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        envelope: dict[str, Any] = json.loads(self.out)
        assert envelope["exit_code"] == self.exit
        return envelope

    @property
    def results(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.json["results"]
        return rows

    @property
    def hosts(self) -> dict[str, dict[str, Any]]:
        return {one["host"]: one for one in self.json["hosts"]}


@dataclass
class Fleet:
    """The caller's own machine, and hosts next to it."""

    folder: Path
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return self.folder / "me" / ".config" / "tmuxreap" / "hosts.yaml"

    def home(self, host: str) -> Path:
        return self.folder / host

    def registry(self, host: str) -> Path:
        return self.home(host) / ".hermes" / "agent-sessions.yaml"

    def add(self, name: str, *rows: str, **block: Any) -> None:
        """Add a host whose rows are of sessions that are gone."""
        home = self.home(name)
        (home / "t").mkdir(parents=True)
        (home / ".hermes").mkdir()
        self.register(name, dict.fromkeys(rows, GONE))
        if name != "me":
            via = ["env", "-C", str(home), f"HOME={home}", f"TMUX_TMPDIR={home}/t"]
            self.configure({name: {"via": via, "program": warm.program(), **block}})

    def register(self, host: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
        document = {"tmux_sessions": [{"name": name, **row} for name, row in rows.items()]}
        document = json.loads(json.dumps(document))
        for number, row in enumerate(document["tmux_sessions"]):
            row["pane"]["pid"] += number  # rows with the same pid are the same session
        self.registry(host).write_text(yaml.safe_dump(document, sort_keys=False))

    def rows(self, host: str) -> dict[str, dict[str, Any]]:
        document = plain_yaml.load(self.registry(host).read_text())
        return {row["name"]: row for row in document["tmux_sessions"]}

    def configure(self, hosts: Mapping[str, Any]) -> None:
        self.hosts.update(hosts)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(yaml.safe_dump({"hosts": self.hosts}))

    def script(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def environment(self) -> dict[str, str]:
        me = self.home("me")
        others = {
            key: value for key, value in os.environ.items() if not key.startswith(("TMUX", "XDG"))
        }
        return others | {"HOME": str(me), "TMUX_TMPDIR": f"{me}/t", **self.environ}

    def begin(self, *words: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [str(PROGRAM), *words],
            cwd=self.home("me"),
            env=self.environment(),
            text=True,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )

    def run(
        self, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run it in a fork of this process, which has imported all modules."""

        def work() -> int:
            os.environ.clear()
            os.environ.update({**self.environment(), **(environ or {})})
            os.chdir(self.home("me"))
            return main(list(words))

        answer = Child(work, stdin).answer()
        return CommandResult(answer.exit, answer.out, answer.err)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Two hosts with one row each, and the caller's own machine with another."""
    found = Fleet(tmp_path)
    found.add("me", "mine")
    found.add("a", "web", tags=["big"])
    found.add("b", "web", "db")
    yield found

"""Kinds of agents and of rows that the promises hold for alike: an agent of which everything is
known, one whose block has its process alone, one that nobody knows; and rows that are not ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real import Real

SCRIPT = f"""\
#!{sys.executable}
import sys
from tmuxreap.demo_agent import main
sys.exit(main())
"""
BLOCK = "agents:\n  parrot:\n    process: [parrot]\n"
OURS, BY_HAND, DUMPED = "ours", "by_hand", "dumped"


@dataclass(frozen=True)
class Kind:
    """An agent's name, and who wrote its row."""

    agent: str
    row: str = OURS

    @property
    def has_keys(self) -> bool:
        return self.agent == "demo"

    def __str__(self) -> str:
        return self.agent if self.row == OURS else f"{self.agent}-{self.row}"


AGENTS = [Kind("demo"), Kind("parrot"), Kind("stranger")]
ALL = [
    *AGENTS,
    Kind("demo", BY_HAND),
    Kind("demo", DUMPED),
    Kind("parrot", DUMPED),
    Kind("stranger", BY_HAND),
]
FEW = [Kind("demo"), Kind("parrot"), Kind("demo", DUMPED), Kind("stranger", BY_HAND)]


def for_each(kinds: Sequence[Kind]) -> pytest.MarkDecorator:
    """Run a test with a `real` of each of these kinds."""
    return pytest.mark.parametrize("real", kinds, indirect=True, ids=str)


class RealKind(Real):
    """The whole program with agents and rows of one kind, called as those of the demo agent are.
    A row that does not say its server means the default one, which is private here."""

    def __init__(self, kind: Kind, socket: str, folder: Path) -> None:
        super().__init__(socket if kind.row == OURS else _default_socket(), folder)
        self.kind = kind
        self.agent = kind.agent
        self.leaves_by = "exit_keys" if kind.has_keys else "hangup"
        if kind.agent == "demo":
            return
        self.program = [self._program(kind.agent)]
        if kind.agent == "parrot":
            blocks = Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap" / "agents.yaml"
            blocks.parent.mkdir(parents=True, exist_ok=True)
            blocks.write_text(BLOCK)

    def _program(self, name: str) -> str:
        folder = Path(os.environ["HOME"]) / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / name
        script.write_text(SCRIPT)
        script.chmod(0o755)
        return str(script)

    def start(
        self, name: str = "acme", *options: str, command: Sequence[str] = (), **more: Any
    ) -> dict[str, Any]:
        if self.kind.row == OURS:
            return super().start(name, *options, command=command, **more)
        assert not more, f"only our start knows {more}"
        words = command or (*self.program, *options)
        self.tmux("new-session", "-d", "-s", name, "-c", str(self.folder), *words)
        self.shows(name, "demo agent · conversation")
        pane = {
            "pid": self.pid(name),
            "cmd": self.ask(name, "#{pane_current_command}"),
            "cwd": str(self.folder),
        }
        row = {"name": name, "status": "running", "pane": pane}
        write = self._write_by_hand if self.kind.row == BY_HAND else self._dump
        write([*self.rows().values(), row])
        return self.show(name)

    def _write_by_hand(self, rows: list[dict[str, Any]]) -> None:
        text = "".join(map(_by_hand, rows))
        self.registry.write_text(f"# by hand\ntmux_sessions:\n{text}")

    def _dump(self, rows: list[dict[str, Any]]) -> None:
        """Write the rows as a program does that gives each of them the same list."""
        shared, said = ["night", "build"], {"agent": self.agent, "tmux_server": self.socket}
        before, after = ({"name": name, "status": "completed"} for name in ("before", "since"))
        live = [{**one, **said} for one in rows if one["name"] not in ("before", "since")]
        dumped = [{**one, "tags": shared} for one in (before, *live, after)]
        text = yaml.safe_dump({"tmux_sessions": dumped})
        assert "tags: *id001" in text
        self.registry.write_text(text)


def _default_socket() -> str:
    folder = Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return str(folder / "default")


def _by_hand(row: dict[str, Any]) -> str:
    lines = yaml.safe_dump(row, sort_keys=False).splitlines()
    return "".join(f"  {'- ' if at == 0 else '  '}{line}\n" for at, line in enumerate(lines))

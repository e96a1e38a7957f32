"""Other programs that write the registry: in place, anew, from a copy, and rows of their own. None
takes the lock."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests import plain_yaml
from tests.fakes import Story
from tests.simulation.actors import Stage
from tests.simulation.daemons import Daemon, Seat
from tests.simulation.lives import SOCKETS, Life

PLANTED, CLAIMING = "planted", "c"  # rows that other hands bring


class OtherTools(Stage):
    daemon: Daemon

    def __init__(self, story: Story) -> None:
        super().__init__(story.processes)
        self.story, self.clock = story, story.clock
        self.lives: list[Life] = []
        self.note = 0
        self.copies: list[tuple[str, int]] = []
        self.comments = ["# ours"]

    def rows(self) -> dict[str, dict[str, Any]]:
        raise NotImplementedError

    def meddle(self) -> None:
        """Count in a row of its own: in place, without the lock."""
        text = self.story.path.read_text()
        self.note += 1
        counted = re.sub(r"(\"?note\"?: )\d+", lambda it: f"{it[1]}{self.note}", text)
        self.story.path.write_text(counted)

    def dump(self) -> None:
        """Write everything anew, as a tool with `yaml.safe_dump` does; rows share a list."""
        data = plain_yaml.load(self.story.path.read_text())
        tags = ["shared"]
        for row in data["tmux_sessions"]:
            row["tags"] = tags
        self.comments = []
        self.story.path.write_text(yaml.safe_dump(data, sort_keys=False))

    def copy(self) -> None:
        self.copies.append((self.story.path.read_text(), self.note))

    def put_back(self) -> None:
        if self.copies:
            text, self.note = self.copies[-1]
            self.story.path.write_text(text)

    def write_row(self, life: Life, how: str) -> None:
        """Record a life as our own tools, or as others do."""
        if life.session is None:
            seat = self.daemon.seat_of(life)
            row = self._headless_row(life) if seat is None else self._daemon_row(seat)
            self._add(row)
            return
        if life.name in self.rows() or life.session.panes[0] is not life.pane:
            return
        if how == "full":
            row = self.story._row_of(life.name, life.session, "running", socket=life.socket or "")
            row["demo_conversation_id_own"] = life.conversation
            del row["store"]
        else:
            row = {"name": life.name, "status": "running"}
            row["pane"] = {"pid": life.leader.pid, "cmd": life.kind, "cwd": "/"}
            if life.socket == SOCKETS[1]:
                row["tmux_server"] = "other"
            if how == "foreign with its id":
                row["demo_conversation_id_own"] = life.conversation
        row["agent"] = life.kind
        if life.kind != "demo":
            for key in ("demo_conversation_id_own", "conversation_source"):
                row.pop(key, None)
        self._add(row)

    def _headless_row(self, life: Life) -> dict[str, Any]:
        started = self.processes.started_epoch(life.leader)
        pane = {"pid": life.leader.pid, "created_epoch": started, "start_ticks": life.leader.start}
        tmux = {"host": self.story.HOST, "boot_id": self.story.BOOT}
        row: dict[str, Any] = {"name": life.name, "status": "running", "terminal": "none"}
        return {**row, "agent": life.kind, "pane": {**pane, "cwd": "/"}, "tmux": tmux}

    def _daemon_row(self, seat: Seat) -> dict[str, Any]:
        """Record a session in the agent's own daemon, as `adopt` does."""
        pane: dict[str, Any] = {"id": seat.id, "cwd": "/"}
        if seat.holder is not None:
            started = self.processes.started_epoch(seat.holder)
            pane |= {"pid": seat.holder.pid, "created_epoch": started}
            pane["start_ticks"] = seat.holder.start
        tmux = {"host": self.story.HOST, "boot_id": self.story.BOOT}
        row: dict[str, Any] = {"name": seat.life.name, "status": "running", "agent": "demo"}
        row["demo_conversation_id_own"] = seat.life.conversation
        return {**row, "terminal": "background", "pane": pane, "tmux": tmux}

    def plant(self) -> None:
        """Bring a row from elsewhere, of a lost session that asks to be started again."""
        row = {"name": PLANTED, "status": "terminated", "termination_mode": "lost", "agent": "demo"}
        row |= {"terminated_at_epoch": int(self.clock.now()) - 60, "restart": "always"}
        row |= {"start_command": "mystery", "pane": {"pid": 88_888, "cmd": "mystery", "cwd": "/"}}
        self._add(row)

    def claim(self) -> None:
        """Write a row with the pid of another one's agent, which was its own once."""
        life = self.lives[-1] if self.lives else None
        if life is None or life.name == CLAIMING or CLAIMING in self.rows():
            return
        row: dict[str, Any] = {"name": CLAIMING, "status": "running", "agent": life.kind}
        row["pane"] = {"pid": life.leader.pid, "cmd": life.kind, "cwd": "/"}
        row["demo_conversation_id_own"] = "cccccccc-0000-4000-8000-cccccccccccc"
        self._add(row)

    def _add(self, row: dict[str, Any]) -> None:
        if row["name"] in self.rows():
            return
        if self.comments:
            self.story.add_row(row)
            return
        data = plain_yaml.load(self.story.path.read_text())
        data["tmux_sessions"].append(row)
        self.story.path.write_text(yaml.safe_dump(data, sort_keys=False))

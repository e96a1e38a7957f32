"""A user on the agents' tmux server: opens panes in their sessions and in his own, and moves them
at any moment. Only he ends what he runs."""

from __future__ import annotations

import os
import random
import signal
import subprocess

from tests.real import Real, alive

WORK = ("sleep", "7200")  # outlives any walk
HIS = "desk"
DEEDS = ("split", "split", "window", "join", "visit", "swap", "break", "respawn", "rename", "leave")


class Person:
    def __init__(
        self, real: Real, chance: random.Random, names: tuple[str, ...], neighbour: int
    ) -> None:
        """`neighbour`: what runs in a pane that is nobody's here, and is swapped about, too."""
        self.neighbour = neighbour
        self.real, self.random, self.names = real, chance, names
        real.tmux("new-session", "-d", "-s", HIS, "-x", "200", "-y", "50", *WORK)
        self.panes = {real.ask(HIS, "#{pane_id}"): real.pid(HIS)}  # his panes and their pids
        self.renamed: dict[str, str] = {}  # current name -> original name
        self.deeds = 0
        self.log: list[str] = []

    def act(self) -> None:
        deed, name = self.random.choice(DEEDS), self.random.choice(self.names)
        self.deeds += 1
        mine = self.random.choice(list(self.panes))
        others = self.asked("list-panes", "-a", "-F", "#{pane_id}").split()
        if deed == "split":
            self.opens("split-window", "-d", "-t", f"={name}:")
        elif deed == "window":
            self.opens("new-window", "-d", "-t", f"={name}:")
        elif deed == "join":
            self.asked("join-pane", "-d", "-s", mine, "-t", f"={name}:")
        elif deed == "visit":
            self.asked("join-pane", "-d", "-s", mine, "-t", f"={HIS}:")
        elif deed == "swap" and others:
            self.asked("swap-pane", "-d", "-s", mine, "-t", self.random.choice(others))
        elif deed == "break":
            self.asked("break-pane", "-d", "-s", mine)
        elif deed == "respawn":
            self.respawns(mine)
        elif deed == "rename":
            self.renames(name)
        elif deed == "leave" and len(self.panes) > 2:
            self.closes(mine)

    def is_in(self, name: str) -> bool:
        """Tell whether the user, or the neighbor moved by him, is in the session."""
        there = self.asked("list-panes", "-s", "-t", f"={name}:", "-F", "#{pane_pid}").split()
        return not {*self.panes.values(), self.neighbour}.isdisjoint(map(int, there))

    def opens(self, *words: str) -> None:
        made = self.asked(*words, "-P", "-F", "#{pane_id} #{pane_pid}", *WORK).split()
        if made:
            self.panes[made[0]] = int(made[1])

    def respawns(self, pane: str) -> None:
        """Respawn a pane; he ends its program himself."""
        os.kill(self.panes.pop(pane), signal.SIGKILL)
        self.asked("kill-pane", "-t", pane)
        self.opens("new-window", "-d", "-t", f"={HIS}:")
        if not self.panes:
            self.opens("new-session", "-d", "-s", HIS)

    def renames(self, name: str) -> None:
        if name in self.renamed.values():
            self.names_back()
        elif name in self.real.sessions():
            self.asked("rename-session", "-t", f"={name}", f"{name}-mine")
            self.renamed[f"{name}-mine"] = name

    def names_back(self) -> None:
        """Restore names, unless another session has taken them meanwhile."""
        for now, before in list(self.renamed.items()):
            self.asked("rename-session", "-t", f"={now}", before)
            if now not in self.real.sessions():
                del self.renamed[now]

    def closes(self, pane: str) -> None:
        self.panes.pop(pane)
        self.asked("kill-pane", "-t", pane)

    def goes_home(self) -> None:
        """Move his panes back to his own session, and restore the sessions' names."""
        for pane in list(self.panes):
            self.asked("join-pane", "-d", "-s", pane, "-t", f"={HIS}:")
        for pane in list(self.panes)[2:]:
            self.closes(pane)
        self.names_back()

    def check(self) -> None:
        dead = {pane: pid for pane, pid in self.panes.items() if not alive(pid)}
        assert not dead, f"the person's own: {dead}"

    def asked(self, *words: str) -> str:
        """What cannot be done just now is not done: he is in nobody's way."""
        self.log.append(" ".join(words))
        where = ["tmux", "-N", "-S", self.real.socket, *words]
        return subprocess.run(where, capture_output=True, text=True, check=False).stdout.strip()

"""Determines a row's agent, its profile and the programs to spare. Looks at no process."""

from __future__ import annotations

from functools import lru_cache

from tmuxreap.agents.load import Profiles
from tmuxreap.agents.profiles import Clients, Profile, Spares
from tmuxreap.core.model import Row


class RowAgents:
    def __init__(self, profiles: Profiles, clients: Clients | None = None) -> None:
        self.profiles = profiles
        self._clients = clients
        self.seen: dict[str, str] = {}  # by row name: agents found in the pane
        # A thousand rows name few programs, and each is asked about several times.
        self._by_command = lru_cache(maxsize=1024)(self._by_start_command)
        self._spares: dict[str | None, Spares] = {}

    def of(self, row: Row) -> str | None:
        """Return the agent that the row names, else the one that was seen in its pane."""
        return self.named_by(row) or self.seen.get(row.name)

    def named_by(self, row: Row) -> str | None:
        """Return the agent that the row names; else by the last word of its name; else by its start
        command, or by the command that other tools recorded of its pane."""
        if row.agent is not None:
            return row.agent
        by_name = self.profiles.by_name_suffix(row.name)
        return by_name or self._by_command(row.start_command, row.pane.cmd)

    def profile(self, row: Row) -> Profile | None:
        return self.profiles.of(self.of(row))

    def spares(self, profile: Profile | None) -> Spares:
        name = profile.name if profile else None
        if name not in self._spares:
            spared = (*self.profiles.common_spare, *(profile.spare if profile else ()))
            self._spares[name] = Spares.of(
                *spared, carriers=self.profiles.carriers, clients=self._clients
            )
        return self._spares[name]

    def _by_start_command(self, *commands: str | None) -> str | None:
        agents = (self.profiles.by_command(command.split()) for command in commands if command)
        return next((agent for agent in agents if agent is not None), None)

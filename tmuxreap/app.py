"""The composition root: the one place where the parts of the program are put together. Holds them, does nothing."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from tmuxreap.agents import Profiles, load_profiles
from tmuxreap.clock import RealClock
from tmuxreap.errors import Code, Failure
from tmuxreap.model import Row
from tmuxreap.observe import Observer, Place
from tmuxreap.processes import boot_id, host, real_processes
from tmuxreap.profiles import Profile
from tmuxreap.progress import Progress
from tmuxreap.record import Books
from tmuxreap.registry import Registry, RegistryLook
from tmuxreap.seams import Clock, Processes, Tmux
from tmuxreap.settings import Settings, registry_or_new, registry_path
from tmuxreap.spared import Spares
from tmuxreap.tmux import RealTmux
from tmuxreap.tmux_socket import socket_path

if TYPE_CHECKING:
    from tmuxreap.jobs import Jobs


class App:
    def __init__(
        self,
        settings: Settings,
        given_registry: str | None,
        tmux: Tmux,
        processes: Processes,
        clock: Clock,
        place: Place,
    ) -> None:
        self.settings = settings
        self.given_registry = given_registry
        self.tmux = tmux
        self.processes = processes
        self.clock = clock
        self.place = place
        self.warnings: list[str] = []
        self.progress: Progress | None = None
        self.seen_agents: dict[str, str] = {}  # what runs in the panes of rows that do not say it
        self._spares: dict[str | None, Spares] = {}

    @cached_property
    def registry(self) -> Registry:
        return Registry(registry_path(self.settings, self.given_registry), self._recall)

    def close(self) -> None:
        self.processes.close()
        if "books" in self.__dict__:
            self.books.close()

    @property
    def registry_name(self) -> str | None:
        """For answers, also those that found none."""
        try:
            return str(self.registry.path)
        except Failure:
            return None

    def registry_if_there(self) -> RegistryLook | None:
        """For `start` and `adopt`, which make one here where none is found. To be called before all else."""
        self.registry = Registry(registry_or_new(self.settings, self.given_registry), self._recall)
        return self.registry.look() if os.path.lexists(self.registry.path) else None

    def _recall(self, what: str, stamp: str) -> str | None:
        return self.books.reading(what, stamp)

    @cached_property
    def profiles(self) -> Profiles:
        if self.registry_name is None:
            return load_profiles(self.settings.user_profiles)
        return load_profiles(self.settings.user_profiles, self._recall, self.books.keep)

    @cached_property
    def observer(self) -> Observer:
        return Observer(self.tmux, self.processes, self.place)

    @cached_property
    def books(self) -> Books:
        return Books(self.registry, self.clock, self.warnings)

    @cached_property
    def jobs(self) -> Jobs:
        from tmuxreap.jobs import Jobs  # few rows have one

        return Jobs(self.registry.resolved)

    def socket_of(self, row: Row) -> str:
        """Where its server listens: as recorded while this boot lasts, else by tmux's own rules."""
        if row.tmux.socket and row.tmux.boot_id in (None, self.place.boot_id):
            return row.tmux.socket
        return self.socket_named(row.tmux_server)

    def socket_named(self, server: str | None) -> str:
        return socket_path(self.server_named(server), self.settings.environ, self.settings.uid)

    def server_named(self, server: str | None) -> str | None:
        """A path is recorded whole: the next command may come from another folder."""
        return str(self.settings.cwd / server) if server and "/" in server else server

    def agent_of(self, row: Row) -> str | None:
        """What the row says; else the last word of its name; else the program that it was started with, or that other
        tools saw in its pane; else what we saw there ourselves."""
        if row.agent is not None:
            return row.agent
        found = self.profiles.by_name_suffix(row.name)
        for command in (row.start_command, row.pane.cmd):
            found = found or (self.profiles.by_command(command.split()) if command else None)
        return found or self.seen_agents.get(row.name)

    def profile_of(self, row: Row) -> Profile | None:
        return self.profiles.of(self.agent_of(row))

    def spares_of(self, profile: Profile | None) -> Spares:
        name = profile.name if profile else None
        if name not in self._spares:
            self._spares[name] = Spares.of(*self.profiles.common_spare, *(profile.spare if profile else ()))
        return self._spares[name]


def real_app(settings: Settings, registry: str | None) -> App:
    if settings.platform.startswith("win"):
        raise Failure(Code.USAGE, "could not run: Windows has no tmux", "run it inside WSL")
    processes = real_processes()
    return App(
        settings=settings,
        given_registry=registry,
        tmux=RealTmux(settings.environ),
        processes=processes,
        clock=RealClock(),
        place=Place(host=host(), boot_id=boot_id(), pid=settings.pid),
    )

"""What a command has at hand: the ports, the registry, the books, the profiles. Holds them, does
nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.agents.load import Profiles, load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.spared import Spares
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row
from tmuxreap.core.ports import Clock, Processes, Progress, Tmux
from tmuxreap.ledger.books import Books
from tmuxreap.registry.file import Registry, RegistryLook
from tmuxreap.sessions.observe import Observer, Place
from tmuxreap.system.environment import Settings, registry_or_new, registry_path
from tmuxreap.system.tmux.sockets import socket_path

if TYPE_CHECKING:
    from tmuxreap.sessions.conversation import Finder


class Context:
    def __init__(
        self,
        settings: Settings,
        given_registry: str | None,
        tmux: Tmux,
        processes: Processes,
        clock: Clock,
        place: Place,
        *,
        lock_held: bool = False,
    ) -> None:
        self.settings = settings
        self.given_registry = given_registry
        self.tmux = tmux
        self.processes = processes
        self.clock = clock
        self.place = place
        # by the caller himself: who waits for processes would keep it from all others
        self.lock_held = lock_held
        self.warnings: list[str] = []
        self.progress: Progress | None = None
        self.tool = (  # by which door the call came: cli, mcp, popup, watch, reap, python or remote
            "cli"
        )
        self.asked_by: Mapping[str, object] | None = None  # of what another process was asked for
        self.made_registry = False
        self.defaults: Mapping[str, object] = {}  # the user's, by `configure`
        self.seen_agents: dict[str, str] = {}  # what runs in the panes of rows that do not say it
        self._spares: dict[str | None, Spares] = {}

    def with_own(self, **own: object) -> Context:
        """The same but for these, and for what was made of them."""
        from copy import copy  # few verbs have their own

        other = copy(self)
        for name in ("registry", "profiles", "observer", "finder", "books"):
            other.__dict__.pop(name, None)
        other.__dict__.update(own, _spares={})
        return other

    def configure(self, *, lenient: bool = False) -> None:
        """Take the user's defaults; without any this costs a look for the file. `lenient`: an
        ending is not kept from its work by a file of settings."""
        if not self.settings.configured:
            return
        from tmuxreap.core.masking import mask_also
        from tmuxreap.sessions.configuration import SECRETS, compiled, read_given

        try:
            self.defaults = {key: given.value for key, given in read_given(self.settings).items()}
        except Failure as failure:
            if not lenient:
                raise
            self.warnings.append(
                f"{failure.code.text}: {failure.message}; the built-in defaults are used"
            )
        mask_also(compiled(self.defaults.get(SECRETS)))

    def default_word(self, key: str) -> str | None:
        value = self.defaults.get(key)
        return value if isinstance(value, str) else None

    def default_seconds(self, key: str) -> float | None:
        value = self.defaults.get(key)
        return value if isinstance(value, float) else None

    @property
    def default_server(self) -> str | None:
        return self.server_named(self.default_word("server"))

    @cached_property
    def registry(self) -> Registry:
        return self._registry(registry_path(self.settings, self.given_registry))

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
        """For `start` and `adopt`, which make one here where none is found. To be called before all
        else."""
        self.registry = self._registry(registry_or_new(self.settings, self.given_registry))
        return self.registry.look() if os.path.lexists(self.registry.path) else None

    def make_registry(self) -> None:
        """To be told: whoever stands below its folder uses it from now on."""
        self.registry.create()
        self.made_registry = True

    def _registry(self, path: Path) -> Registry:
        return Registry(path, self._recall, held=self.lock_held)

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
    def finder(self) -> Finder:
        from tmuxreap.sessions.conversation import (
            Finder,
        )  # with the agents' stores: no list needs them

        return Finder(self.processes, self.books, self.settings.home)

    @cached_property
    def books(self) -> Books:
        return Books(self.registry, self.clock, self.warnings)

    def socket_of(self, row: Row) -> str:
        """Where its server listens: as recorded while this boot lasts, else by tmux's own rules."""
        if row.tmux.socket and row.tmux.boot_id in (None, self.place.boot_id):
            return row.tmux.socket
        return self.socket_named(row.tmux_server)

    def sockets_of(self, rows: Iterable[Row]) -> dict[str, str]:
        """By the names of the rows; the rules are gone through once for each server."""
        named: dict[str | None, str] = {}
        found: dict[str, str] = {}
        for row in rows:
            if row.tmux.socket:
                found[row.name] = self.socket_of(row)
                continue
            if row.tmux_server not in named:
                named[row.tmux_server] = self.socket_of(row)
            found[row.name] = named[row.tmux_server]
        return found

    def socket_named(self, server: str | None) -> str:
        return socket_path(self.server_named(server), self.settings.environ, self.settings.uid)

    def server_named(self, server: str | None) -> str | None:
        """A path is recorded whole: the next command may come from another folder."""
        return str(self.settings.cwd / server) if server and "/" in server else server

    def drawn(self, row: Row) -> str | None:
        """The last of what one without tmux has drawn in this life, as far as we started it."""
        from tmuxreap.system.headless import log_path, tail  # few sessions live there

        return tail(log_path(self.registry.resolved, row.name), row.pane.created_epoch or 0.0)

    def drop_drawn(self, name: str) -> tuple[str, ...]:
        """Delete what is kept of it, and name the files."""
        from tmuxreap.system.headless import drop_logs, log_path

        return drop_logs(log_path(self.registry.resolved, name))

    def same_pane(self, one: Row, other: Row) -> bool:
        """Whether two rows mean the same pane of the same session."""
        if (
            one.pane.pid is None
            or one.pane.pid != other.pane.pid
            or one.terminal is not other.terminal
        ):
            return False
        if one.tmux.known and other.tmux.known:
            return (one.tmux, one.pane.id) == (other.tmux, other.pane.id)
        return self.socket_of(one) == self.socket_of(other)

    def agent_of(self, row: Row) -> str | None:
        """What the row tells; else what we saw there ourselves."""
        return self.told_agent(row) or self.seen_agents.get(row.name)

    def told_agent(self, row: Row) -> str | None:
        """What the row says; else the last word of its name; else the program that it was started
        with, or that other tools saw in its pane."""
        if row.agent is not None:
            return row.agent
        said = self.profiles.by_name_suffix(row.name)
        return said or self._by_commands(row.start_command, row.pane.cmd)

    @cached_property
    def _by_commands(self) -> Callable[[str | None, str | None], str | None]:
        """A thousand rows name few programs, and each is asked about several times."""

        @lru_cache(maxsize=1024)
        def found(*commands: str | None) -> str | None:
            agents = (self.profiles.by_command(command.split()) for command in commands if command)
            return next((agent for agent in agents if agent is not None), None)

        return found

    def profile_of(self, row: Row) -> Profile | None:
        return self.profiles.of(self.agent_of(row))

    def spares_of(self, profile: Profile | None) -> Spares:
        name = profile.name if profile else None
        if name not in self._spares:
            spared = (*self.profiles.common_spare, *(profile.spare if profile else ()))
            self._spares[name] = Spares.of(*spared, carriers=self.profiles.carriers)
        return self._spares[name]

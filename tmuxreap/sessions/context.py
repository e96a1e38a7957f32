"""What a command has at hand: the ports, the registry, the books, the profiles. Holds them, does
nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.agents.load import Profiles, load_profiles
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row
from tmuxreap.core.ports import Clock, Processes, Progress, Tmux
from tmuxreap.ledger.books import Books
from tmuxreap.registry.file import Registry, RegistryLook
from tmuxreap.sessions.observe import Observer, Place
from tmuxreap.system.environment import Settings, registry_or_new, registry_path

if TYPE_CHECKING:
    from tmuxreap.sessions.caller import Caller
    from tmuxreap.sessions.conversation import Finder
    from tmuxreap.sessions.restarts import RestartLog
    from tmuxreap.sessions.row_agents import RowAgents
    from tmuxreap.sessions.servers import Servers
    from tmuxreap.sessions.state import States


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
        tool: str = "cli",
        progress: Progress | None = None,
        lock_held: bool = False,
    ) -> None:
        """`tool`: by which door the call came: cli, mcp, popup, watch, reap or python."""
        self.settings = settings
        self.given_registry = given_registry
        self.tmux = tmux
        self.processes = processes
        self.clock = clock
        self.place = place
        # by the caller himself: who waits for processes would keep it from all others
        self.lock_held = lock_held
        self.warnings: list[str] = []
        self.progress = progress
        self.tool = tool
        self.made_registry = False
        self.defaults: Mapping[str, object] = {}  # the user's, by `configure`

    def with_own(self, **own: object) -> Context:
        """The same but for these, and for what was made of them."""
        from copy import copy  # few verbs have their own

        other = copy(self)
        for name, kept in vars(Context).items():
            if isinstance(kept, cached_property):
                other.__dict__.pop(name, None)
        other.__dict__.update(own)
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
        return self.servers.named(self.default_word("server"))

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

    @property
    def own_registry(self) -> Path | None:
        """Also who has none may end sessions."""
        try:
            return self.registry.resolved
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
        # with the agents' stores: no list needs them
        from tmuxreap.sessions.conversation import Finder

        return Finder(self.processes, self.books, self.settings.home)

    @cached_property
    def books(self) -> Books:
        return Books(self.registry, self.clock, self.warnings)

    # What follows is loaded by whom it serves: --version is for nobody's session.

    @cached_property
    def caller(self) -> Caller:
        from tmuxreap.sessions.caller import Caller

        return Caller(self.settings, self.place, self.tool)

    @cached_property
    def servers(self) -> Servers:
        from tmuxreap.sessions.servers import Servers

        return Servers(self.settings, self.place.boot_id)

    @cached_property
    def agents(self) -> RowAgents:
        from tmuxreap.sessions.row_agents import RowAgents

        return RowAgents(self.profiles)

    @cached_property
    def states(self) -> States:
        from tmuxreap.sessions.state import States  # with screens' patterns: nobody gone has one

        return States(self.tmux, self.processes, self.clock, self.books, self.agents)

    @cached_property
    def restarts(self) -> RestartLog:
        from tmuxreap.sessions.restarts import RestartLog  # few rows ask for it

        return RestartLog(self.books, self.clock, self.place, self.warnings)

    def drawn(self, row: Row) -> str | None:
        """The last of what one without tmux has drawn in this life, as far as we started it."""
        from tmuxreap.system.headless import log_path, tail  # few sessions live there

        return tail(log_path(self.registry.resolved, row.name), row.pane.created_epoch or 0.0)

    def drop_drawn(self, name: str) -> tuple[str, ...]:
        """Delete what is kept of it, and name the files."""
        from tmuxreap.system.headless import drop_logs, log_path

        return drop_logs(log_path(self.registry.resolved, name))

"""What a command works with: the ports, the registry, the books, the profiles. Holds them, and
never acts itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmuxreap.agents.load import Profiles, load_profiles
from tmuxreap.core.defaults import SECRETS
from tmuxreap.core.errors import Failure
from tmuxreap.core.masking import mask_also
from tmuxreap.core.model import Row
from tmuxreap.core.ports import Clock, Processes, Progress, Tmux
from tmuxreap.core.results import Item, Result
from tmuxreap.ledger.books import Books
from tmuxreap.proof.observe import Observer, Place
from tmuxreap.proof.servers import RowAgents, Servers, row_of_report
from tmuxreap.registry.file import RegistryFile, RegistryLook
from tmuxreap.sessions.configuration import compiled, read_usable
from tmuxreap.sessions.registries import registries
from tmuxreap.system.environment import Settings, registry_or_new, registry_path

if TYPE_CHECKING:
    import re

    from tmuxreap.agents.profiles import Profile
    from tmuxreap.proof.sight import Sight
    from tmuxreap.proof.state import States
    from tmuxreap.sessions.caller import Caller
    from tmuxreap.sessions.conversation import Finder
    from tmuxreap.sessions.elsewhere import Newcomers, Seats
    from tmuxreap.sessions.look import Sights
    from tmuxreap.sessions.results import SessionAnswers
    from tmuxreap.sessions.under_way import ActiveIntents, RestartLog
    from tmuxreap.system.own_files import Fault


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
        """`tool`: the interface of the call: cli, mcp, popup, watch, reap or python."""
        self.settings = settings
        self.given_registry = given_registry
        self.tmux = tmux
        self.processes = processes
        self.clock = clock
        self.place = place
        # by the caller: waiting for processes would then block every other user of the lock
        self.lock_held = lock_held
        self.warnings: list[str] = []
        self.progress = progress
        self.tool = tool
        self.made_registry = False
        self._opened: list[Books] = []  # shared by all copies
        self.defaults: Mapping[str, object] = {}  # the user's, set by `configure`
        self.faults: tuple[Fault, ...] = ()  # what is wrong in config.yaml

    def with_own(self, **own: object) -> Context:
        """Return a copy with these attributes; everything cached is built again."""
        from copy import copy  # late: rarely needed

        other = copy(self)
        for name, attribute in vars(Context).items():
            if isinstance(attribute, cached_property):
                other.__dict__.pop(name, None)
        other.__dict__.update(own)
        return other

    def configure(self, *, lenient: bool = False) -> None:
        """Read the user's defaults; without any, this costs a check for the file. What is wrong in
        the file is a warning. `lenient`: a bad variable is one, too, since it must not prevent an
        ending."""
        if not self.settings.configured:
            masking = sys.modules.get("tmuxreap.core.masking")
            if masking is not None:  # else nothing was ever masked, nor any pattern set
                masking.mask_also()
            return
        try:
            given, self.faults = read_usable(self.settings)
            self.defaults = {key: one.value for key, one in given.items()}
        except Failure as failure:
            if not lenient:
                raise
            self.warnings.append(
                f"{failure.code.text}: {failure.message}; the built-in defaults are used"
            )
        self.warnings += [fault.warning for fault in self.faults]
        if any(fault.loses(SECRETS) for fault in self.faults):
            mask_also(None)
        else:
            mask_also(self._mask(compiled(self.defaults.get(SECRETS))))

    def _mask(self, patterns: Sequence[re.Pattern[str]]) -> Callable[[str], str]:
        """Return what masks by the user's own patterns; one that takes too long is a warning."""
        if not patterns:
            return str

        def mask(text: str) -> str:
            from tmuxreap.system.timed_masks import mask as timed  # few users have patterns

            told, slow = timed(patterns, text)
            for pattern in slow:
                warning = (
                    f"config_invalid: the pattern {pattern} under secrets takes too long; lines"
                    " that it was not done with are masked as a whole"
                )
                if warning not in self.warnings:
                    self.warnings.append(warning)
            return told

        return mask

    def default_word(self, key: str) -> str | None:
        value = self.defaults.get(key)
        return value if isinstance(value, str) else None

    def default_seconds(self, key: str) -> float | None:
        value = self.defaults.get(key)
        return value if isinstance(value, float) else None

    @property
    def default_server(self) -> str | None:
        return self.servers.named(self.default_word("server"))

    @property
    def default_sockets(self) -> list[str]:
        """The sockets of tmux's and the user's default servers, and of the caller's."""
        return self.servers.default_sockets(self.default_server)

    @property
    def known_registries(self) -> list[Path]:
        """Every registry of the user's that is known, the own one first."""
        return registries(self.settings, self.own_registry, self.tmux, self.default_sockets)

    @cached_property
    def registry(self) -> RegistryFile:
        return self._registry(registry_path(self.settings, self.given_registry))

    def close(self) -> None:
        """Close what this context and its copies opened."""
        self.processes.close()
        for books in self._opened:
            books.close()

    def result(
        self, command: str, results: Sequence[Item] = (), warnings: Iterable[str] = (), **more: Any
    ) -> Result:
        """Return a command's answer, with these warnings after those so far."""
        warned = (*self.warnings, *warnings)
        return Result(command, self.registry_name, self.clock.now(), results, warned, **more)

    @property
    def registry_name(self) -> str | None:
        """The registry's path for answers, or None if none was found."""
        try:
            return str(self.registry.path)
        except Failure:
            return None

    @property
    def own_registry(self) -> Path | None:
        """The registry's resolved path, or None: sessions may be ended without a registry."""
        try:
            return self.registry.resolved
        except Failure:
            return None

    def with_registry_or_new(self, *, makes: bool = True) -> Context:
        """Return a copy whose registry may be missing, for `start` and `adopt`, which create it,
        and for those that only need a path without rows (`makes` is false)."""
        path = registry_or_new(self.settings, self.given_registry, makes=makes)
        return self.with_own(registry=self._registry(path))

    def look_if_there(self) -> RegistryLook | None:
        """Read the registry; None if there is none."""
        if os.path.lexists(self.registry.path):
            return self.registry.look()
        return None

    def make_registry(self) -> None:
        """Create the registry. The answer must report it: every command below its folder will use
        it from now on."""
        self.registry.create()
        self.made_registry = True

    @property
    def registry_elsewhere(self) -> str | None:
        """Name the registry for users if it is not below the working directory: they may have meant
        another one."""
        here = os.path.realpath(self.settings.cwd)
        registry = self.registry.resolved
        if registry.is_relative_to(here):
            return None
        return f"registry: {self.registry.path}"

    def _registry(self, path: Path) -> RegistryFile:
        return RegistryFile(path, self._recall)

    def _recall(self, what: str, stamp: str) -> str | None:
        return self.books.reading(what, stamp)

    @cached_property
    def profiles(self) -> Profiles:
        file = self.settings.user_profiles
        folder = self.settings.state_folder
        if self.registry_name is None:
            profiles = load_profiles(file, state_folder=folder)
        else:
            profiles = load_profiles(file, self._recall, self.books.cache_later, folder)
        self.warnings += [fault.warning for fault in profiles.faults]
        return profiles

    @property
    def unread(self) -> Failure | None:
        """Why the user's own settings are not all known; what they would protect is not ended by
        evidence alone."""
        faults = (*self.faults, *self.profiles.faults)
        return next((fault.failure for fault in faults if not fault.remembered), None)

    @property
    def spares_lost(self) -> Failure | None:
        """Why it is not known which programs the user spares."""
        lost = (fault for fault in self.profiles.faults if fault.loses("spare"))
        return next((fault.failure for fault in lost), None)

    @cached_property
    def observer(self) -> Observer:
        return Observer(self.tmux, self.processes, self.place, self.settings.home)

    @cached_property
    def sights(self) -> Sights:
        from tmuxreap.sessions.look import Sights  # late: `events` looks at nothing

        return Sights(self.observer, self.books, self.servers, self.agents, self.place)

    @cached_property
    def caller(self) -> Caller:
        from tmuxreap.sessions.caller import Caller  # late: `list` asks nobody

        def look(rows: Sequence[Row]) -> list[Sight]:
            return self.sights.of(rows, remembers=False)

        ports = self.tmux, self.processes, self.books
        return Caller(self.settings, self.tool, self.place, *ports, look)

    @cached_property
    def seats(self) -> Seats:
        from tmuxreap.sessions.elsewhere import Seats  # late: few agents have a daemon

        return Seats(self.settings, self.processes, self.agents, self.place)

    @cached_property
    def newcomers(self) -> Newcomers:
        from tmuxreap.sessions.elsewhere import Newcomers  # late: it opens other registries

        ports = self.tmux, self.observer, self.servers
        return Newcomers(*ports, self.seats, self.own_registry)

    @cached_property
    def active(self) -> ActiveIntents:
        from tmuxreap.sessions.under_way import ActiveIntents  # late: `list` needs none

        ports = self.books, self.processes, self.clock, self.place
        return ActiveIntents(*ports, self.progress)

    @cached_property
    def answers(self) -> SessionAnswers:
        # late: it makes the results of `list` and `show`, as `core/answers.py` has them
        from tmuxreap.sessions.results import SessionAnswers

        ports = self.tmux, self.processes, self.clock
        return SessionAnswers(
            self.sights, *ports, self.warnings, lambda: self.states, lambda: self.finder
        )

    @cached_property
    def finder(self) -> Finder:
        # late: it imports the agents' stores, which `list` does not need
        from tmuxreap.sessions.conversation import Finder

        return Finder(self.processes, self.books, self.settings.home)

    @cached_property
    def books(self) -> Books:
        books = Books(self.registry, self.clock, self.warnings, row_of=self._row_of_report)
        self._opened.append(books)
        return books

    def _row_of_report(
        self, said: Mapping[str, object], at: float, rows: Sequence[Row]
    ) -> str | None:
        return row_of_report(said, at, rows, self.servers, self.processes)

    @cached_property
    def servers(self) -> Servers:
        return Servers(self.settings, self.place.boot_id)

    @cached_property
    def agents(self) -> RowAgents:
        return RowAgents(self.profiles, self.processes.clients)

    @cached_property
    def states(self) -> States:
        from tmuxreap.proof.state import States  # late: imports the patterns of screens

        def turns(row: Row, sight: Sight, profile: Profile) -> tuple[Path, ...]:
            return self.finder.open_turns(row, sight, profile)

        ports = self.tmux, self.processes, self.clock, self.books
        return States(*ports, self.agents, self.settings.home, turns)

    @cached_property
    def restarts(self) -> RestartLog:
        from tmuxreap.sessions.under_way import RestartLog  # late: rarely needed

        uid = self.settings.uid
        return RestartLog(self.books, self.clock, self.place, uid, self.warnings)

"""What the popup has seen: local sessions, those of other hosts, and a screen. Looks in threads,
one for each host, so that one that hangs delays no other. Never ends a session."""

from __future__ import annotations

from rich.text import Text

from tmuxreap.core.answers.sessions import Session
from tmuxreap.core.errors import Failure
from tmuxreap.hosts.crowd import THREADS
from tmuxreap.interfaces.popup import view as view
from tmuxreap.interfaces.popup.actions import Desk, Seen
from tmuxreap.interfaces.popup.far import Hosts, There
from tmuxreap.interfaces.popup.patient import Patient


class Looking(Patient):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._seen = Seen()
        self._has_looked = False
        self._said: Text | None = None
        self._looking = False
        self._hosts = Hosts()
        self._reading: set[str] = set()  # hosts with a pending request for a screen
        self._screen_there = ("", "")  # session name, screen

    @property
    def _chosen(self) -> str | None:
        raise NotImplementedError

    def _draw(self) -> None:
        raise NotImplementedError

    @property
    def _here(self) -> set[str]:
        return {one.name for one in self._seen.sessions}

    @property
    def _sessions(self) -> list[Session]:
        return [*self._seen.sessions, *self._hosts.sessions(self._here)]

    @property
    def _host_of(self) -> dict[str, str]:
        return self._hosts.of(self._here)

    # This machine

    def _look(self) -> None:
        if not self._looking:
            self._looking = True
            chosen = self._chosen
            self._ask(
                lambda: self._desk.look(chosen), lambda seen: self._show(seen, chosen), daemon=True
            )

    def _show(self, seen: Seen, chosen: str | None) -> None:
        self._looking = False
        self._has_looked = True
        self._seen = seen
        self._draw()
        if self._chosen not in (None, chosen):
            self._look()  # the selection changed meanwhile: get the new screen

    # Other hosts

    def _hosts_are(self, found: tuple[str, ...] | Failure) -> None:
        if isinstance(found, Failure):
            self._said = Text("\n").join(view.failure_lines(found))
        else:
            self._hosts.names = found
            self._look_there()
        self._draw()

    def _look_there(self) -> None:
        for host in self._hosts.due(THREADS):
            self._look_at(host, self._hosts.before(host))
        self._read_there()

    def _look_at(self, host: str, before: There) -> None:
        def told(there: There) -> None:
            self._hosts.tell(host, there)
            self._draw()

        self._ask(lambda: self._desk.look_there(host, before), told, daemon=True)

    def _read_there(self) -> None:
        """Request the screen of the selected session."""
        chosen = self._chosen
        host = self._host_of.get(chosen) if chosen else None
        if chosen is None or host is None or host in self._reading:
            return
        self._reading.add(host)

        def told(screen: str) -> None:
            self._reading.discard(host)
            self._screen_there = (chosen, screen)
            self._draw()
            if self._chosen != chosen:
                self._read_there()

        self._ask(lambda: self._desk.screen_there(chosen), told, daemon=True)

"""What the popup has seen: local sessions, those of other hosts, and a screen. Looks in threads,
one for each host, so that one that hangs delays no other. Never ends a session."""

from __future__ import annotations

from rich.text import Text

from tmuxreap.core.answers.sessions import Session
from tmuxreap.core.errors import Failure
from tmuxreap.hosts.crowd import THREADS
from tmuxreap.interfaces.popup import view as view
from tmuxreap.interfaces.popup.actions import Desk, Seen
from tmuxreap.interfaces.popup.far import HostAnswer, Hosts
from tmuxreap.interfaces.popup.patient import BackgroundApp


class Looking(BackgroundApp):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._seen = Seen()
        self._has_looked = False
        self._message_text: Text | None = None
        self._looking = False
        self._hosts = Hosts()
        self._reading: set[str] = set()  # hosts with a pending request for a screen
        self._remote_screen = ("", "")  # session name, screen

    @property
    def _chosen(self) -> str | None:
        raise NotImplementedError

    def _draw(self) -> None:
        raise NotImplementedError

    @property
    def _local_names(self) -> set[str]:
        return {one.name for one in self._seen.sessions}

    @property
    def _sessions(self) -> list[Session]:
        return [*self._seen.sessions, *self._hosts.sessions(self._local_names)]

    @property
    def _host_of(self) -> dict[str, str]:
        return self._hosts.of(self._local_names)

    # This machine

    def _look(self) -> None:
        if not self._looking:
            self._looking = True
            chosen = self._chosen
            self._submit(
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

    def _set_hosts(self, found: tuple[str, ...] | Failure) -> None:
        if isinstance(found, Failure):
            self._message_text = Text("\n").join(view.failure_lines(found))
        else:
            self._hosts.names = found
            self._look_at_hosts()
        self._draw()

    def _look_at_hosts(self) -> None:
        for host in self._hosts.due(THREADS):
            self._look_at_host(host, self._hosts.before(host))
        self._read_remote_screen()

    def _look_at_host(self, host: str, before: HostAnswer) -> None:
        def store_answer(answer: HostAnswer) -> None:
            self._hosts.record(host, answer)
            self._draw()

        self._submit(lambda: self._desk.look_at_host(host, before), store_answer, daemon=True)

    def _read_remote_screen(self) -> None:
        """Request the screen of the selected session."""
        chosen = self._chosen
        host = self._host_of.get(chosen) if chosen else None
        if chosen is None or host is None or host in self._reading:
            return
        self._reading.add(host)

        def store_screen(screen: str) -> None:
            self._reading.discard(host)
            self._remote_screen = (chosen, screen)
            self._draw()
            if self._chosen != chosen:
                self._read_remote_screen()

        self._submit(lambda: self._desk.remote_screen(chosen), store_screen, daemon=True)

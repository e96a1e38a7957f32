"""What the popup has seen and is doing, and its display: local sessions, those of other hosts, and
a screen. Looks in threads, one for each host, so that one that hangs delays no other. Never ends a
session."""

from __future__ import annotations

import time
from functools import partial

from rich.text import Text
from textual.widgets import Static

from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.text import plain
from tmuxreap.core.values import frozen
from tmuxreap.hosts.crowd import THREADS
from tmuxreap.interfaces.popup import actions, view
from tmuxreap.interfaces.popup.actions import Desk, Snapshot
from tmuxreap.interfaces.popup.view import Choices, arranged
from tmuxreap.interfaces.popup.widgets import BackgroundApp, Sessions
from tmuxreap.interfaces.text.progress import ProgressText

WIDE = 150  # from here on list and screen are side by side


@frozen
class Doing:
    """What is being done with a session; without a verb it is being resumed."""

    verb: EndVerb | None
    progress: ProgressText


class Drawing(BackgroundApp):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._seen = Snapshot()
        self._has_looked = False
        self._message_text: Text | None = None
        self._looking = False
        self._hosts = actions.HostAnswers()
        self._reading: set[str] = set()  # hosts with a pending request for a screen
        self._remote_screen = ("", "")  # session name, screen
        self._choices = Choices()
        self._marked: set[str] = set()
        self._doing: dict[str, Doing] = {}
        self._receipts: dict[str, Text] = {}
        self._leaving = False

    @property
    def _is_ready(self) -> bool:
        """A thread may answer before the table exists, or while the popup is closing."""
        return self.is_running and bool(self.query(Sessions))

    @property
    def _table(self) -> Sessions:
        return self.query_one(Sessions)

    @property
    def _chosen(self) -> str | None:
        return self._table.chosen if self._is_ready else None

    @property
    def _local_names(self) -> set[str]:
        return {one.name for one in self._seen.sessions}

    @property
    def _sessions(self) -> list[Session]:
        return [*self._seen.sessions, *self._hosts.sessions(self._local_names)]

    @property
    def _host_of(self) -> dict[str, str]:
        return self._hosts.of(self._local_names)

    def _look(self) -> None:
        if not self._looking:
            self._looking = True
            chosen = self._chosen
            show = partial(self._show, chosen=chosen)
            self._submit(lambda: self._desk.look(chosen), show, daemon=True)

    def _show(self, seen: Snapshot, chosen: str | None) -> None:
        self._looking = False
        self._has_looked = True
        self._marked &= {one.name for one in (*seen.sessions, *self._sessions)}
        self._seen = seen
        self._draw()
        if self._chosen not in (None, chosen):
            self._look()  # the selection changed meanwhile: get the new screen

    def _set_hosts(self, found: tuple[str, ...] | Failure) -> None:
        if isinstance(found, Failure):
            self._message_text = view.failure_text(found)
        else:
            self._hosts.names = found
            self._look_at_hosts()
        self._draw()

    def _look_at_hosts(self) -> None:
        for host in self._hosts.due(THREADS):
            look = partial(self._desk.look_at_host, host, self._hosts.before(host))
            self._submit(look, partial(self._store_answer, host), daemon=True)
        self._read_remote_screen()

    def _store_answer(self, host: str, answer: actions.HostAnswer) -> None:
        self._hosts.record(host, answer)
        self._draw()

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

    # Drawing

    def _session(self, name: str | None) -> Session | None:
        return next((one for one in self._sessions if one.name == name), None)

    def _draw(self) -> None:
        if not self._is_ready or len(self.screen_stack) > 1:
            return
        self._draw_table()
        self._draw_details()
        self._draw_message()

    def _draw_progress(self) -> None:
        if self._doing:
            self._draw()

    def _draw_table(self) -> None:
        sessions = self._sessions
        hosts = self._host_of
        shown = arranged(sessions, self._choices, {*self._receipts, *self._doing})
        drawn = shown[: view.MOST_ROWS]
        width = self._table_width
        columns = view.columns(width, tagged=any(one.tags for one in shown), hosted=bool(hosts))
        labels = {}
        for one in drawn:
            labels[one.name] = view.label(one, hosts.get(one.name, ""), columns)
        room = view.name_cells(labels.values(), columns, width)
        rows = []
        for one in drawn:
            rows.append(self._cells(one, room, labels[one.name], hosts.get(one.name, "")))
        self._table.show(columns, [*labels], [[row[column] for column in columns] for row in rows])
        troubles = view.host_messages(self._hosts.troubles(), self._hosts.waiting())
        self._draw_line("#folded", view.footer(len(shown), sessions, self._choices, troubles))

    def _draw_line(self, where: str, text: Text | str) -> None:
        """Draw a text; without one its place is free for others."""
        line = self.query_one(where, Static)
        line.update(text)
        line.display = bool(text)

    @property
    def _table_width(self) -> int:
        """Leave room for the scroll bar, which may appear."""
        width = self.size.width
        return (width * 6 // 10 if width >= WIDE else width) - 1

    def _cells(self, one: Session, room: int, label: str, host: str) -> dict[str, Text]:
        doing = self._doing.get(one.name)
        word = None
        if doing:
            rung = doing.progress.at.get(plain(one.name))
            word = view.step_text(doing.verb, rung, time.monotonic())
        marked = one.name in self._marked
        return view.cells(one, marked=marked, progress=word, name=room, label=label, host=host)

    def _draw_details(self) -> None:
        chosen = self._session(self._chosen)
        host = self._host_of.get(chosen.name) if chosen else None
        self.query_one("#facts", Static).update(view.facts(chosen) if chosen else "")
        self._draw_line("#why", Text(plain(self._why(chosen, host)), style="red"))
        self._draw_line("#told", self._receipts.get(chosen.name, "") if chosen else "")
        screen = self.query_one("#screen", Static)
        shown = self._screen_of(chosen, host) if chosen else ""
        screen.update(view.screen(shown, screen.size.height))

    def _why(self, chosen: Session | None, host: str | None) -> str:
        if chosen is None or not chosen.drift:
            return ""
        return actions.why(chosen, host) if host else self._seen.why

    def _screen_of(self, chosen: Session, host: str | None) -> str:
        if host is None:
            return self._seen.screen
        name, screen = self._remote_screen
        return screen if name == chosen.name else ""

    def _draw_message(self) -> None:
        self.query_one("#said", Static).update(self._message_line())

    def _message_line(self) -> Text:
        if self._seen.failure is not None:
            return view.failure_text(self._seen.failure)
        if self._leaving:
            return Text("closes when the work in progress is done", style="yellow")
        if self._message_text is not None:
            return self._message_text
        if self._seen.warnings:
            return Text(plain(self._seen.warnings[0]), style="yellow")
        if self._sessions:
            return view.asked(self._sessions)
        return Text("no sessions yet; n starts one, as tmuxreap start NAME --agent AGENT does")

"""Draws what the popup has seen and is doing: the table, facts and screen of the selected session,
messages. Never starts a request or an ending."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.text import Text
from textual.widgets import Static

from tmuxreap.core.answers.sessions import Session
from tmuxreap.core.text import plain
from tmuxreap.interfaces.popup import far
from tmuxreap.interfaces.popup import view as view
from tmuxreap.interfaces.popup.actions import Desk
from tmuxreap.interfaces.popup.choices import arranged
from tmuxreap.interfaces.popup.choosing import Choosing
from tmuxreap.interfaces.popup.widgets import Doing, Sessions

WIDE = 150  # from here on list and screen are side by side


class Drawing(Choosing):
    def __init__(self, desk: Desk, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(desk)
        self._monotonic = monotonic
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
        sessions, hosts = self._sessions, self._host_of
        shown = arranged(sessions, self._choices, {*self._receipts, *self._doing})
        drawn, width = shown[: view.MOST_ROWS], self._table_width
        columns = view.columns(width, tagged=any(one.tags for one in shown), hosted=bool(hosts))
        labels = {one.name: view.label(one, hosts.get(one.name, ""), columns) for one in drawn}
        room = view.name_cells(labels.values(), columns, width)
        rows = [self._cells(one, room, labels[one.name], hosts.get(one.name, "")) for one in drawn]
        self._table.show(columns, [*labels], [[row[column] for column in columns] for row in rows])
        troubles = view.host_messages(self._hosts.troubles(), self._hosts.waiting())
        folded = view.footer(len(shown), sessions, self._choices, troubles)
        self.query_one("#folded", Static).update(folded)
        self.query_one("#folded").display = bool(folded)

    @property
    def _table_width(self) -> int:
        """Leave room for the scroll bar, which may appear."""
        width = self.size.width
        return (width * 6 // 10 if width >= WIDE else width) - 1

    def _cells(self, one: Session, room: int, label: str, host: str) -> dict[str, Text]:
        doing = self._doing.get(one.name)
        word = (
            view.step_text(doing.word, doing.progress.at.get(plain(one.name)), self._monotonic())
            if doing
            else None
        )
        marked = one.name in self._marked
        return view.cells(one, marked=marked, progress=word, name=room, label=label, host=host)

    def _draw_details(self) -> None:
        chosen = self._session(self._chosen)
        receipt = self._receipts.get(chosen.name) if chosen else None
        self.query_one("#facts", Static).update(view.facts(chosen) if chosen else "")
        host = self._host_of.get(chosen.name) if chosen else None
        why = plain(self._why(chosen, host)) if chosen and chosen.drift else ""
        self.query_one("#why", Static).update(Text(why, style="red"))
        self.query_one("#why").display = bool(why)
        self.query_one("#told", Static).update(receipt or "")
        self.query_one("#told").display = receipt is not None
        screen = self.query_one("#screen", Static)
        shown = self._screen_of(chosen, host) if chosen else ""
        screen.update(view.screen(shown, screen.size.height))

    def _why(self, chosen: Session, host: str | None) -> str:
        return far.why(chosen, host) if host else self._seen.why

    def _screen_of(self, chosen: Session, host: str | None) -> str:
        if host is None:
            return self._seen.screen
        name, screen = self._remote_screen
        return screen if name == chosen.name else ""

    def _draw_message(self) -> None:
        self.query_one("#said", Static).update(self._message_line())

    def _message_line(self) -> Text:
        if self._seen.failure is not None:
            return Text("\n").join(view.failure_lines(self._seen.failure))
        if self._leaving:
            return Text("closes when what is under way is through", style="yellow")
        if self._message_text is not None:
            return self._message_text
        if self._seen.warnings:
            return Text(plain(self._seen.warnings[0]), style="yellow")
        return Text(
            ""
            if self._sessions
            else "no sessions yet; n starts one, as tmuxreap start NAME --agent AGENT does"
        )

"""The popup: the sessions, the screen of the chosen one, and a key for each thing to do with them.

Owns the screen only. What is done is asked of `desk` in threads, and an ending is never left half
done: whoever closes the popup, or pulls its terminal away, lets it finish first."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.widgets import DataTable, Static

from tmuxreap.core.answers.sessions import Session
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Verb
from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.interfaces.popup import view as view
from tmuxreap.interfaces.popup.actions import Desk, Seen, silent_progress
from tmuxreap.interfaces.popup.choices import arranged
from tmuxreap.interfaces.popup.choosing import Choosing
from tmuxreap.interfaces.popup.keys import KEYS, line
from tmuxreap.interfaces.popup.widgets import (
    Doing,
    Filter,
    Question,
    Sessions,
)

T = TypeVar("T")
LOOK_S = 1.0
DRAW_S = 0.2
WIDE = 150  # from here on list and screen stand beside each other
HIGH = 16  # and below it there is place for one of them only


class Popup(Choosing):
    ENABLE_COMMAND_PALETTE = False
    # As Textual declares them.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (HIGH, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.pressed, key.action, key.word, show=False) for key in KEYS),
        Binding("ctrl+c,ctrl+q", "leave", show=False),
    ]
    CSS_PATH = "popup.tcss"

    def __init__(self, desk: Desk, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(desk)
        self._monotonic = monotonic
        self._doing: dict[str, Doing] = {}
        self._told: dict[str, Text] = {}
        self._looking = False
        self._leaving = False

    def compose(self) -> ComposeResult:
        with Container(id="both"):
            yield Sessions()
            yield Static(id="folded")
            with Vertical(id="beside"):
                yield Static(id="facts")
                yield Static(id="why")
                yield Static(id="told")
                yield Static(id="screen")
        yield Filter()
        yield Static(id="said")
        yield Static(id="keys")

    def on_mount(self) -> None:
        self.theme = (  # the terminal's own colours: right on a dark one and on a light one
            "ansi-dark"
        )
        self._recall()
        self.query_one(Sessions).focus()
        self.set_interval(LOOK_S, self._look)
        self.set_interval(DRAW_S, self._draw_doing)
        self._look()

    # Looking

    def _look(self) -> None:
        if not self._looking:
            self._looking = True
            chosen = self._chosen
            self._ask(
                lambda: self._desk.look(chosen), lambda seen: self._show(seen, chosen), daemon=True
            )

    def _show(self, seen: Seen, chosen: str | None) -> None:
        self._looking = False
        self._seen = seen
        self._marked &= {one.name for one in seen.sessions}
        self._draw()
        if self._is_there and self._chosen != chosen:
            self._look()  # another was chosen meanwhile: its screen

    # Drawing

    @property
    def _is_there(self) -> bool:
        """A thread may have its answer before the table is made, or when the popup is closing
        already."""
        return self.is_running and bool(self.query(Sessions))

    @property
    def _table(self) -> Sessions:
        return self.query_one(Sessions)

    @property
    def _chosen(self) -> str | None:
        return self._table.chosen if self._is_there else None

    def _session(self, name: str | None) -> Session | None:
        return next((one for one in self._seen.sessions if one.name == name), None)

    def _draw(self) -> None:
        if not self._is_there or len(self.screen_stack) > 1:
            return
        self._draw_table()
        self._draw_beside()
        self._draw_said()

    def _draw_doing(self) -> None:
        if self._doing:
            self._draw()

    def _draw_table(self) -> None:
        shown = arranged(self._seen.sessions, self._choices, {*self._told, *self._doing})
        width = self._table_width
        columns = view.columns(width, tagged=any(one.tags for one in shown))
        names = [one.name for one in shown[: view.MOST_ROWS]]
        room = view.name_cells(names, columns, width)
        rows = [self._cells(one, room) for one in shown[: view.MOST_ROWS]]
        self._table.show(columns, names, [[row[column] for column in columns] for row in rows])
        folded = view.under_the_table(len(shown), self._seen.sessions, self._choices)
        self.query_one("#folded", Static).update(folded)
        self.query_one("#folded").display = bool(folded)

    @property
    def _table_width(self) -> int:
        """Without the scroll bar, which may come."""
        width = self.size.width
        return (width * 6 // 10 if width >= WIDE else width) - 1

    def _cells(self, one: Session, room: int) -> dict[str, Text]:
        doing = self._doing.get(one.name)
        word = (
            view.under_way(doing.word, doing.progress.at.get(plain(one.name)), self._monotonic())
            if doing
            else None
        )
        return view.cells(one, marked=one.name in self._marked, under_way=word, name=room)

    def _draw_beside(self) -> None:
        chosen = self._session(self._chosen)
        told = self._told.get(chosen.name) if chosen else None
        self.query_one("#facts", Static).update(view.facts(chosen) if chosen else "")
        why = plain(self._seen.why) if chosen and chosen.drift else ""
        self.query_one("#why", Static).update(Text(why, style="red"))
        self.query_one("#why").display = bool(why)
        self.query_one("#told", Static).update(told or "")
        self.query_one("#told").display = told is not None
        screen = self.query_one("#screen", Static)
        screen.update(view.screen(self._seen.screen if chosen else "", screen.size.height))

    def _draw_said(self) -> None:
        self.query_one("#said", Static).update(self._line())

    def _line(self) -> Text:
        if self._seen.failure is not None:
            return Text("\n").join(view.failure_lines(self._seen.failure))
        if self._leaving:
            return Text("closes when what is under way is through", style="yellow")
        if self._said is not None:
            return self._said
        if self._seen.warnings:
            return Text(plain(self._seen.warnings[0]), style="yellow")
        return Text(
            ""
            if self._seen.sessions
            else "no sessions yet; n starts one, as tmuxreap start NAME --agent AGENT does"
        )

    # Keys

    @on(DataTable.RowHighlighted)
    def _moved(self) -> None:
        if self._is_there:
            self._draw_beside()
            self._look()

    @on(DataTable.RowSelected)
    def _entered(self) -> None:
        self.action_jump()

    def _meant(self, verb: Verb | None = None) -> list[str]:
        """Those that are marked, else the one under the cursor; none that something is being done
        with, but a stop may be hurried by a kill."""
        chosen = self._chosen
        names = [name for name in self._table.names if name in self._marked] or (
            [chosen] if chosen else []
        )
        hurried = {
            name
            for name, doing in self._doing.items()
            if (doing.verb, verb) == (Verb.STOP, Verb.KILL)
        }
        return [name for name in names if name not in self._doing or name in hurried]

    def action_end(self, word: str) -> None:
        verb = Verb(word)
        names = self._meant(verb)

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._begin("stopping" if verb is Verb.STOP else "killing", names, verb)

        if len(names) > 1:
            self.push_screen(Question(view.question(verb.value, names)), answered)
        elif names:
            answered(True)

    def action_resume(self) -> None:
        if names := self._meant():
            self._begin("resuming", names, None)

    def _begin(self, word: str, names: list[str], verb: Verb | None) -> None:
        doing = Doing(word, verb, silent_progress(self._monotonic))
        self._doing.update(dict.fromkeys(names, doing))
        self._said = None

        def work() -> Result:
            return self._desk.end(verb, names, doing.progress) if verb else self._desk.resume(names)

        self._ask(work, lambda result: self._done(doing, result))
        self._draw()

    def _done(self, doing: Doing, result: Result) -> None:
        """What was hurried by a kill is told by the kill."""
        mine = {name for name, now in self._doing.items() if now is doing}
        for name in mine:
            del self._doing[name]
        self._marked -= mine
        self._told.update(
            {name: told for name, told in view.receipts(result).items() if name in mine}
        )
        self._said = view.summary(result) if mine else self._said
        if self._leaving and not self._doing:
            self.exit()
            return
        self._draw()
        self._look()

    def on_resize(self, event: Resize) -> None:
        self.query_one("#keys", Static).update(line(event.size.width))
        self._draw()

    def action_jump(self) -> None:
        name = self._chosen
        if name is not None:
            self._ask(lambda: self._desk.jump(name), self._jumped, daemon=True)

    def _jumped(self, result: Result) -> None:
        if result.failure is None:
            self.action_leave()
        else:
            self._said = Text("\n").join(view.failure_lines(result.failure))
            self._draw_said()

    def action_turn(self) -> None:
        """Where there is no place for both: the screen instead of the table."""
        self.screen.toggle_class("turned")

    def action_leave(self) -> None:
        if not self._doing:
            self.exit()
        self._leaving = True
        self._draw_said()


def run(desk: Desk) -> None:
    popup = Popup(desk)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, popup.cut_off)
    popup.run()
    if popup.return_code:
        raise Failure(
            Code.BUG,
            "could not go on with the popup",
            "this is a bug: please report it with the lines above",
        )

"""The popup: the sessions, the screen of the selected one, and a key for each action.

Owns only the screen. Threads do the work through `desk`, and an ending is never left half done: it
finishes first, even if the popup is closed or loses its terminal."""

from __future__ import annotations

import signal
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.widgets import DataTable, Static

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Verb
from tmuxreap.core.results import Result
from tmuxreap.hosts.engines import run_in_terminal
from tmuxreap.interfaces.popup import far, view
from tmuxreap.interfaces.popup.actions import Desk, silent_progress
from tmuxreap.interfaces.popup.choosing import Choosing
from tmuxreap.interfaces.popup.drawing import WIDE, Doing
from tmuxreap.interfaces.popup.keys import KEYS, line
from tmuxreap.interfaces.popup.widgets import Filter, Question, Sessions

LOOK_S, FAR_S = 1.0, 3.0  # on this machine, and on other hosts
DRAW_S = 0.2
HIGH = 16  # lower than this, only the list or the screen is shown


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
        self.theme = "ansi-dark"  # the terminal's own colors, for dark and light backgrounds
        self._load_choices()
        self._table.focus()
        self.set_interval(LOOK_S, self._look)
        self.set_interval(FAR_S, self._look_at_hosts)
        self.set_interval(DRAW_S, self._draw_progress)
        self._look()

    # Keys

    @on(DataTable.RowHighlighted)
    def _moved(self) -> None:
        if self._is_ready:
            self._draw_details()
            self._look()
            self._read_remote_screen()

    @on(DataTable.RowSelected)
    def _entered(self) -> None:
        self.action_jump()

    def _selected_names(self, verb: Verb | None = None) -> list[str]:
        """Return the marked sessions, else the one under the cursor. Busy ones are left out, except
        that a kill may take over a running stop."""
        chosen = self._chosen
        names = [name for name in self._table.names if name in self._marked]
        if not names and chosen:
            names = [chosen]
        return [name for name in names if self._is_free(name, verb)]

    def _is_free(self, name: str, verb: Verb | None) -> bool:
        doing = self._doing.get(name)
        return doing is None or (doing.verb, verb) == (Verb.STOP, Verb.KILL)

    def action_end(self, word: str) -> None:
        verb = Verb(word)
        names = self._selected_names(verb)

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._start_work(verb, names)

        if len(names) > 1:
            self.push_screen(Question(view.question(verb.value, names)), answered)
        elif names:
            answered(True)

    def action_resume(self) -> None:
        if names := self._selected_names():
            self._start_work(None, names)

    def _start_work(self, verb: Verb | None, names: list[str]) -> None:
        """Start the work on each host separately: none waits for another."""
        self._message_text = None
        for host, targets in far.by_host(names, self._host_of).items():
            doing = Doing(verb, silent_progress())
            self._doing.update(dict.fromkeys(targets, doing))
            work = partial(self._desk.end, host, verb, targets, doing.progress)
            self._submit(work, partial(self._show_result, doing))
        self._draw()

    def _show_result(self, doing: Doing, result: Result) -> None:
        """Show the result, except for sessions that a kill took over: the kill reports those."""
        ended = {name for name, current in self._doing.items() if current is doing}
        for name in ended:
            del self._doing[name]
        self._marked -= ended
        receipts = view.receipts(result)
        self._receipts.update({name: receipts[name] for name in receipts if name in ended})
        if ended:
            self._message_text = view.summary(result)
        if self._leaving and not self._doing:
            self.exit()
            return
        self._draw()
        self._look()
        self._look_at_hosts()

    def on_resize(self, event: Resize) -> None:
        self.query_one("#keys", Static).update(line(event.size.width))
        self._draw()

    def action_jump(self) -> None:
        name = self._chosen
        if name is None:
            return
        if name in self._host_of:
            attach = partial(self._attach_terminal, name)
            self._submit(lambda: self._desk.attach_command(name), attach, daemon=True)
        else:
            self._submit(lambda: self._desk.jump(name), self._jumped, daemon=True)

    def _attach_terminal(self, name: str, way: tuple[str, ...] | Failure | None) -> None:
        """Attach the terminal to the session; return to the popup on detach."""
        if isinstance(way, Failure):
            self._message_text = view.failure_text(way)
        elif way is not None:
            with self.suspend():
                status, said = run_in_terminal(way)
            self._message_text = None if status == 0 else view.did_not_attach(name, status, said)
        self._look_at_hosts()
        self._draw()

    def _jumped(self, result: Result) -> None:
        if result.failure is None:
            self.action_leave()
        else:
            self._message_text = view.failure_text(result.failure)
            self._draw_message()

    def action_turn(self) -> None:
        """Show the screen instead of the table, if there is no room for both."""
        self.screen.toggle_class("turned")

    def action_leave(self) -> None:
        if not self._doing:
            self.exit()
        self._leaving = True
        self._draw_message()


def run(desk: Desk) -> None:
    popup = Popup(desk)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, popup.finish_and_exit)
    popup.run()
    if popup.return_code:
        hint = "this is a bug: please report it with the lines above"
        raise Failure(Code.BUG, "could not go on with the popup", hint)

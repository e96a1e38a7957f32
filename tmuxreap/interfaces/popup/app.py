"""The popup: the sessions, the screen of the selected one, and a key for each action. Owns only the
screen: threads do the work through `actions`. Never leaves an ending half done: it finishes first,
even if the popup is closed or loses its terminal."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.events import DescendantFocus, Event, Key, Resize
from textual.widgets import DataTable, Input, Static

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.hosts.engines import run_in_terminal
from tmuxreap.interfaces.popup import actions, view
from tmuxreap.interfaces.popup.actions import UNREGISTERED, Desk, Replies, Snapshot, silent_progress
from tmuxreap.interfaces.popup.drawing import WIDE, Doing, Drawing
from tmuxreap.interfaces.popup.view import KEYS, Choices, line, load_choices, save_choices
from tmuxreap.interfaces.popup.widgets import Filter, New, Page, Question, Sessions

LOOK_S = 1.0  # on this machine
FAR_S = 3.0  # on other hosts
DRAW_S = 0.2
HIGH = 16  # lower than this, only the list or the screen is shown


class Popup(Drawing):
    ENABLE_COMMAND_PALETTE = False
    # As Textual declares them.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (HIGH, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.pressed, key.action, key.word, show=False) for key in KEYS),
        Binding("ctrl+c,ctrl+q", "leave", show=False),
    ]
    CSS_PATH = "popup.tcss"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._choices_file: Path | None = None
        self._ahead: list[Key] | None = None  # keys pressed while a form is opening
        self._mark_ahead = False  # requested before the first look
        self._replies = Replies()

    def _load_choices(self) -> None:
        self._choices_file = self._desk.choices_file()
        self._choices = load_choices(self._choices_file)
        if self._choices.hosts:
            self._submit(self._desk.hosts, self._set_hosts, daemon=True)

    def action_hosts(self) -> None:
        """Show or hide the sessions of other hosts."""
        if self._hosts.names:
            self._hosts.forget()
            self._apply_choices(replace(self._choices, hosts=False))
        else:
            self._submit(self._desk.hosts, self._show_hosts, daemon=True)

    def _show_hosts(self, found: tuple[str, ...] | Failure) -> None:
        self._set_hosts(found)
        if self._hosts.names:
            self._apply_choices(replace(self._choices, hosts=True))

    def action_filter(self) -> None:
        filter_ = self.query_one(Filter)
        filter_.display = True
        self.screen.set_focus(filter_)

    async def on_event(self, event: Event) -> None:
        if not isinstance(event, Key) or event.is_forwarded:
            await super().on_event(event)
        elif not self._replies.is_part_of_reply(event):
            await self._pressed(event)

    async def _pressed(self, key: Key) -> None:
        """Handle the key before the next one arrives. The toolkit passes keys from widget to
        widget: type-ahead for a field could arrive out of order, or act as a command."""
        field = self.focused
        if self._ahead is not None:
            self._ahead.append(key)
        elif isinstance(field, Input) and key.is_printable:
            field.replace(key.character or "", *field.selection)
        elif active := self.screen.active_bindings.get(key.key):
            await self.run_action(active.binding.action, active.node)
            if isinstance(self.focused, Input) and self.focused is not field:
                self.focused.select_all()  # typing replaces it

    @on(DescendantFocus)
    async def _replay_keys(self, event: DescendantFocus) -> None:
        if isinstance(event.widget, Input):
            keys = self._ahead or []
            self._ahead = None
            for key in keys:
                await self._pressed(key)

    @on(Input.Changed, "#filter")
    def _filtered(self, event: Input.Changed) -> None:
        self._choices = replace(self._choices, only=event.value)
        self._draw()

    def action_keep_filter(self) -> None:
        """Apply the filter at once: the next key acts on the remaining rows."""
        filter_ = self.query_one(Filter)
        self._choices = replace(self._choices, only=filter_.value)
        self._draw()
        filter_.display = bool(filter_.value)
        self.screen.set_focus(self._table)

    def action_drop_filter(self) -> None:
        self.query_one(Filter).value = ""
        self.action_keep_filter()

    def action_sort(self) -> None:
        self._apply_choices(self._choices.next_sort())

    def action_fold(self) -> None:
        self._apply_choices(replace(self._choices, ended=not self._choices.ended))

    def _apply_choices(self, choices: Choices) -> None:
        self._choices = choices
        save_choices(self._choices_file, choices)
        self._draw()

    def action_help(self) -> None:
        self.push_screen(Page(view.help_page()))

    def action_adopt(self) -> None:
        """Register the selected session if it is unregistered, else all that are."""
        unregistered = []
        for one in self._seen.sessions:
            if one.drift == UNREGISTERED:
                unregistered.append(one.name)
        chosen = self._table.chosen
        if chosen is not None and chosen in unregistered:
            names = [chosen]
        else:
            names = unregistered

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._submit(lambda: self._desk.adopt(names), self._show_summary)

        if len(names) > 1:
            self.push_screen(Question(view.question("register", names)), answered)
        elif self._seen.failure is not None or names:  # without a registry nothing was searched
            answered(True)

    def action_new(self) -> None:
        self._ahead = []
        self._submit(self._desk.agents, self._show_form, daemon=True)

    def _show_form(self, agents: list[str]) -> None:
        def start(session: tuple[str, str, str] | None) -> None:
            if session is not None:
                self._submit(lambda: self._desk.start(*session), self._show_summary)

        folder = os.getcwd()  # noqa: PTH109 - a string for a field
        self.push_screen(New(agents, folder), start)

    def _show_summary(self, result: Result) -> None:
        self._message_text = view.summary(result)
        self._look()
        self._draw()

    def _show(self, seen: Snapshot, chosen: str | None) -> None:
        super()._show(seen, chosen)
        if self._mark_ahead:
            self.action_mark_all()

    def action_mark(self) -> None:
        if self._table.chosen is not None:
            self._marked ^= {self._table.chosen}
            self._table.action_cursor_down()
            self._draw()

    def action_mark_all(self) -> None:
        """Mark all running sessions; if they already are, unmark them."""
        self._mark_ahead = not self._has_looked
        running = set()
        for one in self._sessions:
            if not one.ended and one.drift != UNREGISTERED:
                running.add(one.name)
        self._marked = set() if running <= self._marked else running
        self._draw()

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

    def _selected_names(self, verb: EndVerb | None = None) -> list[str]:
        """Return the marked sessions, else the one under the cursor. Busy ones are left out, except
        that a kill may take over a running stop."""
        chosen = self._chosen
        names = [name for name in self._table.names if name in self._marked]
        if not names and chosen:
            names = [chosen]
        return [name for name in names if self._is_free(name, verb)]

    def _is_free(self, name: str, verb: EndVerb | None) -> bool:
        doing = self._doing.get(name)
        return doing is None or (doing.verb, verb) == (EndVerb.STOP, EndVerb.KILL)

    def action_end(self, word: str) -> None:
        verb = EndVerb(word)
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

    def _start_work(self, verb: EndVerb | None, names: list[str]) -> None:
        """Start the work on each host separately: none waits for another."""
        self._message_text = None
        for host, targets in actions.by_host(names, self._host_of).items():
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
            if status == 0:
                self._message_text = None
            else:
                self._message_text = view.did_not_attach(name, status, said)
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
        raise Failure(Code.BUG, "could not continue with the popup", hint)

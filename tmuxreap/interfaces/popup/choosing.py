"""The keys that select what is shown and marked (order, filter, ended sessions, hosts), and the
forms to start or register a session. Never ends a session."""

from __future__ import annotations

import os
from pathlib import Path

from textual import on
from textual.events import DescendantFocus, Event, Key
from textual.widgets import Input

from tmuxreap.core.errors import Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.interfaces.popup import view
from tmuxreap.interfaces.popup.actions import UNREGISTERED, Desk, Seen
from tmuxreap.interfaces.popup.choices import Choices, load_choices, save_choices
from tmuxreap.interfaces.popup.drawing import Drawing
from tmuxreap.interfaces.popup.replies import Replies
from tmuxreap.interfaces.popup.widgets import Filter, New, Page, Question


class Choosing(Drawing):
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
            keys, self._ahead = self._ahead or [], None
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
        unregistered = [one.name for one in self._seen.sessions if one.drift == UNREGISTERED]
        chosen = self._table.chosen
        names = [chosen] if chosen is not None and chosen in unregistered else unregistered

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

    def _show(self, seen: Seen, chosen: str | None) -> None:
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
        running = {
            one.name for one in self._sessions if not one.ended and one.drift != UNREGISTERED
        }
        self._marked = set() if running <= self._marked else running
        self._draw()

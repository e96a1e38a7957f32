"""The keys that select what is shown and marked (order, filter, ended sessions, hosts), and the
forms to start or register a session. Never ends a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from textual import on
from textual.events import DescendantFocus, Event, Key
from textual.widgets import Input

from tmuxreap.core.errors import Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.interfaces.popup import view as view
from tmuxreap.interfaces.popup.actions import UNREGISTERED, Desk, Seen
from tmuxreap.interfaces.popup.choices import Choices, recalled, remember
from tmuxreap.interfaces.popup.looking import Looking
from tmuxreap.interfaces.popup.replies import Replies
from tmuxreap.interfaces.popup.widgets import Filter, New, Page, Question, Sessions, Wish


class Choosing(Looking):
    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._marked: set[str] = set()
        self._choices = Choices()
        self._choices_file: Path | None = None
        self._ahead: list[Key] | None = None  # keys pressed while a form is opening
        self._mark_ahead = False  # requested before the first look
        self._replies = Replies()

    def _recall(self) -> None:
        self._choices_file = self._desk.choices_file()
        self._choices = recalled(self._choices_file)
        if self._choices.hosts:
            self._ask(self._desk.hosts, self._hosts_are, daemon=True)

    def action_hosts(self) -> None:
        """Show or hide the sessions of other hosts."""
        if self._hosts.names:
            self._hosts.forget()
            self._choose(replace(self._choices, hosts=False))
        else:
            self._ask(self._desk.hosts, self._hosts_chosen, daemon=True)

    def _hosts_chosen(self, found: tuple[str, ...] | Failure) -> None:
        self._hosts_are(found)
        if self._hosts.names:
            self._choose(replace(self._choices, hosts=True))

    def action_filter(self) -> None:
        filter_ = self.query_one(Filter)
        filter_.display = True
        self.screen.set_focus(filter_)

    async def on_event(self, event: Event) -> None:
        if not isinstance(event, Key) or event.is_forwarded:
            await super().on_event(event)
        elif not self._replies.takes(event):
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
    async def _form_is_there(self, event: DescendantFocus) -> None:
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
        self.screen.set_focus(self.query_one(Sessions))

    def action_drop_filter(self) -> None:
        self.query_one(Filter).value = ""
        self.action_keep_filter()

    def action_sort(self) -> None:
        self._choose(self._choices.next_sort())

    def action_fold(self) -> None:
        self._choose(replace(self._choices, ended=not self._choices.ended))

    def _choose(self, choices: Choices) -> None:
        self._choices = choices
        remember(self._choices_file, choices)
        self._draw()

    def action_help(self) -> None:
        self.push_screen(Page(view.help_page()))

    def action_adopt(self) -> None:
        """Register the selected session if it is unregistered, else all that are."""
        unregistered = [one.name for one in self._seen.sessions if one.drift == UNREGISTERED]
        chosen = self.query_one(Sessions).chosen
        names = [chosen] if chosen is not None and chosen in unregistered else unregistered

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._ask(lambda: self._desk.adopt(names), self._told_of)

        if len(names) > 1:
            self.push_screen(Question(view.question("register", names)), answered)
        elif self._seen.failure is not None or names:  # without a registry nothing was searched
            answered(True)

    def action_new(self) -> None:
        def asked(wish: Wish | None) -> None:
            if wish is not None:
                work = self._desk.start
                self._ask(lambda: work(wish.name, wish.agent, wish.folder), self._told_of)

        self._ahead = []
        self._ask(self._desk.agents, lambda agents: self._ask_for_new(agents, asked), daemon=True)

    def _ask_for_new(self, agents: list[str], asked: Callable[[Wish | None], None]) -> None:
        folder = os.getcwd()  # noqa: PTH109 - a string for a field
        self.push_screen(New(agents, folder), asked)

    def _told_of(self, result: Result) -> None:
        self._said = view.summary(result)
        self._look()
        self._draw()

    def _show(self, seen: Seen, chosen: str | None) -> None:
        super()._show(seen, chosen)
        if self._mark_ahead:
            self.action_mark_all()

    def action_mark(self) -> None:
        table = self.query_one(Sessions)
        if table.chosen is not None:
            self._marked ^= {table.chosen}
            table.action_cursor_down()
            self._draw()

    def action_mark_all(self) -> None:
        """Mark all running sessions; if they already are, unmark them."""
        self._mark_ahead = not self._has_looked
        running = {
            one.name for one in self._sessions if not one.ended and one.drift != UNREGISTERED
        }
        self._marked = set() if running <= self._marked else running
        self._draw()

"""The popup's widgets, and an application that never blocks: its work runs in threads, and finishes
even if it loses its terminal. popup.tcss has the styles. Never calls a verb."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from operator import gt
from types import FrameType
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.coordinate import Coordinate
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Button, DataTable, Input, Static

from tmuxreap.core.errors import Exit


class Question(ModalScreen[bool]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes"),
        Binding("n,escape,q,ctrl+c", "dismiss(False)", "No"),
    ]

    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._text)
            with Horizontal():
                yield Button("y yes", id="yes", compact=True)
                yield Button("n no", id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class Sessions(DataTable[Text]):
    """The table of sessions. The cursor stays on its session when that moves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", show=False),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row")
        self.names: list[str] = []
        self._columns: Sequence[str] = ()
        self._widths: list[int] = []

    @property
    def chosen(self) -> str | None:
        if 0 <= self.cursor_row < len(self.names):
            return self.names[self.cursor_row]
        return None

    def show(
        self, columns: Sequence[str], names: list[str], rows: Sequence[Sequence[Text]]
    ) -> None:
        texts = zip(*([Text(name) for name in columns], *rows), strict=True)
        widths = [max(text.cell_len for text in column) for column in texts]
        if (names, columns) != (self.names, self._columns) or any(map(gt, widths, self._widths)):
            self._rebuild(columns, widths, names, rows)
            return
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                place = Coordinate(at, column)
                if self.get_cell_at(place) != cell:
                    self.update_cell_at(place, cell)

    def _rebuild(
        self,
        columns: Sequence[str],
        widths: list[int],
        names: list[str],
        rows: Sequence[Sequence[Text]],
    ) -> None:
        """Rebuild with our own widths: the toolkit computes its own only when idle, if at all."""
        chosen = self.chosen
        self.clear(columns=True)
        for name, width in zip(columns, widths, strict=True):
            self.add_column(name, width=width)
        self.add_rows(rows)
        self.names = names
        self._columns = columns
        self._widths = widths
        if chosen in names:
            self.move_cursor(row=names.index(chosen), animate=False)


class Filter(Input):
    """The filter, applied while it is typed. Escape clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.drop_filter", show=False),
        Binding("enter,down,up", "app.keep_filter", show=False),
    ]

    def __init__(self) -> None:
        hint = "filter: name, tag, agent, state"
        super().__init__(placeholder=hint, id="filter", compact=True, select_on_focus=False)
        self.display = False


class Page(ModalScreen[None]):
    """The help: closed by any key that does not scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter,ctrl+c", "dismiss"),
    ]

    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self._text)
            yield Static("q closes this page", classes="foot")


class FormField(Input):
    """A form field. The key that leads to it selects its content, in `choosing`."""

    def __init__(self, name: str, value: str = "", hint: str = "") -> None:
        hint = hint or name
        super().__init__(value, placeholder=hint, select_on_focus=False, id=name, compact=True)


class New(ModalScreen[tuple[str, str, str] | None]):
    """The form for a new session: its name, agent and folder."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "dismiss")]

    def __init__(self, agents: Sequence[str], folder: str) -> None:
        super().__init__()
        self._agents = agents
        self._folder = folder

    def compose(self) -> ComposeResult:
        known = ", ".join(self._agents) or "see tmuxreap agents"
        with Vertical():
            yield Static("start an agent  (Enter starts, Esc closes)", markup=False)
            agent = FormField("agent", next(iter(self._agents), ""), f"agent: {known}")
            agent.suggester = SuggestFromList(self._agents)
            yield from (FormField("name"), agent, FormField("folder", self._folder))

    @on(Input.Submitted)
    def submitted(self) -> None:
        fields = (self.query_one(f"#{field}", Input) for field in ("name", "agent", "folder"))
        name, agent, folder = (field.value.strip() for field in fields)
        if name:
            self.dismiss((name, agent, folder))
        else:
            self.query_one("#name").focus()


T = TypeVar("T")


class BackgroundApp(App[None]):
    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self._threads: list[threading.Thread] = []

    def _submit(
        self, work: Callable[[], T], deliver: Callable[[T], None], *, daemon: bool = False
    ) -> None:
        """Run work in a thread and pass its result to `deliver` here. The exit does not wait for a
        `daemon`."""

        def run_work() -> None:
            try:
                answer = work()
            except Exception as error:  # noqa: BLE001 - a bug: raised where it is visible
                self.call_later(_raise, error)
            else:  # not awaited: a closing popup may be waiting for this thread
                self.call_later(deliver, answer)

        thread = threading.Thread(target=run_work, daemon=daemon)
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()

    def finish_and_exit(self, number: int, frame: FrameType | None) -> None:
        """Finish running work in the background when the terminal goes away, perhaps through the
        very ending started here, then exit. Drawing may be stuck by now."""
        devnull = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(devnull, descriptor)
        threading.Thread(target=self._finish).start()

    def _finish(self) -> None:
        for thread in self._threads:
            if not thread.daemon:
                thread.join()
        os._exit(Exit.OK)


def _raise(error: Exception) -> None:
    raise error

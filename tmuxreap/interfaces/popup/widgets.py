"""The parts of the popup: its table, its question, and what comes from a thread. Their looks stand
in popup.tcss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.coordinate import Coordinate
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, DataTable, Static

from tmuxreap.core.model import Verb
from tmuxreap.core.values import frozen
from tmuxreap.interfaces.text.progress import Progress


@frozen
class Doing:
    """What is being done with a session."""

    word: str
    verb: Verb | None  # none: it is resumed
    progress: Progress


class Question(ModalScreen[bool]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q,ctrl+c", "answer(False)", "No"),
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

    def action_answer(self, agreed: bool) -> None:
        self.dismiss(agreed)


class Answered(Message):
    """What a thread has to tell. Posted, and not waited for: the popup may be closing, and waiting
    for the thread."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__()
        self.tell = tell


class Sessions(DataTable[Text]):
    """The table. The cursor stays on its session, wherever that goes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Jump"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row")
        self.names: list[str] = []
        self._columns: Sequence[str] = ()

    @property
    def chosen(self) -> str | None:
        return self.names[self.cursor_row] if 0 <= self.cursor_row < len(self.names) else None

    def show(
        self, columns: Sequence[str], names: list[str], rows: Sequence[Sequence[Text]]
    ) -> None:
        if (names, columns) != (self.names, self._columns):
            self._anew(columns, names, rows)
            return
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                place = Coordinate(at, column)
                if self.get_cell_at(place) != cell:
                    self.update_cell_at(place, cell, update_width=True)

    def _anew(
        self, columns: Sequence[str], names: list[str], rows: Sequence[Sequence[Text]]
    ) -> None:
        chosen = self.chosen
        self.clear(columns=True)
        self.add_columns(*columns)
        self.add_rows(rows)
        self.names, self._columns = names, columns
        if chosen in names:
            self.move_cursor(row=names.index(chosen), animate=False)

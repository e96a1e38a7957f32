"""A screenful that waits for nobody and leaves nothing half done: work goes on in threads, and
whoever closes it, or pulls its terminal away, lets what was begun finish first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from textual import on
from textual.app import App

from tmuxreap.core.errors import Exit
from tmuxreap.interfaces.popup.widgets import Answered

T = TypeVar("T")


class Patient(App[None]):
    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self._threads: list[threading.Thread] = []

    def _ask(
        self, work: Callable[[], T], tell: Callable[[T], None], *, daemon: bool = False
    ) -> None:
        """The work in a thread, and what comes of it here. `daemon`: nobody waits for it at the
        end."""

        def asked() -> None:
            try:
                answer = work()
            except Exception as error:  # noqa: BLE001 - a bug: told where it can be seen
                bug = error
                self.post_message(Answered(lambda: _raise(bug)))
            else:
                self.post_message(Answered(lambda: tell(answer)))

        thread = threading.Thread(target=asked, daemon=daemon)
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()

    @on(Answered)
    def _answered(self, answered: Answered) -> None:
        answered.tell()

    def cut_off(self, number: int, frame: FrameType | None) -> None:
        """The terminal is gone, or the popup is taken away, also by the very ending that it began.
        What draws may be stuck by now: what is under way is finished beside it, and that is the
        end."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        threading.Thread(target=self._finish).start()

    def _finish(self) -> None:
        for thread in self._threads:
            if not thread.daemon:
                thread.join()
        os._exit(Exit.OK)


def _raise(error: Exception) -> None:
    raise error

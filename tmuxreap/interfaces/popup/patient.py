"""An application that never blocks and leaves nothing half done: work runs in threads, and finishes
first even if the popup is closed or loses its terminal."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from textual.app import App

from tmuxreap.core.errors import Exit

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

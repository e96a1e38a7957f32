"""The popup through its pilot: a desk for tests, keys pressed, and what is on the screen."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence

from textual.pilot import Pilot
from textual.widgets import Static

from tests.fakes import Story
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.interfaces.popup.actions import Client, Desk
from tmuxreap.interfaces.popup.app import Popup
from tmuxreap.interfaces.text.progress import ProgressText

LARGE, SMALL = (120, 40), (40, 12)
PATIENCE_S = 60.0


class Held(Desk):
    """A desk whose endings wait for the test."""

    def __init__(self, story: Story) -> None:
        super().__init__(story.app, Client(story.SOCKET, "/dev/pts/1"))
        self.may_end = threading.Event()
        self.may_end.set()
        self.ended: list[tuple[EndVerb | None, tuple[str, ...]]] = []

    def end(
        self, host: str, verb: EndVerb | None, names: Sequence[str], progress: ProgressText
    ) -> Result:
        self.may_end.wait(PATIENCE_S)
        self.ended.append((verb, tuple(names)))
        return super().end(host, verb, names, progress)


Play = Callable[["Pilot[None]", Popup], Awaitable[None]]


def played(desk: Desk, play: Play, size: tuple[int, int] = LARGE) -> None:
    async def run() -> None:
        popup = Popup(desk)
        async with popup.run_test(size=size) as pilot:
            await until(pilot, lambda: popup._seen.sessions or popup._seen.failure)
            await play(pilot, popup)
            for thread in popup._threads:
                await asyncio.to_thread(thread.join)

    asyncio.run(run())


async def until(pilot: Pilot[None], found: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < deadline
        await pilot.pause(0.01)


def rows(popup: Popup) -> list[str]:
    table = popup._table
    return [
        " ".join(str(cell) for cell in table.get_row_at(at)).strip()
        for at in range(table.row_count)
    ]


def text(popup: Popup, where: str) -> str:
    return str(popup.query_one(where, Static).content)


def cells(popup: Popup) -> str:
    """Return every cell of the screen, as on a terminal."""
    return "\n".join(
        "".join(segment.text for segment in line)
        for line in popup.screen._compositor.render_strips()
    )

"""Keys that come faster than the popup: text is no command, and nothing is lost or reordered."""

from __future__ import annotations

import asyncio
import threading

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from tests.fakes import Story
from tests.interfaces.popup.pilots import (
    LARGE,
    PATIENCE_S,
    Held,
    played,
    until,
)
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.interfaces.popup.actions import Client, Desk, Snapshot
from tmuxreap.interfaces.popup.app import Popup


async def burst(pilot: Pilot[None], popup: Popup, *pressed: str) -> None:
    """Send keys all at once, like type-ahead on a busy machine."""
    for key in pressed:
        character = {"slash": "/"}.get(key, key if len(key) == 1 else None)
        popup.post_message(Key(key, character))
    await pilot.pause()


@pytest.mark.parametrize("first", ["slash", "n"])
def test_text_typed_ahead_is_not_read_as_a_command(story: Story, first: str) -> None:
    story.agent("acme")
    desk = Held(story)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup._table.names == ["acme"])
        await burst(pilot, popup, first, "x", "s", "r", "a")
        await until(pilot, lambda: isinstance(popup.focused, Input))

    played(desk, play)
    assert desk.ended == []
    assert story.row("acme")["status"] == "running"


def test_keys_typed_ahead_arrive_in_order(story: Story) -> None:
    """A correction must not arrive after what is typed next."""
    story.agent("acme")
    story.agent("shop")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup._table.names == ["acme", "shop"])
        await burst(pilot, popup, "slash", *"acme", "enter")
        await until(pilot, lambda: popup._table.names == ["acme"])
        await burst(pilot, popup, "slash", *["backspace"] * 4, *"shx", "backspace", *"op", "enter")
        await until(pilot, lambda: popup._table.names == ["shop"])
        assert popup.focused is popup._table

    played(Desk(story.app), play)


def test_a_key_after_the_filter_acts_on_what_the_filter_leaves(story: Story) -> None:
    for name in ("acme", "docs", "shop"):
        story.agent(name)
    desk = Held(story)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup._table.names == ["acme", "docs", "shop"])
        await burst(pilot, popup, "slash", *"shop", "enter", "s")
        await until(pilot, lambda: desk.ended)

    played(desk, play)
    assert desk.ended == [(EndVerb.STOP, ("shop",))]


def test_a_form_is_filled_ahead(story: Story) -> None:
    asked: list[tuple[str, str, str]] = []

    class Starts(Held):
        def agents(self) -> list[str]:
            return ["demo"]

        def start(self, name: str, agent: str, folder: str) -> Result:
            asked.append((name, agent, folder))
            return super().start("", "", "/nope")

    story.agent("acme")
    desk = Starts(story)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup._table.names == ["acme"])
        await burst(pilot, popup, "n", *"xys", "backspace", "tab", *"pi", "tab", *"/srv", "enter")
        await until(pilot, lambda: asked)

    played(desk, play)
    assert asked == [("xy", "pi", "/srv")]
    assert desk.ended == []


class Slow(Desk):
    """One whose looks wait for the test."""

    may_look = threading.Event()

    def look(self, chosen: str | None) -> Snapshot:
        self.may_look.wait(PATIENCE_S)
        return super().look(chosen)


def test_mark_all_marks_the_rows_seen_after_the_key(story: Story) -> None:
    """Otherwise a following stop would only apply to the selected one."""
    story.agent("acme")
    story.agent("shop")

    async def run() -> None:
        popup = Popup(Slow(story.app, Client(story.SOCKET, "/dev/pts/1")))
        async with popup.run_test(size=LARGE) as pilot:
            await pilot.press("a")
            popup._desk.may_look.set()  # type: ignore[attr-defined]
            await until(pilot, lambda: popup._selected_names() == ["acme", "shop"])

    asyncio.run(run())


def test_a_late_reply_of_the_terminal_is_not_read_as_a_command(story: Story) -> None:
    """`tmux` contains an x, and a version an a: the program that had asked was gone by then."""
    story.agent("acme")
    desk = Held(story)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup._table.names == ["acme"])
        for key in XTermParser().feed("\x1bP>|tmux 3.3a\x1b\\"):
            popup.post_message(key)
        await pilot.press("j")

    played(desk, play)
    assert desk.ended == []

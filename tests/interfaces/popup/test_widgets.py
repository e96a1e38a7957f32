"""The popup's table: the cursor follows its session."""

from __future__ import annotations

import asyncio

from rich.text import Text
from textual.app import App, ComposeResult

from tmuxreap.interfaces.popup.widgets import Question, Sessions


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Sessions()


def rows(*names: str) -> list[list[Text]]:
    return [[Text(name)] for name in names]


def test_the_cursor_follows_its_session() -> None:
    async def play() -> None:
        async with Bare().run_test() as pilot:
            table = pilot.app.query_one(Sessions)
            assert table.chosen is None
            table.show(("NAME",), ["a", "b"], rows("a", "b"))
            table.move_cursor(row=1)
            table.show(("NAME",), ["c", "a", "b"], rows("c", "a", "b"))
            assert table.chosen == "b"
            table.show(("NAME",), ["c", "a", "b"], rows("c", "a", "changed"))
            assert str(table.get_row_at(2)[0]) == "changed"
            table.show(("NAME",), ["c"], rows("c"))
            assert table.chosen == "c"

    asyncio.run(play())


def test_a_question_is_answered_no_by_everything_but_a_yes() -> None:
    async def answered(key: str) -> bool | None:
        said: list[bool | None] = []
        async with Bare().run_test() as pilot:
            pilot.app.push_screen(Question(Text("stop 2 sessions?")), said.append)
            await pilot.pause()
            await pilot.press(key)
            await pilot.pause()
        return said[0] if said else None

    keys = {"y": True, "n": False, "escape": False, "q": False, "enter": False}
    assert {key: asyncio.run(answered(key)) for key in keys} == keys

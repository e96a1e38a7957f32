"""The popup through its pilot, on fakes: what it shows, what its keys do, and what a name cannot
make it do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.command_line import tmuxreap
from tests.fakes import Story
from tests.interfaces.popup.pilots import (
    SMALL,
    Held,
    Play,
    cells,
    played,
    rows,
    text,
    until,
)
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.interfaces.popup import view
from tmuxreap.interfaces.popup.actions import Client, Desk
from tmuxreap.interfaces.popup.app import Popup
from tmuxreap.interfaces.popup.view import COLUMNS
from tmuxreap.interfaces.popup.widgets import Question, Sessions


def test_the_popup_shows_the_sessions_and_the_chosen_screen(story: Story) -> None:
    story.agent("acme")
    story.agent("shop").pane.screen = "what shop shows\n> "

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("j")
        await until(pilot, lambda: "what shop shows" in text(popup, "#screen"))
        assert [row.split()[:2] for row in rows(popup)] == [["acme", "idle"], ["shop", "idle"]]
        assert "what shop shows" in cells(popup)

    played(Desk(story.app), play)


@pytest.mark.parametrize(
    ("key", "verb", "how"), [("s", EndVerb.STOP, "exit keys"), ("x", EndVerb.KILL, "SIGTERM")]
)
def test_one_key_ends_the_chosen_one_and_shows_the_receipt(
    story: Story, key: str, verb: EndVerb, how: str
) -> None:
    story.agent("acme")
    story.agent("shop")
    desk = Held(story)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press(key)
        await until(pilot, lambda: "acme" in popup._receipts)
        assert desk.ended == [(verb, ("acme",))]
        await until(
            pilot, lambda: rows(popup)[1].startswith("acme") and "stopped" in rows(popup)[1]
        )
        assert how in text(popup, "#told")
        assert "own exit keys" in text(popup, "#said") or "SIGTERM" in text(popup, "#said")

    played(desk, play)
    assert (story.row("acme")["status"], story.row("shop")["status"]) == ("stopped", "running")


def test_many_sessions_are_ended_only_after_a_question(story: Story) -> None:
    for name in ("acme", "shop", "web"):
        story.agent(name)
    desk = Held(story)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("space", "space", "s")
        await until(pilot, lambda: isinstance(popup.screen, Question))
        assert all(name in cells(popup) for name in ("stop 2 sessions?", "acme", "shop"))
        assert "web" not in cells(popup)
        await pilot.press("enter")  # the preselected answer is no
        await until(pilot, lambda: not isinstance(popup.screen, Question))
        assert desk.ended == []
        await pilot.press("s", "y")
        await until(pilot, lambda: len(popup._receipts) == 2)

    played(desk, play, SMALL)
    assert desk.ended == [(EndVerb.STOP, ("acme", "shop"))]
    assert story.row("web")["status"] == "running"


def test_work_in_progress_is_shown_and_closing_waits_for_it(story: Story) -> None:
    story.agent("acme")
    desk = Held(story)
    desk.may_end.clear()

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("s")
        await until(pilot, lambda: "stopping" in rows(popup)[0])
        await pilot.press("s", "q")
        assert "in progress" in text(popup, "#said")
        assert popup.is_running
        desk.may_end.set()
        await until(pilot, lambda: not popup.is_running)

    played(desk, play)
    assert desk.ended == [(EndVerb.STOP, ("acme",))]
    assert story.row()["status"] == "stopped"


def test_a_failure_is_printed_in_place_with_a_hint(story: Story) -> None:
    story.agent("acme")
    story.tmux.split(story.SOCKET, story.tmux.servers[story.SOCKET].sessions[0], "vim")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("s")
        await until(pilot, lambda: "acme" in popup._receipts)
        assert "could not stop acme" in text(popup, "#said")
        assert "hint: " in text(popup, "#told")
        assert "--whole-session" in text(popup, "#told")

    played(Desk(story.app), play)
    assert story.row()["status"] == "running"


def test_no_registry_is_reported_with_a_hint(story: Story) -> None:
    story.path.unlink()

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "could not" in text(popup, "#said"))
        assert "tmuxreap start NAME" in text(popup, "#said")

    played(Desk(story.app), play, SMALL)


def test_an_empty_registry_shows_the_next_step(story: Story) -> None:
    async def play(pilot: Pilot[None], popup: Popup) -> None:
        assert "tmuxreap start NAME" in text(popup, "#said")

    asyncio.run(_empty(Desk(story.app), play))


async def _empty(desk: Desk, play: Play) -> None:
    popup = Popup(desk)
    async with popup.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: not popup._looking)
        await play(pilot, popup)


@pytest.mark.parametrize("name", ["[bold red]x[/]", "\x1b[31mred", "a\nb", "[@click=app.quit]q[/]"])
def test_a_name_is_drawn_as_plain_text(story: Story, name: str) -> None:
    story.agent("acme")
    story.path.write_text(
        story.path.read_text().replace('"name": "acme"', f'"name": {json.dumps(name)}')
    )
    story.agents["acme"].pane.screen = "\x1b]0;title\x07[bold]screen[/]"

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("s")
        await until(pilot, lambda: popup._receipts)
        await until(pilot, lambda: "[bold]screen[/]" in cells(popup))
        shown = cells(popup)
        assert "\x1b" not in shown
        plain = {"\x1b[31mred": "\\x1b[31mred", "a\nb": "a\\nb"}.get(name, name)
        assert plain in shown

    played(Desk(story.app), play)


def test_a_row_that_is_called_all_ends_nothing_else(story: Story) -> None:
    story.agent("acme")
    story.agent("other")
    story.path.write_text(story.path.read_text().replace('"name": "other"', '"name": "all"'))

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("j", "s")
        await until(pilot, lambda: "means more than that session" in text(popup, "#said"))

    played(Desk(story.app), play)
    assert story.row("acme")["status"] == "running"


def test_in_a_small_window_the_screen_is_a_key_away(story: Story) -> None:
    story.agent("acme").pane.screen = "what acme shows"

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup._seen.screen)
        assert "what acme shows" not in cells(popup)
        assert "acme" in cells(popup)
        await pilot.press("v")
        await until(pilot, lambda: "what acme shows" in cells(popup))

    played(Desk(story.app), play, SMALL)


@pytest.mark.parametrize("size", [(80, 24), (150, 28), (200, 28)])
def test_an_ending_under_a_filter_shows_its_receipt_beside_the_sum_line(
    story: Story, size: tuple[int, int]
) -> None:
    story.agent("acme")
    story.agent("shop").pane.screen = "what shop shows"

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "2 sessions, 2 alive" in cells(popup))
        await pilot.press("slash", "s", "h", "enter")
        await until(pilot, lambda: "1 of 2 match 'sh'" in cells(popup))
        await until(pilot, lambda: "what shop shows" in cells(popup))
        await pilot.press("s")
        await until(pilot, lambda: "memory freed" in cells(popup))
        assert "shop: stopped" in text(popup, "#said")
        await until(pilot, lambda: rows(popup)[0].startswith("shop stopped"))

    played(Desk(story.app), play, size)


def test_a_click_chooses_and_a_second_one_jumps(story: Story) -> None:
    story.agent("acme")
    shop = story.agent("shop")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.click("Sessions", offset=(6, 2))
        await until(pilot, lambda: popup._chosen == "shop")
        assert not any(command[0] == "if-shell" for command in story.told())
        await pilot.click("Sessions", offset=(6, 2))
        await until(pilot, lambda: not popup.is_running)

    played(Held(story), play)
    jump = story.told()[-1]
    assert jump[:3] == ("if-shell", "-F", "-t")
    assert jump[3] == shop.pane.now.id
    assert "switch-client" in jump[-1]
    assert "session_created" in jump[-2]


def test_a_line_that_is_too_long_is_cut_and_the_end_of_the_screen_is_shown(story: Story) -> None:
    lines = [f"{number} " + "x" * 300 for number in range(40)]
    story.agent("acme").pane.screen = "\n".join([*lines, "> the prompt"])

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "> the prompt" in cells(popup))
        assert "39 xxx" in cells(popup)
        assert "38 xxx" in cells(popup)

    played(Desk(story.app), play)


def test_a_jump_to_another_server_says_how(story: Story) -> None:
    story.agent("acme")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: "another tmux server" in text(popup, "#said"))
        assert f"tmux -S {story.SOCKET} attach" in text(popup, "#said")

    played(Desk(story.app, Client("/tmp/other", None)), play)


def test_a_bug_is_not_kept_quiet(story: Story) -> None:
    story.agent("acme")

    class Broken(Desk):
        def end(self, *_: object) -> Result:
            raise ZeroDivisionError("as if")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("r")
        await until(pilot, lambda: not popup.is_running)

    with pytest.raises(ZeroDivisionError):
        played(Broken(story.app), play)


def test_without_a_terminal_the_popup_says_what_to_use(story: Story) -> None:
    answer = tmuxreap("popup", "--registry", str(story.path))
    assert answer.exit == 2
    assert "could not open the popup: standard input is not a terminal" in answer.err
    assert "tmuxreap list --json" in answer.err


def test_an_answer_after_the_table_is_gone_is_dropped(story: Story) -> None:
    story.agent("acme")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: popup.query_one(Sessions).names == ["acme"])
        seen = popup._seen
        await popup.query_one(Sessions).remove()
        popup._show(seen, None)

    played(Desk(story.app), play)


def test_columns_follow_the_width_and_the_way_out_is_always_shown(story: Story) -> None:
    story.agent("a-session-with-a-name-that-is-rather-long")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "a-sess" in cells(popup))
        await until(pilot, lambda: "q Close" in cells(popup))
        head = cells(popup).split("\n")[0]
        seen.append([name for name in COLUMNS[1:-1] if name in head])
        assert "idle" in cells(popup)

    for size, columns in (
        ((106, 32), ["NAME", "STATE", "IDLE", "MEMORY", "AGENT"]),  # a popup over 120x40
        ((72, 19), ["NAME", "STATE", "IDLE", "MEMORY", "AGENT"]),  # over 80x24
        ((40, 12), ["NAME", "STATE"]),
        ((36, 9), ["NAME", "STATE"]),  # over 40x12
    ):
        seen: list[list[str]] = []
        played(Desk(story.app), play, size)
        assert seen == [columns]


def test_a_filter_is_typed_kept_and_dropped(story: Story) -> None:
    for name in ("acme", "shop", "docs"):
        story.agent(name)

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("slash", "s", "h")
        await until(pilot, lambda: len(rows(popup)) == 1)
        assert rows(popup)[0].startswith("shop")
        await pilot.press("enter")
        assert popup.focused is popup._table
        await pilot.press("slash", "escape")
        await until(pilot, lambda: len(rows(popup)) == 3)
        assert popup.is_running
        assert story.row("shop")["status"] == "running"  # the letters were not commands

    played(Desk(story.app), play)


def test_ended_sessions_are_folded_away_until_they_are_asked_for(story: Story) -> None:
    story.agent("acme")
    with story.path.open("a") as file:
        file.write("  - {name: old, status: stopped, agent: demo}\n")

    class Kept(Desk):
        def choices_file(self) -> Path:
            return story.folder / "state" / "popup.json"

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "1 ended" in text(popup, "#folded"))
        assert len(rows(popup)) == 1
        await pilot.press("e")
        await until(pilot, lambda: len(rows(popup)) == 2)

    played(Kept(story.app), play)

    async def again(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: len(rows(popup)) == 2)  # as it was left
        await pilot.press("e")
        await until(pilot, lambda: len(rows(popup)) == 1)

    played(Kept(story.app), again)


def test_the_help_opens_and_closes_in_the_smallest_window(story: Story) -> None:
    story.agent("acme")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("question_mark")
        await until(pilot, lambda: "choose" in cells(popup))
        await pilot.press("q")
        await until(pilot, lambda: "NAME" in cells(popup))
        assert popup.is_running

    played(Desk(story.app), play, SMALL)


def test_a_row_that_is_not_true_says_why(story: Story) -> None:
    story.agent("acme", status="stopped")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "revived" in text(popup, "#why"))
        assert "a session of that name is alive" in text(popup, "#why")
        assert "tmuxreap adopt acme" in text(popup, "#why")

    played(Desk(story.app), play)


def test_an_agent_without_a_row_is_shown_and_registered_by_a_key(story: Story) -> None:
    story.agent("acme")
    story.agent("shop")
    row_of_shop = story.path.read_text().splitlines(keepends=True)
    story.path.write_text("".join(line for line in row_of_shop if '"shop"' not in line))

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: any("unregistered" in row for row in rows(popup)))
        await pilot.press("plus")
        await until(pilot, lambda: "shop" in story.path.read_text())
        await until(pilot, lambda: not any("unregistered" in row for row in rows(popup)))

    played(Desk(story.app), play)
    assert story.row("shop")["status"] == "running"


def test_a_new_session_is_asked_for_and_started(story: Story) -> None:
    story.agent("acme")
    asked: list[tuple[str, str, str]] = []

    class Starts(Desk):
        def agents(self) -> list[str]:
            return ["demo"]

        def start(self, name: str, agent: str, folder: str) -> Result:
            asked.append((name, agent, folder))
            return super().start(name, "", "/nope")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("n")
        await until(pilot, lambda: "start an agent" in cells(popup))
        await pilot.press("enter")  # without a name nothing starts
        assert not asked
        await pilot.press("x", "s", "enter")
        await until(pilot, lambda: "could not start xs" in text(popup, "#said"))

    played(Starts(story.app), play)
    assert [one[:2] for one in asked] == [("xs", "demo")]


def test_a_part_of_many_sessions_is_shown_and_the_filter_finds_the_rest(story: Story) -> None:
    story.agent("acme")
    with story.path.open("a") as file:
        for number in range(view.MOST_ROWS + 50):
            file.write(f"  - {{name: old-{number}, status: stopped, agent: demo}}\n")

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("e")
        await until(pilot, lambda: len(rows(popup)) == view.MOST_ROWS)
        await until(pilot, lambda: "the first" in text(popup, "#folded"))
        await pilot.press("slash", *"old-99", "enter")
        await until(pilot, lambda: popup._table.names == ["old-99"])

    played(Desk(story.app), play)

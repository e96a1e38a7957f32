"""Sessions of other hosts in the popup: one that hangs holds up none."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from textual.pilot import Pilot

from tests.fakes import Story
from tests.interfaces.popup.pilots import (
    PATIENCE_S,
    SMALL,
    Held,
    cells,
    played,
    rows,
    text,
    until,
)
from tests.interfaces.text.test_report import SHOP
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import RemoteResult, Result
from tmuxreap.core.values import replace
from tmuxreap.interfaces.popup.actions import HostAnswer
from tmuxreap.interfaces.popup.app import Popup
from tmuxreap.interfaces.popup.view import load_choices
from tmuxreap.interfaces.text.progress import ProgressText


class Hosted(Held):
    """A desk with other hosts and their successive answers; without one a host does not answer."""

    def __init__(self, story: Story, **told: list[HostAnswer]) -> None:
        super().__init__(story)
        self.told = told
        self.may_answer = threading.Event()
        self.ended_there: list[tuple[EndVerb | None, tuple[str, ...]]] = []
        self.choices = story.folder / "state" / "popup.json"

    def choices_file(self) -> Path:
        return self.choices

    def hosts(self) -> tuple[str, ...]:
        return tuple(self.told)

    def look_at_host(self, host: str, before: HostAnswer) -> HostAnswer:
        if not self.told[host]:
            self.may_answer.wait(PATIENCE_S)
            return before
        return self.told[host].pop(0) if len(self.told[host]) > 1 else self.told[host][0]

    def remote_screen(self, target: str) -> str:
        return f"what {target} shows"

    def end(
        self, host: str, verb: EndVerb | None, names: Sequence[str], progress: ProgressText
    ) -> Result:
        if not host:
            return super().end(host, verb, names, progress)
        self.ended_there.append((verb, tuple(names)))
        parted = [(one, *one.split("@")) for one in names]
        far = [
            RemoteResult(name, host, {"outcome": "stopped"}, (f"{one}: stopped",))
            for one, name, host in parted
        ]
        return Result("stop", None, 0.0, far)


def there(*names: str) -> HostAnswer:
    return HostAnswer(tuple(replace(SHOP, name=name, state="idle") for name in names))


def test_other_hosts_are_shown_after_a_key_and_a_hanging_one_delays_none(story: Story) -> None:
    story.agent("acme")
    desk = Hosted(story, gpu=[there("web@gpu")], dead=[])

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        assert "HOST" not in cells(popup)
        await pilot.press("h")
        await until(pilot, lambda: popup._table.names == ["acme", "web@gpu"])
        assert "HOST" in cells(popup)
        assert [row.split()[:2] for row in rows(popup)] == [["acme", "-"], ["web", "gpu"]]
        assert "asking 1 host ..." in text(popup, "#folded")
        await pilot.press("j")
        await until(pilot, lambda: "what web@gpu shows" in cells(popup))
        await pilot.press("h")
        await until(pilot, lambda: popup._table.names == ["acme"])
        assert "HOST" not in cells(popup)
        await pilot.press("h")
        await until(pilot, lambda: "web@gpu" in popup._table.names)
        desk.may_answer.set()

    played(desk, play)
    assert load_choices(desk.choices).hosts

    async def again(pilot: Pilot[None], popup: Popup) -> None:
        await until(pilot, lambda: "web@gpu" in popup._table.names)  # as it was left

    played(desk, again, SMALL)


def test_in_a_small_window_the_name_says_the_host(story: Story) -> None:
    story.agent("acme")
    desk = Hosted(story, gpu=[there("web@gpu")])

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("h")
        await until(pilot, lambda: any(row.startswith("web@gpu") for row in rows(popup)))

    played(desk, play, SMALL)


def test_an_ending_goes_to_each_host_by_itself_with_its_receipt(story: Story) -> None:
    story.agent("acme")
    desk = Hosted(story, gpu=[there("web@gpu", "api@gpu")], dev=[there("web@dev")])

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("h")
        await until(pilot, lambda: len(rows(popup)) == 4)
        await pilot.press("a", "s", "y")
        await until(pilot, lambda: len(popup._receipts) == 4)
        assert str(popup._receipts["web@gpu"]) == "web@gpu: stopped"

    played(desk, play)
    assert desk.ended == [(EndVerb.STOP, ("acme",))]
    assert sorted(desk.ended_there, key=str) == [
        (EndVerb.STOP, ("api@gpu", "web@gpu")),
        (EndVerb.STOP, ("web@dev",)),
    ]


def test_a_failure_of_a_host_is_reported_below_the_table(story: Story) -> None:
    story.agent("acme")
    down = Failure(Code.HOST_UNREACHABLE, "could not reach gpu: no route")
    desk = Hosted(story, gpu=[HostAnswer((), down)])

    async def play(pilot: Pilot[None], popup: Popup) -> None:
        await pilot.press("h")
        await until(pilot, lambda: "reach gpu: no route" in text(popup, "#folded"))
        assert rows(popup)

    played(desk, play)

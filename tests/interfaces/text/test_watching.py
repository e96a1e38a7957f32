"""The output of `watch`, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Story
from tmuxreap.core.answers import Change
from tmuxreap.core.text import Style
from tmuxreap.interfaces.text import watching


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


@pytest.mark.parametrize(
    ("name", "facts", "line"),
    [
        (
            "acme",
            {
                "event": "dead",
                "evidence": "there is\nno session",
                "settled": True,
                "cause": "SIGKILL",
            },
            "T  acme  dead: there is\\nno session (SIGKILL); recorded",
        ),
        (
            "b",
            {"event": "revived", "evidence": "e", "hint": "do it"},
            "T  b  revived: e; hint: do it",
        ),
        (
            "",
            {"event": "ledger", "evidence": "e", "settled": True},
            "T  the ledger  ledger: e; recorded",
        ),
        (
            "",
            {
                "event": "mass_death",
                "names": tuple("abcdef"),
                "count": 6,
                "evidence": "6 sessions died",
                "settled": True,
            },
            "T  a, b, c, d, e, ...  mass_death: 6 sessions died; recorded",
        ),
        (
            "",
            {"event": "registry_invalid", "evidence": "e", "registry": "/r.yaml", "hint": "h"},
            "T  the registry /r.yaml  registry_invalid: e; hint: h",
        ),
        (
            "c",
            {"event": "reaped", "verdict": "idle", "outcome": "stopped"},
            "T  c  reaped: idle: stopped",
        ),
        (
            "",
            {"event": "dropped", "count": 7},
            "T  7 events were dropped: their reader was too slow",
        ),
    ],
)
def test_an_event_is_one_line_with_time_and_cause(
    name: str, facts: dict[str, Any], line: str
) -> None:
    style = Style(json=False)
    assert watching.line(Change(name, timestamp="T", **facts), style) == line


def test_a_watch_begins_with_what_it_watches(story: Story) -> None:
    story.agent("one")
    story.agent("two", status="stopped")
    app = story.app()
    assert watching.greeting(app) == f"watching 1 running of 2 sessions in {story.path}"
    story.path.write_text("{ not yaml")
    assert watching.greeting(app).startswith(f"watching {story.path}, which cannot be read yet: ")

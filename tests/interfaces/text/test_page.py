"""The report as a page: masked, escaped, without scripts, and readable in a real browser."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tmuxreap.core.answers import Freed, Reported, Span
from tmuxreap.interfaces.text.page import page
from tmuxreap.interfaces.text.receipt import end_of, size, times_of

SINCE, UNTIL = "2026-11-19T08:00:00Z", "2026-11-19T18:00:00Z"
REGISTRY = "/srv/fleet/.hermes/agent-sessions.yaml"
FREED = Freed(SINCE, UNTIL, 14, 61, 9420.8, 0)
EVIL = "<script>alert(1)</script> \x1b[31m AKIAIOSFODNN7EXAMPLE"
API = Reported(
    "api",
    agent="claude",
    ended_at="2026-11-19T17:00:00Z",
    stopped_by="exit_keys",
    stop_reason="evening",
    ended_by="ann (cli)",
    processes=4,
    freed_mb=812.5,
    working_s=3 * 3600,
    idle_s=6 * 3600,
    spans=(
        Span("working", SINCE, "2026-11-19T11:00:00Z", 3 * 3600.0),
        Span("idle", "2026-11-19T11:00:00Z", "2026-11-19T17:00:00Z", 6 * 3600.0),
    ),
)
WIDTHS = (400, 800, 1280)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href")]


def test_each_session_has_a_bar_with_its_states_and_its_end() -> None:
    text = page([API], FREED, REGISTRY)
    assert re.findall(r'<i class="(\w+)" style="left', text) == ["working", "idle", "end"]
    assert "left:0.00%;width:30.00%" in text
    assert "left:30.00%;width:60.00%" in text
    assert "<b>14</b><span>sessions ended</span>" in text
    assert "<b>9.2 GB</b>" in text


def test_the_page_names_its_registry() -> None:
    assert f"<p>Registry: {REGISTRY}</p>" in page([API], FREED, REGISTRY)
    assert "<b>" not in page([], FREED, "/tmp/<b>.yaml").partition('class="sum"')[0]


def test_the_bars_begin_with_the_first_thing_that_is_seen() -> None:
    noon, one = "2026-11-19T12:00:00Z", "2026-11-19T15:00:00Z"
    late = Reported("late", spans=(Span("working", noon, one, 3 * 3600.0),))
    text = page([late], FREED, REGISTRY)
    assert "left:0.00%;width:50.00%" in text
    assert f"<p>{SINCE} to {UNTIL}</p>" in text
    assert f'<div class="times"><span>{noon}</span>' in text


def test_words_of_users_are_only_text_on_the_page() -> None:
    evil = Reported(EVIL, agent=EVIL, stop_reason=EVIL, ended_at=UNTIL, spans=API.spans)
    text = page([evil], FREED, REGISTRY)
    found = Tags(text)
    assert "script" not in found.tags
    assert found.links == []
    assert "AKIA" not in text
    assert "\x1b" not in text


def test_a_report_without_sessions_says_so() -> None:
    assert "No session ran in this time." in page([], FREED, REGISTRY)


def test_a_page_prints_times_ends_and_sizes_in_words() -> None:
    assert times_of(API) == "working 3h, idle 6h"
    assert end_of(API) == (
        "ended 2026-11-19T17:00:00Z: exited on its own exit keys, evening, by ann (cli),"
        " 4 processes, 812.5 MB"
    )
    assert size(1536) == "1.5 GB"


@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_a_browser_shows_it_at_each_width_without_scrolling_sideways(tmp_path: Path) -> None:
    assert BROWSER is not None
    text = html.escape(page([API] * 5, FREED, REGISTRY))
    frames = "".join(
        f'<iframe width="{width}" height="3000" frameborder="0" srcdoc="{text}"></iframe>'
        for width in WIDTHS
    )
    # Asks the browser itself how wide each became; the page of ours has no script.
    probe = (
        "<script>onload = () => document.title = [...document.querySelectorAll('iframe')]"
        ".map(one => one.contentDocument).map(one => one.documentElement.scrollWidth"
        "+' '+one.querySelectorAll('.bar i').length)</script>"
    )
    file = tmp_path / "report.html"
    file.write_text(f"<title></title>{frames}{probe}")
    words = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri()),
    ]
    told = subprocess.run(words, capture_output=True, text=True, timeout=90, check=True).stdout
    title = re.search(r"<title>(.*?)</title>", told)
    assert title is not None
    assert title[1] == ",".join(f"{width} 15" for width in WIDTHS)

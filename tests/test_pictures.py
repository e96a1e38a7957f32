"""The pictures show the program's current output: its words, not its bytes. scripts/pictures
regenerates them."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands import list as listing
from tmuxreap.core.model import StoppedBy
from tmuxreap.core.text import Style
from tmuxreap.interfaces.popup.view import COLUMNS, fitting
from tmuxreap.interfaces.text.receipt import WAYS
from tmuxreap.interfaces.text.report import lines

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
POPUP_CELLS = 91  # of the popup over a terminal of 104


def seen(name: str) -> str:
    svg = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]+>", "", svg)).replace("\xa0", " ")


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_the_receipt_has_the_words_of_a_receipt(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.agent("shop")
    app = story.app()
    listed = next(iter(lines(listing.run(app, listing.ListRequest()), Style())))
    told = [*lines(story.stop("shop"), Style())]
    story.close()
    shown = squeezed(seen("receipt"))
    assert all(word in shown for word in listed.split() if word != "TAGS")
    assert squeezed(told[0].partition(", ")[2].rpartition(",")[0]) in shown
    labels = [re.split(r"\s{2,}", line.strip())[0] for line in told[1:]]
    assert {"step", "conversation", "resume"} <= set(labels)
    assert [label for label in labels if squeezed(label) not in shown] == []


def test_the_popup_has_the_words_of_the_popup() -> None:
    words = [key.word for key in fitting(POPUP_CELLS)]
    assert len(words) >= 8
    for name, absent in (("popup", "HOST"), ("popup-hosts", "TAGS")):
        shown = squeezed(seen(name))
        columns = [column for column in COLUMNS if column != absent]
        assert [word for word in (*words, *columns) if word not in shown] == []


def test_the_film_shows_the_ladder_a_survivor_and_a_kept_draft() -> None:
    shown = squeezed(seen("film"))
    for typed in ("adopt --all", "stop all", "resume api"):
        assert squeezed(f"tmuxreap {typed}") in shown
    assert squeezed("3 registered") in shown
    for agent in ("claude", "codex", "gemini"):
        assert squeezed(f"running, alive ({agent}, ") in shown
    assert squeezed("tmux kill-session -t web") in shown
    assert squeezed("gemini running gone (survivors)") in shown
    for line in (
        "draft kept 'and one for the lock'",
        "exit keys: no exit within",
        "hangup: no exit within",
        "SIGKILL worked after",
        "also ended dev-server",
        "3 ended (",
    ):
        assert squeezed(line) in shown
    for way in (StoppedBy.EXIT_KEYS, StoppedBy.SIGKILL):
        assert squeezed(WAYS[way]) in shown


@pytest.mark.parametrize(("name", "most_bytes"), [("film", 500_000), ("background-film", 300_000)])
def test_a_film_is_short_and_loads_nothing(name: str, most_bytes: int) -> None:
    svg = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert len(svg) < most_bytes
    assert 15 < float(re.findall(r'dur="([\d.]+)s"', svg)[0]) < 30
    assert "href" not in svg
    assert "<script" not in svg


def still_of(name: str) -> str:
    """Return what an animated picture shows before its first moment, as some viewers draw it."""
    svg = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    shown = re.sub(r'<g display="none">.*?</g>', "", svg, flags=re.DOTALL)
    return squeezed(html.unescape(re.sub(r"<[^>]+>", "", shown)).replace("\xa0", " "))


def test_the_film_of_a_daemon_shows_its_session_stopped_and_still_gone() -> None:
    still = still_of("background-film")
    for line in ("alive (moved)", f"api: stopped, {WAYS[StoppedBy.DAEMON]}", "$ claude agents"):
        assert squeezed(line) in still
    later = still.partition(squeezed("# two minutes later"))[2]
    assert squeezed("api claude stopped gone") in later
    assert later.count("[]") == 1


def test_without_animation_the_film_shows_the_receipts() -> None:
    still = still_of("film")
    for line in ("api: stopped", "docs: stopped", "web: stopped", "draft kept", "3 ended ("):
        assert squeezed(line) in still
    assert squeezed("running, alive") not in still


@pytest.mark.parametrize("page", ["README.md", "docs/tmux.md"])
def test_each_picture_is_there_and_shows_nothing_from_elsewhere(page: str) -> None:
    told = re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert told
    for link in told:
        svg = ((ROOT / page).parent / link).read_text(encoding="utf-8")
        assert not re.search(r"url\([\"']?https?:|href=", svg)
        assert svg.startswith("<svg")


def test_a_browser_keeps_two_spaces() -> None:
    pictures = sorted(PICTURES.glob("*.svg"))
    assert pictures
    doubled = [
        f"{path.name}: {text}"
        for path in pictures
        for text in re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
        if "  " in text
    ]
    assert doubled == []


def test_a_word_in_reverse_video_is_drawn_on_a_box_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "00000000").write_text("\x1b[7mwaiting\x1b[0m and the rest\n", encoding="utf-8")
    film = [sys.executable, str(ROOT / "scripts" / "film.py"), str(tmp_path), "40", "1", "0", "x"]
    svg = subprocess.run(film, capture_output=True, text=True, check=True).stdout
    (box, word) = re.findall(r"(<rect [^>]*/>)(<text [^>]*>waiting</text>)", svg)[0]
    (ink,) = re.findall(r'fill="(#\w+)"', word)
    (behind,) = re.findall(r'fill="(#\w+)"', box)
    (ground,) = re.findall(r'<rect width="100%"[^>]* fill="(#\w+)"', svg)
    assert ink == ground
    assert behind != ground


def test_the_picture_of_a_daemon_shows_a_child_that_is_named_and_ended(tmp_path: Path) -> None:
    shown = seen("background")
    assert "children_running: it launched the background session 1a2b3c4d" in shown
    assert "api/1a2b3c4d: stopped, " in shown
    assert squeezed(WAYS[StoppedBy.DAEMON]) in squeezed(shown)

"""The pictures show the program's current output: its words, not its bytes. scripts/pictures
regenerates them."""

from __future__ import annotations

import html
import re
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


def test_the_film_shows_what_the_program_says_and_is_small() -> None:
    shown = squeezed(seen("film"))
    for word in ("tmuxreapstopall", "3sessions,3alive,1working,1waiting", "tmuxreapresumeapi"):
        assert word in shown
    assert squeezed("3 ended (3 by their exit keys)") in shown
    assert squeezed(WAYS[StoppedBy.EXIT_KEYS]) in shown
    svg = (PICTURES / "film.svg").read_text(encoding="utf-8")
    assert len(svg) < 500_000
    assert 9 < float(re.findall(r'dur="([\d.]+)s"', svg)[0]) < 16
    assert "href" not in svg
    assert "<script" not in svg


@pytest.mark.parametrize("page", ["README.md", "docs/tmux.md"])
def test_each_picture_is_there_and_shows_nothing_from_elsewhere(page: str) -> None:
    told = re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert told
    for link in told:
        svg = ((ROOT / page).parent / link).read_text(encoding="utf-8")
        assert not re.search(r"url\([\"']?https?:|href=", svg)
        assert svg.startswith("<svg")


def test_a_browser_makes_no_two_spaces_one() -> None:
    pictures = sorted(PICTURES.glob("*.svg"))
    assert pictures
    doubled = [
        f"{path.name}: {text}"
        for path in pictures
        for text in re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
        if "  " in text
    ]
    assert doubled == []


def test_nothing_in_the_film_has_the_colour_of_what_is_behind_it() -> None:
    """A word in reverse video has its own background box."""
    ground = re.escape('fill="#181820"')
    words = re.findall(rf"<text [^>]*{ground}[^>]*>", (PICTURES / "film.svg").read_text())
    boxed = re.findall(
        rf'<rect x="[^"]*" y="[^"]*" [^>]*/>(?=<text [^>]*{ground})',
        (PICTURES / "film.svg").read_text(),
    )
    assert words
    assert [box for box in boxed if 'fill="#181820"' in box] == []
    assert len(boxed) == len(words)

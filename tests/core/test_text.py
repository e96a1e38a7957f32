"""The width of text on a terminal, and the escaping of what a terminal would obey."""

from __future__ import annotations

import pytest

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId, RecordedPane
from tmuxreap.core.text import (
    cut,
    cut_middle,
    pad,
    plain,
    plain_value,
    visible,
    width,
    would_be_obeyed,
)

FULL = "日本語"  # two cells each
ACCENT = "cafe\u0301"  # the accent takes none


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("shop", 4),
        (FULL, 6),
        (ACCENT, 4),
        ("", 0),
        ("한글", 4),
        ("\u1112\u1161\u11ab", 2),
        ("👩\u200d💻", 4),
        ("ｱ", 1),
    ],
)
def test_the_width_is_that_of_the_terminal(text: str, cells: int) -> None:
    assert width(text) == cells
    assert width(pad(text, cells + 3)) == cells + 3


@pytest.mark.parametrize(
    ("text", "cells", "cut_to"),
    [
        ("shop", 4, "shop"),
        ("shopping", 5, "shop…"),
        (FULL, 5, "日本…"),
        (FULL, 4, "日…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_text_is_cut_between_characters(text: str, cells: int, cut_to: str) -> None:
    assert cut(text, cells) == cut_to
    assert width(cut(text, cells)) <= cells


def test_an_accent_stays_with_its_letter() -> None:
    assert cut(ACCENT + "s", 5) == ACCENT + "s"
    assert cut(ACCENT + "s und", 5) == ACCENT + "…"


def test_a_long_name_loses_its_middle() -> None:
    assert cut_middle("acme-feature-login-tests", 11) == "acme-…tests"
    assert cut_middle(FULL * 3, 7) == "日本…語"
    assert [width(cut_middle(FULL * 4, cells)) <= cells for cells in range(10)] == [True] * 10
    assert cut_middle("abcdef" + ACCENT, 4) == "ab…" + "e\u0301"


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("a\x9b31mb", "a\\x9b31mb"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("tag\u2028line", "tag\\u2028line"),
        ("half\ud800", "half\\ud800"),
        ("\x7f\x00", "\\x7f\\x00"),
    ],
)
def test_terminal_controls_are_stripped_from_text(hostile: str, shown: str) -> None:
    assert plain(hostile) == shown


@pytest.mark.parametrize("name", ["shop", FULL, ACCENT, "👩\u200d💻", "ñandú", "क\u094d\u200dष"])
def test_printable_names_are_kept_unchanged(name: str) -> None:
    assert plain(name) == name


def test_a_value_is_made_plain_to_its_depth() -> None:
    facts = {
        "why": ["\x1b[2J"],
        "screen": "a\n\x1bb",
        "id": ProcessId(1, 2),
        "pane": RecordedPane(cmd="\a"),
    }
    assert plain_value(facts) == {
        "why": ["\\x1b[2J"],
        "screen": "a\n\\x1bb",
        "id": ProcessId(1, 2),
        "pane": RecordedPane(cmd="\\x07"),
    }
    failure = Failure(Code.USAGE, "\x1b")  # told elsewhere
    assert plain_value(failure) is failure


def test_invisible_characters_are_not_compared() -> None:
    assert visible(" a\u200b b\n\u00a0c\ufe0f ") == "abc"


def test_a_prompt_may_contain_tabs_and_line_ends_but_no_other_control() -> None:
    assert not would_be_obeyed("one\n\ttwo \u00e9")
    assert would_be_obeyed("one\x1b[2J")

"""The popup's keys: one table, shown in the popup, in its help and in the page about tmux."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tmuxreap.interfaces.popup.app import Popup
from tmuxreap.interfaces.popup.view import KEYS, fitting, line

PAGE = Path(__file__).parents[3] / "docs" / "tmux.md"


@pytest.mark.parametrize("width", range(12, 200, 4))
def test_the_way_out_is_in_sight_at_every_width(width: int) -> None:
    told = re.sub(r"\[[^]]*\]", "", line(width))
    assert len(told) <= width
    assert "q Close" in told
    assert width < 24 or "? Help" in told


def test_a_wide_line_has_all_keys_in_their_order() -> None:
    assert fitting(300) == KEYS


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.word)
def test_each_key_does_something_and_is_on_the_page(key: object) -> None:
    name = key.action.partition("(")[0]  # type: ignore[attr-defined]
    assert callable(getattr(Popup, f"action_{name}"))
    shown = {"⏎": "Enter", "spc": "Space"}.get(key.shown, key.shown)  # type: ignore[attr-defined]
    assert f"`{shown}`" in PAGE.read_text(encoding="utf-8")

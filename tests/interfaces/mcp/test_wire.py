"""A line that the SDK would skip is repaired; all others are unchanged."""

from __future__ import annotations

import json

import pytest

from tmuxreap.interfaces.mcp.server import without_lone_surrogates


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"a\uDC00\ud83d\ude00\ud83d"', "a\ufffd\U0001f600\ufffd"),
        (r'"\\ud800 \\\ud800"', "\\ud800 \\\ufffd"),
        (r'"\u00e9\n\""', 'é\n"'),
    ],
)
def test_lone_surrogates_are_replaced(line: str, text: str) -> None:
    assert json.loads(without_lone_surrogates(line)) == text

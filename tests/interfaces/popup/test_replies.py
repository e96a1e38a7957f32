"""Terminal replies are told from typed keys, as the toolkit passes them on."""

from __future__ import annotations

import time

import pytest
from textual import constants
from textual._xterm_parser import XTermParser
from textual.events import Key

from tmuxreap.interfaces.popup.actions import BEGINS, LOST_S, Replies


def keys_of(text: str) -> list[Key]:
    """Return the keys as the toolkit parses them, at once or after a timeout."""
    parser = XTermParser()
    events = list(parser.feed(text))
    time.sleep(constants.ESCAPE_DELAY + 0.01)
    return [key for key in (*events, *parser.tick()) if isinstance(key, Key)]


def heard(*texts: str) -> list[str]:
    """Return the keys that remain of the terminal's input."""
    replies = Replies()
    keys = [key for text in texts for key in keys_of(text)]
    return [key.key for key in keys if not replies.is_part_of_reply(key) and key.key not in BEGINS]


@pytest.mark.parametrize(
    "reply",
    [
        "\x1bP>|tmux 3.3a\x1b\\",
        "\x1bP>|a terminal whose name is longer than others xxx sss\x1b\\",
        "\x1b[?62;4;22c",
        "\x1b[>84;0;0c",
        "\x1b]11;rgb:0000/aaaa/ssss\x1b\\",
        "\x1b]10;rgb:xxxx\x07",
    ],
)
def test_a_terminals_reply_is_not_read_as_a_key(reply: str) -> None:
    assert heard(reply, "jj") == ["j", "j"]
    assert heard(reply * 3, "x") == ["x"]


@pytest.mark.parametrize(
    "typed", ["x", "jjx", "^", "^x", "/^P", "[x", "]x", "\x1b[A", "\x1bOP", "\x1bx"]
)
def test_keys_that_a_person_types_are_heard(typed: str) -> None:
    keys, replies = keys_of(typed), Replies()
    for number, key in enumerate(keys):
        key.time = 10.0 + number * 0.1  # no user is faster
    kept = [key.key for key in keys if not replies.is_part_of_reply(key)]
    assert kept == [key.key for key in keys if key.key != "circumflex_accent"]


def test_an_unfinished_reply_blocks_keys_only_briefly() -> None:
    replies, keys = Replies(), [Key("circumflex_accent", "^"), Key("P", "P"), Key("x", "x")]
    for key, at in zip(keys, (1.0, 1.0, 1.0 + 2 * LOST_S), strict=True):
        key.time = at
    assert [replies.is_part_of_reply(key) for key in keys] == [True, True, False]

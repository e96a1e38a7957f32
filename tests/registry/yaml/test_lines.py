"""Where lines and values really end."""

from __future__ import annotations

import pytest

from tmuxreap.registry.yaml.scalars import (
    after_break,
    line_end,
    line_start,
    lines_before,
    newline_of,
    real_end,
    skip_gap,
)


def test_all_that_ends_a_line_in_yaml_ends_a_line() -> None:
    text = "a\r\nb\x85c\u2028d\n"
    assert [line_end(text, at) for at in (0, 3, 5, 7)] == [1, 4, 6, 8]
    assert [after_break(text, at) for at in (1, 4, 6, 8)] == [3, 5, 7, 9]
    assert (line_start(text, 6), line_start(text, 0)) == (5, 0)
    assert lines_before(text, len(text)) == 4


def test_a_break_that_is_not_there_moves_nothing() -> None:
    assert after_break("ab", 1) == 1


def test_a_gap_is_blanks_breaks_and_comments() -> None:
    text = "a  # c\n\n\t , b"
    assert text[skip_gap(text, 1)] == ","


@pytest.mark.parametrize(
    ("value", "end"),
    [
        ("|\n  one\n\n\n", "|\n  one"),
        ("|+\n  one\n\n\n", "|+\n  one\n\n"),
        (">2\n    one\n \n", ">2\n    one"),
        ("|\n  one\n     \n", "|\n  one\n     "),
    ],
)
def test_a_block_ends_with_its_content_unless_it_keeps_its_blank_lines(
    value: str, end: str
) -> None:
    assert value[: real_end(value, 0, len(value), value[0])] == end


def test_any_other_value_ends_where_the_loader_says() -> None:
    assert real_end("'x'  ", 0, 3, "'") == 3


@pytest.mark.parametrize(
    ("text", "newline"), [("a", "\n"), ("a\r\nb\n", "\r\n"), ("a\nb\r\n", "\n")]
)
def test_the_first_line_break_is_used_for_new_lines(text: str, newline: str) -> None:
    assert newline_of(text) == newline

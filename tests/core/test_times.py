from __future__ import annotations

import pytest

from tmuxreap.core.times import epoch_of, iso, parse_duration, short_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("0", 0),
        ("1.5", 1.5),
        (".5m", 30),
        ("15m", 900),
        ("2h", 7200),
        ("1d", 86400),
        ("2w", 1209600),
        (" 3 ", 3),
        ("1e3", 1000),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "s", "m", "soon", "1x", "-1", "-1s", "inf", "nan", "infs", "1h30m", "1 h x"]
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; use for example 90, 90s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.9, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (200, "3m 20s"),
        (7500, "2h 5m"),
        (7201, "2h 1s"),
        (4 * 86400 + 3 * 3600 + 61, "4d 3h"),
    ],
)
def test_a_duration_is_printed_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text


@pytest.mark.parametrize("now", [253_402_300_799, 253_402_300_800, 3e11, 1e300])
def test_a_clock_beyond_all_calendars_says_their_last_moment(now: float) -> None:
    assert iso(now) == "9999-12-31T23:59:59Z"
    assert epoch_of(iso(now)) == 253_402_300_799

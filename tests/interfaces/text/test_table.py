"""The table of `list`: which columns remain on which terminal."""

from __future__ import annotations

import re

import pytest

from tmuxreap.core.answers import Session
from tmuxreap.core.model import Live, Status
from tmuxreap.core.text import Style, width
from tmuxreap.core.values import replace
from tmuxreap.interfaces.text.table import QUESTIONS, summary, table

SHOP = Session(
    name="shop",
    agent="claude",
    status=Status.RUNNING,
    live=Live.ALIVE,
    tmux_server=None,
    pane_id="%0",
    pid=16897,
    cwd="/",
    tags=("web", "night"),
    conversation_id="e4d745b8-0584-46dc-828b-77f88ae13a1a",
    resumable=True,
    idle_s=200,
    memory_mb=413.84,
    state="waiting",
)
LONG = replace(
    SHOP,
    state=None,
    name="acme-feature-login-with-two-factors",
    live=Live.AGENT_GONE,
    drift="agent_gone",
    tags=("a",),
)
WIDE = replace(SHOP, name="日本語", tags=("ünïcode", "cafe\u0301"), memory_mb=2048.0)
OLD = replace(
    SHOP,
    name="old",
    status=Status.TERMINATED,
    live=Live.GONE,
    idle_s=None,
    memory_mb=0.0,
    state=None,
)
ALL = [SHOP, LONG, WIDE, OLD]
ESCAPES = re.compile(r"\x1b\[\d*m")


def told(*sessions: Session, columns: int | None = None, color: bool = False) -> list[str]:
    return list(table(sessions, Style(width=columns, color=color)))


def test_off_a_terminal_nothing_is_cut() -> None:
    assert told(SHOP, LONG) == [
        (
            "NAME                                 AGENT   STATUS   LIVE        STATE    IDLE   "
            " MEMORY    CONVERSATION  TAGS"
        ),
        (
            "shop                                 claude  running  alive       waiting  3m 20s "
            " 413.8 MB  e4d745b8      web night"
        ),
        (
            "acme-feature-login-with-two-factors  claude  running  agent_gone  -        3m 20s "
            " 413.8 MB  e4d745b8      a"
        ),
    ]


def test_at_80_columns_the_least_useful_columns_are_dropped() -> None:
    assert told(*ALL, columns=80) == [
        "NAME                   AGENT   STATUS      LIVE        STATE    IDLE    MEMORY",
        "shop                   claude  running     alive       waiting  3m 20s  413.8 MB",
        "acme-featu…wo-factors  claude  running     agent_gone  -        3m 20s  413.8 MB",
        "日本語                 claude  running     alive       waiting  3m 20s  2.0 GB",
        "old                    claude  terminated  gone        -        -       -",
    ]


def test_a_table_can_be_read_at_40_columns() -> None:
    assert told(*ALL, columns=40) == [
        "NAME                 LIVE        STATE",
        "shop                 alive       waiting",
        "acme-feat…o-factors  agent_gone  -",
        "日本語               alive       waiting",
        "old                  gone        -",
    ]


@pytest.mark.parametrize("columns", [1, 5, 10, 20, 33, 40, 61, 79, 80, 100, 120, 300])
def test_no_line_is_longer_than_the_terminal(columns: int) -> None:
    assert max(width(line) for line in told(*ALL, columns=columns)) <= columns


def test_columns_stand_under_each_other_whatever_the_script() -> None:
    lines = told(SHOP, WIDE)
    at = lines[0].index("AGENT")
    assert [width(line[: line.index("claude")]) for line in lines[1:]] == [at, at]


def test_an_empty_column_is_left_out_on_a_terminal_only() -> None:
    bare = replace(OLD, tags=(), conversation_id=None)
    assert told(bare, columns=120) == [
        "NAME  AGENT   STATUS      LIVE",
        "old   claude  terminated  gone",
    ]
    assert "TAGS" in told(bare)[0]


def test_a_drift_that_the_live_column_does_not_show_is_named() -> None:
    for drift in ("survivors", "revived", "reverted", "moved"):
        (_, line) = told(replace(OLD, drift=drift), columns=80)
        assert f"gone ({drift})" in line
    (_, line) = told(replace(OLD, live=Live.REPLACED, drift="replaced"))
    assert "(replaced)" not in line


def test_state_is_shown_by_word_and_colour() -> None:
    _, shop, long, _, old = told(*ALL, columns=120, color=True)
    assert "\x1b[32malive\x1b[0m" in shop
    assert "\x1b[7mwaiting\x1b[0m" in shop
    assert "\x1b[33magent_gone\x1b[0m" in long
    assert old.startswith("\x1b[2mold\x1b[0m")
    assert [ESCAPES.sub("", line) for line in told(*ALL, columns=60, color=True)] == told(
        *ALL, columns=60
    )


def test_the_summary_names_the_next_step_where_one_is_due() -> None:
    assert list(summary([SHOP])) == ["1 session, 1 alive, 1 waiting, 413.8 MB"]
    assert list(summary([SHOP, LONG])) == [
        "2 sessions, 1 alive, 1 waiting, 827.7 MB",
        "1 not as the registry says; see: tmuxreap reconcile",
    ]


@pytest.mark.parametrize(("more", "last"), [(0, None), (2, "2 more wait; see: tmuxreap list")])
def test_the_summary_names_some_of_many_questions(more: int, last: str | None) -> None:
    asking = [replace(SHOP, waiting_for="may I?")] * (QUESTIONS + more)
    _, *lines = summary(asking)
    assert lines[:QUESTIONS] == ["shop waits: may I?"] * QUESTIONS
    assert len(lines) == QUESTIONS + bool(more)
    assert last is None or lines[-1].startswith(last)

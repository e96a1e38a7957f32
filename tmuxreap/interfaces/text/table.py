"""Sessions as a table that fits: on a narrow terminal columns shorten, then drop out, the least
important first.

Decides nothing: it shows what `list` found. Off a terminal every column stays and nothing is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tmuxreap.core.answers.sessions import Listed, Session
from tmuxreap.core.model import Live, Status
from tmuxreap.core.text import Style, cut, cut_middle, width
from tmuxreap.core.times import short_duration
from tmuxreap.core.values import frozen

HEADLINE = ("working", "waiting", "limited")
GAP = 2
NONE = "-"
SHORT_ID = 8
GIGABYTE_MB = 1024
LIVE_COLOURS: dict[str, str] = {
    Live.ALIVE: "green",
    Live.AGENT_GONE: "yellow",
    Live.GONE: "red",
    Live.UNKNOWN: "yellow",
    Live.REPLACED: "red",
}
STATE_COLOURS = {"waiting": "inverse", "limited": "red", "working": "green"}


@frozen
class Column:
    """One column. Those with the lowest `keep` drop out first; `least` is the minimal width."""

    title: str
    cell: Callable[[Session], str]
    keep: int
    least: int | None = None
    shorten: Callable[[str, int], str] = cut
    color: Callable[[Session], str | None] = lambda _: None


@frozen
class Fitted:
    column: Column
    cells: int


def table(sessions: Sequence[Session], style: Style) -> Iterator[str]:
    columns = [Fitted(column, _natural(column, sessions)) for column in COLUMNS]
    if style.width is not None:
        columns = _fit([one for one in columns if _has_content(one.column, sessions)], style.width)
    yield style.paint(
        _line(columns, [one.column.title for one in columns], [None] * len(columns), Style()), "dim"
    )
    for session in sessions:
        dim = "dim" if session.ended and session.drift is None else None
        cells = [one.column.cell(session) for one in columns]
        yield _line(columns, cells, [dim or one.column.color(session) for one in columns], style)


def summary(sessions: Sequence[Session]) -> Iterator[str]:
    """Yield the totals, and the next command if rows have drift."""
    alive = sum(one.live == Live.ALIVE for one in sessions)
    parts = [f"{len(sessions)} session{'s' * (len(sessions) != 1)}", f"{alive} alive"]
    counts = {state: sum(one.state == state for one in sessions) for state in HEADLINE}
    parts += [f"{count} {state}" for state, count in counts.items() if count]
    if memory := sum(one.memory_mb for one in sessions):
        parts.append(_megabytes(memory))
    yield ", ".join(parts)
    if drifting := sum(one.drift is not None for one in sessions):
        yield f"{drifting} not as the registry says; see: tmuxreap reconcile"


def _natural(column: Column, sessions: Sequence[Session]) -> int:
    return max(width(column.title), *(width(column.cell(one)) for one in sessions))


def _has_content(column: Column, sessions: Sequence[Session]) -> bool:
    return any(column.cell(one) not in ("", NONE) for one in sessions)


def _fit(columns: list[Fitted], cells: int) -> list[Fitted]:
    """Keep as many columns as fit at minimal width; those of highest `keep` get the remaining
    cells."""
    while len(columns) > 1 and sum(map(_least, columns)) + GAP * (len(columns) - 1) > cells:
        columns.remove(min(columns, key=lambda one: one.column.keep))
    spare = cells - sum(map(_least, columns)) - GAP * (len(columns) - 1)
    given: dict[str, int] = {}
    for one in sorted(columns, key=lambda one: -one.column.keep):
        more = max(min(spare, one.cells - _least(one)), min(spare, 0))
        given[one.column.title] = max(_least(one) + more, 1)
        spare -= more
    return [Fitted(one.column, given[one.column.title]) for one in columns]


def _least(one: Fitted) -> int:
    return one.cells if one.column.least is None else min(one.cells, one.column.least)


def _line(
    columns: Sequence[Fitted], texts: Sequence[str], colours: Sequence[str | None], style: Style
) -> str:
    """Format one row: padded before it is colored, without trailing spaces."""
    short = [one.column.shorten(text, one.cells) for one, text in zip(columns, texts, strict=True)]
    last = max((at for at, text in enumerate(short) if text), default=0)
    cells = zip(columns[: last + 1], short, colours, strict=False)
    parts = [
        style.paint(text, color) + (" " * (one.cells - width(text)) if at < last else "")
        for at, (one, text, color) in enumerate(cells)
    ]
    return (" " * GAP).join(parts)


def depth_of(one: Session) -> int:
    """Return the depth below the root; 0 without `--tree`."""
    return (one.depth or 0) if isinstance(one, Listed) else 0


def _live_color(one: Session) -> str | None:
    if one.drift is not None:
        return "red" if one.live in (Live.GONE, Live.REPLACED) else "yellow"
    return LIVE_COLOURS.get(one.live or "")


def _status_color(one: Session) -> str | None:
    if one.drift:
        return "yellow"
    return "green" if one.status == Status.RUNNING else None


def _megabytes(megabytes: float) -> str:
    if megabytes >= GIGABYTE_MB:
        return f"{megabytes / GIGABYTE_MB:.1f} GB"
    return f"{round(megabytes, 1):g} MB" if megabytes else NONE


COLUMNS = (
    Column(
        "NAME", lambda one: "  " * depth_of(one) + one.name, keep=9, least=14, shorten=cut_middle
    ),
    Column("AGENT", lambda one: one.agent or NONE, keep=3, least=8),
    Column("STATUS", lambda one: one.status or NONE, keep=6, color=_status_color),
    Column("LIVE", lambda one: one.live or NONE, keep=7, color=_live_color),
    Column(
        "STATE",
        lambda one: one.state or NONE,
        keep=8,
        color=lambda one: STATE_COLOURS.get(one.state or ""),
    ),
    Column(
        "IDLE", lambda one: short_duration(one.idle_s) if one.idle_s is not None else NONE, keep=5
    ),
    Column("MEMORY", lambda one: _megabytes(one.memory_mb), keep=4),
    Column("CONVERSATION", lambda one: (one.conversation_id or NONE)[:SHORT_ID], keep=1),
    Column("TAGS", lambda one: " ".join(one.tags), keep=2, least=8),
)

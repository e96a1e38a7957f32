"""Sessions as a table that fits: on a narrow terminal columns shorten, then drop out, the least
important first.

Decides nothing: it shows what `list` found. Off a terminal every column stays and nothing is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tmuxreap.core.answers import Listed, Session
from tmuxreap.core.model import Live, Status
from tmuxreap.core.text import Style, cut, cut_middle, width
from tmuxreap.core.times import short_duration
from tmuxreap.core.values import frozen

HEADLINE = ("working", "waiting", "limited")
QUESTIONS = 5  # of those that wait, shown below the table
GAP = 2
NONE = "-"
TOLD_BY_LIVE = ("dead", "agent_gone", "replaced")
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
    is_rare: bool = False  # left out where no session has it


def table(sessions: Sequence[Session], style: Style) -> Iterator[str]:
    shown = []
    for one in COLUMNS:
        if not one.is_rare or _has_content(one, sessions):
            shown.append(one)
    widths = {column: _natural(column, sessions) for column in shown}
    if style.width is not None:
        telling = {one: cells for one, cells in widths.items() if _has_content(one, sessions)}
        widths = _fit(telling, style.width)
    titles = _line([(column.title, None) for column in widths], widths, Style())
    yield style.paint(titles, "dim")
    for session in sessions:
        dim = None
        if session.ended and session.drift is None:
            dim = "dim"
        cells = [(column.cell(session), dim or column.color(session)) for column in widths]
        yield _line(cells, widths, style)


def totals(sessions: Sequence[Session]) -> str:
    """Return how many sessions there are, how many live, what they do and what they use."""
    alive = sum(one.live == Live.ALIVE for one in sessions)
    parts = [f"{len(sessions)} session{'s' * (len(sessions) != 1)}", f"{alive} alive"]
    counts = {state: sum(one.state == state for one in sessions) for state in HEADLINE}
    for state, count in counts.items():
        if count:
            parts.append(f"{count} {state}")
    if memory := sum(one.memory_mb for one in sessions):
        parts.append(_megabytes(memory))
    return ", ".join(parts)


def summary(sessions: Sequence[Session]) -> Iterator[str]:
    """Yield the totals, and the next command if rows have drift."""
    yield totals(sessions)
    yield from _questions([one for one in sessions if one.waiting_for])
    if drifting := sum(one.drift is not None for one in sessions):
        yield f"{drifting} not as the registry says; see: tmuxreap reconcile"


def _questions(waiting: Sequence[Session]) -> Iterator[str]:
    for one in waiting[:QUESTIONS]:
        yield f"{one.name} waits: {one.waiting_for}"
    if len(waiting) > QUESTIONS:
        yield f"{len(waiting) - QUESTIONS} more wait; see: tmuxreap list --state waiting"


def _natural(column: Column, sessions: Sequence[Session]) -> int:
    return max(width(column.title), *(width(column.cell(one)) for one in sessions))


def _has_content(column: Column, sessions: Sequence[Session]) -> bool:
    return any(column.cell(one) not in ("", NONE) for one in sessions)


def _fit(natural: Mapping[Column, int], cells: int) -> dict[Column, int]:
    """Keep as many columns as fit at minimal width; those of highest `keep` get the remaining
    cells."""
    widths = {one: min(wide, one.least or wide) for one, wide in natural.items()}
    while len(widths) > 1 and _total(widths) > cells:
        del widths[min(widths, key=lambda one: one.keep)]
    spare = cells - _total(widths)
    for one in sorted(widths, key=lambda one: -one.keep):
        more = max(min(spare, natural[one] - widths[one]), min(spare, 0))
        widths[one] = max(widths[one] + more, 1)
        spare -= more
    return widths


def _total(widths: Mapping[Column, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def _line(
    cells: Sequence[tuple[str, str | None]], widths: Mapping[Column, int], style: Style
) -> str:
    """Format one row of texts and colors: padded before it is colored, without trailing spaces."""
    parts = []
    blanks = 0
    for (text, color), (column, wide) in zip(cells, widths.items(), strict=True):
        short = column.shorten(text, wide)
        if short:
            parts.append(" " * blanks + style.paint(short, color))
            blanks = 0
        blanks += wide - width(short) + GAP
    return "".join(parts)


def depth_of(one: Session) -> int:
    """Return the depth below the root; 0 without `--tree`."""
    return (one.depth or 0) if isinstance(one, Listed) else 0


def _project(one: Session) -> str:
    """Return the project's folder; only `--everywhere` has one."""
    if isinstance(one, Listed):
        return one.project or ""
    return ""


def _live(one: Session) -> str:
    """Return whether it lives, with a drift that the word does not tell."""
    if one.drift is None or one.drift in TOLD_BY_LIVE:
        return one.live or NONE
    return f"{one.live} ({one.drift})"


def _live_color(one: Session) -> str | None:
    if one.drift is not None:
        if one.live in (Live.GONE, Live.REPLACED):
            return "red"
        return "yellow"
    return LIVE_COLOURS.get(one.live or "")


def _status_color(one: Session) -> str | None:
    if one.drift:
        return "yellow"
    return "green" if one.status == Status.RUNNING else None


def _megabytes(megabytes: float) -> str:
    if megabytes >= GIGABYTE_MB:
        return f"{megabytes / GIGABYTE_MB:.1f} GB"
    return f"{round(megabytes, 1):g} MB" if megabytes else NONE


def _idle(session: Session) -> str:
    if session.idle_s is None:
        return NONE
    return short_duration(session.idle_s)


COLUMNS = (
    Column(
        "NAME", lambda one: "  " * depth_of(one) + one.name, keep=9, least=14, shorten=cut_middle
    ),
    Column(
        "PROJECT", lambda one: _project(one), keep=8, least=10, shorten=cut_middle, is_rare=True
    ),
    Column("AGENT", lambda one: one.agent or NONE, keep=3, least=8),
    Column("STATUS", lambda one: one.status or NONE, keep=6, color=_status_color),
    Column("LIVE", lambda one: _live(one), keep=7, color=_live_color),
    Column(
        "STATE",
        lambda one: one.state or NONE,
        keep=8,
        color=lambda one: STATE_COLOURS.get(one.state or ""),
    ),
    Column("IDLE", lambda one: _idle(one), keep=5),
    Column("MEMORY", lambda one: _megabytes(one.memory_mb), keep=4),
    Column("CONVERSATION", lambda one: (one.conversation_id or NONE)[:SHORT_ID], keep=1),
    Column("TAGS", lambda one: " ".join(one.tags), keep=2, least=8),
)

"""`report`: what was ended and freed, and what each session was doing when, from the ledger alone.

Never looks at a session: where nobody looked, the time is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tmuxreap.agents.hooks.events import STATES
from tmuxreap.core.answers import Freed, Reported, Span
from tmuxreap.core.model import Row
from tmuxreap.core.results import Result
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import Heartbeat, RecordedEvent
from tmuxreap.ledger.schema import BEGINNINGS, ENDINGS, ENDS
from tmuxreap.sessions.context import Context

OVER = (*ENDS, "agent_gone")
SHOWN = frozenset({*STATES, "limited"})
UNKNOWN = "unknown"
DOWN = "down"
DAY_S = 86400.0


@frozen
class ReportRequest:
    since_s: float = DAY_S


@frozen
class StateFrom:
    """What a session was doing from this time on."""

    at: float
    state: str


def run(context: Context, request: ReportRequest) -> Result:
    until = context.clock.now()
    since = until - request.since_s
    rows = {row.name: row for row in context.registry.look().usable}
    events = context.books.events(None, None)
    by_name: dict[str, list[RecordedEvent]] = {name: [] for name in rows}
    for event in events:
        if event.name:
            by_name.setdefault(event.name, []).append(event)
    found = []
    for name, its in by_name.items():
        beats = context.books.heartbeats_of(name)
        found.append(_reported(name, rows.get(name), its, beats, since, until))
    found = [one for one in found if one.spans or one.ended_at]
    found.sort(key=lambda one: (one.spans[0].since if one.spans else "", one.name))
    again = _restarted(by_name)
    recent = []
    for event in events:
        if event.kind in ENDINGS and event.at >= since and event.id not in again:
            recent.append(event)
    return context.result("report", found, more={"freed": _freed(recent, since, until)})


def _restarted(by_name: Mapping[str, Sequence[RecordedEvent]]) -> set[int]:
    """Return the ends of agents that came back in their panes: their sessions went on."""
    found: set[int] = set()
    for events in by_name.values():
        kept = [event for event in events if event.kind in (*BEGINNINGS, *ENDINGS)]
        for before, after in pairwise(kept):
            if before.kind in ENDINGS and after.data.get("by") == "restart":
                found.add(before.id)
    return found


def _freed(ends: Sequence[RecordedEvent], since: float, until: float) -> Freed:
    """Sum up the endings of this time."""
    return Freed(
        since=iso(since),
        until=iso(until),
        sessions=len(ends),
        processes=sum(_number(event.data.get("processes")) for event in ends),
        freed_mb=round(sum(_size(event.data.get("freed_mb")) for event in ends), 1),
        survivors=sum(len(_list(event.data.get("survivors"))) for event in ends),
    )


def _reported(
    name: str,
    row: Row | None,
    events: Sequence[RecordedEvent],
    beats: Iterable[Heartbeat],
    since: float,
    until: float,
) -> Reported:
    spans = _spans(_moments(events, beats), since, until)
    end = next((event for event in reversed(events) if event.kind in OVER), None)
    begun = next((event for event in reversed(events) if event.kind in BEGINNINGS), None)
    if end is not None and begun is not None and begun.id > end.id:
        end = None
    data: Mapping[str, object]
    if end is not None:
        data = end.data
    else:
        data = {}
    by = data.get("ended_by")
    seconds = dict.fromkeys((*SHOWN, UNKNOWN), 0.0)
    for span in spans:
        seconds[span.state] = seconds.get(span.state, 0.0) + span.seconds
    if row is not None:
        agent = row.agent
    else:
        agent = _text(begun.data.get("agent") if begun else None)
    ended_at = None
    if end is not None and end.at >= since:
        ended_at = end.timestamp
    return Reported(
        name=name,
        agent=agent,
        status=row.status.value if row is not None else None,
        ended_at=ended_at,
        stopped_by=_text(data.get("stopped_by")),
        stop_reason=_text(data.get("reason")),
        ended_by=_who(by) if isinstance(by, Mapping) else None,
        processes=_number(data.get("processes")),
        freed_mb=_size(data.get("freed_mb")),
        survivors=len(_list(data.get("survivors"))),
        working_s=round(seconds["working"]),
        waiting_s=round(seconds["waiting"]),
        limited_s=round(seconds["limited"]),
        idle_s=round(seconds["idle"]),
        unknown_s=round(seconds[UNKNOWN]),
        spans=spans,
    )


def _moments(events: Sequence[RecordedEvent], beats: Iterable[Heartbeat]) -> list[StateFrom]:
    """Return each change of what the session was doing, in the order of time."""
    found = []
    for event in events:
        if event.kind in BEGINNINGS:
            found.append(StateFrom(event.at, UNKNOWN))
        elif event.kind in OVER:
            found.append(StateFrom(event.at, DOWN))
        elif event.kind == "state" and event.data.get("state") in SHOWN:
            found.append(StateFrom(event.at, str(event.data["state"])))
    for beat in beats:
        if beat.state in SHOWN:
            found.append(StateFrom(beat.at, beat.state))
    return sorted(found, key=lambda moment: moment.at)


def _spans(moments: Sequence[StateFrom], since: float, until: float) -> tuple[Span, ...]:
    """Return the times between the moments; a report after the end is of nobody."""
    spans: list[Span] = []
    is_up = False
    ends = [*moments, StateFrom(until, DOWN)]
    for moment, after in pairwise(ends):
        if moment.state in (UNKNOWN, DOWN):
            is_up = moment.state == UNKNOWN
        begin = max(moment.at, since)
        end = min(after.at, until)
        if not is_up or end <= begin:
            continue
        last = spans[-1] if spans else None
        if last is not None and last.state == moment.state and last.until == iso(begin):
            whole = last.seconds + end - begin
            spans[-1] = Span(last.state, last.since, iso(end), round(whole, 1))
        else:
            spans.append(Span(moment.state, iso(begin), iso(end), round(end - begin, 1)))
    return tuple(spans)


def _who(by: Mapping[str, object]) -> str:
    tool = f" ({by['tool']})" if by.get("tool") else ""
    return f"{by.get('user') or 'somebody'}{tool}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return 0


def _size(value: object) -> float:
    if isinstance(value, (int, float)) and value >= 0:
        return float(value)
    return 0.0


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()

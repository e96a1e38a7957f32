"""Rows held against one look at the world: what `list` shows, and what every ending begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.core.model import Live, Row
from tmuxreap.core.values import replace
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.identity import ended_as_pane
from tmuxreap.sessions.panes import agents_in
from tmuxreap.sessions.sight import Past, Sight, past_of, see, wanted_by
from tmuxreap.sessions.world import World


def look_at(
    context: Context,
    rows: Sequence[Row],
    *,
    pane_only: bool = False,
    whole_session: bool = False,
    known: Mapping[str, Past] | None = None,
    briefly: bool = False,
    strangers: bool = False,
) -> list[tuple[Sight, Past]]:
    """One look for all of them; `briefly` only for who does nothing on what is seen. `strangers`:
    for who goes on to what has no row, too."""
    sockets = context.sockets_of(rows)
    marks = _marks(context, rows)
    survivors = context.books.survivors(context.place.boot_id)
    told = known or {}

    def past(row: Row) -> Past:
        if row.name in told:
            return told[row.name]
        return Past(
            mark=marks.get(row.name),
            remembered=survivors.get(row.name, frozenset()),
            pane_only=pane_only or ended_as_pane(row),
            whole_session=whole_session,
        )

    pasts = [past(row) for row in rows]
    closely = {row.pane.pid for row in rows if row.pane.pid and not row.tmux.known}
    world = context.observer.look(
        sockets.values(),
        _since(context, rows),
        wanted=wanted_by(zip(rows, pasts, strict=True), strangers=strangers),
        closely=closely if briefly else None,
    )
    return [
        _sight(context, row, sockets[row.name], world, before, briefly=briefly)
        for row, before in zip(rows, pasts, strict=True)
    ]


def _marks(context: Context, rows: Sequence[Row]) -> Mapping[str, str]:
    """Of those whose session may not tell it itself."""
    return context.books.marks([row.name for row in rows if _asked_for_mark(row)])


def _asked_for_mark(row: Row) -> bool:
    return row.status.ended or not row.tmux.known


def _sight(
    context: Context, row: Row, socket: str, world: World, before: Past, *, briefly: bool
) -> tuple[Sight, Past]:
    profile = context.profile_of(row)
    sight = see(row, socket, profile, context.spares_of(profile), world, before)
    if (
        context.agent_of(row) is None
        and not briefly
        and (seen := _agent_seen(context, sight, world)) is not None
    ):
        context.seen_agents[row.name] = seen
        return _sight(context, row, socket, world, before, briefly=briefly)
    if (
        before.mark is None
        and not _asked_for_mark(row)
        and sight.live in (Live.GONE, Live.AGENT_GONE)
        and (mark := context.books.mark(row.name))
    ):
        # What tmux started in its pane tells the mark no more, and what was left behind may carry
        # nothing else.
        told = replace(before, mark=mark, registry=str(context.registry.resolved))
        return _sight(context, row, socket, world, told, briefly=briefly)
    return sight, past_of(sight, before)


def _agent_seen(context: Context, sight: Sight, world: World) -> str | None:
    """The one known agent that runs in its pane; where that cannot be told, the only one in the
    session."""
    panes = sight.session.panes if sight.session else ()
    if sight.pane:
        panes = (sight.pane,)
    found = [name for pane in panes for name in agents_in((pane,), context.profiles, world)]
    return found[0] if len(found) == 1 else None


def _since(context: Context, rows: Sequence[Row]) -> int:
    """The start of the oldest pane among them, when all of it was recorded in this boot."""
    known = [
        row.pane.start_ticks
        for row in rows
        if row.pane.start_ticks and row.tmux.boot_id == context.place.boot_id
    ]
    return min(known, default=0) if len(known) == len(rows) else 0

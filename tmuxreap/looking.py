"""Rows held against one look at the world: what `list` shows, and what every ending begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.app import App
from tmuxreap.identity import ended_as_pane
from tmuxreap.model import Live, Row
from tmuxreap.panes import agent_in
from tmuxreap.sights import Past, Sight, past_of, see
from tmuxreap.values import replace
from tmuxreap.world import World


def look_at(
    app: App,
    rows: Sequence[Row],
    *,
    pane_only: bool = False,
    whole_session: bool = False,
    known: Mapping[str, Past] | None = None,
    briefly: bool = False,
) -> list[tuple[Sight, Past]]:
    """One look for all of them; `briefly` only for who does nothing on what is seen."""
    sockets = {row.name: app.socket_of(row) for row in rows}
    closely = {row.pane.pid for row in rows if row.pane.pid and not row.tmux.known} if briefly else None
    world = app.observer.look(sockets.values(), _since(app, rows), closely=closely)
    survivors = app.books.survivors(app.place.boot_id)
    told = known or {}

    def past(row: Row) -> Past:
        if row.name in told:
            return told[row.name]
        needed = row.status.ended or not row.tmux.known
        return Past(
            mark=app.books.mark(row.name) if needed else None,
            remembered=survivors.get(row.name, frozenset()),
            pane_only=pane_only or ended_as_pane(row),
            whole_session=whole_session,
        )

    return [_sight(app, row, sockets[row.name], world, past(row), briefly=briefly) for row in rows]


def _sight(app: App, row: Row, socket: str, world: World, before: Past, *, briefly: bool) -> tuple[Sight, Past]:
    profile = app.profile_of(row)
    sight = see(row, socket, profile, app.spares_of(profile), world, before)
    if app.agent_of(row) is None and not briefly and (seen := _agent_seen(app, sight, world)) is not None:
        app.seen_agents[row.name] = seen
        return _sight(app, row, socket, world, before, briefly=briefly)
    if before.mark is None and sight.live in (Live.GONE, Live.AGENT_GONE) and (mark := app.books.mark(row.name)):
        # What tmux started in its pane tells the mark no more, and what was left behind may carry nothing else.
        told = replace(before, mark=mark, registry=str(app.registry.resolved))
        return _sight(app, row, socket, world, told, briefly=briefly)
    return sight, past_of(sight, before)


def _agent_seen(app: App, sight: Sight, world: World) -> str | None:
    """The one known agent that runs in its pane; where that cannot be told, the only one in the session."""
    panes = (sight.pane,) if sight.pane else sight.session.panes if sight.session else ()
    agents = app.profiles.agents.values()
    found = [one.name for pane in panes for one in agents if agent_in(pane, one, world)]
    return found[0] if len(found) == 1 else None


def _since(app: App, rows: Sequence[Row]) -> int:
    """The start of the oldest pane among them, when all of it was recorded in this boot."""
    known = [row.pane.start_ticks for row in rows if row.pane.start_ticks and row.tmux.boot_id == app.place.boot_id]
    return min(known, default=0) if len(known) == len(rows) else 0

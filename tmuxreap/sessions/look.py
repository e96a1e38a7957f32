"""Rows held against one look at the world, and what their panes show: how every ending begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from tmuxreap.agents.load import Profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.model import Live, Row
from tmuxreap.core.ports import Question, Tmux
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.identity import ended_as_pane
from tmuxreap.sessions.panes import agents_in
from tmuxreap.sessions.row_agents import RowAgents
from tmuxreap.sessions.sight import Past, Sight, is_over, past_of, see, wanted_by
from tmuxreap.sessions.world import World

BANNER_OPTION = "remain-on-exit"
SIBLINGS_OPTION = "synchronize-panes"


def look_at(
    context: Context,
    rows: Sequence[Row],
    *,
    pane_only: bool = False,
    whole_session: bool = False,
    known: Mapping[str, Past] | None = None,
    strangers: bool = False,
) -> list[tuple[Sight, Past]]:
    """One look for all of them, and what is to be remembered of it by who looks again. `strangers`:
    for who goes on to what has no row, too."""
    plain = Past(pane_only=pane_only, whole_session=whole_session)
    seen = _seen(context, rows, _pasts(context, rows, plain, known or {}), strangers=strangers)
    return [(sight, past_of(sight, before)) for sight, before in seen]


def sights_of(
    context: Context, rows: Sequence[Row], *, strangers: bool = False, briefly: bool = False
) -> list[Sight]:
    """The same for who ends none of them. `briefly`: only for who does nothing on what is seen;
    what would stand in the way of an end is not asked."""
    pasts = _pasts(context, rows, Past(whole_session=briefly), {})
    seen = _seen(context, rows, pasts, strangers=strangers, briefly=briefly, once=True)
    return [sight for sight, _ in seen]


def _pasts(
    context: Context, rows: Sequence[Row], plain: Past, known: Mapping[str, Past]
) -> list[Past]:
    """What the ledger remembers of each; of most it is nothing."""
    marks = _marks(context.books, rows)
    survivors = context.books.survivors(context.place.boot_id)

    def past(row: Row) -> Past:
        if row.name in known:
            return known[row.name]
        mark, left, as_pane = marks.get(row.name), survivors.get(row.name), ended_as_pane(row)
        if not (mark or left or as_pane):
            return plain
        return Past(
            mark=mark,
            remembered=left or frozenset(),
            pane_only=plain.pane_only or as_pane,
            whole_session=plain.whole_session,
        )

    return list(map(past, rows))


def _seen(
    context: Context,
    rows: Sequence[Row],
    pasts: Sequence[Past],
    *,
    strangers: bool,
    briefly: bool = False,
    once: bool = False,
) -> Iterator[tuple[Sight, Past]]:
    """Each with what was known of it. `once`: nobody looks again by what was seen."""
    sockets = context.servers.of_all(rows)
    closely = {row.pane.pid for row in rows if row.pane.pid and not row.tmux.known}
    world = context.observer.look(
        sockets.values(),
        _since(context.place.boot_id, rows),
        wanted=wanted_by(zip(rows, pasts, strict=True), strangers=strangers),
        closely=closely if briefly else None,
    )
    agents, books = context.agents, context.books
    gone = {one: Sight(Live.GONE, one, server) for one, server in world.servers.items()}
    for row, before in zip(rows, pasts, strict=True):
        socket = sockets[row.name]
        if (once or row.status.ended) and is_over(row, world.servers[socket], world, before):
            yield gone[socket], before
        else:
            yield _sight(agents, books, row, socket, world, before, briefly=briefly)


def _marks(books: Books, rows: Sequence[Row]) -> Mapping[str, str]:
    """Of those whose session may not tell it itself."""
    return books.marks([row.name for row in rows if _asked_for_mark(row)])


def _asked_for_mark(row: Row) -> bool:
    return row.status.ended or not row.tmux.known


def _sight(
    agents: RowAgents,
    books: Books,
    row: Row,
    socket: str,
    world: World,
    before: Past,
    *,
    briefly: bool,
) -> tuple[Sight, Past]:
    profile = agents.profile(row)
    sight = see(row, socket, profile, agents.spares(profile), world, before)
    if (
        agents.of(row) is None
        and not briefly
        and (seen := _agent_seen(agents.profiles, sight, world)) is not None
    ):
        agents.seen[row.name] = seen
        return _sight(agents, books, row, socket, world, before, briefly=briefly)
    if (
        before.mark is None
        and not _asked_for_mark(row)
        and sight.live in (Live.GONE, Live.AGENT_GONE)
        and (mark := books.mark(row.name))
    ):
        # What tmux started in its pane tells the mark no more, and what was left behind may carry
        # nothing else.
        told = replace(before, mark=mark, registry=str(books.registry.resolved))
        return _sight(agents, books, row, socket, world, told, briefly=briefly)
    return sight, before


def _agent_seen(profiles: Profiles, sight: Sight, world: World) -> str | None:
    """The one known agent that runs in its pane; where that cannot be told, the only one in the
    session."""
    panes = sight.session.panes if sight.session else ()
    if sight.pane:
        panes = (sight.pane,)
    found = list(chain.from_iterable(agents_in((pane,), profiles, world) for pane in panes))
    return found[0] if len(found) == 1 else None


def _since(boot_id: str, rows: Sequence[Row]) -> int:
    """The start of the oldest pane among them, when all of it was recorded in this boot."""
    known = [
        row.pane.start_ticks for row in rows if row.pane.start_ticks and row.tmux.boot_id == boot_id
    ]
    return min(known, default=0) if len(known) == len(rows) else 0


@frozen
class Shown:
    """A screen as it stands and with wrapped lines joined, and what is set on its pane."""

    text: str | None = None
    joined: str | None = None
    options: Mapping[str, str | None] = field(default_factory=dict)
    environment: str | None = None  # of its session


def shown_in(
    tmux: Tmux,
    sights: Sequence[Sight],
    options: Sequence[Sequence[str]],
    profiles: Sequence[Profile | None],
) -> list[Shown]:
    """In the order of the sights, each with its options; nothing for those without a session."""
    shown = [Shown()] * len(sights)
    for socket in dict.fromkeys(sight.socket for sight in sights):
        places = [
            place for place, sight in enumerate(sights) if sight.socket == socket and sight.session
        ]
        each = (_questions(sights[place], options[place], profiles[place]) for place in places)
        asked = list(chain.from_iterable(each))
        answers = iter(tmux.ask(socket, asked))
        for place in places:
            environment = next(answers)
            screens = (next(answers), next(answers)) if sights[place].pane else (None, None)
            shown[place] = Shown(
                *screens, {option: next(answers) for option in options[place]}, environment
            )
    return shown


def _questions(sight: Sight, options: Sequence[str], profile: Profile | None) -> list[Question]:
    """Options are those of its pane: without one there are none."""
    asked = [Question(sight.session.id, environment=True)] if sight.session else []
    if sight.pane is None:
        return asked
    pane, styled = sight.pane.id, profile is not None and profile.is_styled
    return [
        *asked,
        Question(pane, styled=styled),
        Question(pane, joined=True),
        *(Question(pane, option) for option in options),
    ]

"""Judges rows by one look at the world, and reads their panes: the first step of every ending.
Finds the rows of a registry that went back in time (an old buffer, a checkout, a writer without the
lock), and what the ledger knows of them since. Changes no row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tmuxreap.agents.load import Profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Live, ProcessId, Row
from tmuxreap.core.ports import PaneQuestion, Tmux, ask_each
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import NOT_SEEN, News, RecordedEvent
from tmuxreap.proof.identity import was_pane_only_ending
from tmuxreap.proof.observe import Observer, Place
from tmuxreap.proof.ownership import World
from tmuxreap.proof.panes import agents_in
from tmuxreap.proof.reach import is_certainly_gone
from tmuxreap.proof.see import see
from tmuxreap.proof.servers import RowAgents, Servers
from tmuxreap.proof.sight import Past, Sight, news_of, past_of, wanted_by
from tmuxreap.registry.transitions import (
    Life,
    end_key_of,
    is_ended,
    life_of,
    newer_lives,
    with_life,
)

BANNER_OPTION = "remain-on-exit"
SIBLINGS_OPTION = "synchronize-panes"


@frozen
class Sights:
    """Looks at the sessions of rows, each by what was recorded of it and what runs now."""

    observer: Observer
    books: Books
    servers: Servers
    agents: RowAgents
    place: Place

    def with_pasts(
        self,
        rows: Sequence[Row],
        *,
        pane_only: bool = False,
        whole_session: bool = False,
        known: Mapping[str, Past] | None = None,
        remembers: bool = False,
    ) -> list[tuple[Sight, Past]]:
        """Look once at all rows; return each sight with the past that a later look needs.
        `remembers`: what is new is recorded, as it is by every look that plans nothing."""
        plain = Past(pane_only=pane_only, whole_session=whole_session)
        pasts = _pasts(self.books, self.place.boot_id, rows, plain, known or {})
        looks = self._look(rows, pasts, remembers=remembers)
        return [(sight, past_of(sight, before)) for sight, before in looks]

    def of(
        self,
        rows: Sequence[Row],
        *,
        unregistered: bool = False,
        briefly: bool = False,
        remembers: bool = True,
    ) -> list[Sight]:
        """Look at the rows without ending any of them. `briefly`: for output only; what matters
        only for an ending is not read. `remembers`: see `with_pasts`."""
        plain = Past(whole_session=briefly)
        pasts = _pasts(self.books, self.place.boot_id, rows, plain, {})
        looks = self._look(
            rows,
            pasts,
            unregistered=unregistered,
            briefly=briefly,
            final=True,
            remembers=remembers,
        )
        return [sight for sight, _ in looks]

    def of_row(self, row: Row) -> Sight:
        """Look at one row without ending it."""
        return self.of([row])[0]

    def _look(
        self,
        rows: Sequence[Row],
        pasts: Sequence[Past],
        *,
        unregistered: bool = False,
        briefly: bool = False,
        final: bool = False,
        remembers: bool = True,
    ) -> Iterator[tuple[Sight, Past]]:
        """Yield each sight with the past that it was judged by. `final`: no later look will
        follow."""
        sockets = self.servers.of_all(rows)
        since = _since(self.place.boot_id, rows)
        wanted = wanted_by(zip(rows, pasts, strict=True), unregistered=unregistered)
        if briefly:
            expected = {
                row.pane.pid: sockets[row.name]
                for row in rows
                if row.pane.pid and not row.tmux.known
            }
            world = self.observer.look_for_output(sockets.values(), since, expected, wanted=wanted)
        else:
            world = self.observer.look(sockets.values(), since, wanted=wanted)
        gone = {
            socket: Sight(Live.GONE, socket, server) for socket, server in world.servers.items()
        }
        news: list[News] = []
        for row, before in zip(rows, pasts, strict=True):
            socket = sockets[row.name]
            if (final or row.status.ended) and _is_gone(self.agents, row, world, socket, before):
                yield gone[socket], before
                continue
            sighted = _sight(self.agents, self.books, row, socket, world, before, briefly=briefly)
            if remembers and (one := news_of(row, sighted[0], before, world, self.place.pid)):
                news.append(one)
            yield sighted
        if self.books.registry.is_ours:
            self.books.remember_seen(self.place.boot_id, news)


NONE: frozenset[ProcessId] = frozenset()


def _pasts(
    books: Books, boot_id: str, rows: Sequence[Row], plain: Past, known: Mapping[str, Past]
) -> list[Past]:
    """Return what the ledger remembers of each row: nothing, of most."""
    marks = books.marks([row.name for row in rows if _needs_recorded_mark(row)])
    memories = books.seen(boot_id, [row.name for row in rows])
    survivors = books.survivors(boot_id)
    planned = books.planned(boot_id)
    noted = known.keys() | marks.keys() | memories.keys() | survivors.keys() | planned.keys()

    def past(row: Row) -> Past:
        if row.name in known:
            return known[row.name]
        mark = marks.get(row.name)
        as_pane = was_pane_only_ending(row)
        memory = memories.get(row.name, NOT_SEEN)
        survived = survivors.get(row.name, NONE) | planned.get(row.name, NONE)
        survived |= memory.processes.keys()
        if not (mark or survived or as_pane):
            return plain
        pane = memory.pane
        carried = None
        if pane is not None and _needs_recorded_mark(row):
            carried = pane.mark
        own_registry = None
        if carried and not mark:
            own_registry = str(books.registry.resolved)
        return replace(
            plain,
            mark=mark or carried,
            registry=own_registry,
            remembered=survived,
            # An ended row left nothing: a kernel session of that number is a new one.
            leaders=NONE if row.status.ended else memory.leaders,
            pane_only=plain.pane_only or as_pane,
            pane=pane,
        )

    pasts = []
    for row in rows:
        is_noted = row.name in noted or was_pane_only_ending(row)
        pasts.append(past(row) if is_noted else plain)
    return pasts


def _is_gone(agents: RowAgents, row: Row, world: World, socket: str, before: Past) -> bool:
    """Tell whether nothing of the row can be left, in a pane or in its agent's own daemon."""
    if not is_certainly_gone(row, world.servers[socket], world, before):
        return False
    return row.status.ended or agents.of(row) not in agents.profiles.agents.with_background


def _needs_recorded_mark(row: Row) -> bool:
    """Tell whether the row's session may not carry its mark."""
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
    def judged(profile: Profile | None, past: Past) -> Sight:
        return see(row, socket, profile, agents.spares(profile), world, past)

    profile = agents.profile(row)
    found = None
    sight = judged(profile, before)
    if agents.named_by(row) is None and not briefly:
        found = _only_agent(agents.profiles, sight, world)
    if found is not None:
        profile = agents.profiles.of(found)
        sight = judged(profile, before)
    if (
        before.mark is None
        and not _needs_recorded_mark(row)
        and sight.live in (Live.GONE, Live.AGENT_GONE)
        and (mark := books.mark(row.name))
    ):
        # The pane's leader, which carries the mark, is gone; processes left behind may have no
        # other evidence than the mark.
        before = replace(before, mark=mark, registry=str(books.registry.resolved))
        sight = judged(profile, before)
    return (sight if found is None else replace(sight, found=found)), before


def _only_agent(profiles: Profiles, sight: Sight, world: World) -> str | None:
    """Return the only known agent that runs in the pane, or in the session if its pane is
    unknown."""
    panes = sight.session.panes if sight.session else ()
    if sight.pane:
        panes = (sight.pane,)
    agents: list[str] = []
    for pane in panes:
        agents += agents_in((pane,), profiles, world)
    return agents[0] if len(agents) == 1 else None


def _since(boot_id: str, rows: Sequence[Row]) -> int:
    """Return the start of the oldest pane, if all were recorded in this boot; else 0."""
    starts = []
    for row in rows:
        if row.pane.start_ticks and row.tmux.boot_id == boot_id:
            starts.append(row.pane.start_ticks)
    if len(starts) == len(rows):
        return min(starts, default=0)
    return 0


@frozen
class PaneContents:
    """A pane's screen as shown and with wrapped lines joined, with the pane's options."""

    text: str | None = None
    joined: str | None = None
    options: Mapping[str, str | None] = field(default_factory=dict)
    environment: str | None = None  # of its session


def read_panes(
    tmux: Tmux,
    sights: Sequence[Sight],
    options: Sequence[Sequence[str]],
    profiles: Sequence[Profile | None],
) -> list[PaneContents]:
    """Read screens and options, in the order of the sights; those without a session stay empty."""
    questions: list[tuple[str, PaneQuestion]] = []
    for sight, its_options, profile in zip(sights, options, profiles, strict=True):
        questions += _questions(sight, its_options, profile)
    answers = iter(ask_each(tmux, questions))
    return [_contents(sight, its, answers) for sight, its in zip(sights, options, strict=True)]


def _questions(
    sight: Sight, options: Sequence[str], profile: Profile | None
) -> list[tuple[str, PaneQuestion]]:
    """Return what to ask about one sight; screen and options need a pane."""
    if sight.session:
        questions = [PaneQuestion(sight.session.id, environment=True)]
    else:
        questions = []
    if sight.pane is not None:
        pane = sight.pane.id
        styled = profile is not None and profile.is_styled
        questions += [PaneQuestion(pane, styled=styled), PaneQuestion(pane, joined=True)]
        questions += [PaneQuestion(pane, option) for option in options]
    return [(sight.socket, question) for question in questions]


def _contents(sight: Sight, options: Sequence[str], answers: Iterator[str | None]) -> PaneContents:
    """Take the answers about one sight."""
    environment = next(answers) if sight.session else None
    text = None
    joined = None
    if sight.pane:
        text = next(answers)
        joined = next(answers)
    return PaneContents(text, joined, {it: next(answers) for it in options}, environment)


REVERTED = "reverted"
UNDONE = (
    "reverted: the registry shows it as it was before; its end is written again by: tmuxreap"
    " reconcile"
)
PAUSE_S = 10.0  # between two corrections of a row: a writer that dumps old memory is not fought

Looks = Callable[[Sequence[Row]], Sequence[tuple[Sight, Past]]]


@frozen
class Newer:
    """A row as the ledger knows it, where the registry shows an older life of it."""

    row: Row
    life: Life
    sight: Sight
    past: Past
    corrected_at: float | None  # when it was last written back


def newer_rows(books: Books, seen: Iterable[tuple[Row, Sight]], look: Looks) -> dict[str, Newer]:
    """Return the newer state of each row that went back in time. It counts only if a look agrees:
    nothing is left of what had ended, and what was begun is there."""
    seen = [*seen]
    ends = books.end_keys([row.name for row, _ in seen if row.status.ended])
    old = []
    for row, sight in seen:
        shows_other_end = row.name in ends and ends[row.name] != end_key_of(row)
        if shows_other_end or _may_be_old(row, sight):
            old.append(row)
    if not old:
        return {}
    events = books.lives([row.name for row in old])
    choices = {row.name: lives_after(books, row, events.get(row.name, ())) for row in old}
    found: dict[str, Newer] = {}
    while rows := [row for row in old if choices[row.name] and row.name not in found]:
        lives = [choices[row.name].pop(0) for row in rows]
        then = [with_life(row, life) for row, life in zip(rows, lives, strict=True)]
        for row, life, (sight, past) in zip(then, lives, look(then), strict=True):
            if _agrees(row, sight):
                written = []
                for it in events[row.name]:
                    if it.kind == REVERTED:
                        written.append(it.at)
                found[row.name] = Newer(row, life, sight, past, max(written, default=None))
    if not found:
        return {}
    return _not_renewed(books, found, old)


def _not_renewed(books: Books, found: Mapping[str, Newer], old: Sequence[Row]) -> dict[str, Newer]:
    """Leave out what the registry shows anew by now: a look may take seconds, and a start or an end
    that is through meanwhile has undone nothing. Its row is written before its event."""
    try:
        now = books.registry.look()
    except Failure:
        return {**found}
    before = {row.name: life_of(row) for row in old}
    kept = {}
    for name, newer in found.items():
        row = now.named(name)
        if row is None or life_of(row) == before[name]:
            kept[name] = newer
    return kept


def lives_after(books: Books, row: Row, events: Sequence[RecordedEvent]) -> list[Life]:
    """Return the lives in these events that may be newer than the row's, the best first."""
    lives = []
    newest = None
    for event in events:
        if isinstance(life := event.data.get("life"), dict):
            lives.append(life)
            newest = event
    if newest is not None and _means_a_later_process(books, row, newest):
        return []
    before = []
    for event in events:
        if isinstance(life := event.data.get("earlier"), dict):
            before.append(life)
    return newer_lives(row, lives, before)


def _means_a_later_process(books: Books, row: Row, newest: RecordedEvent) -> bool:
    """Tell whether a row without a start means a process that was seen after this end, and only has
    the number of the one that ended."""
    ended = newest.data.get("leader")
    pid = row.pane.pid
    if pid is None or not isinstance(ended, Mapping) or ended.get("pid") != pid:
        return False
    if row.pane.start_ticks is not None or row.pane.created_epoch is not None:
        return False
    return books.leader_seen(row.name, pid) not in (None, ended)


def why_reverted(row: Row, newer: Newer) -> str:
    """Return the sentence that tells what the registry undid."""
    if is_ended(newer.life):
        now = newer.row
        reason = now.stop_reason or now.termination_mode or "no reason is recorded"
        ended = f"it was {now.status.value} at {now.ended_at} ({reason})"
        return f"{ended}, and the registry went back to before that"
    began = f"it was started again after it was {row.status.value}"
    return f"{began}, its session lives, and the registry went back to before that"


def _may_be_old(row: Row, sight: Sight) -> bool:
    """Tell whether the world contradicts the row: only then the ledger is asked."""
    if row.status.ended and sight.live is Live.GONE:  # nearly all of ten thousand
        return sight.session is not None
    if sight.live is Live.UNKNOWN:
        return False
    if row.status.ended:
        return sight.session is not None or sight.live in (Live.REPLACED, Live.ALIVE)
    if sight.session is None:
        return sight.live is not Live.ALIVE
    return row.pane.pid is not None and (sight.pane is None or sight.pane.pid != row.pane.pid)


def _agrees(row: Row, sight: Sight) -> bool:
    if not row.status.ended:
        return sight.live in (Live.ALIVE, Live.AGENT_GONE)
    return sight.live is Live.GONE and sight.session is None and not sight.owned.own

"""The state of each agent: working, waiting for the user, stopped by a limit, or idle; with its
source and since when.

Of the agent's last report (hook or heartbeat) and its screen, the more current one counts. Asks
each tmux server once for all screens that changed. Reads only, and never sends a key."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from tmuxreap.agents.hooks.events import HEARTBEAT
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State, read_screen
from tmuxreap.core.cache import kept, recalled, stamped
from tmuxreap.core.model import Live, Row
from tmuxreap.core.ports import Clock, Processes, Question, Tmux
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Pulse
from tmuxreap.sessions.row_agents import RowAgents
from tmuxreap.sessions.sight import Sight

FRESH_S = 120.0  # a report counts this long, even if its agent has drawn something since
SAME_MOMENT_S = 1.0  # tmux counts whole seconds
STILL_S = 2.0  # after this time no more drawing can fall into the same second
CROWD = 25  # with more screens than this, their states are cached between looks
READING = "screens"


class AgentState(Enum):
    WORKING = "working"
    WAITING = "waiting"
    LIMITED = "limited"
    IDLE = "idle"
    UNKNOWN = "unknown"


@frozen
class Told:
    """The state of an agent; empty if it is not alive."""

    state: AgentState | None = None
    since: float | None = None
    source: str | None = None  # hook, heartbeat or screen
    until: str | None = None  # the end of a limit, in the agent's own words


@frozen
class Shows:
    """What a screen shows."""

    state: AgentState = AgentState.UNKNOWN
    until: str | None = None


NOTHING = Told()
OF_SCREEN = {
    State.DIALOG: AgentState.WAITING,
    State.BUSY: AgentState.WORKING,
    State.DRAFT: AgentState.IDLE,
    State.IDLE: AgentState.IDLE,
    State.UNKNOWN: AgentState.UNKNOWN,
}
OF_WORD = {
    state.value: state for state in (AgentState.WORKING, AgentState.WAITING, AgentState.IDLE)
}
WINS = (AgentState.WAITING, AgentState.LIMITED)  # on a screen, they override any report


def judge(said: Pulse | None, shows: Shows | None, drawn_at: float | None, now: float) -> Told:
    """Decide between report and screen. `said`: the last report since the agent's start. `shows`:
    None without a screen."""
    word = OF_WORD.get(said.state) if said else None
    if shows is not None and shows.state in WINS:
        return _on_screen(shows, said, drawn_at)
    if said is not None and word is not None and (shows is None or _counts(said, drawn_at, now)):
        return Told(word, said.at, "heartbeat" if said.kind == HEARTBEAT else "hook")
    return Told(AgentState.UNKNOWN) if shows is None else _on_screen(shows, said, drawn_at)


def _counts(said: Pulse, drawn_at: float | None, now: float) -> bool:
    return now - said.at <= FRESH_S or (drawn_at is not None and said.at >= drawn_at)


def _on_screen(shows: Shows, said: Pulse | None, drawn_at: float | None) -> Told:
    """Return the state by the screen. Only a screen at rest shows since when; a working agent draws
    all the time."""
    if said is not None and said.state == shows.state.value:
        return Told(shows.state, said.at, "screen", shows.until)
    still = shows.state in (AgentState.IDLE, *WINS)
    return Told(shows.state, drawn_at if still else None, "screen", shows.until)


def read(profile: Profile | None, text: str | None) -> Shows:
    if profile is None or text is None:
        return Shows()
    return shows(read_screen(text, profile.screens, profile.marks))


def shows(screen: Screen) -> Shows:
    """Return what a screen shows. A limit counts even if the agent retries by itself or asks
    whether to retry."""
    if screen.limit is not None:
        return Shows(AgentState.LIMITED, screen.limit or None)
    return Shows(OF_SCREEN[screen.state])


class States:
    """Returns the states of many rows, with a cache of the screens that did not change."""

    def __init__(
        self, tmux: Tmux, processes: Processes, clock: Clock, books: Books, agents: RowAgents
    ) -> None:
        self._tmux = tmux
        self._processes = processes
        self._clock = clock
        self._books = books
        self._agents = agents
        self._known: dict[str, list[object]] | None = None

    def of(
        self, rows: Sequence[Row], sights: Sequence[Sight], said: Mapping[str, Pulse] | None = None
    ) -> list[Told]:
        """Return the states in the order of the rows. `said`: the last reports, if already read."""
        pulses = self._books.pulses() if said is None else said
        profiles = [self._agents.profile(row) for row in rows]
        shown = self._shown(sights, profiles)
        return [
            told_of(self._processes, self._clock, sight, pulses.get(row.name), one)
            for row, sight, one in zip(rows, sights, shown, strict=True)
        ]

    def _shown(
        self, sights: Sequence[Sight], profiles: Sequence[Profile | None]
    ) -> list[Shows | None]:
        shown: list[Shows | None] = [None] * len(sights)
        wanted = [at for at, sight in enumerate(sights) if _has_screen(sight, profiles[at])]
        cached = self._remembered(wanted, profiles)
        changed = []
        for at in wanted:
            entry = cached.get(_key(sights[at]))
            if entry is not None and entry[0] == _drawn_at(sights[at]) is not None:
                shown[at] = Shows(AgentState(entry[1]), entry[2])  # type: ignore[arg-type]
            else:
                changed.append(at)
        for at, text in self._captured(sights, changed):
            shown[at] = read(profiles[at], text)
        if changed and len(wanted) > CROWD:
            self._keep({_key(sights[at]): _entry(sights[at], shown[at]) for at in wanted}, profiles)
        return shown

    def _captured(
        self, sights: Sequence[Sight], places: Sequence[int]
    ) -> Iterable[tuple[int, str | None]]:
        for socket in dict.fromkeys(sights[at].socket for at in places):
            batch = [at for at in places if sights[at].socket == socket]
            panes = [pane.id for at in batch if (pane := sights[at].pane)]
            yield from zip(
                batch,
                self._tmux.ask(socket, [Question(pane) for pane in panes]),
                strict=True,
            )

    def _remembered(
        self, wanted: Sequence[int], profiles: Sequence[Profile | None]
    ) -> Mapping[str, list[object]]:
        if self._known is None and len(wanted) > CROWD:
            self._known = recalled(self._books.reading, READING, _stamp(profiles))
        return self._known or {}

    def _keep(self, entries: dict[str, list[object]], profiles: Sequence[Profile | None]) -> None:
        """Cache the states, except of screens that may be drawn again in the same second."""
        before = self._clock.now() - STILL_S
        self._known = {
            key: entry
            for key, entry in entries.items()
            if isinstance(at := entry[0], float) and at <= before
        }
        self._books.keep(kept(READING, _stamp(profiles), self._known))


def told_of(
    processes: Processes, clock: Clock, sight: Sight, said: Pulse | None, shown: Shows | None
) -> Told:
    """Return the state of an agent whose screen was read."""
    if sight.live is not Live.ALIVE:
        return NOTHING
    return judge(_of_this_life(processes, said, sight), shown, _drawn_at(sight), clock.now())


def _has_screen(sight: Sight, profile: Profile | None) -> bool:
    return (
        sight.live is Live.ALIVE
        and sight.pane is not None
        and profile is not None
        and bool(profile.screens)
    )


def _drawn_at(sight: Sight) -> float | None:
    """Return when the session last drew; None without a session, or if tmux does not report it."""
    activity = sight.session.activity if sight.session else None
    return None if activity is None else float(activity)


def _key(sight: Sight) -> str:
    session, pane = sight.session, sight.pane
    assert session is not None  # noqa: S101 - it has a screen
    assert pane is not None  # noqa: S101
    return f"{sight.socket} {session.id} {session.created} {pane.id} {pane.pid}"


def _entry(sight: Sight, shown: Shows | None) -> list[object]:
    one = shown or Shows()
    return [_drawn_at(sight), one.state.value, one.until]


def _stamp(profiles: Iterable[Profile | None]) -> str:
    """Return a stamp of the patterns: with other patterns a screen reads differently."""
    used = {profile.name: profile for profile in profiles if profile is not None}
    patterns: list[str] = []
    for name, profile in sorted(used.items()):
        named = [(state.value, pattern) for state, pattern in profile.screens.items()]
        patterns += [f"{name}.{key}={it.pattern}" for key, it in (*named, *profile.marks.items())]
    return stamped(zlib.crc32("\n".join(patterns).encode()))


def _of_this_life(processes: Processes, said: Pulse | None, sight: Sight) -> Pulse | None:
    """Return the report if it was made since the start: an earlier one is of another agent."""
    if said is None:
        return None
    lives = sight.agent or tuple(belonging.process for belonging in sight.owned.own)
    since = min((processes.started_epoch(process.id) for process in lives), default=0.0)
    return said if said.at >= since - SAME_MOMENT_S else None

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
from tmuxreap.core.cache import cache_entry, cache_stamp, cached_value
from tmuxreap.core.model import Live, Row
from tmuxreap.core.ports import Clock, Processes, Question, Tmux, ask_each
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Pulse
from tmuxreap.proof.servers import RowAgents
from tmuxreap.proof.sight import Sight

FRESH_S = 120.0  # a report counts this long, even if its agent has drawn something since
SAME_MOMENT_S = 1.0  # tmux counts whole seconds
STILL_S = 2.0  # after this time no more drawing can fall into the same second
CACHED_ABOVE = 25  # with more screens than this, their states are cached between looks
READING = "screens"


class AgentState(Enum):
    WORKING = "working"
    WAITING = "waiting"
    LIMITED = "limited"
    IDLE = "idle"
    UNKNOWN = "unknown"


@frozen
class StateReport:
    """The state of an agent; empty if it is not alive."""

    state: AgentState | None = None
    since: float | None = None
    source: str | None = None  # hook, heartbeat or screen
    until: str | None = None  # the end of a limit, in the agent's own words


@frozen
class ScreenState:
    """What a screen shows."""

    state: AgentState = AgentState.UNKNOWN
    until: str | None = None


NOTHING = StateReport()
STATE_OF_SCREEN = {
    State.DIALOG: AgentState.WAITING,
    State.BUSY: AgentState.WORKING,
    State.DRAFT: AgentState.IDLE,
    State.IDLE: AgentState.IDLE,
    State.UNKNOWN: AgentState.UNKNOWN,
}
STATE_OF_WORD = {
    state.value: state for state in (AgentState.WORKING, AgentState.WAITING, AgentState.IDLE)
}
OVERRIDING = (AgentState.WAITING, AgentState.LIMITED)  # on a screen, they override any report


def judge(
    pulse: Pulse | None, shown: ScreenState | None, drawn_at: float | None, now: float
) -> StateReport:
    """Decide between report and screen. `pulse`: the last report since the agent's start. `shown`:
    None without a screen."""
    word = STATE_OF_WORD.get(pulse.state) if pulse else None
    if shown is not None and shown.state in OVERRIDING:
        return _on_screen(shown, pulse, drawn_at)
    if (
        pulse is not None
        and word is not None
        and (shown is None or _is_current(pulse, drawn_at, now))
    ):
        return StateReport(word, pulse.at, "heartbeat" if pulse.kind == HEARTBEAT else "hook")
    return StateReport(AgentState.UNKNOWN) if shown is None else _on_screen(shown, pulse, drawn_at)


def _is_current(pulse: Pulse, drawn_at: float | None, now: float) -> bool:
    return now - pulse.at <= FRESH_S or (drawn_at is not None and pulse.at >= drawn_at)


def _on_screen(shown: ScreenState, pulse: Pulse | None, drawn_at: float | None) -> StateReport:
    """Return the state by the screen. Only a screen at rest shows since when; a working agent draws
    all the time."""
    if pulse is not None and pulse.state == shown.state.value:
        return StateReport(shown.state, pulse.at, "screen", shown.until)
    still = shown.state in (AgentState.IDLE, *OVERRIDING)
    return StateReport(shown.state, drawn_at if still else None, "screen", shown.until)


def read(profile: Profile | None, text: str | None) -> ScreenState:
    if profile is None or text is None:
        return ScreenState()
    return screen_state(read_screen(text, profile.screens, profile.marks))


def screen_state(screen: Screen) -> ScreenState:
    """Return what a screen shows. A limit counts even if the agent retries by itself or asks
    whether to retry."""
    if screen.limit is not None:
        return ScreenState(AgentState.LIMITED, screen.limit or None)
    return ScreenState(STATE_OF_SCREEN[screen.state])


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
        self._entries: dict[str, list[object]] | None = None

    def of(
        self,
        rows: Sequence[Row],
        sights: Sequence[Sight],
        pulses: Mapping[str, Pulse] | None = None,
    ) -> list[StateReport]:
        """Return the states in the order of the rows. `pulses`: if already read."""
        reports = self._books.pulses() if pulses is None else pulses
        profiles = [
            self._agents.profile(row, sight) for row, sight in zip(rows, sights, strict=True)
        ]
        shown = self._shown(sights, profiles)
        return [
            state_of(self._processes, self._clock, sight, reports.get(row.name), one)
            for row, sight, one in zip(rows, sights, shown, strict=True)
        ]

    def _shown(
        self, sights: Sequence[Sight], profiles: Sequence[Profile | None]
    ) -> list[ScreenState | None]:
        shown: list[ScreenState | None] = [None] * len(sights)
        wanted = [at for at, sight in enumerate(sights) if _has_screen(sight, profiles[at])]
        cached = self._cached(wanted, profiles)
        changed = []
        for at in wanted:
            entry = cached.get(_key(sights[at]))
            if entry is not None and entry[0] == _drawn_at(sights[at]) is not None:
                shown[at] = ScreenState(AgentState(entry[1]), entry[2])  # type: ignore[arg-type]
            else:
                changed.append(at)
        panes = [(sights[at].socket, pane) for at in changed if (pane := sights[at].pane)]
        texts = ask_each(self._tmux, [(socket, Question(pane.id)) for socket, pane in panes])
        for at, text in zip(changed, texts, strict=True):
            shown[at] = read(profiles[at], text)
        if changed and len(wanted) > CACHED_ABOVE:
            self._cache(
                {_key(sights[at]): _entry(sights[at], shown[at]) for at in wanted}, profiles
            )
        return shown

    def _cached(
        self, wanted: Sequence[int], profiles: Sequence[Profile | None]
    ) -> Mapping[str, list[object]]:
        if self._entries is None and len(wanted) > CACHED_ABOVE:
            self._entries = cached_value(self._books.reading, READING, _stamp(profiles))
        return self._entries or {}

    def _cache(self, entries: dict[str, list[object]], profiles: Sequence[Profile | None]) -> None:
        """Cache the states, except of screens that may be drawn again in the same second."""
        before = self._clock.now() - STILL_S
        self._entries = {
            key: entry
            for key, entry in entries.items()
            if isinstance(at := entry[0], float) and at <= before
        }
        self._books.cache_later(cache_entry(READING, _stamp(profiles), self._entries))


def state_of(
    processes: Processes, clock: Clock, sight: Sight, pulse: Pulse | None, shown: ScreenState | None
) -> StateReport:
    """Return the state of an agent whose screen was read."""
    if sight.live is not Live.ALIVE:
        return NOTHING
    return judge(_since_agent_start(processes, pulse, sight), shown, _drawn_at(sight), clock.now())


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


def _entry(sight: Sight, shown: ScreenState | None) -> list[object]:
    one = shown or ScreenState()
    return [_drawn_at(sight), one.state.value, one.until]


def _stamp(profiles: Iterable[Profile | None]) -> str:
    """Return a stamp of the patterns: with other patterns a screen reads differently."""
    used = {profile.name: profile for profile in profiles if profile is not None}
    patterns: list[str] = []
    for name, profile in sorted(used.items()):
        named = [(state.value, pattern) for state, pattern in profile.screens.items()]
        patterns += [f"{name}.{key}={it.pattern}" for key, it in (*named, *profile.marks.items())]
    return cache_stamp(zlib.crc32("\n".join(patterns).encode()))


def _since_agent_start(processes: Processes, pulse: Pulse | None, sight: Sight) -> Pulse | None:
    """Return the report if it was made since the start: an earlier one is of another agent."""
    if pulse is None:
        return None
    lives = sight.agent or tuple(belonging.process for belonging in sight.owned.own)
    since = min((processes.started_epoch(process.id) for process in lives), default=0.0)
    return pulse if pulse.at >= since - SAME_MOMENT_S else None

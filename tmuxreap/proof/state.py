"""The state of each agent: working, waiting for the user, stopped by a limit, or idle; with its
source and since when. All that tell a state ask here.

In this order: a dialog or a limit on the screen, the agent's own record, its last report (hook or
heartbeat), the rest of the screen. Asks each tmux server once for all screens that changed, and
reads a record again when its file has changed. Reads only, and never sends a key."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tmuxreap.agents.conversations.records import (
    NO_RECORD,
    Record,
    RecordFiles,
    read_record,
    store_of,
)
from tmuxreap.agents.hooks.events import FRESH_S, HEARTBEAT
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import Carriers
from tmuxreap.agents.screens import Screen, State, read_screen, unstyled
from tmuxreap.core.cache import cache_entry, cache_stamp, cached_value
from tmuxreap.core.masking import mask_secrets
from tmuxreap.core.model import SUSPENDED, AgentState, Live, Process, ProcessId, Row
from tmuxreap.core.ports import Clock, PaneQuestion, Processes, Tmux, ask_each
from tmuxreap.core.text import cut, plain
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Pulse
from tmuxreap.proof.servers import RowAgents
from tmuxreap.proof.sight import Sight

SAME_MOMENT_S = 1.0  # tmux counts whole seconds
STILL_S = 2.0  # after this time no more drawing can fall into the same second
CACHED_ABOVE = 25  # with more screens than this, their states are cached between looks
SCREENS = "states"
RECORDS = "records"
QUESTION_CELLS = 120
SCREEN = "screen"
RECORD = "record"
PROCESS = "process"


@frozen
class StateReport:
    """The state of an agent; empty if it is not alive."""

    state: AgentState | None = None
    since: float | None = None
    source: str | None = None  # screen, record, hook, heartbeat or process
    until: str | None = None  # the end of a limit, in the agent's own words
    waiting_for: str | None = None  # the question in one masked line

    @property
    def is_stopped(self) -> bool:
        """Whether it is unknown because a process of the agent is stopped (C-z, SIGSTOP)."""
        return self.source == PROCESS


@frozen
class ScreenState:
    """What a screen shows."""

    state: AgentState = AgentState.UNKNOWN
    until: str | None = None
    asks: str | None = None  # the question of a dialog, masked
    is_view: bool = False  # it hides the agent's input and asks nothing


NOTHING = StateReport()
STATE_OF_SCREEN = {
    State.DIALOG: AgentState.WAITING,
    State.BUSY: AgentState.WORKING,
    State.DRAFT: AgentState.IDLE,
    State.IDLE: AgentState.IDLE,
    State.UNKNOWN: AgentState.UNKNOWN,
}
UNDER_WAY = (State.BUSY, State.DIALOG)
STATE_OF_WORD = {
    state.value: state for state in (AgentState.WORKING, AgentState.WAITING, AgentState.IDLE)
}
OVERRIDING = (AgentState.WAITING, AgentState.LIMITED)  # on a screen, they override any report


def judge(
    pulse: Pulse | None,
    shown: ScreenState | None,
    drawn_at: float | None,
    now: float,
    record: Record = NO_RECORD,
) -> StateReport:
    """Decide between screen, record and report. `pulse`: the last report since the agent's start.
    `shown`: None without a screen."""
    if shown is not None and shown.state in OVERRIDING:
        asked = replace(shown, asks=shown.asks or _in_a_line(record.asks))
        return _on_screen(asked, pulse, drawn_at)
    if record.state in UNDER_WAY:
        return _on_record(STATE_OF_SCREEN[record.state], record, pulse)
    word = STATE_OF_WORD.get(pulse.state) if pulse else None
    if record.state is State.IDLE and word is not AgentState.IDLE:
        word = None  # it was interrupted, say, which calls no hook
    if (
        pulse is not None
        and word is not None
        and (shown is None or _is_current(pulse, drawn_at, now))
    ):
        return StateReport(word, pulse.at, "heartbeat" if pulse.kind == HEARTBEAT else "hook")
    if shown is not None and not (shown.is_view and record.state is not None):
        return _on_screen(shown, pulse, drawn_at)
    if record.state is not None:
        return _on_record(STATE_OF_SCREEN[record.state], record, pulse)
    return StateReport(AgentState.UNKNOWN)


def _on_record(state: AgentState, record: Record, pulse: Pulse | None) -> StateReport:
    since = None
    if pulse is not None and pulse.state == state.value:
        since = pulse.at
    return StateReport(state, since, RECORD, waiting_for=_in_a_line(record.asks))


def _is_current(pulse: Pulse, drawn_at: float | None, now: float) -> bool:
    return now - pulse.at <= FRESH_S or (drawn_at is not None and pulse.at >= drawn_at)


def _on_screen(shown: ScreenState, pulse: Pulse | None, drawn_at: float | None) -> StateReport:
    """Return the state by the screen. Only a screen at rest shows since when; a working agent draws
    all the time."""
    since = None
    if shown.state in (AgentState.IDLE, *OVERRIDING):
        since = drawn_at
    if pulse is not None and pulse.state == shown.state.value:
        since = pulse.at
    asks = None
    if shown.state is AgentState.WAITING:
        asks = shown.asks
    return StateReport(shown.state, since, SCREEN, shown.until, asks)


def screen_state(screen: Screen) -> ScreenState:
    """Return what a screen shows. A limit counts even if the agent retries by itself or asks
    whether to retry."""
    if screen.limit is not None:
        return ScreenState(AgentState.LIMITED, screen.limit or None)
    is_view = screen.state is State.UNKNOWN and bool(screen.view)
    asks = _in_a_line(screen.asks)
    return ScreenState(STATE_OF_SCREEN[screen.state], asks=asks, is_view=is_view)


def _in_a_line(question: str) -> str | None:
    """Return a question as it may be shown anywhere: plain, masked and short."""
    if question:
        masked = mask_secrets(plain(question)).strip()
    else:
        masked = ""
    return cut(masked, QUESTION_CELLS) or None


def visible_screen(
    profile: Profile | None, sight: Sight, carriers: Carriers, text: str | None
) -> Screen:
    """Read the agent's screen; behind a carrier it is unknown while another program is shown."""
    if profile is None or text is None:
        return Screen(State.UNKNOWN)
    if sight.carrier is not None and carriers.shows_another(unstyled(text)):
        return Screen(State.UNKNOWN)
    return read_screen(text, profile.screens, profile.marks, profile.tall)


def with_record(screen: Screen, record: Record, agents: Iterable[Process]) -> Screen:
    """Return the screen as it matters to keys. What the agent's own record says takes precedence
    over what the screen seems to show, except for a dialog: it gets other keys."""
    state = screen.state
    if is_stopped(agents):
        state = State.UNKNOWN
    elif state is not State.DIALOG and record.state in UNDER_WAY:
        state = record.state
    return replace(screen, state=state, background=record.background)


def is_stopped(agents: Iterable[Process]) -> bool:
    """Tell whether an agent's process is stopped (C-z, SIGSTOP): its screen then tells nothing."""
    return any(process.state in SUSPENDED for process in agents)


class States:
    """Returns the states of many rows, with a cache of the screens and records that did not
    change. `turns`: finds the conversations of an agent that records its turns there."""

    def __init__(
        self,
        tmux: Tmux,
        processes: Processes,
        clock: Clock,
        books: Books,
        agents: RowAgents,
        home: Path | None,
        turns: Callable[[Row, Sight, Profile], tuple[Path, ...]],
    ) -> None:
        self._tmux = tmux
        self._processes = processes
        self._clock = clock
        self._books = books
        self._agents = agents
        self._home = home
        self._turns = turns
        self._screens: dict[str, list[object]] | None = None
        self._records: dict[str, list[object]] | None = None

    def of(
        self,
        rows: Sequence[Row],
        sights: Sequence[Sight],
        pulses: Mapping[str, Pulse] | None = None,
    ) -> list[StateReport]:
        """Return the states in the order of the rows. `pulses`: if already read."""
        reports = self._books.pulses() if pulses is None else pulses
        profiles = []
        for row, sight in zip(rows, sights, strict=True):
            profiles.append(self._agents.profile(row, sight))
        shown = self._shown(sights, profiles)
        records = self._recorded(rows, sights, profiles, shown)
        each = zip(rows, sights, shown, records, strict=True)
        found: list[StateReport] = []
        for row, sight, one, record in each:
            found.append(
                state_of(self._processes, self._clock, sight, reports.get(row.name), one, record)
            )
        return found

    def _shown(
        self, sights: Sequence[Sight], profiles: Sequence[Profile | None]
    ) -> list[ScreenState | None]:
        shown: list[ScreenState | None] = [None] * len(sights)
        wanted = [at for at, sight in enumerate(sights) if has_screen(sight, profiles[at])]
        if self._screens is None and len(wanted) > CACHED_ABOVE:
            self._screens = self._cached(SCREENS, profiles)
        cached = self._screens or {}
        changed = []
        for at in wanted:
            entry = cached.get(_key(sights[at]))
            if entry is not None and entry[0] == _drawn_at(sights[at]) is not None:
                shown[at] = ScreenState(AgentState(entry[1]), *entry[2:])  # type: ignore[arg-type]
            else:
                changed.append(at)
        panes = [(sights[at].socket, pane) for at in changed if (pane := sights[at].pane)]
        texts = ask_each(self._tmux, [(socket, PaneQuestion(pane.id)) for socket, pane in panes])
        for at, text in zip(changed, texts, strict=True):
            profile = profiles[at]
            carriers = self._agents.spares(profile).carriers
            shown[at] = screen_state(visible_screen(profile, sights[at], carriers, text))
        if changed and len(wanted) > CACHED_ABOVE:
            entries = {_key(sights[at]): _entry(sights[at], shown[at]) for at in wanted}
            self._screens = self._settled(entries)
            self._cache(SCREENS, self._screens, profiles)
        return shown

    def _recorded(
        self,
        rows: Sequence[Row],
        sights: Sequence[Sight],
        profiles: Sequence[Profile | None],
        shown: Sequence[ScreenState | None],
    ) -> list[Record]:
        """Return what the agents' own records say; only some keep one."""
        found = [served_record(sight) for sight in sights]
        wanted = [at for at, sight in enumerate(sights) if _keeps_record(sight, profiles[at])]
        if self._records is None:
            many = len(wanted) > CACHED_ABOVE
            if many:
                self._records = self._cached(RECORDS, profiles)
            else:
                self._records = {}
        entries: dict[str, list[object]] = {}
        for at in wanted:
            key = _record_key(sights[at])
            profile = profiles[at]
            one = shown[at]
            assert profile is not None  # noqa: S101 - for mypy
            known = _RecordEntry.of(self._records.get(key))
            known = self._record(rows[at], sights[at], profile, one, known)
            entries[key] = known.as_json()
            found[at] = known.record
        if entries != self._records and len(wanted) > CACHED_ABOVE:
            self._cache(RECORDS, entries, profiles)
        self._records = entries
        return found

    def _record(
        self,
        row: Row,
        sight: Sight,
        profile: Profile,
        shown: ScreenState | None,
        known: _RecordEntry | None,
    ) -> _RecordEntry:
        """Read an agent's record, unless its files are as they were."""
        agents = _recorders(sight)
        drawn_at = _drawn_at(sight)
        if known is None:
            store = self._store(row, sight, profile)
            known = _RecordEntry(str(store) if store is not None else None)
        turns = known.turns
        at_work = shown is not None and shown.state is AgentState.WORKING
        if profile.records_turns and not (turns and at_work) and known.drawn_at != drawn_at:
            turns = tuple(map(str, self._turns(row, sight, profile)))
        store = None
        if known.store is not None:
            store = Path(known.store)
        files = RecordFiles(store, agents, tuple(map(Path, turns)))
        stamps = files.stamps(profile)
        before = (self._clock.now() - STILL_S) * 1e9
        settled = all(isinstance(at, int) and at <= before for _, at, _ in stamps)
        record = known.record
        if stamps != known.stamps:
            record = read_record(profile, files)
        still = drawn_at if self._is_still(drawn_at) else None
        return _RecordEntry(known.store, turns, still, stamps if settled else None, record)

    def _store(self, row: Row, sight: Sight, profile: Profile) -> Path | None:
        environs = (self._processes.environ(process.id) for process in sight.agent)
        environ = next((environ for environ in environs if environ is not None), None)
        store = store_of(profile, environ, row.store, self._home)
        if store is None or store.is_absolute():
            return store
        folders = (self._processes.cwd(process.id) for process in sight.agent)
        return Path(next(filter(None, folders), row.pane.cwd) or "/", store)

    def _cached(self, what: str, profiles: Sequence[Profile | None]) -> dict[str, list[object]]:
        return cached_value(self._books.reading, what, _stamp(profiles)) or {}

    def _cache(
        self, what: str, entries: dict[str, list[object]], profiles: Sequence[Profile | None]
    ) -> None:
        self._books.cache_later(cache_entry(what, _stamp(profiles), entries))

    def _settled(self, entries: Mapping[str, list[object]]) -> dict[str, list[object]]:
        """Return the entries, except of screens that may be drawn again in the same second."""
        return {key: entry for key, entry in entries.items() if self._is_still(entry[0])}

    def _is_still(self, drawn_at: object) -> bool:
        return isinstance(drawn_at, float) and drawn_at <= self._clock.now() - STILL_S


@frozen
class _RecordEntry:
    """An agent's record, and the files that it was read from."""

    store: str | None = None
    turns: tuple[str, ...] = ()
    drawn_at: float | None = None  # when `turns` were looked for
    stamps: list[list[object]] | None = None
    record: Record = NO_RECORD

    @classmethod
    def of(cls, entry: list[object] | None) -> _RecordEntry | None:
        if entry is None:
            return None
        store, turns, drawn_at, stamps, state, asks, background = entry
        record = Record(State(state) if state is not None else None, asks, background)  # type: ignore[arg-type]
        return cls(store, tuple(turns), drawn_at, stamps, record)  # type: ignore[arg-type]

    def as_json(self) -> list[object]:
        record = self.record
        state = None
        if record.state is not None:
            state = record.state.value
        said = [state, record.asks, record.background]
        return [self.store, list(self.turns), self.drawn_at, self.stamps, *said]


def state_of(
    processes: Processes,
    clock: Clock,
    sight: Sight,
    pulse: Pulse | None,
    shown: ScreenState | None,
    record: Record = NO_RECORD,
) -> StateReport:
    """Return the state of an agent whose screen and record were read."""
    if sight.live is not Live.ALIVE:
        return NOTHING
    if is_stopped(sight.agent):
        return StateReport(AgentState.UNKNOWN, source=PROCESS)
    said = _since_agent_start(processes, pulse, sight)
    return judge(said, shown, _drawn_at(sight), clock.now(), record)


def state_by(
    processes: Processes,
    clock: Clock,
    sight: Sight,
    profile: Profile | None,
    pulse: Pulse | None,
    screen: Screen | None,
    record: Record,
) -> StateReport:
    """Return the state of an agent that was looked at alone, as `States` has it of many."""
    shown = None
    if screen is not None and has_screen(sight, profile):
        shown = screen_state(screen)
    if record == NO_RECORD:
        record = served_record(sight)
    return state_of(processes, clock, sight, pulse, shown, record)


def served_record(sight: Sight) -> Record:
    """Return what its agent's own server says that the session does."""
    if sight.job is None or sight.job.state is None:
        return NO_RECORD
    return Record(sight.job.state, sight.job.asks)


def _keeps_record(sight: Sight, profile: Profile | None) -> bool:
    return (
        sight.live is Live.ALIVE
        and bool(_recorders(sight))
        and profile is not None
        and profile.keeps_record
    )


def _recorders(sight: Sight) -> tuple[ProcessId, ...]:
    """Return the processes whose record tells the state: not that of a pane whose conversation went
    on elsewhere."""
    if sight.job is not None:
        return sight.job.processes[-1:]
    return tuple(process.id for process in sight.agent)


def _record_key(sight: Sight) -> str:
    return " ".join(f"{process.pid}:{process.start}" for process in _recorders(sight))


def has_screen(sight: Sight, profile: Profile | None) -> bool:
    return (
        sight.live is Live.ALIVE
        and sight.pane is not None
        and sight.job is None  # its pane shows another session, or a list of them
        and profile is not None
        and bool(profile.screens)
    )


def _drawn_at(sight: Sight) -> float | None:
    """Return when the session last drew; None without a session, or if tmux does not report it."""
    activity = sight.session.activity if sight.session else None
    return None if activity is None else float(activity)


def _key(sight: Sight) -> str:
    session = sight.session
    pane = sight.pane
    assert session is not None  # noqa: S101 - it has a screen
    assert pane is not None  # noqa: S101
    return f"{sight.socket} {session.id} {session.created} {pane.id} {pane.pid}"


def _entry(sight: Sight, shown: ScreenState | None) -> list[object]:
    one = shown or ScreenState()
    return [_drawn_at(sight), one.state.value, one.until, one.asks, one.is_view]


def _stamp(profiles: Iterable[Profile | None]) -> str:
    """Return a stamp of the patterns: with other patterns a screen reads differently."""
    used = {profile.name: profile for profile in profiles if profile is not None}
    patterns: list[str] = []
    for name, profile in sorted(used.items()):
        named = [(state.value, pattern) for state, pattern in profile.screens.items()]
        for key, it in (*named, *profile.marks.items()):
            patterns.append(f"{name}.{key}={it.pattern}")
    return cache_stamp(zlib.crc32("\n".join(patterns).encode()))


def _since_agent_start(processes: Processes, pulse: Pulse | None, sight: Sight) -> Pulse | None:
    """Return the report if it was made since the start: an earlier one is of another agent."""
    if pulse is None:
        return None
    lives = sight.agent or tuple(belonging.process for belonging in sight.owned.own)
    since = min((processes.started_epoch(process.id) for process in lives), default=0.0)
    return pulse if pulse.at >= since - SAME_MOMENT_S else None

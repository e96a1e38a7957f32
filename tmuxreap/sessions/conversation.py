"""Finds the conversation of a row, and what continues it: gathers the clues, the step from a sight
to the locators of `conversations/find.py`, and says how it is resumed. Never changes anything."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations import find
from tmuxreap.agents.conversations.background import (
    Bond,
    Forked,
    Lingering,
    Lists,
    bond_of,
    follow,
    launched_sessions,
    lingering,
    session_of,
    sessions_in,
    shown_in,
)
from tmuxreap.agents.conversations.command_lines import resume_line, resume_words
from tmuxreap.agents.conversations.find import Clues
from tmuxreap.agents.conversations.jobs import Served
from tmuxreap.agents.conversations.records import (
    NO_RECORD,
    Record,
    RecordFiles,
    read_record,
    store_of,
)
from tmuxreap.agents.hooks.events import SESSION_END, may_be_agent
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State
from tmuxreap.core.model import Live, Process, Row
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Conversation
from tmuxreap.core.text import plain
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Heartbeat
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.rows import recorded_conversation

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job

LIVE_LOCATORS = ("pidfile", "open-file", "argv")
WORKING = "working"  # as hooks report it


@frozen
class Known:
    """What is known about the conversation of one row."""

    conversation: Conversation
    clues: Clues
    store: str | None = None  # if it is not the default
    candidates: tuple[str, ...] = ()
    forked: Forked | None = None

    @property
    def is_resumable(self) -> bool:
        """Whether this very conversation is on disk, and not an older copy of one that lives."""
        return self.conversation.exists and (self.forked is None or self.forked.is_on_disk)

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.forked is not None:
            return (plain(self.forked.warning()),)
        if not self.candidates:
            return ()
        could = f"any of {', '.join(self.candidates)}"
        if len(self.candidates) == 1:
            could = f"{self.candidates[0]}, but another agent of its kind runs in its folder"
        return (f"ambiguous_conversation: it could be {could}; none was recorded",)


@frozen
class ConversationTrace:
    """What an agent leaves of a turn that has begun: its hooks' last word of work, and the size and
    time of its conversation's file."""

    worked_at: float = 0.0
    written: tuple[str, int, int] | None = None


@frozen
class Finder:
    """Finds conversations: by living agents, by what their hooks reported, by their stores."""

    processes: Processes
    books: Books
    home: Path | None

    def known_of(
        self, row: Row, sight: Sight, profile: Profile | None, parked: str | None = None
    ) -> Known:
        """Find the conversation of a row; the recorded one counts if no locator finds another."""
        if profile is None:
            return Known(find.NONE, Clues())
        clues, environ = self._clues(row, sight, profile)
        located = find.locate(profile, clues)
        best = located.conversation
        if best.id is None:
            best = shown_in(profile, clues, self.processes) or _recorded(profile, row, clues)
        candidates = located.candidates if best.id is None else ()
        store = self._store_word(profile, environ, clues, row)
        return self.followed(profile, Known(best, clues, store, candidates), parked)

    def followed(self, profile: Profile | None, known: Known, parked: str | None = None) -> Known:
        """Follow a conversation that its agent continued under another ID. `parked`: known."""
        if profile is None:
            return known
        parked = parked or find.parked_session(profile, known.clues)
        store = known.clues.store
        before = known.conversation
        conversation, forked = follow(profile, store, before, self.processes, parked)
        return replace(known, conversation=conversation, forked=forked or known.forked)

    def own_store(self, row: Row, sight: Sight, profile: Profile | None) -> str | None:
        """Return the agent's store, if it is not the default. Only a living agent shows it."""
        if profile is None:
            return None
        clues, environ = self._clues(row, sight, profile)
        return self._store_word(profile, environ, clues, row)

    def last_reported_state(self, row: Row, sight: Sight) -> str:
        """Return the state that the agent reported last since its start; empty if none."""
        since = min((self.processes.started_epoch(it.id) for it in sight.agent), default=0.0)
        beats = self.books.heartbeats_of(row.name)
        return next((beat.state for beat in beats if beat.state and beat.at >= since), "")

    def trace_of(self, row: Row, sight: Sight, profile: Profile | None) -> ConversationTrace:
        """Return the trace of its last turn; a file that others share tells nothing of this one."""
        beats = self.books.heartbeats_of(row.name)
        worked_at = max((beat.at for beat in beats if beat.state == WORKING), default=0.0)
        if profile is None or profile.query is not None:
            return ConversationTrace(worked_at)
        path = self.known_of(row, sight, profile).conversation.path
        try:
            status = Path(path).stat() if path else None
        except OSError:
            status = None
        if path is None or status is None:
            return ConversationTrace(worked_at)
        return ConversationTrace(worked_at, (path, status.st_size, status.st_mtime_ns))

    def background_warnings(
        self,
        known: Known,
        profile: Profile | None,
        name: str,
        lists: Lists,
        own: Job | None = None,
        *,
        planned: bool = False,
    ) -> tuple[str, ...]:
        """Warn where the conversation continues without its pane and how to end it. `own`: the
        session that is the row's own; `planned`: it has not ended yet, so that a turn in it is no
        matter."""
        conversation = known.conversation
        store = known.clues.store
        if profile is None or conversation.id is None or store is None:
            return ()
        jobs = lists.of(profile, store)
        if planned:
            left = launched_sessions(profile, jobs, conversation.id)
        else:
            left = lingering(profile, jobs, conversation, self.processes)
        if known.forked is not None:
            told = {job.where for job in known.forked.jobs}
        else:
            told = set()
        others = [one for one in left if one.job is None or own is None or one.job.seat != own.seat]
        if conversation.source == find.GUESS:
            others = [replace(one, is_guess=True) for one in others]
        return tuple(plain(one.below(name).warning) for one in others if one.where not in told)

    def sessions_in(self, known: Known, profile: Profile | None) -> list[Lingering]:
        """Return the living sessions in the agent's background that are in the conversation."""
        conversation = known.conversation
        store = known.clues.store
        if known.forked is not None:
            return list(known.forked.jobs)
        if profile is None or conversation.id is None or store is None:
            return []
        return sessions_in(profile, self.lists().of(profile, store), conversation.id)

    def lists(self) -> Lists:
        """Return the lists of the agents' own daemons, each read once, as one look finds them."""
        return Lists(self.processes, self.home)

    def served(
        self,
        known: Known,
        row: Row,
        profile: Profile | None,
        lists: Lists,
        shown: State | None,
    ) -> Served | None:
        """Return what the agent's own server runs, or may run, for a row in a pane. A conversation
        that is only a guess must have begun in that pane, and is certain only while what is `shown`
        there is a turn, or a question that the server has, too: an agent that has said nothing has
        none on disk, and the one that was found there is that of another agent, which has left its
        pane."""
        conversation = known.conversation.id
        store = known.clues.store
        if profile is None or profile.own_server is None or conversation is None or store is None:
            return None
        since = None
        is_guess = known.conversation.source == find.GUESS
        if is_guess:
            since = row.pane.created_epoch or math.inf
        served = Served(profile.name, store, conversation, since)
        jobs = lists.of(profile, store)
        found = served.among(jobs)
        if jobs.is_known and found is None:
            return None
        if not is_guess or shown is State.BUSY:
            return served
        asks = found is not None and found.state is State.DIALOG
        return replace(served, is_certain=asks and shown is State.DIALOG)

    def seats(
        self, known: Known, profile: Profile | None, lists: Lists, told: Job | None = None
    ) -> frozenset[str] | None:
        """Return the sessions of the agent's own daemon that are in this conversation now; None
        without a list of it, and where that cannot be read. `told`: one that was to end there,
        which counts whatever it is in: it may have had a copy."""
        conversation = known.conversation.id
        store = known.clues.store
        if profile is None or profile.background is None or profile.own_server is not None:
            return None
        if conversation is None or store is None:
            return None
        jobs = lists.of(profile, store)
        if not jobs.is_known:
            return None
        own = None if told is None else told.id
        living = [job for job in jobs.listed if job.lives]
        bonds = [(job.id, bond_of(job, conversation)) for job in living]
        return frozenset(number for number, bond in bonds if bond is Bond.SAME or number == own)

    def session_of(self, process: Process, profile: Profile) -> Lingering | None:
        """Return the session in the agent's background that a process serves."""
        store = self._store_of(profile, process, self.processes.cwd(process.id))
        if store is None:
            return None
        return session_of(profile, store, process, self.processes)

    def forked_of(self, row: Row, sight: Sight, profile: Profile | None) -> Forked | None:
        """Return how the conversation of a living agent was continued in its background, if its
        own pid file says so; `list` asks it of every agent, so nothing else is read before."""
        if profile is None:
            return None
        for process in sight.agent:
            store = self._store_of(profile, process, row.pane.cwd)
            agent = find.AgentProcess(process.id, (), 0.0)
            parked = find.parked_session(profile, Clues((agent,), store=store))
            if parked is not None:
                return self.known_of(row, sight, profile, parked).forked
        return None

    def open_turns(self, row: Row, sight: Sight, profile: Profile) -> tuple[Path, ...]:
        """Return the files in which a turn of the agent may be open."""
        return record_files(profile, self.known_of(row, sight, profile)).turns

    def agent_in_conversation(
        self,
        profile: Profile,
        conversation: str,
        store: Path | None,
        besides: Container[int] = (),
    ) -> Process | None:
        """Return a living agent, with or without a row, that shows that it has this conversation
        open. `besides`: the processes that may have it."""
        live = tuple(locator for locator in profile.locators if locator.kind in LIVE_LOCATORS)
        for process in self._living_agents(profile):
            if process.pid in besides:
                continue
            cwd = self.processes.cwd(process.id)
            own_store = self._store_of(profile, process, cwd)
            if own_store is None or (store is not None and own_store != store):
                continue
            files = self.processes.open_files(process.id)
            clues = Clues((self._agent_process(process),), tuple(files), cwd, own_store)
            if find.locate(replace(profile, locators=live), clues).conversation.id == conversation:
                return process
        return None

    def _clues(
        self, row: Row, sight: Sight, profile: Profile
    ) -> tuple[Clues, Mapping[str, str] | None]:
        environs = (self.processes.environ(process.id) for process in sight.agent)
        environ = next((environ for environ in environs if environ is not None), None)
        folders = (self.processes.cwd(process.id) for process in sight.agent)
        cwd = next(filter(None, folders), row.pane.cwd)
        store = store_of(profile, environ, row.store, self.home)
        if store is not None:
            store = Path(cwd or "/", store)
        agents = tuple(self._agent_process(process) for process in sight.agent)
        shows_files = any(locator.kind == "open-file" for locator in profile.locators)
        opened: list[str] = []
        for process in sight.agent:
            if shows_files:
                opened += self.processes.open_files(process.id)
        launched = None
        if row.conversation_source == "launch":
            launched = recorded_conversation(row, profile.name)
        clues = Clues(
            agents,
            tuple(opened),
            cwd,
            store,
            launched=launched,
            hooked=self._hooked(row, agents, profile),
            since=row.pane.created_epoch if not row.status.ended else None,
            rivals=lambda: self._has_rivals(sight, profile, cwd, store),
        )
        return clues, environ

    def _hooked(
        self, row: Row, agents: Sequence[find.AgentProcess], profile: Profile
    ) -> str | None:
        """Return the conversation that the agent's hooks reported last: hooks of this process, not
        of an earlier agent or of one that its tools started. A program that cannot be an agent
        counts by the mark that it carries.

        SESSION_END is ignored: it may arrive after the hooks of the next conversation."""
        if not agents or not any(locator.kind == "hook" for locator in profile.locators):
            return None

        ours = {(agent.id.pid, agent.id.start) for agent in agents}
        since = min(agent.started_epoch for agent in agents)
        for beat in self.books.heartbeats_of(row.name):
            said = beat.conversation_id and beat.kind != SESSION_END
            if said and _heartbeat_is_of(beat, profile, ours, since):
                return beat.conversation_id
        return None

    def _has_rivals(
        self, sight: Sight, profile: Profile, cwd: str | None, store: Path | None
    ) -> bool:
        """Tell whether another living agent of this kind has the same folder and the same store:
        its conversations cannot be told from ours."""
        ours = {process.pid for process in sight.agent}
        ours |= {belonging.process.pid for belonging in sight.owned.own}
        others = (process for process in self._living_agents(profile) if process.pid not in ours)
        return any(
            self.processes.cwd(process.id) == cwd
            and self._store_of(profile, process, cwd) in (None, store)
            for process in others
        )

    def _living_agents(self, profile: Profile) -> Iterator[Process]:
        """Yield every living agent of this kind, registered or not."""
        for process in self.processes.look().values():
            if profile.recognises(self.processes.argv(process.id), process.comm, None):
                yield process

    def _store_of(self, profile: Profile, process: Process, cwd: str | None) -> Path | None:
        """Return the store of a process, or None if its environment cannot be read."""
        environ = self.processes.environ(process.id)
        store = None
        if environ is not None:
            store = store_of(profile, environ, None, self.home)
        if store is not None:
            return Path(cwd or "/", store)
        return None

    def _agent_process(self, process: Process) -> find.AgentProcess:
        return find.AgentProcess(
            process.id, self.processes.argv(process.id), self.processes.started_epoch(process.id)
        )

    def _store_word(
        self, profile: Profile, environ: Mapping[str, str] | None, clues: Clues, row: Row
    ) -> str | None:
        """Return the store to record in the row: only one that is not the default."""
        if environ is None:
            return row.store
        named = bool(environ.get(profile.store_variable or ""))
        default = store_of(profile, {}, None, self.home)
        if clues.store and (named or clues.store != default):
            return str(clues.store)
        return None


def after_exit(profile: Profile | None, known: Known, banner: str | None) -> Known:
    """Find the conversation again after the agent's exit, with its exit banner."""
    if profile is None:
        return known
    # Their pid files are gone with the agents.
    clues = replace(known.clues, banner=banner, agents=(), open_files=(), launched=None)
    after = find.locate(profile, clues).conversation
    before = known.conversation
    if before.id is not None:
        before = find.with_path(profile, clues.store, before.id, before.source)
    best = find.more_trusted(before, after)
    return replace(known, conversation=best, candidates=known.candidates if best.id is None else ())


def after_own_exit(
    profile: Profile | None, known: Known, sight: Sight, screen: str | None
) -> Known:
    """Look for the exit banner of an agent that left by itself: its shell may still show it."""
    if sight.live is not Live.AGENT_GONE or sight.agent or screen is None:
        return known
    return after_exit(profile, known, screen)


def record_of(profile: Profile | None, known: Known) -> Record:
    """Read what the agent's own record says."""
    if profile is None:
        return NO_RECORD
    return read_record(profile, record_files(profile, known))


def record_files(profile: Profile, known: Known) -> RecordFiles:
    """Return where the agent records what it does: of a turn, in each conversation that it may be
    in."""
    clues = known.clues
    turns: tuple[Path, ...] = ()
    if profile.records_turns:
        guesses = (find.with_path(profile, clues.store, it, None) for it in known.candidates)
        turns = tuple(Path(it.path) for it in (known.conversation, *guesses) if it.path)
    return RecordFiles(clues.store, tuple(agent.id for agent in clues.agents), turns)


def resume_command(row: Row, known: Known, profile: Profile | None) -> str | None:
    conversation = known.conversation
    if profile is None or not profile.resume or conversation.id is None or not known.is_resumable:
        return None
    words = resume_words(profile, row.start_command, conversation.id)
    return resume_line(words, store_environment(profile, known.store or row.store))


def store_environment(profile: Profile, store: str | None) -> Mapping[str, str]:
    """Return the environment that selects this store: the agent's variable, or HOME if it has
    none."""
    if not store:
        return {}
    if profile.store_variable:
        return {profile.store_variable: _above(store, profile.store_under)}
    default = profile.store_default or ""
    below = default.removeprefix("~/")
    in_home = default.startswith("~/") and store.endswith("/" + below)
    return {"HOME": _above(store, below)} if in_home else {}


def _above(folder: str, below: str) -> str:
    if below:
        return folder.removesuffix("/" + below) or "/"
    return folder


def _heartbeat_is_of(
    beat: Heartbeat, profile: Profile, own_processes: Container[tuple[object, ...]], since: float
) -> bool:
    below = beat.data.get("below")
    if isinstance(below, list):
        shells = [tuple(it) for it in below if isinstance(it, list)]
    else:
        shells = []
    if any(it in own_processes for it in [(beat.data.get("pid"), beat.data.get("start")), *shells]):
        return True
    program = beat.data.get("program")
    if not isinstance(program, str) or may_be_agent(program, profile.name):
        return False
    return program not in profile.process and beat.at >= since


def _recorded(profile: Profile, row: Row, clues: Clues) -> Conversation:
    recorded = recorded_conversation(row, profile.name)
    if recorded is None:
        return find.NONE
    return find.with_path(profile, clues.store, recorded, row.conversation_source)

"""The answers of `list` and `show`: a row, a look at its session, and what the ledger adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tmuxreap.core import text
from tmuxreap.core.answers import Session, Shown
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Live, ProcessId, Row, Status, Terminal, Usage
from tmuxreap.core.ports import Clock, PaneQuestion, Processes, Tmux
from tmuxreap.core.results import Author, LocatorAnswer, Process, Used, megabytes, problem_of, read
from tmuxreap.core.times import iso
from tmuxreap.core.values import as_dict, frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Pulse
from tmuxreap.ledger.schema import BEGINNINGS, ENDS
from tmuxreap.proof.identity import pid_of
from tmuxreap.proof.ownership import Belonging
from tmuxreap.proof.sight import Sight
from tmuxreap.proof.state import has_screen, state_by, visible_screen, with_record
from tmuxreap.registry.rows import is_protected, parent_of, recorded_conversation
from tmuxreap.sessions.look import REVERTED, Sights, newer_rows
from tmuxreap.system.headless import logged_screen

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.background import Forked
    from tmuxreap.agents.profiles import Profile
    from tmuxreap.proof.state import StateReport, States
    from tmuxreap.sessions.conversation import Finder


@frozen
class SessionAnswers:
    """Tells people and programs what a look at a row showed. `states` and `finder` are made when
    they are needed."""

    sights: Sights
    tmux: Tmux
    processes: Processes
    clock: Clock
    warnings: list[str]
    states: Callable[[], States]
    finder: Callable[[], Finder]

    def of(self, rows: Sequence[Row], sights: Sequence[Sight]) -> list[Session]:
        pulses = self.sights.books.pulses()
        states = self._states(rows, sights, pulses)
        forks = []
        for row, sight in zip(rows, sights, strict=True):
            forks.append(self._forked(row, sight))
        sessions = []
        for row, sight, state, forked in zip(rows, sights, states, forks, strict=True):
            sessions.append(
                self.of_row(row, sight, pulses.get(row.name), known_state=state, forked=forked)
            )
        newer = newer_rows(
            self.sights.books, zip(rows, sights, strict=True), self.sights.with_pasts
        )
        if not newer:
            return sessions
        return [replace(it, drift=REVERTED) if it.name in newer else it for it in sessions]

    def _forked(self, row: Row, sight: Sight) -> Forked | None:
        """Return how the conversation that the row names was continued in the background, and
        warn."""
        profile = self.sights.agents.profile(row, sight)
        if sight.live is not Live.ALIVE or profile is None or not profile.parks:
            return None
        return self._warned(row, sight, self.finder().forked_of(row, sight, profile))

    def _warned(self, row: Row, sight: Sight, forked: Forked | None) -> Forked | None:
        """Warn of a conversation that went on under another ID than the row's."""
        if (
            forked is None
            or recorded_conversation(row, self.sights.agents.of(row, sight)) == forked.after
        ):
            return None
        self.warnings.append(text.plain(forked.warning(f"{row.name}'s")))
        return forked

    def _states(
        self, rows: Sequence[Row], sights: Sequence[Sight], pulses: Mapping[str, Pulse]
    ) -> Sequence[StateReport | None]:
        """Return the states of live agents; without any, `state` is not imported."""
        if not any(sight.live is Live.ALIVE for sight in sights):
            return [None] * len(rows)
        return self.states().of(rows, sights, pulses)

    def of_row(
        self,
        row: Row,
        sight: Sight,
        pulse: Pulse | None = None,
        *,
        known_state: StateReport | None = None,
        forked: Forked | None = None,
    ) -> Session:
        """Build the answer for one row. `known_state`: its state, if its screen was read already;
        `forked`: how its conversation went on under another ID."""
        session = sight.session
        pane = sight.pane
        now = self.clock.now()
        activity = session.activity if session else None
        agent = self.sights.agents.of(row, sight)
        state = known_state or self._states([row], [sight], {})[0]
        memory = sum(self.processes.memory(belonging.process.id) for belonging in sight.owned.own)
        if row.status is Status.ARCHIVED:
            status = Status.STOPPED
        else:
            status = row.status
        state_since = None
        if state and state.since is not None:
            state_since = iso(state.since)
        return Session(
            name=row.name,
            agent=agent,
            status=status,
            live=sight.live,
            tmux_server=row.tmux_server,
            pane_id=pane.id if pane else row.pane.id,
            pid=_pid(row, sight),
            cwd=row.pane.cwd,
            tags=row.tags,
            conversation_id=recorded_conversation(row, agent),
            resumable=row.resumable is True and forked is None,
            idle_s=None if activity is None else max(0, int(now) - activity),
            heartbeat_age_s=max(0, int(now - pulse.at)) if pulse else None,
            attached=bool(session and session.attached),
            memory_mb=megabytes(memory),
            drift=drift_of(row, sight) or ("moved" if forked is not None else None),
            state=state.state.value if state and state.state else None,
            state_since=state_since,
            state_source=state.source if state else None,
            until=state.until if state else None,
            waiting_for=state.waiting_for if state else None,
            task_id=row.task_id,
            ttl=row.ttl,
            worktree=row.worktree,
            created_at=row.created_at,
            stopped_at=row.ended_at,
            stop_reason=row.stop_reason,
            termination_mode=row.termination_mode,
            parent=parent_of(row),
            keep=is_protected(row),
            restart=row.restart,
            start_command=row.start_command,
            socket=sight.socket if row.terminal is Terminal.TMUX else None,
            seat=seat_of(row, sight),
        )

    def shown(
        self,
        row: Row,
        sight: Sight,
        pulse: Pulse | None,
        usage: Mapping[ProcessId, Usage],
    ) -> Shown:
        """Build the answer of `show`: with processes, conversation and screen."""
        from tmuxreap.sessions.conversation import record_of  # late: imports the agents' stores

        profile = self.sights.agents.profile(row, sight)
        known = self.finder().known_of(row, sight, profile)
        plain, text = _screens(self.tmux, sight, profile)
        carriers = self.sights.agents.spares(profile).carriers
        record = record_of(profile, known)
        screen = None
        if has_screen(sight, profile):
            screen = visible_screen(profile, sight, carriers, plain)
        if row.terminal is Terminal.NONE:
            text = logged_screen(self.sights.books.registry.resolved, row)
        state = state_by(self.processes, self.clock, sight, profile, pulse, screen, record)
        conversation = known.conversation
        trouble = None
        if sight.live is Live.UNKNOWN:
            trouble = sight.trouble
        forked = self._warned(row, sight, known.forked)
        session = self.of_row(row, sight, pulse, known_state=state, forked=forked)
        if newer_rows(self.sights.books, [(row, sight)], self.sights.with_pasts):
            session = replace(session, drift=REVERTED)
        summary = as_dict(session)
        measured = []
        for process in processes_of(sight):
            if process in usage:
                measured.append(usage[process])
        cpu_s = None
        cpu_percent = None
        if measured:
            cpu_s = round(sum(it.cpu_s for it in measured), 2)
            cpu_percent = round(sum(it.cpu_percent for it in measured), 1)
        if screen:
            pane_state = with_record(screen, record, sight.agent).state.value
        else:
            pane_state = sight.live.value
        return Shown(
            **{**summary, "error": problem_of(trouble)},
            processes=tuple(
                _used(_process(self.processes, belonging), usage.get(belonging.process.id))
                for belonging in (*sight.owned.own, *sight.named_only)
            ),
            cpu_s=cpu_s,
            cpu_percent=cpu_percent,
            ports=tuple(sorted(set().union(*(it.ports for it in measured)))),
            protected=tuple(
                _process(self.processes, belonging) for belonging in sight.owned.spared
            ),
            pane_state=pane_state,
            locators=(LocatorAnswer(**as_dict(conversation), candidates=tuple(known.candidates)),),
            screen=kept_screen(text) if text is not None else row.last_screen,
            ended_by=_ended_by(self.sights.books, row),
        )


def _screens(tmux: Tmux, sight: Sight, profile: Profile | None) -> Sequence[str | None]:
    """Read the pane's screen, as shown and with wrapped lines joined."""
    if sight.pane is None:
        return None, None
    pane = sight.pane.id
    styled = profile is not None and profile.is_styled
    return tmux.ask(
        sight.socket, [PaneQuestion(pane, styled=styled), PaneQuestion(pane, joined=True)]
    )


def _pid(row: Row, sight: Sight) -> int | None:
    """Return the process of the row; a daemon may have brought its session back in another one."""
    alone = sight.session is None and sight.job is not None
    if alone and sight.job is not None and sight.job.processes:
        return sight.job.processes[0].pid
    return pid_of(row, sight.pane)


def seat_of(row: Row, sight: Sight) -> str | None:
    """Return where a session sits, as `adopt` takes it: `%3`, `kitty:7`, `claude:1a2b3c4d`; None
    where it is a process without a terminal, or of a row that names no pane."""
    if sight.job is not None:
        return sight.job.seat
    if row.terminal is Terminal.BACKGROUND:
        return f"{row.agent}:{row.pane.id}"
    number = sight.pane.id if sight.pane is not None else row.pane.id
    if row.terminal is Terminal.TMUX or number is None:
        return number
    return f"{row.terminal.value}:{number}"


def drift_of(row: Row, sight: Sight) -> str | None:
    """Return how the registry and the world disagree on this row; None if they agree, or if it is
    unknown."""
    if sight.job is not None and sight.session is None:
        if row.status.ended:
            return "revived"
        if sight.unproven:
            return "survivors"
        return "moved" if row.terminal is Terminal.TMUX else None
    if sight.live is Live.UNKNOWN:
        return None
    if not row.status.ended:
        if sight.owned.own or sight.unproven:
            gone = "survivors"
        else:
            gone = "dead"
        return {Live.GONE: gone, Live.AGENT_GONE: "agent_gone", Live.REPLACED: "replaced"}.get(
            sight.live
        )
    if sight.session is not None or sight.live is Live.REPLACED:
        return "revived"
    return "survivors" if sight.owned.own else None


def processes_of(sight: Sight) -> list[ProcessId]:
    """Return the processes that `show` tells as the session's."""
    return [it.process.id for it in (*sight.owned.own, *sight.named_only)]


def _ended_by(books: Books, row: Row) -> Author | None:
    """Return who ended the session; None if it runs, or if it ended by itself."""
    if not row.status.ended:
        return None
    events = []
    for event in books.events({row.name}, None):
        if event.kind in (*BEGINNINGS, *ENDS):
            events.append(event)
    author = events[-1].data.get("ended_by") if events else None
    if isinstance(author, Mapping):
        return read(Author, author)
    return None


def _process(processes: Processes, belonging: Belonging) -> Process:
    started = round(processes.started_epoch(belonging.process.id), 2)
    return Process(belonging.process.pid, belonging.process.comm, belonging.why, started)


def _used(process: Process, usage: Usage | None) -> Used:
    if usage is None:
        return Used(**as_dict(process))
    return Used(
        **as_dict(process),
        cpu_s=usage.cpu_s,
        cpu_percent=usage.cpu_percent,
        ports=usage.ports,
    )

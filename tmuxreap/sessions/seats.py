"""Finds the sessions that agents' own daemons run, as their lists have them: those of rows, those
that rows launched, and those that nobody has recorded. Writes nothing, and asks no daemon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.model import Process, RecordedPane, RecordedTmux, Row, Terminal
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen
from tmuxreap.proof.observe import Place
from tmuxreap.proof.servers import RowAgents
from tmuxreap.registry.rows import conversation_field, recorded_conversation
from tmuxreap.system.environment import Settings

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job
    from tmuxreap.agents.profiles import Profile
    from tmuxreap.proof.sight import Sight

BELOW = "/"  # between a row's name and the ID of its child


@frozen
class Seated:
    """A living session in an agent's own daemon. `parent`: the row that it was launched from;
    `row`: the one that means it."""

    job: Job
    parent: Row | None = None
    row: Row | None = None

    @property
    def name(self) -> str:
        """Its name as a target; without a parent as `adopt --background` takes it."""
        if self.parent is None:
            return self.job.seat
        return f"{self.parent.name}{BELOW}{self.job.id}"


@frozen
class Seats:
    """Reads the lists of agents' own daemons, and compares them with rows."""

    settings: Settings
    processes: Processes
    agents: RowAgents
    place: Place

    def running(
        self, rows: Sequence[Row], sights: Sequence[Sight] = (), unread: set[str] | None = None
    ) -> list[Seated]:
        """Return every living session in the daemons of the stores that these rows and the caller
        name. `sights`: of the rows; a conversation that an agent moved to its daemon is the row's.
        `unread` gets the agents of which a list could not be read."""
        found: dict[tuple[str, Path, str], Seated] = {}
        moved = {one.job.seat: row for row, one in zip(rows, sights, strict=False) if one.job}
        for profile, store in self._stores(rows):
            from tmuxreap.agents.conversations.lists import read_jobs

            jobs = read_jobs(profile, store, self.processes)
            if unread is not None and not jobs.is_known:
                unread.add(profile.name)
            for job in jobs.listed:
                if job.lives and not job.ended:
                    one = self._with_rows(job, rows)
                    if job.seat in moved:
                        one = Seated(job, row=moved[job.seat])
                    found.setdefault((job.agent, store, job.id), one)
        return list(found.values())

    def _stores(self, rows: Sequence[Row]) -> Iterator[tuple[Profile, Path]]:
        """Yield each store that has a list, with its agent."""
        profiles = self.agents.profiles
        for agent in profiles.agents.with_background:
            profile = profiles.agents[agent]
            for store in self._stores_of(profile, rows):
                if profile.background is not None and (store / profile.background.place).exists():
                    yield profile, store

    def _stores_of(self, profile: Profile, rows: Sequence[Row]) -> list[Path]:
        from tmuxreap.agents.conversations.records import store_of

        settings = self.settings
        recorded = {row.store for row in rows if row.store and self.agents.of(row) == profile.name}
        stores = [
            store_of(profile, settings.environ, None, settings.home),
            *(store_of(profile, None, one, settings.home) for one in sorted(recorded)),
            store_of(profile, {}, None, settings.home),
        ]
        return list(dict.fromkeys(store for store in stores if store is not None))

    def _with_rows(self, job: Job, rows: Sequence[Row]) -> Seated:
        """Return the session with the row that means it, or the one that it was launched from. An
        ended row has none, but may have launched it."""
        from tmuxreap.agents.conversations.background import Bond, bond_of

        parents: list[Row] = []
        for row in rows:
            if self.agents.of(row) != job.agent:
                continue
            running = not row.status.ended
            if running and row.terminal is Terminal.BACKGROUND and row.pane.id == job.id:
                return Seated(job, row=row)
            conversation = recorded_conversation(row, job.agent)
            bond = bond_of(job, conversation) if conversation else None
            if bond is Bond.SAME and running:
                return Seated(job, row=row)
            if bond in (Bond.CHILD, Bond.COPY):
                parents.append(row)
        # Of several with the same conversation, the newest.
        return Seated(job, parent=parents[-1] if parents else None)

    def without_shown(self, found: Sequence[Seated]) -> list[Seated]:
        """Leave out what a server runs for an agent that lives in its folder: a new pane does not
        say which session it shows, and that is a session with or without a row by itself."""
        folders: dict[str, set[str | None]] = {}
        for agent in {one.job.agent for one in found if one.job.server is not None}:
            living = self._living(self.agents.profiles.agents[agent])
            folders[agent] = {self.processes.cwd(process.id) for process in living}
        kept = []
        for one in found:
            is_launched = one.parent is not None or one.job.server is None
            if is_launched or one.job.folder not in folders[one.job.agent]:
                kept.append(one)
        return kept

    def _living(self, profile: Profile) -> Iterator[Process]:
        for process in self.processes.look().values():
            if profile.recognises(self.processes.argv(process.id), process.comm, None):
                yield process

    def row_of(self, one: Seated, name: str | None = None) -> Row:
        """Return the session as a row, which stands in no registry."""
        job = one.job
        leader = next(iter(job.processes), None)
        pane = RecordedPane(id=job.id, cwd=job.folder)
        if leader is not None:
            started = round(self.processes.started_epoch(leader), 2)
            pane = RecordedPane(
                pid=leader.pid,
                id=job.id,
                cwd=job.folder,
                created_epoch=started,
                start_ticks=leader.start,
            )
        data: dict[str, object] = {"store": str(job.store)}
        if one.parent is not None:
            data["parent"] = one.parent.name
        return Row(
            name or one.name,
            agent=job.agent,
            terminal=Terminal.BACKGROUND,
            pane=pane,
            tmux=RecordedTmux(host=self.place.host, boot_id=self.place.boot_id),
            conversations=((conversation_field(job.agent), job.conversation),),
            data=data,
        )

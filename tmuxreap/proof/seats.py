"""Finds the evidence of sessions that an agent's own daemon runs: which one a row means, and which
processes it has. Each list is read once a look. Never asks or starts a daemon."""

from __future__ import annotations

from pathlib import Path

from tmuxreap.agents.conversations.jobs import NO_JOBS, Job, Jobs
from tmuxreap.agents.conversations.lists import read_jobs
from tmuxreap.agents.conversations.records import pid_file_word, store_of
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.core.ports import Processes
from tmuxreap.registry.rows import recorded_conversation


class Lists:
    """The lists of the agents' own daemons, as one look finds them."""

    def __init__(self, processes: Processes, home: Path | None) -> None:
        self._processes = processes
        self._home = home
        self._read: dict[tuple[str, Path], Jobs] = {}

    def of(self, profile: Profile | None, store: Path | None) -> Jobs:
        if profile is None or profile.background is None or store is None:
            return NO_JOBS
        key = profile.name, store
        if key not in self._read:
            self._read[key] = read_jobs(profile, store, self._processes)
        return self._read[key]

    def of_row(self, row: Row, profile: Profile | None) -> Jobs:
        """Return the list of the store that the row names."""
        if profile is None:
            return NO_JOBS
        return self.of(profile, store_of(profile, None, row.store, self._home))

    def parked(
        self, row: Row, profile: Profile, agents: tuple[ProcessId, ...]
    ) -> tuple[Jobs, Job | None]:
        """Return the session that an agent in a pane names as the one with its conversation."""
        for agent in agents:
            environ = self._processes.environ(agent)
            store = store_of(profile, environ, row.store, self._home)
            named = pid_file_word(profile, store, [agent], "parked")
            if named is not None:
                jobs = self.of(profile, store)
                return jobs, jobs.of(named)
        return NO_JOBS, None

    def continued(self, row: Row, profile: Profile) -> tuple[Jobs, Job | None]:
        """Return the living session that has the row's conversation, or the one that the agent
        says it continued it as. Of several, none: they are forks."""
        from tmuxreap.agents.conversations.background import Bond, bond_of, next_id

        jobs = self.of_row(row, profile)
        store = store_of(profile, None, row.store, self._home)
        wanted = recorded_conversation(row, profile.name)
        living = [job for job in jobs.listed if job.lives]
        if not living or store is None:
            return jobs, None
        seen: list[str] = []
        while wanted is not None and wanted not in seen:
            seen.append(wanted)
            found = [job for job in living if bond_of(job, wanted) is Bond.SAME]
            if found:
                return jobs, found[0] if len(found) == 1 else None
            wanted = next_id(profile, store, wanted)
        return jobs, None

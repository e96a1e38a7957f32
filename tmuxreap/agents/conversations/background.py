"""Finds what continues a conversation after its agent left the pane, and under which ID: some
agents have a shared program in the background, which is spared. And the evidence of the sessions
that an agent's own daemon runs: which one a row means, and which processes it has; each list is
read once a look.

Reads the agent's store, changes nothing, and never starts a daemon; `lists` asks those that run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path

from tmuxreap.agents.conversations.find import Clues, is_id, with_path
from tmuxreap.agents.conversations.jobs import ID, NO_JOBS, Job, Jobs, filled, own_way
from tmuxreap.agents.conversations.lists import at_once, read_jobs
from tmuxreap.agents.conversations.records import (
    is_turn_open,
    last_match,
    pid_file_word,
    store_of,
    tail,
)
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.errors import command
from tmuxreap.core.model import BELOW, Process, ProcessId, Row
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import frozen, replace
from tmuxreap.registry.rows import recorded_conversation

WORDS_SHOWN = 60
ZOMBIE = "Z"


class Bond(Enum):
    """What a session in the background has to do with a conversation."""

    SAME = "same"  # it is in this conversation
    COPY = "copy"  # it took a copy of it
    CHILD = "child"  # it was launched from it, and is in another one


@frozen
class Lingering:
    where: str
    end: str
    attach: str = ""
    bond: Bond = Bond.SAME
    conversation: str = ""  # its own one, if it is another
    job: Job | None = None
    is_guess: bool = False  # which conversation it was: what is said of it may be another one's

    @property
    def warning(self) -> str:
        if self.bond is Bond.CHILD:
            launched = "may have launched" if self.is_guess else "launched"
            return f"children_running: it {launched} {self.where}, still running; {self.way_out}"
        guessed = "what may be its conversation"
        if self.bond is Bond.COPY:
            of = guessed if self.is_guess else "it"
            copy = f"a copy of {of} continues as {self.conversation} in {self.where}"
            return f"conversation_forked: {copy}; {self.way_out}"
        what = guessed if self.is_guess else "the conversation"
        return f"goes_on: {what} continues in {self.where}; {self.way_out}"

    def below(self, name: str) -> Lingering:
        """Return it with the commands for a child of this row, if it was launched from it, or took
        a copy of its conversation. By a guess it is nobody's child."""
        if self.bond is Bond.SAME or self.job is None or self.is_guess:
            return self
        child = f"{name}{BELOW}{self.job.id}"
        return replace(self, attach=command("attach", child), end=command("stop", child))

    @property
    def way_out(self) -> str:
        """Return the commands that reach it."""
        if self.attach:
            attach = f"attach to it with: {self.attach}; "
        else:
            attach = ""
        return f"{attach}end it with: {self.end}"


@frozen
class Forked:
    """A conversation that its agent continued under another ID."""

    before: str
    after: str
    is_on_disk: bool  # whether the new one can be resumed
    jobs: tuple[Lingering, ...] = ()  # the sessions in the background that are in it now

    def warning(self, whose: str = "its") -> str:
        said = f"conversation_forked: {whose} agent continued {self.before} as {self.after}"
        if self.is_on_disk:
            said += f", which counts from now on; {self.before} lacks what was said since"
        else:
            said += ", which is not on disk yet: nothing can be resumed while that one lives"
        return "; ".join((said, *(f"it runs in {job.where}; {job.way_out}" for job in self.jobs)))


def follow(
    profile: Profile,
    store: Path | None,
    conversation: Conversation,
    processes: Processes,
    parked: str | None = None,
) -> tuple[Conversation, Forked | None]:
    """Follow a conversation that its agent continued under another ID, as far as that is on disk.
    `parked`: the session in the background that the agent's own pid file names."""
    first = conversation.id
    seen = {conversation.id}
    knows = profile.goes_on is not None or profile.background is not None
    if not knows or store is None or first is None:
        return conversation, None
    while (after := _moved_to(profile, store, conversation, processes, parked)) not in (
        None,
        *seen,
    ):
        assert after is not None  # noqa: S101 - for mypy
        seen.add(after)
        jobs = tuple(sessions_in(profile, read_jobs(profile, store, processes), after))
        found = with_path(profile, store, after, conversation.source)
        if found.exists:
            conversation = found
        elif jobs:
            return conversation, Forked(first, after, is_on_disk=False, jobs=jobs)
        else:
            break  # nothing was ever said in it, and nobody is in it
    if conversation.id in (None, first):
        return conversation, None
    listed = read_jobs(profile, store, processes)
    jobs = tuple(sessions_in(profile, listed, conversation.id))
    return conversation, Forked(first, conversation.id, is_on_disk=True, jobs=jobs)


def before_copy(
    profile: Profile, store: Path | None, copy: Conversation, source: str, processes: Processes
) -> Conversation:
    """Return the conversation that an agent took to its daemon, if nothing was ever said in the
    copy, and nobody is in it. `source`: what names the one that was copied."""
    if not source or copy.exists or copy.id is None or store is None:
        return copy
    if sessions_in(profile, read_jobs(profile, store, processes), copy.id):
        return copy
    for match in reversed([*re.finditer(profile.id_pattern, source)]):
        earlier = with_path(profile, store, match[0], copy.source)
        if earlier.exists:
            return earlier
    return copy


def _moved_to(
    profile: Profile,
    store: Path,
    conversation: Conversation,
    processes: Processes,
    parked: str | None,
) -> str | None:
    """Return the ID under which the agent says that it continued this conversation: in its file,
    unless a message follows, or in its list, for the entry that its pid file names."""
    after = _said_in_file(profile, conversation)
    if after is None and parked is not None:
        job = read_jobs(profile, store, processes).of(parked)
        if job is not None and str(conversation.id) in job.source:
            after = job.conversation
    if after is not None and is_id(profile, after):
        return after
    return None


def next_id(profile: Profile, store: Path, conversation: str) -> str | None:
    """Return the ID under which the conversation's own file says that it was continued."""
    found = with_path(profile, store, conversation, None)
    return _said_in_file(profile, found)


def _said_in_file(profile: Profile, conversation: Conversation) -> str | None:
    if profile.goes_on is None or profile.goes_on.moved is None or conversation.path is None:
        return None
    text = tail(Path(conversation.path))
    moves = profile.goes_on.moved.finditer(text)
    last = max(moves, key=lambda match: match.start(), default=None)
    if last is None or last_match(profile.message, text) > last.start():
        return None
    return last["id"]


def sessions_in(profile: Profile, jobs: Jobs, conversation: str) -> list[Lingering]:
    """Return the living sessions in the background that are in this conversation themselves."""
    found = launched_sessions(profile, jobs, conversation)
    return [session for session in found if session.bond is Bond.SAME]


def lingering(
    profile: Profile, jobs: Jobs, conversation: Conversation, processes: Processes
) -> list[Lingering]:
    """Return what continues the conversation or a copy of it, or was launched from it."""
    goes_on = profile.goes_on
    result = launched_sessions(profile, jobs, conversation.id)
    if goes_on is None:
        return result
    if (
        goes_on.began is not None
        and conversation.path
        and is_turn_open(goes_on, Path(conversation.path))
    ):
        holder = _holder(profile, conversation.path, processes)
        if holder is not None:
            end = goes_on.end.replace("{id}", conversation.id or "")
            result.append(Lingering(f"{holder.comm} ({holder.pid})", end))
    if goes_on.mark is not None and conversation.id is not None:
        result += _started_processes(goes_on.mark, conversation.id, processes)
    return result


def _started_processes(mark: str, conversation: str, processes: Processes) -> Iterator[Lingering]:
    """Yield the processes that the conversation started under a shared program: the root of each
    tree."""
    marked = {
        pid: process
        for pid, process in processes.look().items()
        if (processes.environ(process.id) or {}).get(mark) == conversation
    }
    for pid, process in marked.items():
        if process.ppid not in marked and process.state != ZOMBIE:
            words = " ".join(processes.argv(process.id)) or process.comm
            yield Lingering(f"`{words[:WORDS_SHOWN]}` ({pid})", f"kill {pid}")


def launched_sessions(profile: Profile, jobs: Jobs, conversation: str | None) -> list[Lingering]:
    """Return the living sessions in the background that are in the conversation, took a copy of it,
    or were launched from it."""
    if conversation is None:
        return []
    living = [job for job in jobs.listed if job.lives]
    bonds = [(job, bond_of(job, conversation)) for job in living]
    return [lingering_in(profile, job, bond) for job, bond in bonds if bond is not None]


def shown_in(profile: Profile, clues: Clues, processes: Processes) -> Conversation | None:
    """Return the conversation of the session that a pane shows by the agent's own command."""
    background = profile.background
    if background is None or not background.attach or clues.store is None:
        return None
    for agent in clues.agents:
        number = _attached_to(background.attach[1:], agent.argv[1:])
        if number is None:
            continue
        job = read_jobs(profile, clues.store, processes).of(number)
        if job is not None and job.lives and job.conversation is not None:
            return with_path(profile, clues.store, job.conversation, "argv")
    return None


def _attached_to(attach: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the ID in a command line that is the agent's own for showing one."""
    if len(attach) != len(words) or ID not in attach:
        return None
    at = attach.index(ID)
    if [*attach[:at], *attach[at + 1 :]] != [*words[:at], *words[at + 1 :]]:
        return None
    return words[at]


def session_of(
    profile: Profile, store: Path, process: Process, processes: Processes
) -> Lingering | None:
    """Return the session in the background that a process serves: as its entry says, or the one
    above it, which holds its terminal."""
    for job in read_jobs(profile, store, processes).listed:
        if not {one.pid for one in job.processes}.isdisjoint((process.pid, process.ppid)):
            return lingering_in(profile, job)
    return None


def bond_of(job: Job, conversation: str) -> Bond | None:
    """Return what a session in the background has to do with a conversation."""
    if job.conversation is None:
        return Bond.SAME if conversation in job.words else None
    if job.conversation == conversation:
        return Bond.SAME
    if conversation in job.source:
        return Bond.COPY
    launched = any(conversation in words for words in job.parents)
    return Bond.CHILD if launched else None


def _holder(profile: Profile, path: str, processes: Processes) -> Process | None:
    """Return the agent's shared program that has the conversation open."""
    for process in processes.look().values():
        argv = processes.argv(process.id)
        if profile.shares(argv, process.comm, None) and path in processes.open_files(process.id):
            return process
    return None


def lingering_in(profile: Profile, job: Job, bond: Bond = Bond.SAME) -> Lingering:
    """Return the session in the background, with the agent's own commands for it."""
    background = profile.background
    assert background is not None  # noqa: S101 - it has a list
    pids = [process.pid for process in job.processes[:1]]
    if job.server is not None:
        pids = [job.server.pid]
    return Lingering(
        where=" ".join([f"the background session {job.id}", *(f"({pid})" for pid in pids)]),
        end=own_way(profile, job),
        attach=shlex.join(filled(background.attach, job)),
        bond=bond,
        conversation="" if bond is Bond.SAME else job.conversation or "",
        job=job,
    )


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

    def read_all(self, places: Iterable[tuple[Profile, Path]]) -> None:
        """Read these at the same time, those that were not read yet: a server may be slow."""
        due = [one for one in places if (one[0].name, one[1]) not in self._read]
        found = at_once(lambda one: read_jobs(*one, self._processes), due)
        for (profile, store), jobs in zip(due, found, strict=True):
            self._read[profile.name, store] = jobs

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

"""Reads the list that an agent keeps of the sessions that its own daemon runs, as its profile says:
a file in its store, or what its server answers; and tells a server to end one.

Asked is only a process that is proven to be that server, of this user and this store, on this
machine; a password is read from that very process, goes to it alone, and is kept nowhere. What is
read or heard is hostile until it is checked: an ID against its pattern, a process by its start.
Never starts anything, and ends nothing itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tmuxreap.agents.conversations.find import first_column, is_id
from tmuxreap.agents.conversations.jobs import (
    ID,
    NO_JOBS,
    Entry,
    Job,
    Jobs,
    value_at,
    word_at,
)
from tmuxreap.agents.conversations.records import read_json, store_of
from tmuxreap.agents.profiles import Background, OwnServer, Profile, ServerCall, Transport
from tmuxreap.agents.programs import program_names
from tmuxreap.agents.screens import State
from tmuxreap.core.errors import NoAnswer, NobodyListens, Refused
from tmuxreap.core.model import ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen

if TYPE_CHECKING:
    from tmuxreap.system.asking import Wire

Asking = TypeVar("Asking")
Answer = TypeVar("Answer")
MOST_AT_ONCE = 8


def read_jobs(profile: Profile, store: Path | None, processes: Processes) -> Jobs:
    """Read the list of one store."""
    background = profile.background
    if background is None or store is None:
        return NO_JOBS
    if background.server is not None:
        if not (store / background.place).exists():
            return NO_JOBS
        return read_served(profile, background, store, processes)
    path = store / background.file
    listed = read_json(path)
    if not isinstance(listed, dict):
        return Jobs(is_known=not path.exists())
    entries = listed.get(background.entries)
    if not isinstance(entries, dict):
        return Jobs(is_known=False)
    found = tuple(_jobs(profile, background, store, entries, processes))
    return Jobs(found, daemon=_daemon(profile, background, listed, processes))


def _jobs(
    profile: Profile, background: Background, store: Path, entries: Entry, processes: Processes
) -> Iterator[Job]:
    for number, entry in entries.items():
        if not isinstance(entry, dict) or not background.id.fullmatch(str(number)):
            continue
        if any(word_at(entry, key) == word for key, word in background.unused.items()):
            continue
        yield Job(
            agent=profile.name,
            store=store,
            id=number,
            holder=_process(entry, background.pid, background.started, processes),
            process=_process(entry, background.agent_pid, background.agent_started, processes),
            conversation=_conversation(profile, background, entry),
            source=word_at(entry, background.source),
            parents=tuple(word_at(entry, key) for key in background.parents),
            words=json.dumps(entry),
            folder=word_at(entry, background.folder) or None,
            flags=_flags(entry, background.flags),
            ended=_has_ended(background, store, number),
            begun=type(entry.get(background.pid)) is int,
        )


def _conversation(profile: Profile, background: Background, entry: Entry) -> str | None:
    found = word_at(entry, background.conversation)
    if found and is_id(profile, found):
        return found
    return None


def _flags(entry: Entry, key: str | None) -> tuple[str, ...]:
    words = value_at(entry, key)
    if not isinstance(words, list):
        return ()
    return tuple(word for word in words if isinstance(word, str))


def _process(
    entry: Entry, pid_key: str | None, start_key: str | None, processes: Processes
) -> ProcessId | None:
    """Return the process that an entry names, if that one lives: its pid may be reused."""
    pid = entry.get(pid_key or "")
    process = _identified(pid, processes)
    if process is None or str(process.start) != str(entry.get(start_key or "")):
        return None
    return process


def _identified(pid: object, processes: Processes) -> ProcessId | None:
    if type(pid) is not int or pid <= 1:
        return None
    return processes.identify(pid)


def _has_ended(background: Background, store: Path, number: str) -> bool:
    if background.state_file is None:
        return False
    said = read_json(store / background.state_file.replace(ID, number))
    return isinstance(said, dict) and said.get(background.state) in background.ended


def _daemon(
    profile: Profile, background: Background, listed: Entry, processes: Processes
) -> int | None:
    """Return the daemon that the list names, if a shared program of the agent has that pid."""
    pid = listed.get(background.daemon or "")
    process = _identified(pid, processes)
    if process is None:
        return None
    if profile.shares(processes.argv(process), "", None):
        return process.pid
    return None


ANSWER_S = 2.0
RECENT_S = 600.0
MOST_FOLDERS = 20
COMM_LENGTH = 15  # what the kernel keeps of a program's name
MILLISECONDS = 1000
UNNAMED = "an answer"  # what it waits for, where its server does not say
IN_MILLISECONDS = 1e11  # above, a time is counted in them


@frozen
class Serving:
    """A server that may be asked. `process`: only its socket tells it where it has one."""

    profile: Profile
    server: OwnServer
    store: Path
    process: ProcessId | None = None
    address: tuple[str, int] | None = None

    @property
    def url(self) -> str:
        if self.address is None:
            return ""
        name, port = self.address
        host = f"[{name}]" if ":" in name else name
        return f"http://{host}:{port}"


class Asked:
    """A connection to a proven server."""

    def __init__(self, host: Serving, processes: Processes, limit_s: float) -> None:
        # late: few have a server
        from tmuxreap.system.asking import HttpWire, SocketWire

        self.host = host
        self._processes = processes
        self.process = host.process
        server = host.server
        self._line: Wire
        if server.transport is Transport.SOCKET:
            path = host.store / (server.socket or "")
            self._line = SocketWire(str(path), limit_s, self._is_server)
        else:
            if host.address is None:
                raise NobodyListens("it listens nowhere")
            login = _login(server, processes, host.process)
            self._line = HttpWire(host.address, limit_s, self._still_listens, login)
        if server.hello is not None:
            self.call(server.hello)

    def call(self, call: ServerCall, **words: str) -> object:
        return self._line.call(*_question(call, words))

    def call_each(self, call: ServerCall, ids: Sequence[str]) -> list[object]:
        """Return the answer about each of these sessions, or how it was refused."""
        return self._line.call_each([_question(call, {"id": number}) for number in ids])

    def close(self) -> None:
        self._line.close()

    def _is_server(self, pid: int) -> bool:
        self.process = self._processes.identify(pid)
        return self.process is not None and is_server(
            self.host.server, self.process, self._processes
        )

    def _still_listens(self) -> bool:
        process = self.host.process
        return process is not None and self.host.address in self._processes.listens(process)


def is_server(server: OwnServer, process: ProcessId, processes: Processes) -> bool:
    """Tell whether a process is this program, by its name and its command line."""
    seen = processes.refresh(process)
    argv, executable = processes.argv_and_executable(process)
    if seen is None or not argv:
        return False
    called = program_names(argv[:1], seen.comm, executable)
    return server.program.matches(called, " ".join(argv))


def read_served(
    profile: Profile, background: Background, store: Path, processes: Processes
) -> Jobs:
    """Ask every server of this store."""
    server = background.server
    assert server is not None  # noqa: S101 - the caller looked
    hosts = tuple(_hosts(profile, server, store, processes))
    if not hosts:
        return NO_JOBS
    answers = at_once(lambda host: _answer(host, background, processes), hosts)
    listed: list[Job] = []
    for answer in answers:
        listed += answer.listed
    return Jobs(
        tuple(listed),
        is_known=all(answer.is_known for answer in answers),
        daemon=next((answer.daemon for answer in answers if answer.daemon is not None), None),
    )


def _answer(host: Serving, background: Background, processes: Processes) -> Jobs:
    """Return what one server runs."""
    listed: list[Job] = []
    try:
        with closing(Asked(host, processes, ANSWER_S)) as asked:
            listed += _served_jobs(asked, background, processes)
            daemon = None if asked.process is None else asked.process.pid
    except NobodyListens:
        return NO_JOBS
    except NoAnswer:
        return Jobs(tuple(listed), is_known=False)
    return Jobs(tuple(listed), daemon=daemon)


def at_once(ask: Callable[[Asking], Answer], several: Sequence[Asking]) -> list[Answer]:
    """Ask several at the same time: two that hang take no more time than one."""
    if len(several) < 2:
        return [ask(one) for one in several]
    from concurrent.futures import ThreadPoolExecutor  # late: there is mostly one

    with ThreadPoolExecutor(min(len(several), MOST_AT_ONCE)) as pool:
        return list(pool.map(ask, several))


def end_served(profile: Profile, job: Job, processes: Processes, limit_s: float) -> str | None:
    """Tell its server to end it; return why that failed."""
    server = profile.own_server
    if server is None:
        return "no server runs it"
    host = Serving(profile, server, job.store, job.server, job.address)
    try:
        with closing(Asked(host, processes, limit_s)) as asked:
            turn = ""
            if server.turn is not None:
                said = asked.call(server.turn, id=job.id)
                turn = word_at(_mapping(said), server.turn_id)
            asked.call(server.end, id=job.id, folder=job.folder or "", turn=turn)
    except NoAnswer as failure:
        return f"its server: {failure}"
    return None


def _hosts(
    profile: Profile, server: OwnServer, store: Path, processes: Processes
) -> Iterator[Serving]:
    if server.transport is Transport.SOCKET:
        yield Serving(profile, server, store)
        return
    wanted = os.path.realpath(store)
    for seen in processes.look().values():
        if seen.comm != server.program.program[:COMM_LENGTH]:
            continue
        environ = processes.environ(seen.id)
        if environ is None or not is_server(server, seen.id, processes):
            continue
        own = store_of(profile, environ, None, None)
        if own is None or os.path.realpath(own) != wanted:
            continue
        address = next(iter(processes.listens(seen.id)), None)
        if address is not None:
            yield Serving(profile, server, store, seen.id, address)


def _login(
    server: OwnServer, processes: Processes, process: ProcessId | None
) -> tuple[str, str] | None:
    """Return the name and the password that the environment of the server itself has."""
    environ = None
    if process is not None:
        environ = processes.environ(process)
    password = (environ or {}).get(server.password or "")
    if environ is None or not password:
        return None
    return environ.get(server.user or "") or server.login, password


def _served_jobs(asked: Asked, background: Background, processes: Processes) -> Iterator[Job]:
    server = asked.host.server
    for folder in _folders(asked, processes):
        questions = _questions(asked, folder)
        said = value_at(asked.call(server.list, folder=folder), server.entries)
        listed = {number: told for number, told in _listed(said) if background.id.fullmatch(number)}
        answers = asked.call_each(server.entry, list(listed))
        for (number, told), answer in zip(listed.items(), answers, strict=True):
            if isinstance(answer, Refused):
                continue  # it is gone by now
            entry = _mapping(value_at(answer, server.inner))
            job = _job(asked, background, number, {**entry, **told}, questions)
            if job is not None:
                yield job


def _folders(asked: Asked, processes: Processes) -> list[str]:
    """Return the folders to ask for: those in which something is at work, or was a moment ago, as
    between two steps of a turn. Any other would be opened by the question."""
    server = asked.host.server
    process = asked.process
    if server.folders is None or process is None:
        return [""]
    since = processes.started_epoch(process)
    recent = max(since, time.time() - RECENT_S)
    times = {"since_ms": since * MILLISECONDS, "recent_ms": recent * MILLISECONDS}
    database = asked.host.store / (asked.host.profile.artifact or "")
    return first_column(database, server.folders, times)[:MOST_FOLDERS]


def _listed(said: object) -> Iterator[tuple[str, Entry]]:
    """Yield the ID of each session, with what the list itself says of it."""
    if isinstance(said, dict):
        for number, told in said.items():
            yield str(number), _mapping(told)
    elif isinstance(said, list):
        for number in said:
            yield str(number), {}


def _job(
    asked: Asked, background: Background, number: str, entry: Entry, questions: Mapping[str, str]
) -> Job | None:
    """Return the session, if it is at work."""
    host = asked.host
    if word_at(entry, background.state) not in host.server.working:
        return None
    if any(json.dumps(entry.get(key)).strip('"') == it for key, it in background.unused.items()):
        return None
    asks = questions.get(number) or _asked_in(entry, host.server)
    named = word_at(entry, background.conversation)
    conversation = None
    if is_id(host.profile, named):
        conversation = named
    return Job(
        agent=host.profile.name,
        store=host.store,
        id=number,
        conversation=conversation,
        source=word_at(entry, background.source),
        parents=tuple(word_at(entry, key) for key in background.parents),
        words=json.dumps(entry),
        folder=word_at(entry, background.folder) or None,
        server=asked.process,
        address=host.address,
        url=host.url,
        state=State.DIALOG if asks else State.BUSY,
        asks=asks,
        began=_seconds(value_at(entry, background.began or " ")),
    )


def _asked_in(entry: Entry, server: OwnServer) -> str:
    """Return what a session waits for, by what is said of itself."""
    if server.asks is None:
        return ""
    said = value_at(entry, server.asks)
    if isinstance(said, list):
        return ", ".join(str(one) for one in said)
    return word_at(entry, server.asks)


def _questions(asked: Asked, folder: str) -> dict[str, str]:
    """Return what each session waits for."""
    server = asked.host.server
    found: dict[str, str] = {}
    for call in server.waiting:
        try:
            said = asked.call(call, folder=folder)
        except Refused:
            continue  # another version has no such question
        if not isinstance(said, list):
            continue
        for entry in map(_mapping, said):
            question = word_at(entry, server.waiting_for) or UNNAMED
            found.setdefault(word_at(entry, server.waiting_id), question)
    return found


def _seconds(began: object) -> float | None:
    if not isinstance(began, (int, float)):
        return None
    if began > IN_MILLISECONDS:
        return began / MILLISECONDS
    return float(began)


def _mapping(said: object) -> dict[str, object]:
    return said if isinstance(said, dict) else {}


def _question(call: ServerCall, words: Mapping[str, str]) -> tuple[str, dict[str, object]]:
    return call.name.replace(ID, words.get("id", "")), _filled(call.parameters, words)


def _filled(value: Mapping[str, object], words: Mapping[str, str]) -> dict[str, object]:
    """Return what a call is given, with these words put in."""
    found: dict[str, object] = {}
    for key, given in value.items():
        if isinstance(given, Mapping):
            found[key] = _filled(given, words)
        elif isinstance(given, str) and given.startswith("{") and given.endswith("}"):
            found[key] = words.get(given[1:-1], "")
        else:
            found[key] = given
    return found

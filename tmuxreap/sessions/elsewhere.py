"""Finds agents' sessions without a row: those that belong to another registry, by the mark that
`start` set on the session, and a running row there; and those that agents' own daemons run, as
their lists have them: of rows, launched by rows, or recorded by nobody.

Never writes to another registry, looks at it through a copy of its ledger, and starts no daemon."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.find import GUESS
from tmuxreap.agents.conversations.records import store_of
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import (
    BELOW,
    Process,
    RecordedPane,
    RecordedTmux,
    Row,
    Server,
    ServerLook,
    ServerSession,
    Terminal,
)
from tmuxreap.core.ports import PaneQuestion, Processes, Tmux
from tmuxreap.core.values import frozen
from tmuxreap.ledger.database import copy_of, ledger_path, mark_in
from tmuxreap.proof.observe import Observer, Place
from tmuxreap.proof.panes import agents_in
from tmuxreap.proof.servers import RowAgents, Servers
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryFile
from tmuxreap.registry.rows import conversation_field, recorded_conversation
from tmuxreap.sessions.registries import project_of
from tmuxreap.system.environment import MARK, REGISTRY_MARK, Settings
from tmuxreap.system.tmux.versions import spellings

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job
    from tmuxreap.agents.profiles import Profile
    from tmuxreap.proof.ownership import World


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
        self,
        rows: Sequence[Row],
        sights: Sequence[Sight] = (),
        unread: set[str] | None = None,
        world: World | None = None,
    ) -> list[Seated]:
        """Return every living session in the daemons of the stores that these rows and the caller
        name. `sights`: of the rows; a conversation that an agent moved to its daemon is the row's.
        `unread` gets the agents of which a list could not be read. `world`: of the look at the
        rows, which has read some of the lists."""
        stores = list(self._stores(rows))
        if not stores:
            return []
        from tmuxreap.agents.conversations.background import Lists  # late: few have one

        found: dict[tuple[str, Path, str], Seated] = {}
        moved = {one.job.seat: row for row, one in zip(rows, sights, strict=False) if one.job}
        if world is not None:
            lists = world.lists()
        else:
            lists = Lists(self.processes, self.settings.home)
        lists.read_all(stores)
        for profile, store in stores:
            jobs = lists.of(profile, store)
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
            if row.conversation_source == GUESS:
                continue  # it may be another agent's
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


@frozen
class RowElsewhere:
    """The row of another registry that means a session."""

    registry: Path
    name: str


def rows_elsewhere(
    tmux: Tmux, ours: Path | None, boot_id: str, server: Server, sessions: Sequence[ServerSession]
) -> dict[str, RowElsewhere]:
    """Return the rows of other registries, by session id, with one question to their server."""
    environments = tmux.ask(
        server.socket, [PaneQuestion(it.id, environment=True) for it in sessions]
    )
    found = {}
    for session, environment in zip(sessions, environments, strict=True):
        found[session.id] = row_elsewhere(ours, boot_id, server, session, environment)
    return {number: row for number, row in found.items() if row is not None}


def row_elsewhere(
    ours: Path | None, boot_id: str, server: Server, session: ServerSession, environment: str | None
) -> RowElsewhere | None:
    """Find the row of another registry that means the session. `environment`: the session's own,
    without the global environment of its server."""
    marks = _marks(environment or "")
    mark = marks.get(MARK)
    registry = marks.get(REGISTRY_MARK)
    if not mark or not registry:
        return None
    path = Path(os.path.realpath(registry))
    if path == ours:
        return None
    identity = (server.pid, session.id, session.created)
    rows = (row for row in _running(path) if _means_session(path, row, identity, boot_id, mark))
    row = next(rows, None)
    if row is None:
        return None
    return RowElsewhere(path, row.name)


def row_within(session: ServerSession, rows: Iterable[Row], boot_id: str) -> Row | None:
    """Return the running row whose pane stands in the session, whatever that is called. Of an
    earlier boot, or as another pane, only its number came again."""
    panes = {pane.pid: pane.id for pane in session.panes if pane.pid is not None}
    for row in rows:
        number = panes.get(row.pane.pid or 0)
        is_now = not row.status.ended and row.tmux.of_boot(boot_id)
        if number is not None and is_now and row.pane.id in (None, number):
            return row
    return None


def registered_elsewhere(verb: str, name: str, other: RowElsewhere, hint: str = "") -> Failure:
    """Return the refusal for a session of another registry, or of another name in this one, with
    the command to use there."""
    ours = verb if verb in ("stop", "kill") else "show"
    there = command(ours, other.name, "--registry", str(other.registry))
    reason = f"it is the running session {other.name} of the registry {other.registry}"
    return could_not(verb, name, reason, f"{hint}{there}", Code.REGISTERED_ELSEWHERE)


def _marks(environment: str) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in environment.splitlines())
    return {name: value for name, _, value in pairs}


def _running(path: Path) -> list[Row]:
    """Return the running rows of a registry; none if it cannot be read."""
    with contextlib.suppress(Failure):
        return [row for row in RegistryFile(path).look().usable if not row.status.ended]
    return []


def _means_session(
    path: Path, row: Row, identity: tuple[int, str, int], boot_id: str, mark: str
) -> bool:
    """Tell whether the row means the session: by the recorded identity; if another tool did not
    record it, by the mark in that registry's ledger."""
    if not row.tmux.known:
        return _recorded_mark(path, row.name) == mark
    recorded = (row.tmux.server_pid, row.tmux.session_id, row.tmux.session_created)
    return row.tmux.of_boot(boot_id) and recorded == identity


def _recorded_mark(path: Path, name: str) -> str | None:
    """Read a copy of the other ledger: opening a ledger would write files next to it."""
    import tempfile  # late: rarely needed, and slow

    with tempfile.TemporaryDirectory(prefix="tmuxreap-") as folder:
        copy, trouble = copy_of(ledger_path(path), Path(folder))
        return mark_in(copy, name) if trouble is None else None


NAMES_SHOWN = 8  # names to print; the rest is counted


@frozen
class Newcomer:
    name: str
    agent: str
    socket: str
    flag: tuple[str, ...] = ()  # selects its server on a command line
    seat: str | None = None  # where the agent's own daemon runs it
    folder: str | None = None  # there

    @property
    def command(self) -> str:
        """The command that registers it."""
        if self.seat is not None:
            return command("adopt", self.name, "--background", self.seat)
        return command("adopt", self.name, "--agent", self.agent, *self.flag)

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "agent": self.agent, "command": self.command}


@frozen
class Newcomers:
    """Finds agents' sessions that no row of this registry means."""

    tmux: Tmux
    observer: Observer
    servers: Servers
    seats: Seats
    own_registry: Path | None

    def of(
        self, rows: Sequence[Row], sights: Sequence[Sight], sockets: Iterable[str] = ()
    ) -> list[Newcomer]:
        """Find newcomers on the servers that were looked at for these rows, on these sockets, and
        in the agents' own daemons."""
        servers = {sight.socket: sight.server for sight in sights}
        more = [socket for socket in dict.fromkeys(sockets) if socket not in servers]
        if more:
            servers |= self.observer.look(more, 0, servers).servers
        return [*self.without_row(rows, sights, servers), *self.in_daemons(rows, sights)]

    def sockets(self) -> list[str]:
        """Return the sockets of the user's servers in the default folder."""
        folder = Path(self.servers.socket(None)).parent
        return [str(path) for path in sorted(folder.glob("*")) if path.is_socket()]

    def described(self, rows: Sequence[Row], sockets: Sequence[str]) -> str:
        """Describe how many run in panes of these servers, as the end of a sentence; each with the
        command that adopts them."""
        said = ""
        found = [one for one in self.of(rows, [], sockets) if one.seat is None]
        for socket in dict.fromkeys(one.socket for one in found):
            count = sum(one.socket == socket for one in found)
            said += f"; {count} on {socket}: "
            said += shlex.join(("tmuxreap", "adopt", "--all", *self.servers.flag(socket)))
        return said

    def in_daemons(self, rows: Sequence[Row], sights: Sequence[Sight] = ()) -> list[Newcomer]:
        """Find the sessions in agents' own daemons that no row means."""
        world = self.observer.latest if sights else None
        found = self.seats.running(rows, sights, world=world)
        unmeant = [one for one in found if one.row is None]
        return [
            Newcomer(
                f"{it.job.agent}-{it.job.id}", it.job.agent, "", (), it.job.seat, it.job.folder
            )
            for it in self.seats.without_shown(unmeant)
        ]

    def without_row(
        self,
        rows: Sequence[Row],
        sights: Sequence[Sight],
        servers: Mapping[str, ServerLook],
    ) -> list[Newcomer]:
        """Find newcomers on these servers, without a new look."""
        taken = set()
        for sight in sights:
            if sight.session is not None:
                taken.add((sight.socket, sight.session.id))
        names: set[str] = set()
        for row in rows:
            names.add(row.name)
            names.update(spellings(row.name))
        result: list[Newcomer] = []
        for socket, server in servers.items():
            if isinstance(server, Server):
                unregistered = []
                for s in server.sessions:
                    if (socket, s.id) not in taken and s.name not in names:
                        unregistered.append(s)
                result += self._agents_in(server, unregistered)
        return result

    def not_registered(
        self, default_server: str | None, target: str, rows: Iterable[Row]
    ) -> Failure | None:
        """Return the failure for a name without a row, if a session of that name is alive on one of
        the user's servers, the default ones first."""
        near = self.servers.default_sockets(default_server)
        for socket in dict.fromkeys((*near, *self.sockets())):
            server = self.tmux.look(socket)
            session = server.named(target) if isinstance(server, Server) else None
            if session is None or not isinstance(server, Server):
                continue
            other = self.rows_elsewhere(server, [session]).get(session.id)
            if other is not None:
                project = project_of(other.registry)
                reason = f"could not find {target!r} in this registry: it runs for {project}"
                there = command("show", other.name, "--registry", str(other.registry))
                hint = f"see it there with: {there}; other verbs take --registry, too"
                return Failure(Code.SESSION_NOT_REGISTERED, reason, hint)
            row = row_within(session, rows, self.seats.place.boot_id)
            if row is not None:
                reason = f"could not find {target!r} in the registry: it has {row.name} in it"
                hint = f"use that name, as in: {command('show', row.name)}"
                return Failure(Code.SESSION_NOT_REGISTERED, reason, hint)
            flag = self.servers.flag(socket)
            hint = f"register it with: {command('adopt', target, *flag)}"
            if not flag:
                hint += f", or end it without: {command('stop', target, '--unregistered')}"
            reason = (
                f"could not find {target!r} in the registry, but tmux has a session of that name"
            )
            return Failure(Code.SESSION_NOT_REGISTERED, reason, hint)
        return None

    def rows_elsewhere(
        self, server: Server, sessions: Sequence[ServerSession]
    ) -> dict[str, RowElsewhere]:
        """Return the rows of other registries that mean these sessions, by session id."""
        boot_id = self.seats.place.boot_id
        return rows_elsewhere(self.tmux, self.own_registry, boot_id, server, sessions)

    def _agents_in(self, server: Server, sessions: Sequence[ServerSession]) -> list[Newcomer]:
        if not sessions:
            return []
        world = self.observer.latest  # from the look at the rows
        if world is None or not world.unregistered or server.socket not in world.servers:
            world = self.observer.look([server.socket], 0)
        agents = {}
        for session in sessions:
            if names := agents_in(session.panes, self.seats.agents.profiles, world):
                agents[session.id] = names[0]
        candidates = [session for session in sessions if session.id in agents]
        taken: dict[str, RowElsewhere] = {}
        if candidates:
            taken = self.rows_elsewhere(server, candidates)
        flag = self.servers.flag(server.socket)
        found: list[Newcomer] = []
        for session in candidates:
            if session.id not in taken:
                found.append(Newcomer(session.name, agents[session.id], server.socket, flag))
        return found


def describe(found: Sequence[Newcomer]) -> str:
    """Return the names for people, each with its agent."""
    names = [f"{newcomer.name} ({newcomer.agent})" for newcomer in found[:NAMES_SHOWN]]
    if len(found) > NAMES_SHOWN:
        rest = [f"{len(found) - NAMES_SHOWN} more"]
    else:
        rest = []
    return ", ".join([*names, *rest])

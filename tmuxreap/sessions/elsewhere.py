"""Finds agents' sessions without a row, those that belong to another registry, by the mark that
`start` set on the session, and a running row there; and all registries of the user's: by an index
of those that `start` and `adopt` wrote, and by these marks.

Never writes to another registry, looks at it through a copy of its ledger, and uses none of another
user."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Row, Server, ServerLook, ServerSession
from tmuxreap.core.ports import Clock, PaneQuestion, Tmux
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.database import ledger_path
from tmuxreap.proof.observe import Observer
from tmuxreap.proof.panes import agents_in
from tmuxreap.proof.servers import Servers
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryFile
from tmuxreap.sessions.seats import Seats
from tmuxreap.system.environment import MARK, REGISTRY_MARK, Settings
from tmuxreap.system.own_files import NotUsed, read_own
from tmuxreap.system.tmux.versions import spellings
from tmuxreap.system.whereabouts import REGISTRY


@frozen
class Owner:
    """The registry and the row that a session belongs to."""

    registry: Path
    name: str


def owners_of(
    tmux: Tmux, ours: Path | None, boot_id: str, server: Server, sessions: Sequence[ServerSession]
) -> dict[str, Owner]:
    """Return the sessions of other registries, by session id, with one question to their server."""
    environments = tmux.ask(
        server.socket, [PaneQuestion(it.id, environment=True) for it in sessions]
    )
    owners = {}
    for session, environment in zip(sessions, environments, strict=True):
        owners[session.id] = owner_of(ours, boot_id, server, session, environment)
    return {number: owner for number, owner in owners.items() if owner is not None}


def owner_of(
    ours: Path | None, boot_id: str, server: Server, session: ServerSession, environment: str | None
) -> Owner | None:
    """Find the other registry of a session. `environment`: the session's own, without the global
    environment of its server."""
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
    return Owner(path, row.name) if row is not None else None


def registered_elsewhere(verb: str, name: str, owner: Owner, hint: str = "") -> Failure:
    """Return the refusal for a session of another registry, with the command to use there."""
    ours = verb if verb in ("stop", "kill") else "show"
    there = command(ours, owner.name, "--registry", str(owner.registry))
    reason = f"it is the running session {owner.name} of the registry {owner.registry}"
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

    from tmuxreap.ledger.database import copy_of, mark_in

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
        unmeant = [one for one in self.seats.running(rows, sights) if one.row is None]
        found = self.seats.without_shown(unmeant)
        return [
            Newcomer(
                f"{it.job.agent}-{it.job.id}", it.job.agent, "", (), it.job.seat, it.job.folder
            )
            for it in found
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
        ours = self.own_registry
        boot_id = self.seats.place.boot_id
        if candidates:
            taken = owners_of(self.tmux, ours, boot_id, server, candidates)
        else:
            taken = {}
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


def not_registered(
    servers: Servers, tmux: Tmux, default_server: str | None, target: str
) -> Failure | None:
    """Return the failure for a name without a row, if a session of that name is alive."""
    for socket in servers.default_sockets(default_server):
        server = tmux.look(socket)
        if isinstance(server, Server) and server.named(target) is not None:
            flag = servers.flag(socket)
            hint = f"register it with: {command('adopt', target, *flag)}"
            if not flag:
                hint += f", or end it without: {command('stop', target, '--unregistered')}"
            reason = (
                f"could not find {target!r} in the registry, but tmux has a session of that name"
            )
            return Failure(Code.SESSION_NOT_REGISTERED, reason, hint)
    return None


INDEX = Path("tmuxreap", "registries")  # below the user's state folder, one path a line


def note_registry(settings: Settings, registry: Path) -> None:
    """Add a registry to the index. Without permission it is not noted: the marks of its sessions
    still tell of it."""
    folder = settings.state_folder
    if folder is None or str(registry) in _indexed(settings):
        return
    with contextlib.suppress(OSError):
        path = folder / INDEX
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Appended in one write: several programs may do so at once, and a line twice does no harm.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(os.fsencode(f"{registry}\n"))


def registries(
    settings: Settings, nearest: Path | None, tmux: Tmux, sockets: Iterable[str]
) -> list[Path]:
    """Return the nearest registry, and every one that the index names, or the mark of a living
    session on these servers: regular files of this user's or root's, each once, by its resolved
    path."""
    own = [] if nearest is None else [str(nearest)]
    named = [*own, *_indexed(settings), *_marked(tmux, sockets)]
    found = dict.fromkeys(os.path.realpath(path) for path in named if path.startswith("/"))
    return [Path(path) for path in found if _is_trusted(Path(path), settings.uid)]


def project_of(registry: Path) -> Path:
    """Return the folder that people know a registry by."""
    in_project = str(registry).endswith(os.sep + REGISTRY)
    if in_project:
        return registry.parent.parent
    return registry.parent


@contextlib.contextmanager
def copied_books(registry: Path, clock: Clock, warnings: list[str]) -> Iterator[Books]:
    """Yield the books of another registry, as a copy: nothing is remembered there."""
    import tempfile  # late: rarely needed, and slow

    from tmuxreap.ledger.database import copy_of

    with tempfile.TemporaryDirectory(prefix="tmuxreap-") as folder:
        copy, _ = copy_of(ledger_path(registry), Path(folder))
        books = Books(RegistryFile(registry), clock, warnings, copy)
        try:
            yield books
        finally:
            books.close()


def _indexed(settings: Settings) -> list[str]:
    folder = settings.state_folder
    if folder is None:
        return []
    try:
        return read_own(folder / INDEX, settings.uid).splitlines()
    except (NotUsed, OSError):
        return []


def _marked(tmux: Tmux, sockets: Iterable[str]) -> Iterator[str]:
    """Yield the registries that the sessions on these servers are marked with."""
    for socket in sockets:
        server = tmux.look(socket)
        if not isinstance(server, Server):
            continue
        asked = [PaneQuestion(session.id, environment=True) for session in server.sessions]
        for environment in tmux.ask(socket, asked) if asked else ():
            for line in (environment or "").splitlines():
                name, _, value = line.partition("=")
                if name == REGISTRY_MARK and value:
                    yield value


def _is_trusted(registry: Path, uid: int) -> bool:
    """Tell whether file and folder are this user's or root's, and the file a regular one."""
    try:
        file = registry.stat()
        folder = registry.parent.stat()
    except OSError:
        return False
    return stat.S_ISREG(file.st_mode) and {file.st_uid, folder.st_uid} <= {uid, 0}

"""Finds all registries of the user's: by an index of those that `start` and `adopt` wrote, and by
the marks of living sessions. Uses none of another user, and looks at them through copies of their
ledgers."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from tmuxreap.core.model import (
    Server,
)
from tmuxreap.core.ports import Clock, PaneQuestion, Tmux
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.database import copy_of, ledger_path
from tmuxreap.registry.file import RegistryFile
from tmuxreap.system.environment import REGISTRY_MARK, Settings
from tmuxreap.system.own_files import NotUsed, read_own
from tmuxreap.system.whereabouts import REGISTRY

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

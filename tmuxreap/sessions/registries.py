"""Owns what is known of the user's registries: an index of those that `start` and `adopt` wrote,
and the marks of living sessions. Looks at the rows of each through a copy of its ledger.

Never writes to another project, and never uses a registry or a folder of another user."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Server
from tmuxreap.core.ports import PaneQuestion
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.copy import copy_of
from tmuxreap.ledger.database import ledger_path
from tmuxreap.registry.file import RegistryFile
from tmuxreap.sessions.context import Context
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


def registries(context: Context) -> list[Path]:
    """Return every registry that the index or a mark of a living session names, and the nearest
    one: regular files of this user's or root's, each once, by its resolved path."""
    named = [*_nearest(context), *_indexed(context.settings), *_marked(context)]
    found = dict.fromkeys(os.path.realpath(path) for path in named if path.startswith("/"))
    return [Path(path) for path in found if _is_trusted(Path(path), context.settings.uid)]


def project_of(registry: Path) -> Path:
    """Return the folder that people know a registry by."""
    in_project = str(registry).endswith(os.sep + REGISTRY)
    if in_project:
        return registry.parent.parent
    return registry.parent


@contextlib.contextmanager
def visit(context: Context, registry: Path) -> Iterator[Context]:
    """Yield a context that looks at another registry. It works on a copy of the ledger, so that
    nothing is remembered there."""
    with tempfile.TemporaryDirectory(prefix="tmuxreap-") as folder:
        file = RegistryFile(registry)
        copy, _ = copy_of(ledger_path(registry), Path(folder))
        warnings: list[str] = []
        books = Books(file, context.clock, warnings, copy)
        there = context.with_own(
            given_registry=str(registry), registry=file, books=books, warnings=warnings
        )
        try:
            yield there
        finally:
            books.close()


def _nearest(context: Context) -> list[str]:
    with contextlib.suppress(Failure):
        return [str(context.registry.resolved)]
    return []


def _indexed(settings: Settings) -> list[str]:
    folder = settings.state_folder
    if folder is None:
        return []
    try:
        return read_own(folder / INDEX, settings.uid).splitlines()
    except (NotUsed, OSError):
        return []


def _marked(context: Context) -> Iterator[str]:
    """Yield the registries that the sessions on the user's servers are marked with."""
    for socket in context.servers.default_sockets(context.default_server):
        server = context.tmux.look(socket)
        if not isinstance(server, Server):
            continue
        asked = [PaneQuestion(session.id, environment=True) for session in server.sessions]
        for environment in context.tmux.ask(socket, asked) if asked else ():
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

"""Tells whether a session belongs to another registry: by the mark that `start` set on the session,
and a running row there. Reads that registry; never writes to it, its ledger or tmux."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Row, Server, Session
from tmuxreap.core.ports import Question, Tmux
from tmuxreap.core.values import frozen
from tmuxreap.ledger.database import ledger_path
from tmuxreap.registry.file import Registry
from tmuxreap.system.environment import MARK, REGISTRY_MARK


@frozen
class Owner:
    """The registry and the row that a session belongs to."""

    registry: Path
    name: str


def owners_of(
    tmux: Tmux, ours: Path | None, boot_id: str, server: Server, sessions: Sequence[Session]
) -> dict[str, Owner]:
    """Return the sessions of other registries, by session id, with one question to their server."""
    environments = tmux.ask(server.socket, [Question(it.id, environment=True) for it in sessions])
    owners = {
        session.id: owner_of(ours, boot_id, server, session, environment)
        for session, environment in zip(sessions, environments, strict=True)
    }
    return {number: owner for number, owner in owners.items() if owner is not None}


def owner_of(
    ours: Path | None, boot_id: str, server: Server, session: Session, environment: str | None
) -> Owner | None:
    """Find the other registry of a session. `environment`: the session's own, without the global
    environment of its server."""
    marks = _marks(environment or "")
    mark, registry = marks.get(MARK), marks.get(REGISTRY_MARK)
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
        return [row for row in Registry(path).look().usable if not row.status.ended]
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

    from tmuxreap.ledger.copy import copy_of, mark_in

    with tempfile.TemporaryDirectory(prefix="tmuxreap-") as folder:
        copy, trouble = copy_of(ledger_path(path), Path(folder))
        return mark_in(copy, name) if trouble is None else None

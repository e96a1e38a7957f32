"""Owns the checks of `doctor` on the registry: its health, its lock, its ledger, and its drift from
reality.

Only reads: the ledger is read from a copy, and the lock is never taken."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tmuxreap.commands.doctor.machine import Setup, failed, note, ok, problem
from tmuxreap.commands.reconcile.drift import DriftKind
from tmuxreap.commands.reconcile.reconcile import find_drifts
from tmuxreap.core.answers import Finding
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live
from tmuxreap.core.results import megabytes
from tmuxreap.ledger.database import ledger_path
from tmuxreap.registry.rows import BadRow, policy_of, row_invalid
from tmuxreap.sessions.context import Context
from tmuxreap.system import files
from tmuxreap.system.environment import REGISTRY_MARK
from tmuxreap.system.files import holders, shared_filesystem, soft_owner

HELD_LONG_S = 1.0
LOOKS = 5
OPEN_TO_OTHERS = 0o077
READABLE_BY_OTHERS = 0o044


def registry_trouble(context: Context, failure: Failure) -> Finding:
    """Report an unreadable registry; a missing one is only a note if none was asked for."""
    settings = context.settings
    named = context.given_registry or settings.environ.get(REGISTRY_MARK)
    none_yet = failure.code is Code.REGISTRY_NOT_FOUND and not named and not settings.cwd_deleted
    kind = note if none_yet else problem
    return kind(failure.message, failure.hint or None, name="registry")


def check_registry(setup: Setup) -> Iterator[Finding]:
    look = setup.look
    if look is None:
        return
    running = sum(not row.status.ended for row in setup.rows)
    rows = "1 row" if len(look.rows) == 1 else f"{len(look.rows)} rows"
    yield ok(f"{look.path}: {rows}, {running} running")
    for row in look.rows:
        if isinstance(row, BadRow):
            yield failed(row_invalid(look.path, row))
    yield from _restarts(setup)
    try:
        setup.app.registry.check_writable()
    except Failure as failure:
        yield failed(failure)
    yield from _readers(setup)
    for path in setup.app.registry.left_by_dead(setup.app.processes.identify):
        yield note(f"{path} was left by a writer that was killed", "tmuxreap reconcile")


def _restarts(setup: Setup) -> Iterator[Finding]:
    """Report restart settings that `watch` cannot read: it would not restart such a session."""
    for row in setup.rows:
        try:
            policy_of(row)
        except ValueError as error:
            message = f"{row.name} would not be started again: {error}"
            yield note(message, "edit restart and restart_limit of its row")


def _readers(setup: Setup) -> Iterator[Finding]:
    """Report a registry that others can read. Its mode belongs to the user and is never changed."""
    registry = setup.app.registry.resolved
    uid = setup.app.settings.uid
    with contextlib.suppress(OSError):
        info = registry.stat()
        if info.st_uid == uid and stat.S_IMODE(info.st_mode) & READABLE_BY_OTHERS:
            message = f"{registry} can be read by others, and holds the last screens of sessions"
            yield note(message, f"chmod 600 {_word(registry)}")


def check_lock(setup: Setup) -> Iterator[Finding]:
    if setup.look is None:
        return
    lock = files.lock_of(setup.app.registry.resolved)
    yield from _misleading(lock)
    try:
        info = lock.lstat()
    except OSError:
        return
    if not stat.S_ISREG(info.st_mode):
        hint = f"look at it, then remove it: rm {_word(lock)}"
        yield problem(f"{lock} is not a file that can be locked", hint)
        return
    holder = _held_for_long(info.st_ino)
    if holder is not None:
        message = f"{lock} has been held for more than {HELD_LONG_S:g} s by process {holder}"
        yield problem(message, f"see what that is: ps -o pid,etime,args -p {holder}")
    else:
        yield ok(f"{lock} is free")


def _held_for_long(inode: int) -> int | None:
    """Return the pid of a process that keeps the lock; our commands hold it for milliseconds."""
    pids = holders(inode)
    for _ in range(LOOKS):
        if not pids:
            return None
        time.sleep(HELD_LONG_S / LOOKS)
        pids &= holders(inode)
    return min(pids, default=None)


def _misleading(lock: Path) -> Iterator[Finding]:
    """Report what makes the lock ineffective even for its holder."""
    owner = soft_owner(lock)
    if owner is not None:
        by = f"a soft lock of process {owner}"
        message = f"{lock} was written by {by}, which no command here respects"
        yield problem(message, "make that program take a kernel lock: filelock.FileLock")
    kind = shared_filesystem(lock.parent)
    if kind is not None:
        message = f"{lock.parent} lies on {kind}: a lock may not hold against other hosts there"
        yield note(message, "keep the registry on a disk of this host, or write it from one host")


def check_ledger(setup: Setup, trouble: str | None) -> Iterator[Finding]:
    """Check the ledger. `trouble` tells why its copy could not be read."""
    look = setup.look
    app = setup.app
    if look is None:
        return
    ledger = ledger_path(app.registry.resolved)
    for aside in sorted(ledger.parent.glob(f"{ledger.name}.broken-*")):
        if not aside.name.endswith(("-wal", "-shm")):
            hint = f"when you need it no more: rm {_word(aside)}*"
            yield note(f"{aside} is one that could not be read", hint)
    if not os.path.lexists(ledger):
        yield ok("there is none yet; the first change makes it")
        return
    info = ledger.lstat()
    if not stat.S_ISREG(info.st_mode):
        hint = f"move it away: mv {_word(ledger)} {_word(ledger)}.old"
        yield problem(f"{ledger} is no file", hint)
    elif trouble is not None:
        hint = "tmuxreap reconcile (sets it aside and creates a new one)"
        yield problem(f"{ledger} cannot be read: {trouble}", hint)
    elif info.st_uid == app.settings.uid and stat.S_IMODE(info.st_mode) & OPEN_TO_OTHERS:
        message = f"{ledger} can be read by others, and holds drafts"
        yield problem(message, f"chmod 600 {_word(ledger)}")
    elif app.books.is_behind(look):
        yield problem(f"{ledger} mirrors another state of the registry", "tmuxreap reconcile")
    else:
        yield ok(f"{ledger} agrees with the registry")
        for trouble in app.books.lifecycle_problems():
            yield note(trouble, f"see its rules: sqlite3 {_word(ledger)} .schema")


def check_intents(setup: Setup) -> Iterator[Finding]:
    """Report intents in progress; those of dead owners are drift."""
    if setup.look is None:
        return
    for name, intent in setup.app.books.open_intents().items():
        if setup.app.active.is_in_progress(intent):
            yield note(f"a {intent.verb} of {name} is in progress, by process {intent.owner.pid}")


def check_sessions(setup: Setup) -> Iterator[Finding]:
    """Report drift, with the same findings as `reconcile`."""
    if setup.look is None:
        return
    for drift in find_drifts(setup.app, setup.look).drifts:
        if drift.kind is DriftKind.UNREGISTERED:
            continue  # check_unregistered covers more servers
        message = f"{drift.name}: {drift.kind.value}: {drift.evidence}"
        hint = drift.hint or "tmuxreap reconcile"
        if drift.kind is DriftKind.SURVIVORS:
            yield problem(message + _memory(setup, drift.name), hint, name="orphans")
        else:
            yield problem(message, hint)
    for row in setup.rows:
        sight = setup.sights[row.name]
        if not row.status.ended and sight.live is Live.UNKNOWN and sight.trouble is not None:
            yield failed(sight.trouble)


def _memory(setup: Setup, name: str) -> str:
    own = setup.sights[name].owned.own
    total = sum(setup.app.processes.memory(belonging.process.id) for belonging in own)
    return f" ({megabytes(total)} MB)"


def _word(path: Path) -> str:
    return shlex.quote(str(path))

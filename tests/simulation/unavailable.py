"""The ledger and the disk of the simulation, where they are not to be had."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.simulation.world import World
from tmuxreap.ledger.database import Database
from tmuxreap.system import files


@contextlib.contextmanager
def unavailable(world: World) -> Iterator[None]:
    """Let the ledger be locked by another reader, and the disk be full, while the world says so."""
    use = Database.use
    check_space = files.check_space

    def used(ledger: Database, warning: str, work: Any) -> Any:
        if world.locked and world.current is not None:
            ledger.warnings.append(f"{warning}: it is locked")
            return None
        return use(ledger, warning, work)

    def has_space(target: Path, size: int) -> None:
        if world.full and world.current is not None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        check_space(target, size)

    Database.use = used  # type: ignore[method-assign]
    files.check_space = has_space
    try:
        yield
    finally:
        Database.use = use  # type: ignore[method-assign]
        files.check_space = check_space

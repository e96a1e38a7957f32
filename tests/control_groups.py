"""Real control groups, named like the scope that tmux with systemd creates for a pane."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.real import until

MEMBERS = "cgroup.procs"
PLACES = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def place() -> Path | None:
    """Return where this machine lets us create one, or None."""
    roots = [Path(root) for root in PLACES if Path(root, "cgroup.controllers").exists()]
    return next((root for root in roots if os.access(root, os.W_OK)), None)


@contextlib.contextmanager
def group(name: str | None = None) -> Iterator[Path]:
    """Create a control group; kill its members at the end, as only the group may identify them."""
    root = place()
    assert root is not None
    made = root / (name or f"tmux-spawn-{uuid.uuid4()}.scope")
    made.mkdir()
    try:
        yield made
    finally:
        for pid in members(made):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until("the end of its members", lambda: not members(made))
        made.rmdir()


def members(made: Path) -> list[int]:
    return [int(word) for word in (made / MEMBERS).read_text().split()]

"""The composition root: wires up the real tmux, processes and clock. Keeps no state, and never acts
on sessions itself."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.ports import Progress
from tmuxreap.proof.observe import Place
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings
from tmuxreap.system.machine import RealClock
from tmuxreap.system.processes.linux import boot_id, host, real_processes
from tmuxreap.system.tmux.server import RealTmux


def real_app(
    settings: Settings,
    registry: str | None,
    tool: str = "cli",
    *,
    progress: Progress | None = None,
    lock_held: bool = False,
) -> Context:
    if settings.platform.startswith("win"):
        raise Failure(Code.USAGE, "could not run: Windows has no tmux", "run it inside WSL")
    processes = real_processes()
    return Context(
        settings=settings,
        given_registry=registry,
        tmux=RealTmux(settings.environ),
        processes=processes,
        clock=RealClock(),
        place=Place(host=host(), boot_id=boot_id(), pid=settings.pid),
        tool=tool,
        progress=progress,
        lock_held=lock_held,
    )

"""The segment for the status line: one user option on the registry's tmux servers, where `@tmuxreap-segment` is on.

The status line reads it without starting a process. It is set when it changes, and again at each full look, for a
server that was asked for it meanwhile; asked and set inside tmux, in the same step."""

from __future__ import annotations

from collections.abc import Iterable

from tmuxreap.core.model import Live, Server
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.tmux.commands import if_option, quoted

ASKED, TOLD, OF_REGISTRY = "@tmuxreap-segment", "@tmuxreap-status", "@tmuxreap-registry"


class Segment:
    def __init__(self, context: Context) -> None:
        self._app = context
        self._told: dict[str, str] = {}

    def tell(self, sights: Iterable[Sight], *, again: bool) -> None:
        """`again`: also where nothing changed."""
        found = texts(sights)
        for socket in self._told.keys() - found.keys():
            found[socket] = ""  # nothing of the registry is on it any more
        for socket, text in found.items():
            if again or self._told.get(socket) != text:
                self._run(socket, f"set-option -g {TOLD} {quoted(text)}")
                self._told[socket] = text

    def leave(self) -> None:
        """Nobody keeps it true from now on."""
        for socket in self._told:
            self._run(socket, f"set-option -gqu {TOLD}")

    def _run(self, socket: str, command: str) -> None:
        registry = str(self._app.registry.path)
        self._app.tmux.run(socket, [if_option({ASKED: ("on",), OF_REGISTRY: ("", registry)}, command)])


def texts(sights: Iterable[Sight]) -> dict[str, str]:
    """By server: how many agents run, and how many are told to and do not. Never a name: tmux
    would expand it."""
    counts: dict[str, list[int]] = {}
    for sight in sights:
        if isinstance(sight.server, Server):
            counts.setdefault(sight.socket, [0, 0])[sight.live is not Live.ALIVE] += 1
    return {socket: f"agents {alive}" + (f" !{lost}" if lost else "") for socket, (alive, lost) in counts.items()}

"""Owns the segment for the status line: a user option on the registry's tmux servers that have
`@tmuxreap-segment` on.

A status line reads it without starting a process. It is set when it changes, and at each full look
for servers that asked for it since; tmux checks and sets it in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tmuxreap.core.model import Live, Row, Server, SetStatus
from tmuxreap.proof.sight import Sight
from tmuxreap.proof.state import NOTHING, AgentState, StateReport
from tmuxreap.sessions.context import Context


class Segment:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._texts: dict[str, str] = {}

    def show(self, seen: Sequence[tuple[Row, Sight]], *, again: bool) -> Mapping[str, StateReport]:
        """Update the segments, and return each row's state. `again`: also unchanged segments."""
        rows, sights = [row for row, _ in seen], [sight for _, sight in seen]
        alive = any(sight.live is Live.ALIVE for sight in sights)
        states = self._context.states.of(rows, sights) if alive else [NOTHING] * len(sights)
        segments = texts(sights, states)
        for socket in self._texts.keys() - segments.keys():
            segments[socket] = ""  # no session of the registry is left on it
        for socket, text in segments.items():
            if again or self._texts.get(socket) != text:
                self._set(socket, text)
                self._texts[socket] = text
        return {row.name: state for row, state in zip(rows, states, strict=True)}

    def unset(self) -> None:
        """Unset the segments: nothing updates them from now on."""
        for socket in self._texts:
            self._set(socket, None)

    def _set(self, socket: str, text: str | None) -> None:
        self._context.tmux.do(socket, [SetStatus(str(self._context.registry.path), text)])


def texts(sights: Sequence[Sight], states: Sequence[StateReport]) -> dict[str, str]:
    """Return for each server how many agents are in which state (`3 working, 1 waiting`), and how
    many should run and do not. Never a name: tmux would expand it."""
    counts: dict[str, Counter[AgentState | None]] = {}
    for sight, report in zip(sights, states, strict=True):
        if isinstance(sight.server, Server):
            state = report.state if sight.live is Live.ALIVE else None
            counts.setdefault(sight.socket, Counter())[state] += 1
    return {socket: _text(count) for socket, count in counts.items()}


def _text(count: Counter[AgentState | None]) -> str:
    parts = [f"{count[state]} {state.value}" for state in AgentState if count[state]]
    text = ", ".join(parts) or "no agents"
    return f"{text} !{count[None]}" if count[None] else text

"""Owns the sessions of the Python interface: answers of `list`, with a way to libtmux."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxreap.core.answers import sessions

if TYPE_CHECKING:
    from tmuxreap.interfaces.python.libtmux_objects import TmuxPane, TmuxSession


class Session(sessions.Session):
    """What is known of one row: its fields, and a look at its session."""

    __slots__ = ()

    def libtmux(self) -> TmuxSession:
        """Return the libtmux.Session that holds its pane now, found by IDs only."""
        from tmuxreap.interfaces.python import libtmux_objects

        return libtmux_objects.session_of(self)

    def libtmux_pane(self) -> TmuxPane:
        """Return the libtmux.Pane of its agent."""
        from tmuxreap.interfaces.python import libtmux_objects

        return libtmux_objects.pane_of(self)

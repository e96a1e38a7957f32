"""A session as the Python interface answers it: the answer of `list`, and the way to libtmux from
there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxreap.core.answers import sessions

if TYPE_CHECKING:
    from tmuxreap.interfaces.python.libtmux_objects import TmuxPane, TmuxSession


class Session(sessions.Session):
    """Tells what is known of one row: what it says, and what a look at its session says."""

    __slots__ = ()

    def libtmux(self) -> TmuxSession:
        """Give the libtmux.Session in which its pane is now, found by ids alone."""
        from tmuxreap.interfaces.python import libtmux_objects

        return libtmux_objects.session_of(self)

    def libtmux_pane(self) -> TmuxPane:
        """Give the libtmux.Pane of its agent."""
        from tmuxreap.interfaces.python import libtmux_objects

        return libtmux_objects.pane_of(self)

"""Owns the sessions of the Python interface, with a way to libtmux, and the targets that a caller
may give: words as in a shell, sessions, libtmux objects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tmuxreap.core import answers
from tmuxreap.core.answers import Ending
from tmuxreap.core.errors import Code, Failure
from tmuxreap.interfaces.python.errors import error_of
from tmuxreap.registry.targets import selects_many
from tmuxreap.sessions.context import Context

if TYPE_CHECKING:
    from tmuxreap.interfaces.python.libtmux_objects import TmuxPane, TmuxSession

    Target: TypeAlias = str | answers.Session | TmuxSession | TmuxPane
    Several: TypeAlias = list[Target] | tuple[Target, ...]
else:
    Target = Several = Any


class Session(answers.Session):
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


def listed(target: Target | Several) -> tuple[list[Target], bool]:
    """Return the targets, and whether the answer is a list. A single word must mean one session."""
    if isinstance(target, (list, tuple)):
        return list(target), True
    if isinstance(target, str) and selects_many(target):
        failure = Failure(
            Code.USAGE,
            f"could not answer {target!r} with one result: it may mean several sessions",
            f"give it in a list: [{target!r}]",
        )
        raise error_of(failure)
    return [target], False


def name_of(target: object) -> str:
    """Return the target's name, for an answer without a row."""
    name = getattr(target, "name", None)
    return name if isinstance(name, str) else str(target)


def words_of(context: Context, targets: Sequence[Target]) -> tuple[str, ...]:
    """Return each target as a word of the command line."""
    return tuple(_word(context, target) for target in targets)


def _word(context: Context, target: object) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, (answers.Session, Ending)):
        return target.name
    if "libtmux" in sys.modules:  # no libtmux object exists before its import
        from tmuxreap.interfaces.python.libtmux_objects import TmuxPane, TmuxSession, target_of

        if isinstance(target, (TmuxSession, TmuxPane)):
            return target_of(context, target)
    raise TypeError(
        f"a target is a name, a Session or a libtmux object, not {type(target).__name__}"
    )

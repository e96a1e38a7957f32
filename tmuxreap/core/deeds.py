"""Actions on a terminal multiplexer as plain values, passed to it in batches.

An action that could hit the wrong target carries the identity that was seen. tmux compares it in
the same step that acts: a session or pane that was replaced meanwhile is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.core.model import Pane, Server, Session
from tmuxreap.core.values import field, frozen


@frozen
class CloseSession:
    """Close a session; if it has gained other panes meanwhile, close only the `judged` ones."""

    server: Server
    session: Session
    judged: Sequence[Pane] = ()


@frozen
class ClosePane:
    server: Server
    session: Session
    pane: Pane


@frozen
class Press:
    """Send key names (`C-c`, `Enter`) or literal text. Skipped unless the pane passes keys to its
    program, and to no other pane's."""

    server: Server
    pane: Pane
    keys: tuple[str, ...] = ()
    text: str = ""


@frozen
class SetOption:
    """Set an option on this pane alone; None unsets it."""

    pane: str
    option: str
    value: str | None


@frozen
class LeaveMode:
    """Leave a tmux mode that takes the pane's keys away from its program; a no-op outside one."""

    pane: str


@frozen
class SwitchClient:
    """Switch a client (None: the current one) to that pane."""

    server: Server
    session: Session
    pane: Pane
    client: str | None = None


@frozen
class SetStatus:
    """Set the status line's segment, where it is enabled for this registry; None clears it."""

    registry: str
    text: str | None


Deed = CloseSession | ClosePane | Press | SetOption | LeaveMode | SwitchClient | SetStatus


@frozen
class NewSession:
    """A detached session that runs the command without a shell (no words: the user's shell)."""

    name: str
    cwd: str
    words: Sequence[str]
    marks: Mapping[str, str] = field(default_factory=dict)
    remains: bool = False  # its pane, with its last output, stays when the command ends


@frozen
class Created:
    session: str
    pane: str
    pid: int  # 0: the pane died immediately

"""What can be done on a terminal multiplexer, as plain values: many are handed over at once.

Whatever could hit a stranger says what was seen, and is compared with what is there in the same
step that does it: a session or a pane that is another by now is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.core.model import Pane, Server, Session
from tmuxreap.core.values import field, frozen


@frozen
class CloseSession:
    """Where something else is in it by now, those of its panes that were `judged` are closed
    instead."""

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
    """Names of keys, as in `C-c` or `Enter`, or a text as it is; only into a pane that takes keys
    for itself alone."""

    server: Server
    pane: Pane
    keys: tuple[str, ...] = ()
    text: str = ""


@frozen
class SetOption:
    """Of this very pane; None: as it is elsewhere."""

    pane: str
    option: str
    value: str | None


@frozen
class LeaveMode:
    """Leave what takes the keys of a pane away from its program; nothing happens outside of one."""

    pane: str


@frozen
class SwitchClient:
    """Bring a client (none: the current one) to that pane."""

    server: Server
    session: Session
    pane: Pane
    client: str | None = None


@frozen
class SetStatus:
    """The segment of the status line, where it is wanted for this registry; None: none."""

    registry: str
    text: str | None


Deed = CloseSession | ClosePane | Press | SetOption | LeaveMode | SwitchClient | SetStatus


@frozen
class NewSession:
    """A detached session with that command in it and no shell around (none: the user's shell)."""

    name: str
    cwd: str
    words: Sequence[str]
    marks: Mapping[str, str] = field(default_factory=dict)
    remains: bool = False  # its pane stays when the command ends, with its last words


@frozen
class Created:
    session: str
    pane: str
    pid: int  # 0: the pane was dead at once

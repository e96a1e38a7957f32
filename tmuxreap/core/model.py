"""The nouns of the program: what a row, a session and a process are. Plain values; nothing here
looks or acts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from tmuxreap.core.answers.base import Answer
from tmuxreap.core.values import field, frozen


class Word(str, Enum):
    """A word of a fixed list that answers tell as it is: equal to its text, and written as it."""

    def __str__(self) -> str:
        return str(self.value)


class Status(Word):
    """What the registry says of a session. ARCHIVED is read as STOPPED and never written."""

    RUNNING = "running"
    STOPPED = "stopped"
    TERMINATED = "terminated"
    ARCHIVED = "archived"

    @property
    def ended(self) -> bool:
        return self is not Status.RUNNING


class Live(Word):
    """What a look at tmux and the processes says of a row."""

    ALIVE = "alive"
    AGENT_GONE = "agent_gone"
    GONE = "gone"
    UNKNOWN = "unknown"
    REPLACED = "replaced"


class Terminal(Enum):
    TMUX = "tmux"
    NONE = "none"
    KITTY = "kitty"
    WEZTERM = "wezterm"


class Verb(Enum):
    """The verbs that end sessions, or their turns."""

    STOP = "stop"
    KILL = "kill"
    INTERRUPT = "interrupt"


class Scope(Enum):
    """How far an ending reaches."""

    AGENT = "agent"  # the session, refused when foreign panes are in it
    SESSION = "session"  # --whole-session
    PANE = "pane"  # --pane-only


class StoppedBy(Word):
    EXIT_KEYS = "exit_keys"
    HANGUP = "hangup"
    SIGTERM = "sigterm"
    SIGKILL = "sigkill"
    ALREADY_GONE = "already_gone"


class Outcome(Word):
    STOPPED = "stopped"
    KILLED = "killed"
    TERMINATED = "terminated"
    ALREADY_STOPPED = "already_stopped"
    HANDED_OVER = "handed_over"
    TAKEN_OVER = "taken_over"
    PLANNED = "planned"
    REFUSED = "refused"
    SURVIVED = "survived"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    ALREADY_IDLE = "already_idle"


class ProcessId(NamedTuple):
    """A process for ever: the pid, and the moment it started in clock ticks since boot
    (microseconds without /proc)."""

    pid: int
    start: int


@frozen
class Process:
    """One process at one look. `tty` is the device number of its controlling terminal, 0 for
    none."""

    id: ProcessId
    ppid: int
    pgrp: int
    sid: int
    tty: int
    tpgid: int
    state: str
    comm: str

    @property
    def pid(self) -> int:
        return self.id.pid

    @property
    def dead(self) -> bool:
        """A zombie is dead: it holds nothing but its place in the table."""
        return self.state in ("Z", "X", "x")


@frozen
class Pane:
    id: str
    pid: int | None  # None: tmux does not say it of a dead pane
    tty: str
    dead: bool
    in_mode: bool
    synchronized: bool
    input_off: bool
    window_id: str
    linked: bool  # its window stands in another session too
    remain_on_exit: str
    runs: str = field(default_factory=str, compare=False)  # in front of it, where that was asked


@frozen
class Session:
    id: str
    name: str
    created: int
    activity: int | None
    attached: int
    grouped: bool
    panes: tuple[Pane, ...]

    def holds(self, pane: str) -> bool:
        return pane in [one.id for one in self.panes]

    def shares(self, pane: Pane) -> bool:
        """From tmux 3.6 on the windows of a group do not count as linked."""
        return pane.linked or self.grouped


@frozen
class Unread:
    """A pane that tmux listed in a way that cannot be read: its session, as far as that could be
    told."""

    session: str | None
    name: str | None

    def may_be(self, session: str | None, name: str) -> bool:
        if self.session is not None and session is not None:
            return self.session == session
        return (
            self.name is None or self.name.rpartition(":")[2] == name.rpartition(":")[2]
        )  # a line may be cut


@frozen
class Server:
    """A tmux server that answered."""

    socket: str
    pid: int
    started: int
    sessions: tuple[Session, ...]
    unread: tuple[Unread, ...] = ()
    _by_name: dict[str | None, Any] = field(default_factory=dict, compare=False, repr=False)

    def named(self, name: str) -> Session | None:
        """Put together once: it is asked for thousands of rows."""
        if self._by_name.get(None) is not self.sessions:
            self._by_name.clear()
            self._by_name.update({one.name: one for one in reversed(self.sessions)})
            self._by_name[None] = self.sessions
        found: Session | None = self._by_name.get(name)
        return found

    def may_hide(self, session: str | None, name: str) -> bool:
        """That it is not among the sessions says nothing."""
        return any(one.may_be(session, name) for one in self.unread)


@frozen
class NoServer:
    """Proven: nobody listens on this socket, under any name."""

    socket: str


@frozen
class Unreachable:
    """tmux could not be asked. Unknown is not dead: nothing may be written on this answer."""

    socket: str
    reason: str
    hint: str
    missing: bool = False  # no tmux program
    denied: bool = False


ServerLook = Server | NoServer | Unreachable


@frozen
class RecordedPane:
    pid: int | None = None
    cmd: str | None = None
    cwd: str | None = None
    id: str | None = None
    created_epoch: float | None = None
    start_ticks: int | None = None
    listen_on: str | None = None  # where the remote control of another terminal is reached


@frozen
class RecordedTmux:
    """The identity of the session as it was recorded; None where another tool wrote the row."""

    socket: str | None = None
    host: str | None = None
    boot_id: str | None = None
    server_pid: int | None = None
    server_started: int | None = None
    session_id: str | None = None
    session_created: int | None = None

    @property
    def known(self) -> bool:
        return (
            self.session_id is not None
            and self.session_created is not None
            and self.server_pid is not None
        )

    def of_boot(self, boot_id: str) -> bool:
        """Could be: who wrote no boot down may have meant this one."""
        return self.boot_id in (None, boot_id)


@frozen
class Row:
    """One registered session. `data` is the row as it was parsed, unknown keys and all."""

    index: int
    name: str
    status: Status
    agent: str | None
    terminal: Terminal
    tags: tuple[str, ...]
    task_id: str | None
    tmux_server: str | None
    start_command: str | None
    pane: RecordedPane
    tmux: RecordedTmux
    conversations: tuple[tuple[str, str | None], ...]  # (field, id), in the row's order
    resumable: bool | None
    stop_reason: str | None
    data: Mapping[str, object] = field(compare=False)

    @property
    def fields(self) -> set[str]:
        """The names of all that stands in it."""
        return set(self.data)

    @property
    def ttl(self) -> str | None:
        return self._text("ttl")

    @property
    def restart(self) -> str | None:
        return self._text("restart")

    @property
    def worktree(self) -> str | None:
        return self._string("worktree")

    @property
    def created_at(self) -> str | None:
        return self._text("created_at")

    @property
    def ended_at(self) -> str | None:
        """When it was stopped or terminated, in the words that were written."""
        return self._text("stopped_at") or self._text("terminated_at")

    @property
    def termination_mode(self) -> str | None:
        return self._text("termination_mode")

    @property
    def stopped_by(self) -> StoppedBy | None:
        return next((by for by in StoppedBy if by == self.data.get("stopped_by")), None)

    @property
    def scope(self) -> str | None:
        return self._text("scope")

    @property
    def conversation_source(self) -> str | None:
        return self._text("conversation_source")

    @property
    def store(self) -> str | None:
        """Where its agent keeps conversations, if not where it usually does."""
        return self._string("store")

    @property
    def last_screen(self) -> str | None:
        return self._text("last_visible_status")

    @property
    def delegate_job_id(self) -> str | None:
        return self._text("delegate_job_id")

    def has(self, *path: str) -> bool:
        """Whether the row has that field, with a value or without."""
        within: object = self.data
        for key in path:
            if not isinstance(within, Mapping) or key not in within:
                return False
            within = within[key]
        return True

    def _string(self, name: str) -> str | None:
        value = self.data.get(name)
        return value if isinstance(value, str) else None

    def _text(self, name: str) -> str | None:
        value = self.data.get(name)
        return None if value is None or value == "" else str(value)


@frozen
class BadRow:
    """A row that cannot be read or edited safely; it fails only the targets that mean it."""

    index: int
    name: str | None
    reason: str
    line: int
    column: int


class Remove(Enum):
    """The one value of a field that means: the key goes."""

    KEY = "remove"


@frozen
class Conversation(Answer):
    """Names a conversation of an agent, and whether it is on disk."""

    id: str | None = None
    source: str | None = None
    path: str | None = None
    exists: bool = False

"""The program's main value types: rows, sessions, panes, servers, processes; and the actions on a
terminal multiplexer. Never does I/O.

An action that could hit the wrong target carries the identity that was seen. tmux compares it in
the same step that acts: a session or pane that was replaced meanwhile is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

from tmuxreap.core.values import Word, field, frozen


class Status(Word):
    """A session's status in the registry. ARCHIVED is read as STOPPED and never written."""

    RUNNING = "running"
    STOPPED = "stopped"
    TERMINATED = "terminated"
    ARCHIVED = "archived"

    ended: bool  # a plain value: a look asks it of ten thousand rows

    def __init__(self, word: object) -> None:
        self.ended = word != "running"


BELOW = "/"  # between a row's name and the ID of what it launched


class Live(Word):
    """Whether a row's session exists, according to tmux and the process table."""

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
    BACKGROUND = "background"  # none: the agent's own daemon runs it


class EndVerb(Enum):
    """The verbs that send keys or signals: they end sessions or turns, or give a prompt."""

    STOP = "stop"
    KILL = "kill"
    RESTART = "restart"
    INTERRUPT = "interrupt"
    SEND = "send"

    @property
    def phrase(self) -> str:
        """The verb as it stands before a session's name in a message."""
        return "send to" if self is EndVerb.SEND else self.value


class Scope(Enum):
    """How far an ending reaches."""

    AGENT = "agent"  # the session; refused if it has foreign panes
    SESSION = "session"  # --whole-session
    PANE = "pane"  # --pane-only


class StoppedBy(Word):
    EXIT_KEYS = "exit_keys"
    HANGUP = "hangup"
    SIGTERM = "sigterm"
    SIGKILL = "sigkill"
    ALREADY_GONE = "already_gone"
    DAEMON = "daemon"  # by the agent's own command to its own daemon


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
    SENT = "sent"
    RESTARTED = "restarted"
    UNKNOWN = "unknown"


class ProcessId(NamedTuple):
    """A process identity that survives pid reuse: the pid, and its start time in clock ticks since
    boot (microseconds without /proc)."""

    pid: int
    start: int


class AgentState(Word):
    """What an agent is doing."""

    WORKING = "working"
    WAITING = "waiting"
    LIMITED = "limited"
    IDLE = "idle"
    UNKNOWN = "unknown"


# Whom a person should look at first.
BY_ATTENTION = (
    *(AgentState.WAITING, AgentState.LIMITED, AgentState.UNKNOWN),
    *(AgentState.IDLE, AgentState.WORKING),
)
SUSPENDED = frozenset("Tt")  # process states: C-z, SIGSTOP, a debugger


@frozen
class Usage:
    """What a process uses: processor time in all, percent of one processor now, TCP ports that it
    listens on."""

    cpu_s: float
    cpu_percent: float
    ports: tuple[int, ...] = ()


@frozen
class Process:
    """A process as one look saw it. `tty`: device number of its controlling terminal, or 0."""

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
        """Tell whether it is dead: a zombie holds nothing but its process table entry."""
        return self.state in ("Z", "X", "x")


@frozen
class Pane:
    id: str
    pid: int | None  # None: tmux reports no pid for a dead pane
    tty: str
    dead: bool
    in_mode: bool
    synchronized: bool
    input_off: bool
    window_id: str
    linked: bool  # its window also belongs to another session
    remain_on_exit: str
    runs: str = field(default_factory=str, compare=False)  # its foreground command, if requested


@frozen
class ServerSession:
    id: str
    name: str
    created: int
    activity: int | None
    attached: int
    grouped: bool
    panes: tuple[Pane, ...]

    def holds(self, pane: str) -> bool:
        return pane in [own.id for own in self.panes]

    def shares(self, pane: Pane) -> bool:
        """Tell whether the pane is in other sessions too. From tmux 3.6 on, grouped windows are not
        reported as linked."""
        return pane.linked or self.grouped


@frozen
class UnreadSession:
    """A pane whose line in tmux's listing could not be parsed, and what is known of its session."""

    session: str | None
    name: str | None

    def may_be(self, session: str | None, name: str) -> bool:
        if self.session is not None and session is not None:
            return self.session == session
        # The line may be truncated: only the last part of the name is certain.
        return self.name is None or self.name.rpartition(":")[2] == name.rpartition(":")[2]


@frozen
class Server:
    """A tmux server that answered."""

    socket: str
    pid: int
    started: int
    sessions: tuple[ServerSession, ...]
    unread: tuple[UnreadSession, ...] = ()

    def named(self, name: str) -> ServerSession | None:
        """Find a session by name. For many rows a `World` has an index."""
        return next((session for session in self.sessions if session.name == name), None)

    def may_hide(self, session: str | None, name: str) -> bool:
        """Tell whether an unreadable line may be this session: then its absence proves nothing."""
        return any(pane.may_be(session, name) for pane in self.unread)


@frozen
class NoServer:
    """Proof that no server listens on this socket, under any of its names."""

    socket: str


@frozen
class Unreachable:
    """tmux could not be asked. Unknown is not dead: never record anything based on this."""

    socket: str
    reason: str
    hint: str
    missing: bool = False  # there is no tmux program
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
    listen_on: str | None = None  # the remote control address of another terminal (kitty)


@frozen
class RecordedTmux:
    """The session's recorded identity; fields are None where another tool wrote the row."""

    socket: str | None = None
    host: str | None = None
    boot_id: str | None = None
    server_pid: int | None = None
    server_started: int | None = None
    session_id: str | None = None
    session_created: int | None = None

    @property
    def known(self) -> bool:
        return None not in (self.session_id, self.session_created, self.server_pid)

    def of_boot(self, boot_id: str) -> bool:
        """Tell whether it may be of this boot; a row without a boot ID may be."""
        return self.boot_id in (None, boot_id)


class TextField:
    """A field of a row as text; None if it is missing or empty."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, row: Row, _: type[Row]) -> str | None:
        value = row.data.get(self.name)
        return None if value is None or value == "" else str(value)


class PathField(TextField):
    """A path in a row; None if it is anything but text."""

    def __get__(self, row: Row, _: type[Row]) -> str | None:
        value = row.data.get(self.name)
        return value if isinstance(value, str) else None


@frozen
class Row:
    """One registered session. `data` is the parsed row, unknown keys included."""

    name: str
    status: Status = Status.RUNNING
    agent: str | None = None
    terminal: Terminal = Terminal.TMUX
    tags: tuple[str, ...] = ()
    task_id: str | None = None
    tmux_server: str | None = None
    start_command: str | None = None
    pane: RecordedPane = RecordedPane()
    tmux: RecordedTmux = RecordedTmux()
    conversations: tuple[tuple[str, str | None], ...] = ()  # (field, id), in the row's order
    resumable: bool | None = None
    stop_reason: str | None = None
    data: Mapping[str, object] = field(default_factory=dict, compare=False)
    index: int = -1  # its place in the registry; -1 if it is not in it

    ttl = TextField("ttl")
    restart = TextField("restart")
    created_at = TextField("created_at")
    stopped_at = TextField("stopped_at")
    terminated_at = TextField("terminated_at")
    termination_mode = TextField("termination_mode")
    scope = TextField("scope")
    conversation_source = TextField("conversation_source")
    last_screen = TextField("last_visible_status")
    delegate_job_id = TextField("delegate_job_id")
    worktree = PathField("worktree")
    store = PathField("store")  # the folder of its agent's conversations, if not the default one

    @property
    def ended_at(self) -> str | None:
        """When it was stopped or terminated, as written in the row."""
        return self.stopped_at or self.terminated_at

    @property
    def stopped_by(self) -> StoppedBy | None:
        return next((by for by in StoppedBy if by == self.data.get("stopped_by")), None)


@frozen
class CloseSession:
    """Close a session; if it has gained other panes meanwhile, close only the `judged` ones."""

    server: Server
    session: ServerSession
    judged: Sequence[Pane] = ()


@frozen
class ClosePane:
    server: Server
    session: ServerSession
    pane: Pane


@frozen
class SendKeys:
    """Send key names (`C-c`, `Enter`) or literal text. Skipped unless the pane passes keys to its
    program, and to no other pane's."""

    server: Server
    pane: Pane
    keys: tuple[str, ...] = ()
    text: str = ""


@frozen
class PasteText:
    """Paste a text as a terminal does, under the conditions of `Press`; several lines only if the
    program takes a paste whole. No buffer of it stays on the server."""

    server: Server
    pane: Pane
    text: str


@frozen
class Respawn:
    """Run a command in a pane whose program is dead: without a shell, with these variables, and
    never in place of a program that lives."""

    server: Server
    pane: Pane
    cwd: str
    words: Sequence[str]
    marks: Mapping[str, str] = field(default_factory=dict)


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
    session: ServerSession
    pane: Pane
    client: str | None = None


@frozen
class SetStatus:
    """Set the status line's segment, where it is enabled for this registry; None clears it."""

    registry: str
    text: str | None


Deed = (
    CloseSession
    | ClosePane
    | SendKeys
    | PasteText
    | Respawn
    | SetOption
    | LeaveMode
    | SwitchClient
    | SetStatus
)


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


OutcomeName = Literal[
    "stopped",
    "killed",
    "terminated",
    "already_stopped",
    "handed_over",
    "taken_over",
    "planned",
    "refused",
    "survived",
    "failed",
    "interrupted",
    "already_idle",
    "sent",
    "restarted",
    "unknown",
]
LiveName = Literal["alive", "agent_gone", "gone", "unknown", "replaced"]
StateName = Literal["working", "waiting", "limited", "idle", "unknown"]

if TYPE_CHECKING:
    # A type checker of users knows the words; a member of ours equals its text.
    OutcomeText = Outcome | OutcomeName
    LiveText = Live | LiveName
    StateText = AgentState | StateName
else:
    OutcomeText = LiveText = StateText = str  # a newer host may have other words

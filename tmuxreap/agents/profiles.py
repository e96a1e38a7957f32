"""The profile of an agent as plain values: how to recognize, key, spare and resume it, and where
its conversations are. Agents are data: no code of this program names one. Never does I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tmuxreap.agents.programs import Spare, program_names
from tmuxreap.agents.screens import State, Tall
from tmuxreap.core.values import Word, field, frozen

UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# In order of trust.
LOCATORS = ("hook", "pidfile", "open-file", "exit-banner", "launch", "argv", "sole-candidate")
LOCATOR_NEEDS = {
    "pidfile": ("path", "id"),
    "open-file": ("path",),
    "exit-banner": ("pattern",),
    "argv": ("flags",),
}


@frozen
class Key:
    name: str


@frozen
class Text:
    text: str


@frozen
class Pause:
    """A limit: the state that the key before it was to bring ends it. `whole`: it is waited out,
    where the agent itself measures the time between two keys."""

    seconds: float
    whole: bool = False


KeyStep = Key | Text | Pause


@frozen
class Locator:
    """One way to find the conversation's ID; `settings` are the other keys of its block."""

    kind: str
    settings: Mapping[str, object] = field(default_factory=dict)


@frozen
class GoesOn:
    """How a conversation may continue without its pane, and what ends it then."""

    end: str
    # A line in the conversation's file: it went on under the ID of the group `id`.
    moved: re.Pattern[str] | None = None
    # The begin and the end of a turn in the conversation's file, kept open by a shared program.
    began: re.Pattern[str] | None = None
    ended: re.Pattern[str] | None = None
    mark: str | None = None  # the environment variable with the ID, in processes that it started


class Transport(Word):
    """How an agent's own server is reached."""

    HTTP = "http"  # on a port of loopback
    SOCKET = "socket"  # JSON-RPC in WebSocket frames, on a Unix socket


@frozen
class ServerCall:
    """A question to an agent's own server: a method, and what it is given. {id}, {folder} and
    {turn} in either are filled in."""

    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)


@frozen
class OwnServer:
    """How an agent's own server is asked which sessions it runs, and told to end one. They have no
    process of their own: one that is not at work runs nothing."""

    transport: Transport
    program: Spare  # what its process looks like: nobody else is asked
    list: ServerCall  # those at work, or loaded
    entry: ServerCall  # what it says of one
    end: ServerCall
    by_hand: str  # how a person ends one; {id} and {url}
    socket: str | None = None  # in the store
    hello: ServerCall | None = None
    # The variables of its environment with the password, and with the name that goes with it.
    password: str | None = None
    user: str | None = None
    login: str = ""  # the name without such a variable
    # A query of the store's database: the folders with something at work since :since_ms, or done
    # since :recent_ms, each of which is asked for on its own.
    folders: str | None = None
    entries: str | None = None  # the key of the list's answer with the sessions
    inner: str | None = None  # the key of the answer about one
    working: tuple[str, ...] = ()  # the words of its state while it is at work
    asks: str | None = None  # its key with what it waits for
    # Questions about all that wait, and the keys of an entry with the session, and the question.
    waiting: tuple[ServerCall, ...] = ()
    waiting_id: str | None = None
    waiting_for: str | None = None
    turn: ServerCall | None = None  # what names the turn that is to be ended
    turn_id: str | None = None  # the key of its answer with that; a number counts in a list


@frozen
class Folder:
    """A folder of the agent's: the variable that names it, what is below that, and the default."""

    variable: str | None = None
    default: str | None = None
    under: str = ""


@frozen
class OwnDaemon:
    """An agent's shared daemon, and the file in which the one in use records itself."""

    programs: tuple[Spare, ...]
    file: str
    folder: Folder | None = None  # of the file, if that is not in the store
    pid: str = "pid"
    started: str | None = None
    mend: tuple[str, ...] = ()  # makes a stale record right; {file} is the file

    def is_run_by(self, argv: Sequence[str], comm: str) -> bool:
        called = program_names(argv[:1], comm, None)
        command = " ".join(argv)
        return any(one.matches(called, command) for one in self.programs)


@frozen
class Background:
    """How an agent lists the sessions that its own daemon runs, and what ends or shows one. Keys
    of an entry have dots between levels. A `server` is asked; else there is a list in a file."""

    file: str = ""  # in the store: the list
    entries: str = ""  # its key with the entries, by the ID of each
    end: tuple[str, ...] = ()  # a command; {id} is the session's
    server: OwnServer | None = None
    attach: tuple[str, ...] = ()  # {url} is where its server listens
    id: re.Pattern[str] = re.compile(r"[A-Za-z0-9][\w.-]{0,79}")
    daemon: str | None = None  # the key of the whole list with the daemon's pid
    # The process that holds its terminal, and the agent's own, each with its start.
    pid: str = "pid"
    started: str = "started"
    agent_pid: str | None = None
    agent_started: str | None = None
    # Its conversation, the one that it took over, and those that it was launched from. Without
    # `conversation`, an entry is in each one that it mentions.
    conversation: str | None = None
    source: str | None = None
    parents: tuple[str, ...] = ()
    folder: str | None = None
    flags: str | None = None  # those that its daemon starts it with again
    began: str | None = None  # when, in seconds or milliseconds since the epoch
    unused: Mapping[str, str] = field(default_factory=dict)  # an entry with this is no session
    state_file: str | None = None  # in the store, for each ID: what became of it
    state: str = "state"
    ended: tuple[str, ...] = ()  # the words there of one that has ended
    respawn_s: float = 0.0  # how long its daemon may take to bring one back that it was told to end
    record: OwnDaemon | None = None

    @property
    def place(self) -> str:
        """Return what is in a store that has a list: on a port, any server of the store may
        listen."""
        if self.server is not None:
            return self.server.socket or ""
        return self.file


@frozen
class Flags:
    """The flags followed by nothing, by several words, or by a prompt; any other takes one word."""

    alone: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()


@frozen
class Prompt:
    """How an agent takes a prompt that is pasted into its input."""

    whole: bool = False  # several lines, in one paste
    # What a long paste looks like in the input; the groups `lines`, `more` (lines after the first)
    # and `chars` count it.
    placeholder: re.Pattern[str] | None = None
    # A prompt that is a command to the agent itself; by default what most agents take for one.
    command: re.Pattern[str] = re.compile(r"[/!#$]")


@frozen
class Hooks:
    """Where an agent's hooks are configured, and what an entry looks like."""

    file: str  # in the store
    events: tuple[str, ...]
    entry: Mapping[str, object]  # with {command} in place of our command
    base: Mapping[str, object] = field(default_factory=dict)  # other keys that the file must have
    named: bool = True  # the agent names the event on stdin


@frozen
class Profile:
    name: str
    about: str = ""
    verified: str | None = None
    process: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    flags: Flags = Flags()
    screens: Mapping[State, re.Pattern[str]] = field(default_factory=dict)
    marks: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    tall: Tall | None = None
    idle_keys: tuple[KeyStep, ...] = ()
    safe_keys: tuple[KeyStep, ...] = ()
    again_keys: tuple[KeyStep, ...] = ()
    interrupt_keys: tuple[KeyStep, ...] = ()
    turn_keys: tuple[KeyStep, ...] = ()  # end a turn, and do nothing else
    turn_again: bool = False  # they may be sent again, without a sign that they were taken
    # Close a dialog, if the first of the safe keys does not; empty: only an answer closes it.
    deny_keys: tuple[KeyStep, ...] | None = None
    deny_again: bool = False  # they empty a field of the dialog, and then close it
    unqueue_keys: tuple[KeyStep, ...] = ()
    clear_keys: tuple[KeyStep, ...] = ()
    empty_keys: tuple[KeyStep, ...] = ()  # empty an input that holds a draft, outside of a turn
    unstash_keys: tuple[KeyStep, ...] = ()
    setup_keys: tuple[KeyStep, ...] = ()
    editor_keys: tuple[KeyStep, ...] = ()  # open the draft in the user's editor
    words_editor_keys: tuple[KeyStep, ...] = ()  # open what was typed into a dialog there
    editor_file: str | None = None  # in the store: the settings that may name an editor
    editor_set: re.Pattern[str] | None = None
    prompt: Prompt = Prompt()
    leave_s: float = 3.0
    spare: tuple[Spare, ...] = ()
    mates: tuple[str, ...] = ()  # flags by which its teammates in other panes name its conversation
    store_variable: str | None = None
    store_default: str | None = None
    store_under: str = ""  # subfolder of the folder that the variable names
    id_pattern: str = UUID
    artifact: str | None = None
    message: re.Pattern[str] | None = None
    query: str | None = None
    candidates: str | None = None
    folder: re.Pattern[str] | None = None
    folder_file: str | None = None  # next to the artifact, if the folder is recorded there
    identity: re.Pattern[str] | None = None  # finds the ID in an artifact not named by it
    locators: tuple[Locator, ...] = ()
    purge: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    goes_on: GoesOn | None = None
    background: Background | None = None
    hooks: Hooks | None = None

    @property
    def store(self) -> Folder:
        return Folder(self.store_variable, self.store_default, self.store_under)

    @property
    def has_keys(self) -> bool:
        return bool(self.idle_keys or self.safe_keys)

    @property
    def dialog_keys(self) -> tuple[KeyStep, ...]:
        """Return the keys that leave a dialog: for `interrupt` those with which a stop begins."""
        if self.deny_keys is not None:
            return self.deny_keys
        first = next((step for step in self.safe_keys if isinstance(step, Key)), None)
        return self.turn_keys if first is None else (first,)

    def turn_keys_in(self, state: State | None) -> tuple[KeyStep, ...]:
        """Return the keys that end the turn in this state."""
        if state is State.DIALOG:
            return self.dialog_keys
        return self.turn_keys

    @property
    def is_styled(self) -> bool:
        """Whether its screen must be read with styles, which tell a suggestion from a draft, and
        words typed into a dialog from an option."""
        return not {"suggested", "words"}.isdisjoint(self.marks)

    @property
    def is_per_folder(self) -> bool:
        """Whether it has one conversation for each folder, with no ID but its file's name."""
        return bool(self.artifact and not self.query and "{id" not in self.artifact)

    @property
    def parks(self) -> bool:
        """Whether its pid file says that its conversation went on in the background."""
        return any("parked" in locator.settings for locator in self.locators)

    @property
    def keeps_record(self) -> bool:
        """Whether it records what it does: in its pid file, or as turns in its conversation."""
        return self.records_turns or any("state" in locator.settings for locator in self.locators)

    @property
    def records_turns(self) -> bool:
        return self.goes_on is not None and self.goes_on.began is not None

    @property
    def own_server(self) -> OwnServer | None:
        if self.background is None:
            return None
        return self.background.server

    @property
    def own_daemon(self) -> OwnDaemon | None:
        if self.background is None:
            return None
        return self.background.record

    @property
    def prints_exit_banner(self) -> bool:
        return any(locator.kind == "exit-banner" for locator in self.locators)

    def recognises(self, argv: Sequence[str], comm: str, executable: str | None) -> bool:
        """Tell whether a process is this agent. A shared daemon with its name is not."""
        named = any(name in self.process for name in program_names(argv, comm, executable))
        return named and not (self.spare and self.shares(argv, comm, executable))

    def shares(self, argv: Sequence[str], comm: str, executable: str | None) -> bool:
        called = program_names(argv[:1], comm, executable)
        command = " ".join(argv)
        return any(spare.matches(called, command) for spare in self.spare)

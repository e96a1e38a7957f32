"""What is known of an agent: how it is recognised, keyed, spared and resumed, and where its
conversations lie. Plain values, made by `agents`. An agent is data: nothing in the program knows
one by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tmuxreap.agents.programs import program_names
from tmuxreap.agents.screens import State, Tall
from tmuxreap.core.values import field, frozen

UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LOCATORS = (
    "hook",
    "pidfile",
    "open-file",
    "exit-banner",
    "launch",
    "argv",
    "sole-candidate",
)  # in order of trust


@frozen
class Key:
    name: str


@frozen
class Text:
    text: str


@frozen
class Pause:
    seconds: float


KeyStep = Key | Text | Pause


@frozen
class Locator:
    """One way to learn the conversation's ID; `settings` are the words of its block."""

    kind: str
    settings: Mapping[str, object] = field(default_factory=dict)


@frozen
class Spare:
    """A program that is shared: it gets no signal, wherever it was started."""

    program: str
    arguments: re.Pattern[str] | None = None
    command: re.Pattern[str] | None = None  # the whole line, of one that has its name from nowhere

    def matches(self, names: Sequence[str], command: str) -> bool:
        if self.command is not None:
            return self.command.search(command) is not None
        return self.program in names and (
            self.arguments is None or self.arguments.search(command) is not None
        )


@frozen
class GoesOn:
    """How a conversation may go on without its pane, and what ends it then."""

    end: str
    roster: str | None = None  # a file of the store that lists what goes on
    entries: str = ""  # where in it
    pid: str = "pid"
    started: str = "started"
    began: re.Pattern[str] | None = (
        None  # a turn in the conversation itself, kept open by a shared program
    )
    ended: re.Pattern[str] | None = None
    mark: str | None = None  # a variable that what it has started carries, with the ID


@frozen
class Flags:
    """What follows a flag: nothing, several words, or a prompt; after all others, one word."""

    alone: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()


@frozen
class Hooks:
    """Where an agent takes hooks from, and what an entry looks like there."""

    file: str  # in the store
    events: tuple[str, ...]
    entry: Mapping[str, object]  # {command} is what is called
    base: Mapping[str, object] = field(default_factory=dict)  # what such a file must hold besides
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
    turn_keys: tuple[KeyStep, ...] = ()  # end a turn, or close a dialog, and nothing else
    # close a dialog, where those that end a turn do not; empty: nothing does but an answer
    deny_keys: tuple[KeyStep, ...] | None = None
    unqueue_keys: tuple[KeyStep, ...] = ()
    clear_keys: tuple[KeyStep, ...] = ()
    unstash_keys: tuple[KeyStep, ...] = ()
    setup_keys: tuple[KeyStep, ...] = ()
    editor_keys: tuple[KeyStep, ...] = ()  # hand what is half-typed to the person's editor
    editor_file: str | None = None  # of its store: where its own settings name an editor
    editor_set: re.Pattern[str] | None = None
    leave_s: float = 3.0
    spare: tuple[Spare, ...] = ()
    mates: tuple[
        str, ...
    ] = ()  # flags by which those that it opens in other panes name its conversation
    store_variable: str | None = None
    store_default: str | None = None
    store_under: str = ""  # the folder below the one that the variable names
    id_pattern: str = UUID
    artifact: str | None = None
    message: re.Pattern[str] | None = None
    query: str | None = None
    candidates: str | None = None
    folder: re.Pattern[str] | None = None
    folder_file: str | None = None  # beside the artifact, where it says its folder elsewhere
    identity: re.Pattern[str] | None = None  # where an artifact whose name does not says its ID
    locators: tuple[Locator, ...] = ()
    purge: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    goes_on: GoesOn | None = None
    hooks: Hooks | None = None

    @property
    def has_keys(self) -> bool:
        return bool(self.idle_keys or self.safe_keys)

    def turn_keys_in(self, state: State | None) -> tuple[KeyStep, ...]:
        """What ends the turn of one that shows this."""
        own = self.deny_keys if state is State.DIALOG else None
        return self.turn_keys if own is None else own

    @property
    def is_styled(self) -> bool:
        """Its screen is to be had with its styles: they tell a suggestion from a draft."""
        return "suggested" in self.marks

    @property
    def of_a_folder(self) -> bool:
        """Its conversation is one for each folder, and has no ID but the name of its file."""
        return bool(self.artifact and not self.query and "{id" not in self.artifact)

    @property
    def tells_at_exit(self) -> bool:
        return any(locator.kind == "exit-banner" for locator in self.locators)

    def recognises(self, argv: Sequence[str], comm: str, executable: str | None) -> bool:
        """A daemon that serves several agents has the agent's name, and is none of them."""
        known = any(name in self.process for name in program_names(argv, comm, executable))
        return known and not (self.spare and self.shares(argv, comm, executable))

    def shares(self, argv: Sequence[str], comm: str, executable: str | None) -> bool:
        called, command = program_names(argv[:1], comm, executable), " ".join(argv)
        return any(spare.matches(called, command) for spare in self.spare)

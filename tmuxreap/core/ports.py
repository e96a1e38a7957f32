"""The three seams to the outside that the ladder acts through. Real ones live in `tmux`,
`processes` and `clock`, fakes in the tests; the same contract tests run on both."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from tmuxreap.core.model import Process, ProcessId, Server, ServerLook, Session
from tmuxreap.core.values import frozen

if TYPE_CHECKING:
    from tmuxreap.core.deeds import Created, Deed, NewSession


class Sent(Enum):
    """What became of a signal."""

    SENT = "sent"
    GONE = "gone"  # that very process is no more; a stranger with its pid was not touched
    DENIED = "denied"  # alive and not ours


@frozen
class Question:
    """What a pane shows, or what is set on it; or, by the id of a session, what is set in its
    environment."""

    pane: str
    option: str | None = None
    joined: bool = False
    environment: bool = False
    styled: bool = False  # with the escapes that say how it looks


@frozen
class Surroundings:
    """What a session is made in that is made for somebody else: his environment, and the words that
    take the making out of our own control group."""

    environ: Mapping[str, str]
    words: tuple[str, ...] = ()


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch: for records."""

    def monotonic(self) -> float:
        """Seconds that only go forward, and stand still while the machine sleeps: for deadlines and
        ages."""

    def uptime(self) -> float:
        """Seconds that only go forward, also while the machine sleeps."""


class Processes(Protocol):
    def look(self) -> Mapping[int, Process]:
        """Every process there is, zombies left out."""

    def again(self, process: ProcessId) -> Process | None:
        """The same process now; None when it is gone, also when its pid lives on in a stranger."""

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        """Its command line; empty when it is gone or not readable."""

    def environ(self, process: ProcessId) -> Mapping[str, str] | None:
        """The environment it was started with; None when it is gone or not readable."""

    def executable(self, process: ProcessId) -> str | None: ...

    def called(self, process: ProcessId) -> tuple[tuple[str, ...], str | None]:
        """`argv` and `executable`, of whatever has its pid now: for a look at everything, where the
        start is compared again before anything is done to anybody."""

    def carried(self, process: ProcessId) -> Mapping[str, str]:
        """What of `environ` is tmux's or ours, at least, in the same way."""

    def cwd(self, process: ProcessId) -> str | None: ...

    def open_files(self, process: ProcessId) -> tuple[str, ...]:
        """Paths behind its descriptors, as the kernel names them (a vanished one ends in '
        (deleted)')."""

    def scope(self, process: ProcessId) -> str | None:
        """Name the control group that tmux made for this process and what it starts; None where the
        machine has none, or it is another's."""

    def members(self, scope: str) -> Collection[int]:
        """Who is in that group now."""

    def memory(self, process: ProcessId) -> int:
        """Bytes resident, at the last look where that saw it; 0 when it is gone or not readable."""

    def started_epoch(self, process: ProcessId) -> float: ...

    def identify(self, pid: int) -> ProcessId | None:
        """The process that has this pid now; None when there is none or it is a zombie."""

    def signal(self, process: ProcessId, number: signal.Signals) -> Sent: ...

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        """Those of them that are gone, as soon as one is; empty after the time. Waiting for nothing
        is sleeping."""

    def close(self) -> None:
        """Let go of what a wait keeps open for the next one."""


class Tmux(Protocol):
    def look(self, socket: str) -> ServerLook:
        """Everything on one server, in one question; never raises, never starts a server."""

    def do(self, socket: str, deeds: Sequence[Deed]) -> bool:
        """All of them in order and in one call, past those that fail; False when any failed. Their
        effect is seen by looking."""

    def ask(
        self, socket: str, questions: Sequence[Question], first: Sequence[Deed] = ()
    ) -> Sequence[str | None]:
        """As `do` for what comes first, then as `capture` and `show_option` for each question: all
        in one call."""

    def capture(self, socket: str, pane: str, *, joined: bool = False) -> str | None:
        """The visible screen of a pane as text without escapes; None when it could not be had.
        `joined`: a line that the terminal wrapped is one again, so that a secret in it is seen
        whole."""

    def show_option(self, socket: str, pane: str, option: str) -> str | None:
        """The value set on this very pane, None when it is not set there."""

    def create(
        self, socket: str, new: NewSession, *, within: Surroundings | None = None
    ) -> Created | str:
        """Make a session; the only call that starts a server. Its ids, or the reason why not.
        `within`: else in the caller's own."""

    def notify(self, socket: str, server: Server, session: Session, text: str) -> None:
        """Show it to the clients that are attached to that session, if it is still the one that was
        seen."""


DRAW_S = 0.2  # how often an eye can follow


class Progress(Protocol):
    """Who is told how far each ending is. Its drawing is the interfaces' business."""

    live: bool  # it wants to be told that time passes

    def begin(self, total: int) -> None: ...

    def rung(self, name: str, rung: Enum) -> None:
        """It has come to this rung of its ladder."""

    def strays(self, name: str, programs: Sequence[str]) -> None:
        """These are going to be ended with it, though they have left its terminal."""

    def turn(self, name: str) -> None:
        """It may end its turn first."""

    def waits(self, name: str, why: str) -> None:
        """It is another's at this moment, and that takes long."""

    def done(self, name: str) -> None: ...

    def draw(self) -> None:
        """Some time has passed."""

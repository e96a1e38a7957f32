"""The interfaces to the outside: tmux, processes, the clock, and progress reports. Real ones are in
`system`, fakes in the tests; the same contract tests run on both."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from tmuxreap.core.model import Process, ProcessId, Server, ServerLook, ServerSession, Usage
from tmuxreap.core.values import frozen

if TYPE_CHECKING:
    from tmuxreap.core.model import Created, Deed, NewSession


class SignalSent(Enum):
    """The result of sending a signal."""

    SENT = "sent"
    GONE = "gone"  # the process has exited; another one that reused its pid was not touched
    DENIED = "denied"  # alive, and owned by another user


@frozen
class PaneQuestion:
    """A query for a pane's screen or one of its options; or, with a session's ID, for a variable in
    the session's environment."""

    pane: str
    option: str | None = None
    joined: bool = False
    environment: bool = False
    styled: bool = False  # with the escape sequences for colors and attributes


@frozen
class Surroundings:
    """The environment of a session created on behalf of another process, and the command prefix
    that moves its creation out of our own control group."""

    environ: Mapping[str, str]
    words: tuple[str, ...] = ()


class Clock(Protocol):
    def now(self) -> float:
        """Return seconds since the epoch, for records."""

    def monotonic(self) -> float:
        """Return monotonic seconds that stop while the machine sleeps, for deadlines and ages."""

    def uptime(self) -> float:
        """Return monotonic seconds that go on while the machine sleeps."""


class Processes(Protocol):
    def look(self) -> Mapping[int, Process]:
        """Return every process except zombies."""

    def refresh(self, process: ProcessId) -> Process | None:
        """Return the same process now; None when it is gone, even if its pid was reused."""

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        """Return its command line; empty when it is gone or not readable."""

    def environ(self, process: ProcessId) -> Mapping[str, str] | None:
        """Return its initial environment; None when it is gone or not readable."""

    def argv_and_executable(self, process: ProcessId) -> tuple[tuple[str, ...], str | None]:
        """Return `argv` and the program of whichever process has its pid now. For looks at all
        processes: the start time is compared again before any action."""

    def tmux_variables(self, process: ProcessId) -> Mapping[str, str]:
        """Return at least the variables of tmux and of this program, in the same way."""

    def cwd(self, process: ProcessId) -> str | None: ...

    def input_of(self, process: ProcessId) -> str | None:
        """Return the path of its standard input, as the kernel names it; None if that cannot be
        told."""

    def open_files(self, process: ProcessId, begin: str = "") -> tuple[str, ...]:
        """Return the paths of its open files that begin so, as the kernel names them (a deleted one
        ends in ' (deleted)')."""

    def clients(self, process: ProcessId) -> Collection[int] | None:
        """Return the processes that are connected to a port on which this one listens; None if that
        cannot be told."""

    def listens(self, process: ProcessId) -> Collection[tuple[str, int]]:
        """Return the addresses and ports of loopback on which this process of our own user listens,
        and nobody else; none if that cannot be told."""

    def scope(self, process: ProcessId) -> str | None:
        """Return the control group that tmux made for this process and its children; None where
        there is none, or it is not its own."""

    def members(self, scope: str) -> Collection[int]:
        """Return the pids in that group now."""

    def memory(self, process: ProcessId) -> int:
        """Return its resident bytes, from the last look if that saw it; 0 when it is gone or not
        readable."""

    def usage(self, processes: Collection[ProcessId]) -> Mapping[ProcessId, Usage]:
        """Measure for a moment what each of these uses; what is gone or not readable is missing."""

    def started_epoch(self, process: ProcessId) -> float: ...

    def moment(self) -> float:
        """Return the time, for `is_newer`."""

    def is_newer(self, terminal: str, moment: float) -> bool:
        """Tell whether the terminal of this path was made since that moment, or is closed. The
        number of a closed one goes to the next that anybody opens."""

    def identify(self, pid: int) -> ProcessId | None:
        """Return the process that has this pid now; None for no process or a zombie."""

    def signal(self, process: ProcessId, number: signal.Signals) -> SignalSent: ...

    def wait(self, processes: Collection[ProcessId], timeout_s: float) -> set[ProcessId]:
        """Wait until at least one is gone and return those that are; empty on timeout. With no
        processes, sleep."""

    def close(self) -> None:
        """Release what `wait` keeps open between calls."""


class Tmux(Protocol):
    def look(self, socket: str) -> ServerLook:
        """Return everything on one server, in one call; never raises, never starts a server."""

    def do(self, socket: str, deeds: Sequence[Deed]) -> bool:
        """Run all of them in order in one call, even if some fail; return False if any failed. Only
        another look shows their effect."""

    def ask(
        self, socket: str, questions: Sequence[PaneQuestion], first: Sequence[Deed] = ()
    ) -> Sequence[str | None]:
        """Run `first` as `do` does, then answer each question, an option by the value set on the
        pane itself: all in one call."""

    def capture(self, socket: str, pane: str, *, joined: bool = False) -> str | None:
        """Return a pane's visible screen as text without escape sequences, or None on failure.
        `joined` unwraps lines that the terminal wrapped, so that a secret in one is whole."""

    def create(
        self, socket: str, new: NewSession, *, within: Surroundings | None = None
    ) -> Created | str:
        """Create a session; the only call that starts a server. Return its IDs, or why it failed.
        `within` replaces the caller's own environment."""

    def notify(self, socket: str, server: Server, session: ServerSession, text: str) -> None:
        """Show a message to the clients attached to that session, unless it was replaced."""


DRAW_S = 0.2  # redraw interval


def ask_each(tmux: Tmux, questions: Sequence[tuple[str, PaneQuestion]]) -> list[str | None]:
    """Ask questions, each with the socket of its server, in one call to each server; return the
    answers in their order."""
    answers: dict[int, str | None] = {}
    for socket in dict.fromkeys(socket for socket, _ in questions):
        places = [at for at, (asked, _) in enumerate(questions) if asked == socket]
        answers.update(
            zip(places, tmux.ask(socket, [questions[at][1] for at in places]), strict=True)
        )
    return [answers[at] for at in range(len(questions))]


class Progress(Protocol):
    """A listener for the progress of each ending. The interfaces decide how to draw it."""

    live: bool  # wants `draw` to be called while time passes

    def begin(self, total: int) -> None: ...

    def rung(self, name: str, rung: Enum) -> None:
        """The session has reached this rung of its ladder."""

    def strays(self, name: str, programs: Sequence[str]) -> None:
        """These programs will be ended with the session, although they have left its terminal."""

    def turn(self, name: str) -> None:
        """The agent gets time to end its turn first."""

    def waits(self, name: str, why: str) -> None:
        """Another process owns the session at the moment, and that takes long."""

    def done(self, name: str) -> None: ...

    def draw(self) -> None:
        """Redraw: some time has passed."""

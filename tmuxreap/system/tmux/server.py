"""Owns the tmux client: one process a question, each with a time limit. Never names a session, never reads a message to
learn what happened, and starts a server in `create` only."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from tmuxreap.core.model import Pane, Server, ServerLook, Session, Unreachable
from tmuxreap.core.ports import Question
from tmuxreap.system.tmux import commands as tmux_commands
from tmuxreap.system.tmux.client import Answer, TooSlow, ask
from tmuxreap.system.tmux.sockets import who_listens

TIMEOUT_S = 5.0
SETTLE_S = 0.5  # a server that is starting or leaving gives odd answers for a moment
RETRY_S = 0.02
NEVER_START = "-N"

# Numbers and ids first, the one free text last: a name holds no newline, so a line can be read in one way only.
# session_activity is the user's input; output shows in window_activity.
LOOK_FORMAT = ":".join(
    (
        "#{pid}",
        "#{start_time}",
        "#{session_id}",
        "#{session_created}",
        "#{session_activity}",
        "#{window_activity}",
        "#{session_attached}",
        "#{session_group_size}",
        "#{window_id}",
        "#{window_linked_sessions}",
        "#{pane_id}",
        "#{pane_pid}",
        "#{pane_dead}",
        "#{pane_in_mode}",
        "#{pane_synchronized}",
        "#{pane_input_off}",
        "#{pane_tty}",
        "#{remain-on-exit}",
        "#{session_name}",
    )
)


class RealTmux:
    def __init__(self, env: Mapping[str, str], *, program: str = "tmux", timeout_s: float = TIMEOUT_S) -> None:
        self._env = _outside(env)
        self._program = program
        self._timeout_s = timeout_s

    def look(self, socket: str) -> ServerLook:
        settled_by = time.monotonic() + SETTLE_S
        while True:
            answer = self._ask(socket, NEVER_START, "list-panes", "-a", "-F", LOOK_FORMAT)
            if isinstance(answer, Unreachable):
                return answer
            verdict = (_server(socket, answer) if answer.ok else None) or who_listens(socket) or self._empty(socket)
            if verdict is not None:
                return verdict
            if time.monotonic() > settled_by:
                return Unreachable(socket, _said(answer), "try `tmux -S` with this socket by hand")
            time.sleep(RETRY_S)

    def run(self, socket: str, commands: Sequence[Sequence[str]]) -> bool:
        if not commands:
            return True
        answer = self._source(socket, commands)
        return isinstance(answer, Answer) and answer.ok

    def ask(
        self, socket: str, questions: Sequence[Question], first: Sequence[Sequence[str]] = ()
    ) -> Sequence[str | None]:
        mark = os.urandom(8).hex()
        asked = [tmux_commands.question(one, f"{mark} {number}") for number, one in enumerate(questions)]
        answer = self._source(socket, [*first, *asked]) if first or asked else None
        said: dict[int, str] = {}
        text = answer.text if isinstance(answer, Answer) else ""
        for number in range(len(questions)):
            before, ended, after = text.partition(f"{mark} {number}\n")
            if ended:
                said[number], text = before, after
        return [_read(one, said.get(number)) for number, one in enumerate(questions)]

    def capture(self, socket: str, pane: str, *, joined: bool = False) -> str | None:
        return self.ask(socket, [Question(pane, joined=joined)])[0]

    def show_option(self, socket: str, pane: str, option: str) -> str | None:
        return self.ask(socket, [Question(pane, option)])[0]

    def create(self, socket: str, *commands: Sequence[str]) -> tuple[bool, str]:
        """Carry out `new_session` and what follows it at once, starting a server where there is none: True and the ids
        of the session, though what follows may have failed, or False and the reason."""
        _make_folder(socket)
        words = [word for command in commands for word in (";", *map(_whole, command))]
        answer = self._ask(socket, *words[1:])
        if isinstance(answer, Unreachable):
            return False, answer.reason
        # Where it cannot make its socket, tmux says so and still answers 0. Where a hook of the user's fails what
        # follows, or prints something too, the session was made all the same.
        ids = tmux_commands.CREATED.search(answer.text)
        return (True, ids.group()) if ids else (False, _said(answer))

    def _empty(self, socket: str) -> Server | None:
        """A server without sessions refuses `list-panes -a`, but not this."""
        answer = self._ask(socket, NEVER_START, "list-sessions", "-F", "#{session_id}")
        empty = isinstance(answer, Answer) and answer.ok and not answer.out
        return Server(socket, 0, 0, ()) if empty else None

    def _source(self, socket: str, commands: Sequence[Sequence[str]]) -> Answer | Unreachable:
        script = "".join(" ".join(map(tmux_commands.quoted, command)) + "\n" for command in commands)
        return self._ask(socket, NEVER_START, "source-file", "-", stdin=script.encode())

    def _ask(self, socket: str, *words: str, stdin: bytes = b"") -> Answer | Unreachable:
        try:
            return ask(self._program, ["-u", "-S", socket, *words], stdin, self._env, self._timeout_s)
        except TooSlow:
            hint = "the server may be stopped or busy: ps -o pid,stat,cmd -C 'tmux: server'"
            return Unreachable(socket, f"no answer in {self._timeout_s:g} s", hint)
        except (FileNotFoundError, PermissionError):
            return Unreachable(socket, "no tmux program on the PATH", "install tmux 3.2 or later", missing=True)
        except (OSError, ValueError) as error:
            return Unreachable(socket, str(error), "see the reason")


def _read(question: Question, said: str | None) -> str | None:
    if question.option is not None:
        return said.removesuffix("\n") if said else None
    return said.rstrip("\n ") if said is not None else None


def _outside(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without the caller's own pane and marks: a server that we start hands it to strangers."""
    return {
        key: value for key, value in env.items() if key not in ("TMUX", "TMUX_PANE") and not key.startswith("TMUXREAP_")
    }


def _make_folder(socket: str) -> None:
    """As tmux makes it for -L; for -S, which we use throughout, it does not."""
    with contextlib.suppress(OSError):
        os.mkdir(os.path.dirname(socket), 0o700)  # noqa: PTH102, PTH120 - pathlib is not worth its import here


def _said(answer: Answer) -> str:
    return answer.err.decode("utf-8", "replace").strip() or "tmux gave an answer that could not be read"


def _whole(argument: str) -> str:
    """On a command line tmux takes a `;` at the end of any argument for the end of the command."""
    return f"{argument[:-1]}\\;" if argument.endswith(";") else argument


def _server(socket: str, answer: Answer) -> Server | None:
    """The server as listed, or None when a line is not what was asked for."""
    try:
        rows = [line.split(":", 18) for line in answer.text.split("\n") if line]
        if not rows:
            return None
        sessions = tuple(_session(list(panes)) for _, panes in groupby(rows, key=lambda row: row[2]))
        return Server(socket, int(rows[0][0]), int(rows[0][1]), sessions)
    except (ValueError, IndexError):
        return None


def _session(rows: list[list[str]]) -> Session:
    first = rows[0]
    return Session(
        id=first[2],
        name=first[18],
        created=int(first[3]),
        activity=max(int(moment) for row in rows for moment in row[4:6]),
        attached=int(first[6]),
        grouped=int(first[7] or 0) > 1,
        panes=tuple(_panes(rows)),
    )


def _panes(rows: Iterable[list[str]]) -> Iterable[Pane]:
    for row in rows:
        window, links, pane, pid, dead, in_mode, synchronized, input_off, tty, remain = row[8:18]
        yield Pane(
            id=pane,
            pid=int(pid),
            tty=tty,
            dead=dead == "1",
            in_mode=in_mode != "0",
            synchronized=synchronized == "1",
            input_off=input_off == "1",
            window_id=window,
            linked=int(links) > 1,
            remain_on_exit=remain,
        )

"""Owns the calls to tmux: one client process per question, with a timeout. Never targets a session
by name, never parses an error message, and starts a server in `create` only."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tmuxreap.core.model import Created, Server, ServerLook, ServerSession, Unreachable
from tmuxreap.core.ports import PaneQuestion, Surroundings
from tmuxreap.system.tmux.client import (
    CREATED,
    ClientAnswer,
    TooSlow,
    ask,
    command_of,
    creation_of,
    find_program,
    notice,
    question,
    quoted,
)
from tmuxreap.system.tmux.sockets import why_no_answer
from tmuxreap.system.tmux.versions import END_FORMAT, LOOK_FORMAT, server_of, unpadded
from tmuxreap.system.whereabouts import without_caller

if TYPE_CHECKING:
    from tmuxreap.core.model import Deed, NewSession

TIMEOUT_S = 5.0
HUNG_S = 1.0  # the timeout for a server that has timed out before, until it answers again
SETTLE_S = 0.5  # a server that is starting or exiting gives odd answers for a moment
RETRY_S = 0.02
NEVER_START = "-N"
END = (";", "display-message", "-p", END_FORMAT)


class RealTmux:
    def __init__(
        self, env: Mapping[str, str], *, program: str = "tmux", timeout_s: float = TIMEOUT_S
    ) -> None:
        self._env = without_caller(env)
        self._program = program
        self._timeout_s = timeout_s
        self._hung: set[str] = set()

    def look(self, socket: str) -> ServerLook:
        settled_by = time.monotonic() + SETTLE_S
        while True:
            answer = self._ask(socket, NEVER_START, "list-panes", "-a", "-F", LOOK_FORMAT, *END)
            if isinstance(answer, Unreachable):
                return answer
            seen = server_of(socket, answer.text) or why_no_answer(socket) or self._empty(socket)
            settled = seen is not None and not (isinstance(seen, Server) and seen.unread)
            if seen is not None and (settled or time.monotonic() > settled_by):
                return seen
            if time.monotonic() > settled_by:
                return Unreachable(socket, _error(answer), "try `tmux -S` with this socket by hand")
            time.sleep(RETRY_S)

    def do(self, socket: str, deeds: Sequence[Deed]) -> bool:
        return self.run(socket, [command_of(deed) for deed in deeds])

    def run(self, socket: str, commands: Sequence[Sequence[str]]) -> bool:
        if not commands:
            return True
        answer = self._source(socket, commands)
        return isinstance(answer, ClientAnswer) and answer.ok

    def ask(
        self, socket: str, questions: Sequence[PaneQuestion], first: Sequence[Deed] = ()
    ) -> Sequence[str | None]:
        mark = os.urandom(8).hex()
        commands = [question(each, f"{mark} {number}") for number, each in enumerate(questions)]
        before = [command_of(deed) for deed in first]
        answer = None
        if first or commands:
            answer = self._source(socket, [*before, *commands])
        answers: dict[int, str] = {}
        text = answer.text if isinstance(answer, ClientAnswer) else ""
        start = 0
        for number in range(len(questions)):
            sign = f"{mark} {number}\n"
            end = text.find(sign, start)
            if end >= 0:
                answers[number] = text[start:end]
                start = end + len(sign)
        return [_answer_text(each, answers.get(number)) for number, each in enumerate(questions)]

    def capture(self, socket: str, pane: str, *, joined: bool = False) -> str | None:
        return self.ask(socket, [PaneQuestion(pane, joined=joined)])[0]

    def create(
        self, socket: str, new: NewSession, *, within: Surroundings | None = None
    ) -> Created | str:
        """Create a session. It may exist even if another command of the same call fails."""
        _make_folder(socket)
        words: list[str] = []
        for command in creation_of(new):
            words += (";", *map(_escape_end, command))
        answer = self._ask(socket, *words[1:], within=within, alone=True)
        if isinstance(answer, Unreachable):
            return answer.reason
        # tmux exits with 0 even if it cannot create its socket. If a user's hook makes the next
        # command fail, or prints something, the session exists all the same.
        ids = CREATED.search(answer.text)
        if ids:
            return Created(ids[1], ids[2], int(ids[3] or 0))
        return _error(answer)

    def notify(self, socket: str, server: Server, session: ServerSession, text: str) -> None:
        answer = self._ask(
            socket, NEVER_START, "list-clients", "-t", session.id, "-F", "#{client_name}"
        )
        if isinstance(answer, ClientAnswer) and answer.ok:
            names = answer.text.splitlines()
        else:
            names = []
        self.run(socket, [notice(server, session, name, text) for name in names])

    def _empty(self, socket: str) -> Server | None:
        """Look at a server without sessions: it rejects `list-panes -a` but not `list-sessions`."""
        answer = self._ask(socket, NEVER_START, "list-sessions", "-F", "#{session_id}", *END)
        seen = None
        if isinstance(answer, ClientAnswer):
            seen = server_of(socket, answer.text)
        return None if seen is None or seen.unread else seen

    def _source(self, socket: str, commands: Sequence[Sequence[str]]) -> ClientAnswer | Unreachable:
        script = "".join(" ".join(map(quoted, command)) + "\n" for command in commands)
        return self._ask(socket, NEVER_START, "source-file", "-", stdin=script.encode())

    def _ask(
        self,
        socket: str,
        *words: str,
        stdin: bytes = b"",
        within: Surroundings | None = None,
        alone: bool = False,
    ) -> ClientAnswer | Unreachable:
        if socket in self._hung:
            limit_s = min(HUNG_S, self._timeout_s)
        else:
            limit_s = self._timeout_s
        try:
            line = [self._program, "-u", "-S", socket, *words]
            env = self._env
            if within is not None:  # use our own tmux: the other PATH may lead to a different one
                tmux = find_program(self._program, self._env)
                line = [*within.words, tmux, *line[1:]]
                env = without_caller(within.environ)
            answer = ask(line[0], line[1:], stdin, env, limit_s, alone=alone)
            self._hung.discard(socket)
            return answer
        except TooSlow:
            self._hung.add(socket)
            hint = "the server may be stopped or busy: ps -o pid,stat,cmd -C 'tmux: server'"
            return Unreachable(socket, f"no answer in {limit_s:g} s", hint)
        except (FileNotFoundError, PermissionError):
            return Unreachable(
                socket, "no tmux program on the PATH", "install tmux 3.2 or later", missing=True
            )
        except (OSError, ValueError) as error:
            return Unreachable(socket, str(error), "check the setup with: tmuxreap doctor")


def _answer_text(asked: PaneQuestion, output: str | None) -> str | None:
    if asked.option is not None:
        return output.removesuffix("\n") if output else None
    if output is not None:
        return unpadded(output).rstrip("\n ")
    return None


def _make_folder(socket: str) -> None:
    """Create the socket's folder: tmux does so for -L, but not for -S, which we use throughout."""
    with contextlib.suppress(OSError):
        os.mkdir(os.path.dirname(socket), 0o700)  # noqa: PTH102, PTH120 - pathlib is not worth its import here


def _error(answer: ClientAnswer) -> str:
    said = answer.err.decode("utf-8", "replace").strip()
    return said or "tmux gave an answer that could not be read"


def _escape_end(argument: str) -> str:
    """Escape a trailing `;`, which tmux takes for the end of the command in any argument."""
    if argument.endswith(";"):
        return f"{argument[:-1]}\\;"
    return argument

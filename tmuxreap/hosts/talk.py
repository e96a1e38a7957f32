"""Runs tmuxreap on one host and reads its lines. If the connection breaks during a change, its
outcome is asked for by its ID over a new one. Never sends a verb twice, and never trusts a line."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.text import plain
from tmuxreap.core.values import replace
from tmuxreap.hosts.engines import CONNECT_S, Engine, engine_of
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.wire import (
    LONGEST_LINE,
    Line,
    OtherSchemaError,
    Reply,
    Say,
    WireRequest,
    parse_line,
    reply_of,
)
from tmuxreap.system.environment import Settings

LONGEST_NOISE = 1024 * 1024  # bytes of stderr that are kept
LAST_WORDS = 400
READ = 65536
EXIT_S = 3.0
LEAVE_S = 0.2


class SilentError(Exception):
    """The host was silent for too long."""


class EndedError(Exception):
    """The stream has ended."""


_TALKS: WeakKeyDictionary[Talk, Host] = WeakKeyDictionary()


class Talk:
    def __init__(self, host: Host, engine: Engine) -> None:
        # In its own process session: neither Ctrl-C nor our terminal's hangup reaches it.
        self._process = subprocess.Popen(
            engine.words,
            env=dict(engine.environ),
            cwd=engine.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        _TALKS[self] = host
        self.version = ""  # of the tmuxreap there, once it has greeted
        self._lines: deque[Line] = deque()
        self._rest = b""
        self._errors = b""
        assert self._process.stdout is not None  # noqa: S101 - begun with pipes
        assert self._process.stderr is not None  # noqa: S101
        self._stdout = self._process.stdout.fileno()
        self._stderr = self._process.stderr.fileno()
        self._open = {self._stdout, self._stderr}

    def send(self, text: str) -> None:
        """Send a line; a closed pipe is noticed later, when the answer is read."""
        assert self._process.stdin is not None  # noqa: S101 - begun with pipes
        with contextlib.suppress(OSError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def line(self, wait_s: float) -> Line:
        """Return the next line of ours; noise does not extend the timeout."""
        deadline = time.monotonic() + wait_s
        while not self._lines:
            if self._stdout not in self._open:
                raise EndedError
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise SilentError
            self._read_available(left_s)
        return self._lines.popleft()

    def _read_available(self, wait_s: float) -> None:
        poll = select.poll()
        for number in self._open:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(wait_s * 1000):
            data = os.read(number, READ)
            if not data:
                self._open.discard(number)
            elif number == self._stdout:
                self._receive(data)
            else:
                self._errors = (self._errors + data)[-LONGEST_NOISE:]

    def _receive(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
        for raw in whole:
            line = parse_line(raw.decode(errors="replace"))
            if line is not None:
                self._lines.append(line)

    def end(self) -> int | None:
        """Return its exit status after its stream has ended, and read the rest of its stderr."""
        status = self._exit_status(EXIT_S)
        while self._stderr in self._open and select.select([self._stderr], [], [], 0)[0]:
            self._read_available(0)
        return status

    @property
    def words(self) -> str:
        """Its stderr as one plain line."""
        lines = []
        for line in self._errors.decode(errors="replace").splitlines():
            lines.append(line.strip())
        return plain("; ".join(line for line in lines if line))[-LAST_WORDS:]

    def close(self) -> None:
        """Close the streams and send SIGHUP: ssh exits, but a verb in progress on the host goes
        on."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        if self._process.poll() is None:
            self.hang_up()
            if self._exit_status(LEAVE_S) is None:
                # Not killed, since its verb may go on; awaited, since it would stay a zombie.
                threading.Thread(target=self._process.wait, daemon=True).start()

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGHUP)

    def _exit_status(self, wait_s: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(wait_s)
        return None


def hang_up(hosts: Sequence[Host]) -> None:
    """End the conversations with these very hosts that other threads still have: nobody waits for
    their answers, and their commands must not outlive us."""
    for talk, host in [*_TALKS.items()]:
        if any(host is one for one in hosts):
            talk.hang_up()


ANSWER_S = 30.0
AGAIN_AFTER_S = (0.2, 1.0, 3.0)
OUTCOME = "outcome"
INSTALL = "copy a checkout there and install it: pipx install .; or set `program` in hosts.yaml"
NO_SUCH_COMMAND = (126, 127)
USAGE = 2


def ask(host: Host, request: WireRequest, settings: Settings, *, changing: bool) -> Reply:
    """Run a request. `changing`: it changes something, and the host keeps its outcome by its ID."""
    before = time.monotonic()
    try:
        reply = _ask(host, request, settings, changing)
    except Failure as failure:
        reply = Reply(host, failure=failure)
    return replace(reply, took_s=time.monotonic() - before)


def _ask(host: Host, request: WireRequest, settings: Settings, changing: bool) -> Reply:
    with connected(host, settings) as talk:
        talk.send(request.line())
        try:
            return _answer(host, talk)
        except SilentError:
            reason = f"no answer for {ANSWER_S:g} s"
        except EndedError:
            talk.end()
            reason = talk.words or "the connection ended before the answer"
    if not changing:
        raise unreachable(host, reason)
    return _ask_for_outcome(host, request, settings, reason)


def _answer(host: Host, talk: Talk) -> Reply:
    while True:
        line = talk.line(ANSWER_S)
        if line.say is Say.ANSWER:
            try:
                return reply_of(host, line.facts, talk.version)
            except ValueError as error:
                raise incompatible(host, str(error)) from None
        if line.say is Say.INCOMPATIBLE:
            raise incompatible(host, str(line.facts.get("why")))
        if line.say is Say.UNKNOWN:
            return _outcome_unknown(host, "it ended there without an answer")
        if line.say is Say.NEVER:
            raise _never_arrived(host)


def _ask_for_outcome(host: Host, request: WireRequest, settings: Settings, reason: str) -> Reply:
    words = {"of": request.id}
    for number, pause in enumerate(AGAIN_AFTER_S):
        time.sleep(pause)
        later = WireRequest(
            f"{request.id}.{number}", OUTCOME, words, request.registry, here=request.here
        )
        with (
            contextlib.suppress(SilentError, EndedError, Unreached),
            connected(host, settings) as talk,
        ):
            talk.send(later.line())
            return _answer(host, talk)
    return _outcome_unknown(host, reason)


def _outcome_unknown(host: Host, reason: str) -> Reply:
    message = f"could not hear from {host.name} what came of it: {reason}"
    hint = f"see what is true there: tmuxreap list --host {host.name}"
    failure = Failure(Code.HOST_UNREACHABLE, message, hint)
    return Reply(host, failure=failure, unknown=True)


def _never_arrived(host: Host) -> Failure:
    """Return the host's own word that it began nothing: it is final, and not asked for again."""
    reason = "the connection broke before anything was started there; nothing was done"
    return Failure(Code.HOST_UNREACHABLE, f"could not reach {host.name}: {reason}", "try again")


class Unreached(Failure):
    """The host cannot be reached now."""


@contextlib.contextmanager
def connected(host: Host, settings: Settings) -> Iterator[Talk]:
    """Open a conversation and wait for its hello; retry without the shared connection if that
    hangs."""
    try:
        with contextlib.closing(_greeted(host, settings)) as talk:
            yield talk
    except OtherSchemaError as error:
        raise incompatible(host, f"it speaks {error}") from None


def _greeted(host: Host, settings: Settings) -> Talk:
    engine = engine_of(host, settings)
    if engine.shared is not None and engine.shared.exists():
        try:
            return _open(host, engine, CONNECT_S)
        except SilentError:
            engine.shared.unlink(missing_ok=True)  # the next command opens a new one
            engine = engine_of(host, settings, unshared=True)
    try:
        return _open(host, engine, ANSWER_S)
    except SilentError:
        raise unreachable(host, f"no answer for {ANSWER_S:g} s") from None


def _open(host: Host, engine: Engine, wait_s: float) -> Talk:
    try:
        talk = Talk(host, engine)
    except (OSError, subprocess.SubprocessError) as error:
        raise unreachable(host, f"{error}") from None
    with contextlib.ExitStack() as unless_greeted:
        unless_greeted.callback(talk.close)
        try:
            hello = talk.line(wait_s)
        except EndedError:
            raise _hello_failure(host, talk.end(), talk.words) from None
        if hello.say is not Say.HELLO:
            raise incompatible(host, "it does not begin as it should")
        talk.version = str(hello.facts.get("version"))
        unless_greeted.pop_all()
    return talk


def _hello_failure(host: Host, status: int | None, words: str) -> Failure:
    if status in NO_SUCH_COMMAND:
        said = words or f"exit {status}"
        message = f"could not ask {host.name}: {host.program} is not there ({said})"
        return Failure(Code.HOST_WITHOUT_TMUXREAP, message, INSTALL)
    if status in (0, USAGE):
        return incompatible(host, words or "it is too old, or no tmuxreap")
    return unreachable(host, words or f"the command that reaches it left with {status}")


def unreachable(host: Host, reason: str) -> Failure:
    hint = f"try it alone: {_manual_command(host)}"
    return Unreached(Code.HOST_UNREACHABLE, f"could not reach {host.name}: {reason}", hint)


def _manual_command(host: Host) -> str:
    from shlex import join

    if host.ssh:
        return join(["ssh", host.ssh, "true"])
    return join([*host.via, "true"] if host.via else ["tmuxreap", "doctor"])


def incompatible(host: Host, reason: str) -> Failure:

    message = f"could not ask {host.name}: its tmuxreap is another version ({plain(reason)[:400]})"
    return Failure(Code.HOST_INCOMPATIBLE, message, "install the same version on both")

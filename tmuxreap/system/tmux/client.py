"""Runs one program, mostly a tmux client, with input, a timeout and a limit of its output. Knows
nothing of tmux itself.

`subprocess` would do, but with a timeout it polls in sleeps, and its import takes longer than the
call."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence

from tmuxreap.core.values import frozen

READ_SIZE = 1 << 16
MAX_OUTPUT = 1 << 26  # bytes: listing a thousand sessions takes a few hundred thousand
STEP_S = 0.001
# Python or our caller ignores these signals, and a child process would inherit that.
BACK_TO_DEFAULT = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD]


class TooSlow(Exception):  # noqa: N818 - a result rather than an error
    """The program timed out and was killed."""


@frozen
class Answer:
    status: int | None  # None where the kernel told somebody else, see `_reap`
    out: bytes
    err: bytes

    @property
    def ok(self) -> bool:
        """Tell whether a tmux client went well: one that fails says why."""
        return self.status == 0 if self.status is not None else not self.err

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")


def ask(
    program: str,
    arguments: Sequence[str],
    data: bytes,
    env: Mapping[str, str],
    timeout_s: float,
    *,
    alone: bool = False,
) -> Answer:
    """Run the program; raise OSError if it cannot be started, or TooSlow. It is never left running.

    `alone`: what it starts lives on, so it gets none of the descriptors that our caller left open
    for us, such as a lock."""
    with contextlib.ExitStack() as stack:
        pipes = [_Pipe(stack) for _ in range(3)]
        stdin, stdout, stderr = pipes
        actions: list[tuple[int, ...]] = [
            (os.POSIX_SPAWN_DUP2, pipe.ends[number != 0], number)
            for number, pipe in enumerate(pipes)
        ]
        if alone:
            actions += [(os.POSIX_SPAWN_CLOSE, number) for number in _handed_on()]
        path = find_program(program, env)
        pid = os.posix_spawn(
            path, [program, *arguments], env, file_actions=actions, setsigdef=BACK_TO_DEFAULT
        )
        try:
            stdin.close(0)
            stdout.close(1)
            stderr.close(1)
            deadline = time.monotonic() + timeout_s
            output = _communicate(stdin, data, (stdout, stderr), deadline)
            _wait_for_exit(pid, deadline)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            _reap(pid)
            raise
        return Answer(_reap(pid), *output)


def _reap(pid: int) -> int | None:
    """Return its exit status; None where the program that we run in ignores SIGCHLD, or another
    thread of it waits for all children."""
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return None


def _handed_on() -> list[int]:
    """Return the descriptors that a program of ours would inherit, besides its streams."""
    found = []
    with contextlib.suppress(OSError):
        for number in map(int, os.listdir("/dev/fd")):  # noqa: PTH208
            with contextlib.suppress(OSError):  # the folder's own, closed by now
                if number > 2 and os.get_inheritable(number):
                    found.append(number)
    return found


class _Pipe:
    """A pipe whose ends are each closed once."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.ends = list(os.pipe())
        stack.callback(self.close, 0)
        stack.callback(self.close, 1)

    def close(self, which: int) -> None:
        if self.ends[which] >= 0:
            os.close(self.ends[which])
            self.ends[which] = -1


def _communicate(
    to: _Pipe, data: bytes, answers: Sequence[_Pipe], deadline: float
) -> tuple[bytes, ...]:
    """Write and read at the same time, so that full pipes cannot deadlock the two sides."""
    poller = select.poll()
    received = {pipe.ends[0]: bytearray() for pipe in answers}
    pending = {*received}
    for descriptor in received:
        poller.register(descriptor, select.POLLIN)
    if data:
        os.set_blocking(to.ends[1], False)
        poller.register(to.ends[1], select.POLLOUT)
    else:
        to.close(1)
    while pending:
        ready = poller.poll(_left_s(deadline) * 1000)
        if not ready:
            raise TooSlow
        for descriptor, _ in ready:
            if descriptor == to.ends[1]:
                data = _write(descriptor, data)
                if not data:
                    poller.unregister(descriptor)
                    to.close(1)
            elif part := os.read(descriptor, READ_SIZE):
                received[descriptor] += part
                if len(received[descriptor]) > MAX_OUTPUT:
                    raise OSError("it said more than can be read")
            else:
                poller.unregister(descriptor)
                pending.discard(descriptor)
    return tuple(map(bytes, received.values()))


def _left_s(deadline: float) -> float:
    """Return the time left; checked before every wait, as endless output must time out, too."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TooSlow
    return left_s


def _wait_for_exit(pid: int, deadline: float) -> None:
    """Wait for its exit, as it may live on after closing its streams. It stays a zombie, so its pid
    cannot be reused."""
    try:
        pidfd = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or a sandbox without it
        with contextlib.suppress(ChildProcessError):  # see `_reap`
            while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                time.sleep(min(STEP_S, _left_s(deadline)))
        return
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        if not poller.poll(_left_s(deadline) * 1000):
            raise TooSlow
    finally:
        os.close(pidfd)


def _write(descriptor: int, data: bytes) -> bytes:
    """Write and return the rest; nothing when the reader is gone."""
    try:
        return data[os.write(descriptor, data) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return b""


def find_program(program: str, env: Mapping[str, str]) -> str:
    """Find a program on the PATH of the environment it will get."""
    if "/" in program:
        return program
    paths = (f"{folder}/{program}" for folder in os.get_exec_path(env))
    for path in paths:
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)

"""Runs one tmux client: what it was told, what it said, and no longer than it may. Knows nothing of
tmux itself.

`subprocess` would do it too, but sleeps in steps once a time limit is given, and costs an import
that is longer than the call."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence

from tmuxreap.core.values import frozen

AT_ONCE = 1 << 16
AT_MOST = 1 << 26  # bytes: a thousand sessions are told in a few hundred thousand
STEP_S = 0.001
BACK_TO_DEFAULT = [
    signal.SIGPIPE,
    signal.SIGXFSZ,
]  # Python ignores them, and whoever is started would too


class TooSlow(Exception):  # noqa: N818 - an answer more than an error
    """It was ended: its time was up."""


@frozen
class Answer:
    ok: bool
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")


def ask(
    program: str, arguments: Sequence[str], given: bytes, env: Mapping[str, str], timeout_s: float
) -> Answer:
    """Raises OSError where it cannot be started, and TooSlow. Whatever happens, it is not left
    behind."""
    with contextlib.ExitStack() as held:
        pipes = [_Pipe(held) for _ in range(3)]
        to, out, err = pipes
        actions = [
            (os.POSIX_SPAWN_DUP2, pipe.ends[number != 0], number)
            for number, pipe in enumerate(pipes)
        ]
        path = found_program(program, env)
        pid = os.posix_spawn(
            path, [program, *arguments], env, file_actions=actions, setsigdef=BACK_TO_DEFAULT
        )
        try:
            to.close(0)
            out.close(1)
            err.close(1)
            until = time.monotonic() + timeout_s
            said = _talk(to, given, (out, err), until)
            _await_end(pid, until)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        _, status = os.waitpid(pid, 0)
        return Answer(status == 0, *said)


class _Pipe:
    """Both ends, each closed once."""

    def __init__(self, held: contextlib.ExitStack) -> None:
        self.ends = list(os.pipe())
        held.callback(self.close, 0)
        held.callback(self.close, 1)

    def close(self, which: int) -> None:
        if self.ends[which] >= 0:
            os.close(self.ends[which])
            self.ends[which] = -1


def _talk(to: _Pipe, given: bytes, answers: Sequence[_Pipe], until: float) -> tuple[bytes, ...]:
    """Write and read at the same time: neither side waits for the other with a full pipe."""
    poller = select.poll()
    said = {pipe.ends[0]: bytearray() for pipe in answers}
    left = {*said}
    for descriptor in said:
        poller.register(descriptor, select.POLLIN)
    if given:
        os.set_blocking(to.ends[1], False)
        poller.register(to.ends[1], select.POLLOUT)
    else:
        to.close(1)
    while left:
        ready = poller.poll(_left_s(until) * 1000)
        if not ready:
            raise TooSlow
        for descriptor, _ in ready:
            if descriptor == to.ends[1]:
                given = _written(descriptor, given)
                if not given:
                    poller.unregister(descriptor)
                    to.close(1)
            elif part := os.read(descriptor, AT_ONCE):
                said[descriptor] += part
                if len(said[descriptor]) > AT_MOST:
                    raise OSError("it said more than can be read")
            else:
                poller.unregister(descriptor)
                left.discard(descriptor)
    return tuple(map(bytes, said.values()))


def _left_s(until: float) -> float:
    """Asked before every wait: who never stops talking is as late as who says nothing."""
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise TooSlow
    return left_s


def _await_end(pid: int, until: float) -> None:
    """It may close its streams and live on. It stays a zombie, whose pid is nobody else's."""
    try:
        end = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or a sandbox without it
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(min(STEP_S, _left_s(until)))
        return
    try:
        poller = select.poll()
        poller.register(end, select.POLLIN)
        if not poller.poll(_left_s(until) * 1000):
            raise TooSlow
    finally:
        os.close(end)


def _written(descriptor: int, given: bytes) -> bytes:
    """What is still to be written; nothing when nobody reads it any more."""
    try:
        return given[os.write(descriptor, given) :]
    except BlockingIOError:
        return given
    except BrokenPipeError:
        return b""


def found_program(program: str, env: Mapping[str, str]) -> str:
    """Where it lies on the PATH of its own environment."""
    if "/" in program:
        return program
    places = (f"{folder}/{program}" for folder in os.get_exec_path(env))
    for place in places:
        if os.access(place, os.X_OK) and not os.path.isdir(place):  # noqa: PTH112
            return place
    raise FileNotFoundError(program)

"""The real command line from inside a test: in this process for speed, in a child if it may be
killed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import tmuxreap as package
from tests.schemas import check_answer
from tmuxreap.__main__ import main

# Imported here, so that no child has to.
for module in pkgutil.walk_packages(package.__path__, "tmuxreap."):
    importlib.import_module(module.name)


KILLED = -signal.SIGKILL
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)


@dataclass(frozen=True)
class Answer:
    exit: int  # negative: killed by that signal
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Return stdout as one JSON document; any other text is an error."""
        (line,) = self.out.splitlines()
        envelope: dict[str, Any] = json.loads(line)
        assert envelope["schema"] == "tmuxreap/1"
        assert envelope["exit_code"] == self.exit
        assert envelope["ok"] is (self.exit == 0)
        check_answer(envelope)
        return envelope

    @property
    def error(self) -> dict[str, str]:
        """Return the error of the command, else of its first target."""
        envelope = self.json
        error: dict[str, str] = envelope["error"] or next(
            one["error"] for one in envelope["results"] if one["error"]
        )
        return error

    @property
    def codes(self) -> list[str]:
        return [one["error"]["code"] for one in self.json["results"] if one["error"]]


class Child:
    """A fork of this process with one task."""

    def __init__(self, work: Callable[[], int], stdin: str = "") -> None:
        self._files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115 - closed in answer()
        self._files[0].write(stdin.encode())
        self._files[0].seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self._work(work))

    def _work(self, work: Callable[[], int]) -> int:
        try:
            for number, file in enumerate(self._files):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(n, m, closefd=False) for n, m in enumerate("rww")
            )
            status = work()
            sys.stdout.flush()
            sys.stderr.flush()
            return status
        except BaseException:
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
            return 99

    def answer(self) -> Answer:
        _, status = os.waitpid(self.pid, 0)
        texts = [_all_of(file) for file in self._files]
        for file in self._files:
            file.close()
        code = os.waitstatus_to_exitcode(status)
        return Answer(code, texts[1], texts[2])


def command(*words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Child:
    def work() -> int:
        os.environ.update(env or {})
        return main(list(words))

    return Child(work, stdin)


def tmuxreap(*words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Answer:
    """Run the program in this process, which is faster; with its own environment in a fork."""
    if env is not None:
        return command(*words, stdin=stdin, env=env).answer()
    with contextlib.ExitStack() as open_files:
        files = [open_files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(stdin.encode())
        files[0].seek(0)
        with _streams(files), as_it_was():
            status = main(list(words))
        return Answer(status, *(_all_of(file) for file in files[1:]))


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@contextlib.contextmanager
def _streams(files: Sequence[IO[bytes]]) -> Iterator[None]:
    """Replace the standard streams temporarily, for this process and its children."""
    ours, kept = (sys.stdin, sys.stdout, sys.stderr), [os.dup(number) for number in range(3)]
    for stream in ours[1:]:
        stream.flush()
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    try:
        yield
    finally:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()
        sys.stdin, sys.stdout, sys.stderr = ours
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)


@contextlib.contextmanager
def as_it_was() -> Iterator[None]:
    """Restore what a program normally leaves to its exit: environment, folder, handlers, garbage
    collection."""
    environ, folder = dict(os.environ), os.open(".", os.O_PATH)
    threshold = gc.get_threshold()
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        os.fchdir(folder)
        os.close(folder)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if environ != dict(os.environ):
            os.environ.clear()
            os.environ.update(environ)


def temporaries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".tmp"))


def without_powers() -> None:
    """Make this process obey file modes from now on, even as root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capset(header, nothing) == 0

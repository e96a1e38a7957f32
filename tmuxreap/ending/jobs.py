"""Owns what is written into `.hermes/jobs/`: the files of those who delegated a job to a session
and wait to be told.

It writes into files that are there and makes none. It follows no link, opens no pipe, and is never
in the way: what could not be told in its time is left, with a word of warning."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen

LIMIT_S = 2.0
LARGEST = 1024 * 1024  # of a job that is read whole
TAIL = 4096
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
FOLDERS = (Path("jobs"), Path(".hermes") / "jobs")
PROGRESS = "progress"  # happens to a job, and is no status of it: that stays what it was
JOB, EVENTS = ".json", ".events.log"


Writer = Callable[[int, str, "Word"], "str | None"]


@frozen
class Word:
    """One thing that is told of a job."""

    job: str
    session: str
    event: str  # PROGRESS, completed, cancelled, error
    detail: str | None
    at: float

    def as_json(self) -> dict[str, object]:
        detail = {} if self.detail is None else {"detail": self.detail}
        known = {
            "timestamp": iso(self.at),
            "event": self.event,
            "job_id": self.job,
            "session": self.session,
        }
        return {**known, **detail}

    def as_text(self) -> str:
        return " ".join(filter(None, (iso(self.at), self.event, self.session, self.detail)))


class Jobs:
    """`limit_s`: for all of it, as long as this program lives."""

    def __init__(self, registry: Path, limit_s: float = LIMIT_S) -> None:
        self._folders = [registry.parent / folder for folder in FOLDERS]
        self._limit_s = limit_s

    def tell(self, words: Sequence[Word]) -> Mapping[str, str]:
        """A warning for each session whose job could not be told."""
        if self._limit_s <= 0:
            return {word.session: _warning(word, "an earlier one took too long") for word in words}
        troubles = {
            word.session: _warning(word, f"no answer in {self._limit_s:g} s") for word in words
        }

        def work() -> None:  # a file server that hangs holds this thread, and nobody else
            for word in words:
                trouble = self._told(word)
                if trouble is None:
                    troubles.pop(word.session, None)
                else:
                    troubles[word.session] = _warning(word, trouble)

        teller = threading.Thread(target=work, daemon=True)
        teller.start()
        teller.join(self._limit_s)
        if teller.is_alive():
            self._limit_s = 0
        return dict(troubles)

    def _told(self, word: Word) -> str | None:
        if _NAME.fullmatch(word.job) is None:
            return "its ID is no name of a file"
        troubles = []
        for folder in self._folders:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    troubles += [
                        _tried(directory, f"{word.job}{end}", write, word)
                        for end, write in WRITERS.items()
                    ]
                finally:
                    os.close(directory)
        return next((trouble for trouble in troubles if trouble is not None), None)


def _warning(word: Word, reason: str) -> str:
    return (
        f"job_not_told: could not tell the job {word.job[:80]!r} that it is {word.event}: {reason}"
    )


def _tried(directory: int, name: str, write: Writer, word: Word) -> str | None:
    try:
        return write(directory, name, word)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        return f"{name}: {error.strerror if isinstance(error, OSError) else error}"


def _rewritten(directory: int, name: str, word: Word) -> str | None:
    """Change a few fields of the job itself, by a new file in the place of the old one."""
    with _opened(directory, name, os.O_RDONLY) as descriptor:
        before = os.fstat(descriptor)
        text = _read(descriptor)
    job = _object(text)
    if word.event != PROGRESS:
        job["status"] = word.event
    job.update(detail=word.detail, updated_at=iso(word.at))
    last = _last_event(directory, word.job).get("seq")
    if "last_seq" in job and isinstance(last, int):
        job["last_seq"] = last
    _replace(directory, name, _like(text, job).encode(), before)
    return None


def _appended(directory: int, name: str, word: Word) -> str | None:
    """Tell what happened to it in a line more, in the form that the others have."""
    known = _job(directory, word.job)
    with _opened(directory, name, os.O_RDWR | os.O_APPEND) as descriptor:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, TAIL, max(0, size - TAIL))
        lines = tail.decode("utf-8", "replace").strip().splitlines()
        plain = bool(lines) and not lines[-1].lstrip().startswith("{")
        event = {**_numbered(known, _event(lines)), **word.as_json()}
        line = word.as_text().replace("\n", " ") if plain else json.dumps(event, ensure_ascii=False)
        os.write(
            descriptor,
            (b"\n" if tail and not tail.endswith(b"\n") else b"") + line.encode() + b"\n",
        )
    return None


def _numbered(job: Mapping[str, object], last: Mapping[str, object]) -> dict[str, object]:
    """Return what readers go by, where the job or the line before has it: the form of a line, and
    its number."""
    numbers = [n for n in (job.get("last_seq"), last.get("seq")) if isinstance(n, int)]
    form = last.get("schema_version", job.get("schema_version"))
    numbered: dict[str, object] = {} if form is None else {"schema_version": form}
    return {**numbered, "seq": max(numbers) + 1} if numbers else numbered


def _last_event(directory: int, job: str) -> Mapping[str, object]:
    try:
        with _opened(directory, f"{job}{EVENTS}", os.O_RDONLY) as descriptor:
            size = os.fstat(descriptor).st_size
            tail = os.pread(descriptor, TAIL, max(0, size - TAIL))
    except (OSError, ValueError):
        return {}
    return _event(tail.decode("utf-8", "replace").strip().splitlines())


def _event(lines: Sequence[str]) -> Mapping[str, object]:
    """Return the last one, as far as it can be read."""
    try:
        return _object(lines[-1]) if lines else {}
    except (ValueError, RecursionError):
        return {}


def _job(directory: int, job: str) -> Mapping[str, object]:
    """Return the job as far as it can be read: its events are told all the same."""
    try:
        with _opened(directory, f"{job}{JOB}", os.O_RDONLY) as descriptor:
            return _object(_read(descriptor))
    except (OSError, ValueError, RecursionError):
        return {}


def _object(text: str) -> dict[str, object]:
    read = json.loads(text)
    if not isinstance(read, dict):
        raise ValueError("it is no JSON object")
    return read


@contextlib.contextmanager
def _opened(directory: int, name: str, flags: int) -> Iterator[int]:
    """A plain file of the caller's own; a pipe would not hold us, a link not lead us away."""
    descriptor = os.open(
        name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
    )
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no plain file")
        if found.st_uid != os.geteuid():
            raise ValueError("it belongs to another user")
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> str:
    parts = b""
    while len(parts) <= LARGEST and (more := os.read(descriptor, LARGEST + 1 - len(parts))):
        parts += more
    if len(parts) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST} bytes")
    return parts.decode()


def _like(text: str, job: Mapping[str, object]) -> str:
    """As it was laid out before."""
    indent = re.match(r"\s*\{\s*\n( +|\t)", text)
    end = "\n" if text.endswith("\n") else ""
    return json.dumps(job, indent=None if indent is None else indent[1], ensure_ascii=False) + end


def _replace(directory: int, name: str, data: bytes, before: os.stat_result) -> None:
    new = f".{name}.{os.urandom(6).hex()}.tmp"
    descriptor = os.open(
        new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if (now.st_ino, now.st_mtime_ns) != (before.st_ino, before.st_mtime_ns):
            raise ValueError("it was changed meanwhile")
        os.rename(new, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=directory)
        raise


# The line first: the job names the number of its last one.
WRITERS: Mapping[str, Writer] = {EVENTS: _appended, JOB: _rewritten}

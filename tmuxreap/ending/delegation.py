"""Reports the end of a session to the delegator of its job: in the ledger, and in the files of
`.hermes/jobs/` that exist. Never creates a file, follows a link or blocks on a pipe, and never
delays an ending: an error is a warning."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tmuxreap.core.model import EndVerb, Outcome, Row
from tmuxreap.core.results import Ending
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Intent, NewEvent

ENDED = {EndVerb.STOP: "completed", EndVerb.KILL: "cancelled", EndVerb.RESTART: "completed"}
SILENT = (Outcome.TAKEN_OVER, Outcome.HANDED_OVER)  # another process reports it


def job_of(row: Row) -> str | None:
    """Return the ID of the row's job. Of a session that ended before, everything was reported."""
    return None if row.status.ended else row.delegate_job_id


def report_started(
    books: Books, rows: Iterable[Row], at: float, *, recorded: bool
) -> Iterable[str]:
    """Report the beginning, before the first key; return the warnings. `recorded`: the ledger
    accepted the intents; if not, it is not tried again."""
    delegated = [row for row in rows if job_of(row) is not None]
    reports = [_new_report(row, at, "progress", "terminating") for row in delegated]
    return _report_and_note(books, reports, recorded=recorded)


def report_ended(
    registry: Path, at: float, verb: EndVerb, results: Mapping[Row, Ending]
) -> tuple[dict[str, Ending], list[NewEvent]]:
    """Report the ends. Return the results, with a warning for each failed report, and the events
    for the ledger."""
    delegated = {}
    for row, result in results.items():
        if job_of(row) is not None and result.outcome not in SILENT:
            delegated[row] = result
    reports = []
    for row, result in delegated.items():
        reports.append(_new_report(row, at, *_end(verb, result)))
    problems = _report(registry, reports)
    warned = {row.name: result for row, result in results.items()}
    for name, warning in problems.items():
        warned[name] = replace(warned[name], warnings=(*warned[name].warnings, warning))
    return warned, [_event(report) for report in reports]


def report_finished(
    books: Books, endings: Iterable[tuple[Row, Intent]], at: float
) -> Iterable[str]:
    """Report sessions whose end a dead process had not reported; return the warnings."""
    ended = {verb.value: event for verb, event in ENDED.items()}
    delegated = []
    for row, it in endings:
        if job_of(row) is not None and it.verb in ended:
            delegated.append((row, it))
    reports = []
    for row, intent in delegated:
        reports.append(_new_report(row, at, ended[intent.verb], intent.reason))
    return _report_and_note(books, reports)


def _report_and_note(
    books: Books, reports: Sequence[JobReport], *, recorded: bool = True
) -> Iterable[str]:
    if not reports:
        return ()
    problems = _report(books.registry.resolved, reports)
    if recorded:
        books.note_all([_event(report) for report in reports])
    return problems.values()


def _report(registry: Path, reports: Sequence[JobReport]) -> Mapping[str, str]:
    if not reports:
        return {}

    return write_reports(registry, reports)


def _new_report(row: Row, at: float, event: str, detail: str | None) -> JobReport:

    return JobReport(str(job_of(row)), row.name, event, detail, at)


def _end(verb: EndVerb, result: Ending) -> tuple[str, str | None]:
    if result.stopped_by is None or result.outcome is Outcome.SURVIVED:
        if result.error is not None:
            return "error", result.error.message
        return "error", str(result.outcome)
    return ENDED[verb], result.stop_reason


def _event(report: JobReport) -> NewEvent:
    return NewEvent(
        report.session, "job", {"job": report.job, "event": report.event, "detail": report.detail}
    )


LIMIT_S = 2.0
MAX_BYTES = 1024 * 1024  # size limit of a job file
TAIL_BYTES = 4096
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
FOLDERS = (Path("jobs"), Path(".hermes") / "jobs")
PROGRESS = "progress"  # an event that leaves the job's status unchanged
JOB = ".json"
EVENTS = ".events.log"


Writer = Callable[[int, str, "JobReport"], None]


@frozen
class JobReport:
    """One event of a job."""

    job: str
    session: str
    event: str  # PROGRESS, completed, cancelled, error
    detail: str | None
    at: float

    def as_json(self) -> dict[str, object]:
        if self.detail is None:
            detail = {}
        else:
            detail = {"detail": self.detail}
        facts = {
            "timestamp": iso(self.at),
            "event": self.event,
            "job_id": self.job,
            "session": self.session,
        }
        return {**facts, **detail}

    def as_text(self) -> str:
        return " ".join(filter(None, (iso(self.at), self.event, self.session, self.detail)))


def write_reports(
    registry: Path, reports: Sequence[JobReport], limit_s: float = LIMIT_S
) -> Mapping[str, str]:
    """Write the events into the job files of this registry; return a warning for each session whose
    job could not be reached in time."""
    late = f"no answer in {limit_s:g} s"
    problems = {report.session: _warning(report, late) for report in reports}

    def work() -> None:  # a hung file server blocks this thread only
        for report in reports:
            problem = _problem_writing(registry, report)
            if problem is None:
                problems.pop(report.session, None)
            else:
                problems[report.session] = _warning(report, problem)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(limit_s)
    return dict(problems)


def _problem_writing(registry: Path, report: JobReport) -> str | None:
    """Write one event and return what went wrong, or None."""
    if _NAME.fullmatch(report.job) is None:
        return "its ID is no name of a file"
    problems = []
    for folder in FOLDERS:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            directory = os.open(registry.parent / folder, flags)
            try:
                # The event log first: the job file holds the number of its last line.
                for end, write in ((EVENTS, _append_event), (JOB, _rewrite_job)):
                    problems.append(_write_safely(directory, f"{report.job}{end}", write, report))
            finally:
                os.close(directory)
    return next(filter(None, problems), None)


def _warning(report: JobReport, reason: str) -> str:
    failed = f"could not report to the job {report.job[:80]!r} that it is {report.event}"
    return f"job_not_told: {failed}: {reason}"


def _write_safely(directory: int, name: str, write: Writer, report: JobReport) -> str | None:
    try:
        write(directory, name, report)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        return f"{name}: {error.strerror if isinstance(error, OSError) else error}"
    return None


def _rewrite_job(directory: int, name: str, report: JobReport) -> None:
    """Change a few fields of the job file, replacing the file atomically."""
    with _open_own(directory, name, os.O_RDONLY) as descriptor:
        before = os.fstat(descriptor)
        text = _read(descriptor)
    job = _object(text)
    if report.event != PROGRESS:
        job["status"] = report.event
    job.update(detail=report.detail, updated_at=iso(report.at))
    last = _last_event(directory, report.job).get("seq")
    if "last_seq" in job and isinstance(last, int):
        job["last_seq"] = last
    _replace(directory, name, _in_layout_of(text, job).encode(), before)


def _append_event(directory: int, name: str, report: JobReport) -> None:
    """Append the event as one more line, in the format of the last line."""
    job = _job(directory, report.job)
    with _open_own(directory, name, os.O_RDWR | os.O_APPEND) as descriptor:
        tail = _tail(descriptor)
        lines = tail.strip().splitlines()
        if lines and not lines[-1].lstrip().startswith("{"):
            line = report.as_text().replace("\n", " ")
        else:
            event = {**_numbering(job, _last_of(lines)), **report.as_json()}
            line = json.dumps(event, ensure_ascii=False)
        start = "\n" if tail and not tail.endswith("\n") else ""
        os.write(descriptor, f"{start}{line}\n".encode())


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES)).decode("utf-8", "replace")


def _numbering(job: Mapping[str, object], last: Mapping[str, object]) -> dict[str, object]:
    """Return the schema version and sequence number that readers expect, if the job or the line
    before has them."""
    numbers = []
    for n in (job.get("last_seq"), last.get("seq")):
        if isinstance(n, int):
            numbers.append(n)
    version = last.get("schema_version", job.get("schema_version"))
    numbered: dict[str, object]
    if version is None:
        numbered = {}
    else:
        numbered = {"schema_version": version}
    if numbers:
        return {**numbered, "seq": max(numbers) + 1}
    return numbered


def _last_event(directory: int, job: str) -> Mapping[str, object]:
    try:
        with _open_own(directory, f"{job}{EVENTS}", os.O_RDONLY) as descriptor:
            return _last_of(_tail(descriptor).strip().splitlines())
    except (OSError, ValueError):
        return {}


def _last_of(lines: Sequence[str]) -> Mapping[str, object]:
    """Return the last event, or nothing if it cannot be parsed."""
    try:
        return _object(lines[-1]) if lines else {}
    except (ValueError, RecursionError):
        return {}


def _job(directory: int, job: str) -> Mapping[str, object]:
    """Return the job, or nothing if it cannot be read: its events are written all the same."""
    try:
        with _open_own(directory, f"{job}{JOB}", os.O_RDONLY) as descriptor:
            return _object(_read(descriptor))
    except (OSError, ValueError, RecursionError):
        return {}


def _object(text: str) -> dict[str, object]:
    """Parse a job as it is: its file is written again, and what `core.foreign` makes of a number
    that it does not trust would be lost there."""
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise ValueError("it is no JSON object")
    return parsed


@contextlib.contextmanager
def _open_own(directory: int, name: str, flags: int) -> Iterator[int]:
    """Open a regular file of the current user. Links are refused, and a pipe does not block."""
    descriptor = os.open(
        name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
    )
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no plain file")
        if status.st_uid != os.geteuid():
            raise ValueError("it belongs to another user")
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> str:
    parts = b""
    while len(parts) <= MAX_BYTES and (chunk := os.read(descriptor, MAX_BYTES + 1 - len(parts))):
        parts += chunk
    if len(parts) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES} bytes")
    return parts.decode()


def _in_layout_of(text: str, job: Mapping[str, object]) -> str:
    """Return the job as JSON in the layout of the old text."""
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

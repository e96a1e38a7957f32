"""Reports the end of a session to the delegator of its job: that it is being ended, and how it
ended. Writes to the ledger, and to the job's files if they exist; an error is only a warning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.answers import Ending as EndResult
from tmuxreap.core.model import Outcome, Row, Verb
from tmuxreap.core.values import replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Intent, NewEvent

if TYPE_CHECKING:
    from tmuxreap.ending.jobs import JobReport

ENDED = {Verb.STOP: "completed", Verb.KILL: "cancelled"}
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
    registry: Path, at: float, verb: Verb, results: Mapping[Row, EndResult]
) -> tuple[dict[str, EndResult], list[NewEvent]]:
    """Report the ends. Return the results, with a warning for each failed report, and the events
    for the ledger."""
    delegated = {
        row: result
        for row, result in results.items()
        if job_of(row) is not None and result.outcome not in SILENT
    }
    reports = [_new_report(row, at, *_end(verb, result)) for row, result in delegated.items()]
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
    delegated = [(row, it) for row, it in endings if job_of(row) is not None and it.verb in ended]
    reports = [_new_report(row, at, ended[intent.verb], intent.reason) for row, intent in delegated]
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
    from tmuxreap.ending.jobs import write_reports  # late: rarely needed

    return write_reports(registry, reports)


def _new_report(row: Row, at: float, event: str, detail: str | None) -> JobReport:
    from tmuxreap.ending.jobs import JobReport  # late: rarely needed

    return JobReport(str(job_of(row)), row.name, event, detail, at)


def _end(verb: Verb, result: EndResult) -> tuple[str, str | None]:
    if result.stopped_by is None or result.outcome is Outcome.SURVIVED:
        return (
            "error",
            result.error.message if result.error is not None else str(result.outcome),
        )
    return ENDED[verb], result.stop_reason


def _event(report: JobReport) -> NewEvent:
    return NewEvent(
        report.session, "job", {"job": report.job, "event": report.event, "detail": report.detail}
    )

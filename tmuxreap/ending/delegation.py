"""Reports the end of a session to the delegator of its job: that it is being ended, and how it
ended. Writes to the ledger, and to the job's files if they exist; an error is only a warning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.model import Outcome, Row, Verb
from tmuxreap.core.values import replace
from tmuxreap.ending.results import EndResult
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Intent, NewEvent

if TYPE_CHECKING:
    from tmuxreap.ending.jobs import Word

ENDED = {Verb.STOP: "completed", Verb.KILL: "cancelled"}
SILENT = (Outcome.TAKEN_OVER, Outcome.HANDED_OVER)  # another process reports it


def job_of(row: Row) -> str | None:
    """Return the ID of the row's job. Of a session that ended before, everything was reported."""
    return None if row.status.ended else row.delegate_job_id


def tell_begun(books: Books, rows: Iterable[Row], at: float, *, recorded: bool) -> Iterable[str]:
    """Report the beginning, before the first key; return the warnings. `recorded`: the ledger
    accepted the intents; if not, it is not tried again."""
    delegated = [row for row in rows if job_of(row) is not None]
    words = [_word(row, at, "progress", "terminating") for row in delegated]
    return _tell_and_note(books, words, recorded=recorded)


def tell_ended(
    registry: Path, at: float, verb: Verb, results: Mapping[Row, EndResult]
) -> tuple[dict[str, EndResult], list[NewEvent]]:
    """Report the ends. Return the results, with a warning for each failed report, and the events
    for the ledger."""
    delegated = {
        row: result
        for row, result in results.items()
        if job_of(row) is not None and result.outcome not in SILENT
    }
    words = [_word(row, at, *_end(verb, result)) for row, result in delegated.items()]
    troubles = _tell(registry, words)
    warned = {row.name: result for row, result in results.items()}
    for name, trouble in troubles.items():
        warned[name] = replace(warned[name], warnings=(*warned[name].warnings, trouble))
    return warned, [_event(word) for word in words]


def tell_finished(books: Books, endings: Iterable[tuple[Row, Intent]], at: float) -> Iterable[str]:
    """Report sessions whose end a dead process had not reported; return the warnings."""
    ended = {verb.value: event for verb, event in ENDED.items()}
    delegated = [(row, it) for row, it in endings if job_of(row) is not None and it.verb in ended]
    words = [_word(row, at, ended[intent.verb], intent.reason) for row, intent in delegated]
    return _tell_and_note(books, words)


def _tell_and_note(books: Books, words: Sequence[Word], *, recorded: bool = True) -> Iterable[str]:
    if not words:
        return ()
    troubles = _tell(books.registry.resolved, words)
    if recorded:
        books.note_all([_event(word) for word in words])
    return troubles.values()


def _tell(registry: Path, words: Sequence[Word]) -> Mapping[str, str]:
    if not words:
        return {}
    from tmuxreap.ending.jobs import Jobs  # late: rarely needed

    return Jobs(registry).tell(words)


def _word(row: Row, at: float, event: str, detail: str | None) -> Word:
    from tmuxreap.ending.jobs import Word  # late: rarely needed

    return Word(str(job_of(row)), row.name, event, detail, at)


def _end(verb: Verb, result: EndResult) -> tuple[str, str | None]:
    if result.stopped_by is None or result.outcome is Outcome.SURVIVED:
        return (
            "error",
            result.error.message if result.error is not None else str(result.outcome),
        )
    return ENDED[verb], result.stop_reason


def _event(word: Word) -> NewEvent:
    return NewEvent(
        word.session, "job", {"job": word.job, "event": word.event, "detail": word.detail}
    )

"""What those who delegated a job are told of its session: that it is being ended, and how it ended.
Into the ledger always, into the files of the job where they are; a trouble is a warning and stops
nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tmuxreap.core.model import Outcome, Row, Verb
from tmuxreap.core.values import replace
from tmuxreap.ending.results import EndResult
from tmuxreap.ledger.records import Intent, NewEvent
from tmuxreap.sessions.context import Context

if TYPE_CHECKING:
    from tmuxreap.ending.jobs import Word

ENDED = {Verb.STOP: "completed", Verb.KILL: "cancelled"}
SILENT = (Outcome.TAKEN_OVER, Outcome.HANDED_OVER)  # another tells it


def job_of(row: Row) -> str | None:
    """Of a session that ended before, all was told."""
    return None if row.status.ended else row.delegate_job_id


def tell_begun(context: Context, rows: Iterable[Row], *, recorded: bool) -> None:
    """Before the first key. `recorded`: the ledger can be had; where not, it is not waited for once
    more."""
    words = [
        _word(context, row, "progress", "terminating") for row in rows if job_of(row) is not None
    ]
    if words:
        context.warnings.extend(_tell(context, words).values())
        if recorded:
            context.books.note_all([_event(word) for word in words])


def tell_ended(
    context: Context, verb: Verb, results: Mapping[Row, EndResult]
) -> tuple[dict[str, EndResult], list[NewEvent]]:
    """The results, with a warning where a job could not be told, and what the ledger gets."""
    told = {
        row: one
        for row, one in results.items()
        if job_of(row) is not None and one.outcome not in SILENT
    }
    words = [_word(context, row, *_end(verb, one)) for row, one in told.items()]
    troubles = _tell(context, words) if words else {}
    warned = {
        row.name: (
            replace(one, warnings=(*one.warnings, troubles[row.name]))
            if row.name in troubles
            else one
        )
        for row, one in results.items()
    }
    return warned, [_event(word) for word in words]


def tell_finished(context: Context, endings: Iterable[tuple[Row, Intent]]) -> None:
    """Of sessions that were ended, by one that died before it had said so."""
    ended = {verb.value: event for verb, event in ENDED.items()}
    known = [(row, it) for row, it in endings if job_of(row) is not None and it.verb in ended]
    words = [_word(context, row, ended[intent.verb], intent.reason) for row, intent in known]
    if words:
        context.warnings.extend(_tell(context, words).values())
        context.books.note_all([_event(word) for word in words])


def _tell(context: Context, words: Sequence[Word]) -> Mapping[str, str]:
    from tmuxreap.ending.jobs import Jobs  # few rows have one

    return Jobs(context.registry.resolved).tell(words)


def _word(context: Context, row: Row, event: str, detail: str | None) -> Word:
    from tmuxreap.ending.jobs import Word  # few rows have a job

    return Word(str(job_of(row)), row.name, event, detail, context.clock.now())


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

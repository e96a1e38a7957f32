"""The first half of a restart: ends agents like a stop, and leaves each pane, dead, for the agent
to come back. The intents stay open, so that `reconcile` closes the panes if that never happens.

Never starts an agent, and never closes a pane."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.core.errors import Code, could_not
from tmuxreap.core.model import EndVerb, Row, Scope, Status
from tmuxreap.core.ports import Clock
from tmuxreap.core.results import Ending, Item, failed_target
from tmuxreap.ending.delegation import report_ended
from tmuxreap.ending.end import Ender
from tmuxreap.ending.ending_state import EndingState, one_of_each_pane
from tmuxreap.ending.policy import REASONS, Policy
from tmuxreap.ending.prepare import Planning, recordable
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Closing, Intent
from tmuxreap.registry.file import RegistryFile
from tmuxreap.sessions.under_way import MarkInProgress

POLICY = Policy(EndVerb.RESTART, REASONS[EndVerb.RESTART], scope=Scope.PANE)


def prepared(
    planning: Planning, rows: Sequence[Row], *, remembers: bool = True
) -> tuple[list[EndingState], list[EndingState]]:
    """Return the endings of these rows, and those that have to wait for another row of their
    pane."""
    return one_of_each_pane(planning.prepare(rows, POLICY, remembers=remembers))


def check_recordable(registry: RegistryFile, endings: Sequence[EndingState]) -> None:
    """Answer the endings that could not be written."""
    recordable(registry, registry.look(), endings, POLICY)


def note_job_over(books: Books, clock: Clock, ending: EndingState, ended: Item) -> None:
    """Report the end of an agent that does not come back to who delegated its job."""
    if isinstance(ended, Ending):
        at = clock.now()
        results = {ending.row: ended}
        _, jobs = report_ended(books.registry.resolved, at, EndVerb.RESTART, results)
        books.note_all(jobs)


def end_and_hold(
    by: Ender, endings: Sequence[EndingState], mark_in_progress: MarkInProgress
) -> tuple[dict[str, Item], list[EndingState]]:
    """End these agents. Return the answer of each, and those that are stopped and may come back."""
    begun, busy, stale = by.planning.begin(endings, POLICY, mark_in_progress)
    answers = {it.name: it.answer for it in endings if it.answer is not None}
    answers.update({intent.name: _under_way(intent) for intent in busy})
    answers.update({ending.name: _changed(ending.name) for ending in stale})
    held: list[EndingState] = []
    try:
        for batch in by.run_ladders(begun):
            by.recorder.record(batch, POLICY, answers)
            held += [ending for ending in batch if _is_stopped(answers.get(ending.name))]
    except BaseException:
        _give_up(by.books, begun, answers)
        raise
    _give_up(by.books, [ending for ending in begun if ending not in held], answers)
    return answers, held


def _is_stopped(answer: Item | None) -> bool:
    """Tell whether the row was written as stopped: not taken over, renewed or gone meanwhile."""
    stopped = isinstance(answer, Ending) and answer.status == Status.STOPPED.value
    return stopped and answer is not None and answer.error is None


def _give_up(books: Books, endings: Sequence[EndingState], answers: dict[str, Item]) -> None:
    """Close the intents of agents that do not come back; what is unfinished is `reconcile`'s."""
    for ending in endings:
        if ending.intent is None:
            continue
        answer = answers.get(ending.name)
        outcome = answer.outcome if isinstance(answer, Ending) else None
        if outcome in (None, "failed") or ending.is_held:
            books.release([ending.intent.id])
        elif answer is not None:
            closing = Closing(ending.intent.id, str(outcome), answer.as_json())
            books.close_intents([closing])


def _under_way(intent: Intent) -> Item:
    reason = f"another {intent.verb} of it is in progress, by process {intent.owner.pid}"
    hint = "wait for that, then see: tmuxreap list"
    failure = could_not("restart", intent.name, reason, hint, Code.STILL_RUNNING)
    return failed_target(intent.name, failure)


def _changed(name: str) -> Item:
    reason = "its row changed under our hands; no key was sent"
    hint = "see who writes it with: tmuxreap events, then try again"
    return failed_target(name, could_not("restart", name, reason, hint, Code.LOCK_TIMEOUT))

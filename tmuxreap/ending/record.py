"""Writes the outcomes of endings: registry first, then ledger, each batch as it arrives, under the
lock.

Decides one thing only: whether the row is still the one that the ending was planned for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from tmuxreap.core import faults
from tmuxreap.core.errors import Failure, command
from tmuxreap.core.faults import Step
from tmuxreap.core.model import Outcome, Row, Status, Terminal
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.core.results import Ending, Item, Problem
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.clean_up import CleanUp, purge_now
from tmuxreap.ending.delegation import report_ended
from tmuxreap.ending.ending_state import EndingState, rows_by_place, twins_of
from tmuxreap.ending.outcome import changes_of, event_of, event_record, last_screen, result_of
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Closing, NewEvent, Survivor
from tmuxreap.ledger.schema import ENDED_WITH
from tmuxreap.registry.file import RegistryLook, edited_where_safe
from tmuxreap.registry.rows import row_invalid
from tmuxreap.registry.transitions import (
    Changes,
    RowEvent,
    is_same_process,
    life_changes,
    life_of,
    with_life,
)
from tmuxreap.sessions.caller import Caller
from tmuxreap.sessions.conversation import Finder
from tmuxreap.sessions.look import Sights, lives_after
from tmuxreap.system.headless import logged_screen
from tmuxreap.system.machine import defer_interrupts


@frozen
class Recorder:
    """Records endings, and cleans up after them."""

    sights: Sights
    finder: Finder
    clock: Clock
    processes: Processes
    caller: Caller
    clean_up: CleanUp

    @property
    def books(self) -> Books:
        return self.sights.books

    def record(
        self, batch: Sequence[EndingState], policy: Policy, answers: dict[str, Item]
    ) -> None:
        """Write the registry, then the ledger; leave alone rows that were taken over or renewed
        meanwhile. Interrupts wait while file and answers are set: they must never disagree."""
        recording = Recording(self, batch)
        with recording.interrupts:
            results = recording.write(policy, answers)
        before = recording.before
        after = recording.after
        if before is None or after is None:
            return
        books = self.books
        fates = recording.fates
        done = [ending for ending in batch if ending.name in results]
        for ending in done:
            if fates[ending.name] is _Fate.WRITTEN:
                results[ending.name] = self.clean_up.after(ending, results[ending.name])
        jobs_of = {}
        for it in done:
            # A job goes on with the agent that comes back.
            if fates[it.name] in JOB_ENDS and not it.is_held:
                jobs_of[it.row] = results[it.name]
        registry = books.registry.resolved
        at = self.clock.now()
        warned, jobs = report_ended(registry, at, policy.verb, jobs_of)
        results.update(warned)
        answers.update(results)
        ended_by = policy.asked_by or self.caller.facts()
        ended = {name for name, fate in fates.items() if fate is _Fate.WRITTEN}
        events = _events(before, after, done, results, ended, ended_by)
        closings = _closings(books, self.sights.place.boot_id, done, results)
        books.follow(after, [*events, *jobs], closings)

    def screen_of(self, ending: EndingState) -> str | None:
        row = ending.row
        log_text = None
        if row.terminal is Terminal.NONE:
            log_text = logged_screen(self.books.registry.resolved, row)
        return last_screen(ending, log_text)

    def purge(self, batch: Iterable[EndingState]) -> None:
        for ending in batch:
            ours = ending.intent is None or self.books.still_open(ending.intent.id)
            if ours and ending.stopped_by is not None:
                purge_now(ending, self.books.registry, self.finder)
        faults.at(Step.PURGED)


class Recording:
    """Writes one batch into the registry, and knows what became of each row. `before` and `after`:
    the registry around the write; None if it could not be written."""

    def __init__(self, recorder: Recorder, batch: Sequence[EndingState]) -> None:
        self.fates: dict[str, _Fate] = {}
        self.refused: dict[str, Failure] = {}
        self.before: RegistryLook | None = None
        self.after: RegistryLook | None = None
        # Entered by `write` once it holds the lock: the wait for the lock can be interrupted.
        self.interrupts = contextlib.ExitStack()
        self._by = recorder
        self._batch = batch

    def write(self, policy: Policy, answers: dict[str, Item]) -> dict[str, Ending]:
        """Write the rows and answer each ending; return the results of those that were recorded."""
        faults.at(Step.PROVEN)
        at = self._by.clock.now()
        # Masked before the lock is taken: a pattern of the user's may take its time.
        screens = {ending.name: self._by.screen_of(ending) for ending in self._batch}
        if policy.purge:
            self._by.purge(self._batch)
        finder = self._by.finder
        ports = self._by.clock, self._by.processes, finder, finder.lists()
        derived = {ending.name: result_of(ending, *ports) for ending in self._batch}
        try:
            self.before, self.after = self._by.books.registry.change(
                lambda look: self._edited(look, at, screens)
            )
        except Failure as failure:
            self.refused = dict.fromkeys(derived, failure)
        results: dict[str, Ending] = {}
        for ending in self._batch:
            name = ending.name
            if name in self.refused:
                intended = ending.intent is not None
                refusal = self.refused[name]
                answers[name] = unrecorded(derived[name], refusal, policy, intended=intended)
            else:
                results[name] = self._result(ending, derived[name])
                answers[name] = results[name]
        return results

    def _edited(self, look: RegistryLook, at: float, screens: Mapping[str, str | None]) -> str:
        """Return the registry's text with the ended rows, and note the fate of each."""
        self.interrupts.enter_context(defer_interrupts())
        wanted: dict[str, Changes] = {}
        running = rows_by_place(look.usable)
        for ending in self._batch:
            row = look.named(ending.name)
            fate = _fate(self._by.books, ending, row)
            self.fates[ending.name] = fate
            if fate is _Fate.VANISHED and (bad := look.bad_row(ending.name)) is not None:
                self.refused[ending.name] = row_invalid(look.path, bad)
            if fate is _Fate.WRITTEN and row is not None:
                ending.twins = twins_of(ending, running, self._by.sights.servers)
                for name, changes in self._changes(ending, row, at, screens[ending.name]):
                    wanted.setdefault(name, changes)
        text, failures = edited_where_safe(look, wanted)
        self.refused.update(failures)
        return text

    def _changes(
        self, ending: EndingState, row: Row, at: float, screen: str | None
    ) -> Iterator[tuple[str, Changes]]:
        """Yield the changes of the ended row, and of the other rows of its pane."""
        renewal: Changes = {}
        if _is_older(self._by.books, ending, row):
            life = life_of(ending.row)
            renewal = life_changes(row, life)
            row = with_life(row, life)
        for pane_row in (row, *ending.twins):
            agent = self._by.sights.agents.named_by(pane_row)
            changes = changes_of(ending, pane_row, at, named_agent=agent, screen=screen)
            more = renewal if pane_row is row else {}
            yield pane_row.name, {**more, **changes}

    def _result(self, ending: EndingState, result: Ending) -> Ending:
        """Return the ladder's result as it is after the write."""
        change = RESULT_OF.get(self.fates[ending.name])
        if change is not None:
            result = change(result)
        twins = []
        for twin in ending.twins:
            if twin.name not in self.refused:
                twins.append(twin.name)
        return with_twins(result, twins)


def _events(
    before: RegistryLook,
    after: RegistryLook,
    batch: Sequence[EndingState],
    results: Mapping[str, Ending],
    ended: Collection[str],
    ended_by: Mapping[str, object],
) -> Iterator[NewEvent]:
    for ending in batch:
        name = ending.name
        row = before.named(ending.name)
        for twin in ending.twins:
            if twin.name not in results:
                result = results[name]
                data: dict[str, object] = {
                    "session": name,
                    "stopped_by": result.as_json()["stopped_by"],
                    "reason": result.stop_reason,
                    "ended_by": ended_by,
                    **_life(after, twin.name),
                }
                if result.set is not None:
                    data["set"] = result.set
                yield NewEvent(twin.name, ENDED_WITH, data, before.text_of(twin))
        image = before.text_of(row) if row else None
        event = event_record(ending, results[name], image, ended_by)
        more = _life(after, name) if name in ended else {}
        if name not in ended or event_of(ending) is RowEvent.SWEPT:
            more = {**more, "row_kept": True}
        yield replace(event, data={**event.data, **more})


def _life(look: RegistryLook, name: str) -> dict[str, object]:
    """Return what tells an older state of the row from this one."""
    row = look.named(name)
    return {} if row is None else {"life": life_of(row)}


def _closings(
    books: Books, boot_id: str, batch: Sequence[EndingState], results: Mapping[str, Ending]
) -> list[Closing]:
    """Return what closes the finished intents; remember survivors in the ledger."""
    closings: list[Closing] = []
    for ending in batch:
        result = results[ending.name]
        number = ending.intent.id if ending.intent else None
        if number is not None and not _stays_open(ending):
            closings.append(Closing(number, str(result.outcome), result.as_json()))
        if ending.survivors:
            alive = (survivor.process for survivor in ending.survivors)
            left = [Survivor(process.id, boot_id, process.comm) for process in alive]
            books.remember_survivors(ending.name, left, number)
    return closings


def _stays_open(ending: EndingState) -> bool:
    """Tell whether the intent stays open: the tmux server became unreachable with our options on
    the pane, and the next owner restores them; or the agent is to come back into its pane."""
    if ending.policy.holds_pane and ending.stopped_by is not None:
        return True
    return ending.outcome is Outcome.FAILED and bool(ending.plan.options)


class _Fate(Enum):
    """What happens to the row of an ended session."""

    WRITTEN = "written"
    KEPT = "kept"  # processes survived: the row is unchanged
    TAKEN_OVER = "taken over"
    VANISHED = "vanished"
    RENEWED = "renewed"


# With another fate the job may go on in another session.
JOB_ENDS = (_Fate.WRITTEN, _Fate.KEPT, _Fate.VANISHED)


def _fate(books: Books, ending: EndingState, row: Row | None) -> _Fate:
    lost = ending.intent is not None and not books.still_open(ending.intent.id)
    if lost or ending.outcome is Outcome.TAKEN_OVER:
        return _Fate.TAKEN_OVER
    if ending.stopped_by is None:
        return _Fate.KEPT
    if row is None:
        return _Fate.VANISHED
    if _means_same_session(ending, row) or _is_older(books, ending, row):
        return _Fate.WRITTEN
    return _Fate.RENEWED


def _is_older(books: Books, ending: EndingState, row: Row) -> bool:
    """Tell whether the row shows a life before the one that was ended: then this one is written
    with its end. Its writer had an old buffer, or an old memory."""
    state = row.status, row.tmux, row.pane
    if ending.undone is None and _means_same_session(ending, row):
        return False
    if state == (ending.row.status, ending.row.tmux, ending.row.pane):
        return False  # written back meanwhile
    if ending.undone is not None and state == (
        ending.found.status,
        ending.found.tmux,
        ending.found.pane,
    ):
        return True
    lives = lives_after(books, row, books.lives([row.name]).get(row.name, ()))
    return bool(lives) and is_same_process(ending.row, lives[0])


def _means_same_session(ending: EndingState, row: Row) -> bool:
    """Tell whether the row means the session that was ended: unchanged since the plan, or written
    again by an `adopt` of the same session."""
    if (row.tmux, row.pane) == (ending.row.tmux, ending.row.pane):
        return True
    now = row.tmux
    server = ending.plan.server
    session = ending.plan.sight.session
    pane = ending.plan.sight.pane
    if server is None or session is None or pane is None:
        return False
    return row.pane.pid == pane.pid and (
        (now.server_pid, now.session_id, now.session_created)
        == (server.pid, session.id, session.created)
    )


def vanished(result: Ending) -> Ending:
    """Return the result of a session whose row was removed meanwhile: it ended unrecorded."""
    warning = f"row_vanished: {result.name} is ended, but its row is no longer in the registry"
    return _warned(replace(result, status=None), warning)


def renewed(result: Ending) -> Ending:
    warning = (
        f"row_renewed: {result.name} is ended, but its row names another session by now; it was"
        " left alone"
    )
    return _warned(replace(result, status=Status.RUNNING), warning)


def with_twins(result: Ending, names: Sequence[str]) -> Ending:
    recorded = f"had the same pane, and is recorded as {result.outcome} with it"
    if names:
        return _warned(result, f"same_pane: {', '.join(names)} {recorded}")
    return result


def _warned(result: Ending, warning: str) -> Ending:
    return replace(result, warnings=(*result.warnings, warning))


def taken_over(result: Ending) -> Ending:
    return replace(
        result, outcome=Outcome.TAKEN_OVER, stopped_by=None, termination_mode=None, error=None
    )


def unrecorded(result: Ending, failure: Failure, policy: Policy, *, intended: bool) -> Ending:
    """Return the result of an ending that could not be written. Its intent stays open for
    `reconcile`; without an intent the same command writes it."""
    if result.stopped_by:
        ended = f" ({result.name} itself was ended)"
    else:
        ended = ""
    again = command(policy.verb.value, result.name, "--reason", policy.reason)
    hint = f"when that is fixed: {'tmuxreap reconcile' if intended else again}"
    problem = Problem(failure.code.text, f"{failure.message}{ended}; its row stays running", hint)
    return replace(result, outcome=Outcome.FAILED, status=Status.RUNNING, error=problem)


# With any other fate the result is the ladder's.
RESULT_OF: dict[_Fate, Callable[[Ending], Ending]] = {
    _Fate.TAKEN_OVER: taken_over,
    _Fate.VANISHED: vanished,
    _Fate.RENEWED: renewed,
}

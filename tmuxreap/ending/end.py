"""The single path on which sessions end: `stop`, `kill`, `reap`, `restart` and `start --replace`
differ only in their policy.

read the registry -> choose rows -> look at the world -> plan -> record the intents (under the lock)
-> run the ladders -> record each outcome as it arrives (under the lock again) -> answer

Hands the caller's own session to a finisher outside it, and finishes an ending whose owner died.
Never judges whether an owner is dead: the caller has checked it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tmuxreap.core import model
from tmuxreap.core.errors import Code, Failure, LockIsHeld, could_not
from tmuxreap.core.foreign import parse_object, read
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import EndVerb, Outcome, Row
from tmuxreap.core.ports import Clock, Processes, Progress, Tmux
from tmuxreap.core.results import Ending, Item, failed_target, plain_json, problem_of
from tmuxreap.core.values import as_dict, frozen, replace
from tmuxreap.ending.clean_up import CleanUp, note_removed, set_task
from tmuxreap.ending.delegation import report_finished, report_started
from tmuxreap.ending.ending_state import EndingState, one_of_each_pane
from tmuxreap.ending.outcome import dry_run_answers, pending_result, result_of
from tmuxreap.ending.policy import Policy
from tmuxreap.ending.prepare import Planning, check_lock
from tmuxreap.ending.record import Recorder
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Closing, Intent, PaneOption
from tmuxreap.proof.sight import Past
from tmuxreap.registry.file import RegistryFile, RegistryLook
from tmuxreap.registry.rows import row_invalid, wants_restart
from tmuxreap.registry.transitions import is_lost
from tmuxreap.sessions.caller import Caller
from tmuxreap.sessions.conversation import Finder
from tmuxreap.sessions.look import Sights
from tmuxreap.sessions.under_way import ActiveIntents, MarkInProgress, RestartLog, under_way
from tmuxreap.system.machine import defer_interrupts
from tmuxreap.system.whereabouts import own_command

if TYPE_CHECKING:
    from tmuxreap.ending.ladder.execute import Executor

TRIES = 3


def in_new_set(policy: Policy) -> Policy:
    """Return the policy with an ID for the set that this command begins, if it has no name."""
    if policy.set_name is not None:
        return policy
    return replace(policy, set_id=os.urandom(4).hex())


@frozen
class Ender:
    """Ends the sessions of one registry. `warnings`: those of the command."""

    sights: Sights
    finder: Finder
    active: ActiveIntents
    caller: Caller
    restarts: RestartLog
    warnings: list[str]
    lock_held: bool = False

    @property
    def books(self) -> Books:
        return self.sights.books

    @property
    def registry(self) -> RegistryFile:
        return self.sights.books.registry

    @property
    def planning(self) -> Planning:
        return Planning(self.sights, self.finder, self.active, self.caller.tmux)

    @property
    def clean_up(self) -> CleanUp:
        ports = self.books, self.active.processes, self.sights.place
        return CleanUp(*ports, self.caller, self.caller.settings.environ)

    @property
    def recorder(self) -> Recorder:
        ports = self.active.clock, self.active.processes
        return Recorder(self.sights, self.finder, *ports, self.caller, self.clean_up)

    def end(self, rows: Sequence[Row], policy: Policy) -> list[Item]:
        """End these rows concurrently and return the answers in the order of the rows.
        After an interrupt, every row is still answered: ended, or interrupted."""
        run = _Run(self, policy)
        with under_way(self.books) as mark_in_progress:
            try:
                later = run.end(rows, mark_in_progress)
                while later:  # most of them were recorded together with the first of their pane
                    later = run.end(run.current_rows(later), mark_in_progress)
            except KeyboardInterrupt:
                for row in rows:
                    run.answers.setdefault(row.name, _interrupted(row.name, policy))
        return [run.answers[row.name] for row in rows]

    def end_unregistered(self, row: Row, policy: Policy, past: Past | None = None) -> Item:
        """End a session that has no row, in the same way, and write nothing. `past`: what
        identifies its processes."""
        (ending,) = self.planning.prepare([row], policy, {row.name: past} if past else None)
        check_lock([ending], policy, lock_held=self.lock_held)
        if ending.answer is not None:
            return ending.answer
        ending.started = self.active.clock.monotonic()
        for _ in self.run_ladders([ending]):
            if policy.purge:
                self.recorder.purge([ending])
            ports = self.active.clock, self.active.processes, self.finder, self.finder.lists()
            return replace(result_of(ending, *ports), status=None)
        raise AssertionError("a ladder always ends")

    def finish(self, intent: Intent, policy: Policy) -> list[Item]:
        """Carry out, in the finisher, the ending that was handed over."""
        row = self.registry.look().named(intent.name)
        if row is None:
            return []
        (ending,) = self.planning.prepare([row], policy)
        if ending.answer is not None:
            closing = Closing(intent.id, Outcome.REFUSED.value, ending.answer.as_json())
            self.books.follow(self.registry.look(), [], [closing])
            return [ending.answer]
        ending.intent = intent
        ending.started = self.active.clock.monotonic()
        run = _Run(self, policy)
        run.run_and_record([ending])
        return list(run.answers.values())

    def dry_run(
        self, rows: Sequence[Row], policy: Policy, known: Mapping[str, Past] | None = None
    ) -> list[Item]:
        """Return the same plans as would be recorded, and the failures of those that could not
        be."""
        return dry_run_answers(self.planning, rows, policy, known)

    def finish_ending(self, name: str, policy: Policy, spares_lost: Failure | None) -> str:
        """End what is left of a session and return a message about the result. `spares_lost`: why
        it is not known which programs the user spares."""
        if policy.verb is EndVerb.STOP and spares_lost is not None:
            why = f"your list of spared programs cannot be read: {spares_lost.message}"
            return f"it is not ended while {why}"
        row = self.registry.look().named(name)
        if row is not None:
            ended = self.end([row], policy)
        else:
            ended = []
        failures = []
        for item in ended:
            if item.error is not None:
                failures.append(item.error.message)
        if failures:
            return failures[0]
        return f"finished its {policy.verb.value}"

    def finish_recorded(self, dead: Ended, ended: Ended) -> None:
        """Report the sessions found dead to their delegators, and set task and worktree of each
        ended one as its recorded plan says. Call it after their rows were written."""
        warnings = report_finished(self.books, dead, self.active.clock.now())
        self.warnings.extend(warnings)
        if not ended:
            return

        for row, intent in ended:
            plan = intent.recorded
            set_task(self.books, row, plan.task_status, intent.reason)
            if not plan.cleanup:
                continue
            removed = self.clean_up.remove_worktree(row)
            if isinstance(removed, Failure):
                self.warnings.append(f"{removed.code.text}: {removed.message}")
            elif removed is not None:
                by = self.caller.facts()
                note_removed(self.books, row, [removed], by)

    def cancel_restarts(self, rows: Sequence[Row], verb: str) -> list[Row]:
        """Cancel pending restarts of lost rows, wait for those in progress, and return the rows as
        they are then."""
        found = []
        for row in rows:
            if is_lost(row) and wants_restart(row):
                row = self._cancel_restart(row, verb)
            found.append(row)
        return found

    def _cancel_restart(self, row: Row, verb: str) -> Row:
        if self.restarts.cancel(row, verb, self.caller.facts):
            self.warnings.append(f"restart_cancelled: {row.name} will not be started again")
        self.active.wait_for_start(row.name, lock_held=self.lock_held)
        return self.registry.look().named(row.name) or row

    def run_ladders(self, endings: Sequence[EndingState]) -> Iterator[list[EndingState]]:
        names = {ending.name for ending in endings}
        meanwhile = partial(_prepare_write, self.registry, names)
        return self.executor(self.active.progress, meanwhile).run(endings)

    def executor(
        self,
        progress: Progress | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Executor:
        from tmuxreap.ending.ladder.execute import Executor  # late: ended sessions need none

        ports = self.caller.tmux, self.sights.observer, self.finder, self.active
        environ = self.caller.settings.environ
        return Executor(*ports, environ, progress=progress, meanwhile=meanwhile)


class _Run:
    """The endings of one command, with their answers so far, by name."""

    def __init__(self, by: Ender, policy: Policy) -> None:
        self.answers: dict[str, Item] = {}
        self._by = by
        self._policy = policy

    def end(self, rows: Sequence[Row], mark_in_progress: MarkInProgress) -> list[Row]:
        """End these rows; return those of a pane that was ended for another row."""
        waiting: list[Row] = []
        by = self._by
        policy = self._policy
        remaining = list(rows)
        active = by.active
        for _ in range(TRIES):
            if not remaining:
                break
            # In every round: a row may have become lost, with a restart pending, since the last.
            remaining = by.cancel_restarts(remaining, policy.verb.value)
            endings, later = one_of_each_pane(
                by.planning.prepare(remaining, policy, remembers=True)
            )
            waiting += [ending.row for ending in later]
            by.cancel_restarts([it.row for it in endings if it.undone], policy.verb.value)
            check_lock(endings, policy, lock_held=by.lock_held)
            wanted = [ending for ending in endings if ending.answer is None]
            begun, busy, stale = by.planning.begin(wanted, policy, mark_in_progress)
            for ending in endings:
                answer = by.clean_up.early_answer(ending)
                if answer is not None:
                    self.answers[ending.name] = answer
            self._carry_out(begun)
            self._answer_taken_over(active, begun)
            remaining = []
            for intent in busy:
                if by.lock_held:
                    raise LockIsHeld(f"wait for the other {intent.verb} of {intent.name}")
                joined = active.join(intent)
                if joined is None:  # its owner died: this process ends the session
                    remaining.append(next(row for row in rows if row.name == intent.name))
                else:
                    self.answers[intent.name] = joined
            if stale or remaining:
                remaining = self.current_rows([*(ending.row for ending in stale), *remaining])
        for row in remaining:
            self.answers[row.name] = _row_kept_changing(row.name)
        return waiting

    def current_rows(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows as they are now; answer those that vanished."""
        look = self._by.registry.look()
        current: list[Row] = []
        for row in rows:
            if (now := look.named(row.name)) is not None:
                current.append(now)
            else:
                self.answers[row.name] = failed_target(row.name, _row_vanished(look, row.name))
        return current

    def run_and_record(self, endings: Sequence[EndingState]) -> None:
        by = self._by
        recorded = any(ending.intent for ending in endings)
        rows = [ending.row for ending in endings]
        at = by.active.clock.now()
        by.warnings.extend(report_started(by.books, rows, at, recorded=recorded))
        for batch in by.run_ladders(endings):
            by.recorder.record(batch, self._policy, self.answers)

    def _carry_out(self, begun: Sequence[EndingState]) -> None:
        """Run the ladders; give up ownership of failed and interrupted endings, so that `reconcile`
        can finish them even while this process lives on as a server."""
        done: set[str] = set()
        try:
            self.run_and_record([it for it in begun if not it.first.contains_caller])
            self._hand_over([it for it in begun if it.first.contains_caller])
            done = set()
            for ending in begun:
                if self._is_done(ending.name):
                    done.add(ending.name)
        finally:
            open_intents = (it.intent for it in begun if it.name not in done)
            self._by.books.release(intent.id for intent in open_intents if intent)

    def _is_done(self, name: str) -> bool:
        result = self.answers.get(name)
        failed = (Outcome.FAILED, Outcome.REFUSED)
        return isinstance(result, Ending) and result.outcome not in failed

    def _hand_over(self, endings: Sequence[EndingState]) -> None:
        """Hand the caller's own session to a finisher: answered now, ended after the caller
        exits."""
        if not endings:
            return

        by = self._by
        policy = replace(self._policy, asked_by=by.caller.facts())
        ports = by.books, by.active.processes, by.caller.settings.environ
        for ending in endings:
            try:
                hand_over(*ports, ending.intent, ending.name, policy)
            except Failure as failure:
                self.answers[ending.name] = failed_target(ending.name, failure)
            else:
                self.answers[ending.name] = pending_result(ending, Outcome.HANDED_OVER)

    def _answer_taken_over(self, active: ActiveIntents, begun: Iterable[EndingState]) -> None:
        """Answer an ending that was taken over with the error of the process that took it over."""
        for ending in begun:
            result = self.answers.get(ending.name)
            if ending.intent is None or not isinstance(result, Ending):
                continue
            if result.outcome is Outcome.TAKEN_OVER:
                taker = active.outcome_after_takeover(ending.intent.id)
                if taker is not None:
                    error = taker.error
                else:
                    error = problem_of(_lost_in_takeover(ending))
                self.answers[ending.name] = replace(result, error=error)


def _lost_in_takeover(ending: EndingState) -> Failure:
    reason = "another took it over, and what came of it is not recorded"
    hint = "see what is left: tmuxreap reconcile"
    verb = ending.policy.verb.value
    return could_not(verb, ending.name, reason, hint, Code.STILL_RUNNING)


def _row_vanished(look: RegistryLook, name: str) -> Failure:
    if (bad := look.bad_row(name)) is not None:
        return row_invalid(look.path, bad)
    reason = "its row vanished from the registry meanwhile"
    hint = "see all rows with: tmuxreap list"
    return could_not("end", name, reason, hint, Code.SESSION_NOT_REGISTERED)


def _interrupted(name: str, policy: Policy) -> Item:
    verb = policy.verb.value
    hint = f"finish it with: tmuxreap {verb} {name}"
    failure = could_not(verb, name, "interrupted on the way", hint, Code.INTERRUPTED)
    return failed_target(name, failure)


def _prepare_write(registry: RegistryFile, names: Collection[str]) -> None:
    """Prepare the recording while the agents exit: import YAML, compile patterns, parse the
    registry and rehearse a write. Interrupts wait, since an import could swallow one."""
    with contextlib.suppress(Failure), defer_interrupts():  # the write itself will report it
        from tmuxreap.registry import edits  # late: imports YAML

        edits.warm_up()
        kept_screen("")
        registry.look().prepare_edit(names)


def _row_kept_changing(name: str) -> Item:
    reason = "its row changed again and again under our hands"
    hint = "see who writes it with: tmuxreap events, then try again"
    return failed_target(name, could_not("end", name, reason, hint, Code.LOCK_TIMEOUT))


FINISH = "_finish"
LEAVE_S = 5.0
LOOK_S = 0.01
KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMUX_TMPDIR",
    "XDG_CONFIG_HOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "XDG_RUNTIME_DIR",
)


def hand_over(
    books: Books,
    processes: Processes,
    environ: Mapping[str, str],
    intent: Intent | None,
    name: str,
    policy: Policy,
) -> None:
    """Start the finisher and make it the owner of the intent. It begins when the caller exits."""
    if intent is None:
        raise _handover_failed(name, "the ledger that says so to the finisher could not be written")
    registry = str(books.registry.resolved)
    pid = start_outside((FINISH, registry, str(intent.id), to_text(policy)), environ)
    owner = processes.identify(pid)
    if owner is None or not books.hand_over(intent.id, owner):
        raise _handover_failed(name, "the finisher did not live")


def _handover_failed(name: str, why: str) -> Failure:
    hint = "call from another session"
    return could_not("hand", f"{name} over", why, hint, Code.OWN_SESSION)


def start_outside(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Start this program detached from the caller; its exit is not awaited."""
    process = popen_outside(words, environ)
    process.returncode = 0
    return process.pid


def popen_outside(words: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        own_command(*words),
        cwd="/",
        env={name: environ[name] for name in KEPT_VARIABLES if name in environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_caller(
    books: Books, processes: Processes, clock: Clock, pid: int, intent_id: int
) -> Intent | None:
    """Wait, in the finisher, until the intent is ours and its former owner has exited or its time
    is up; return the intent."""
    me = processes.identify(pid)
    deadline = clock.monotonic() + LEAVE_S
    while clock.monotonic() < deadline:
        intent = books.intent(intent_id)
        if intent is not None and intent.owner == me:
            caller = None
            if intent.handed_from:
                caller = processes.identify(intent.handed_from)
            if caller is not None:
                processes.wait({caller}, max(0.0, deadline - clock.monotonic()))
            return intent
        processes.wait((), LOOK_S)
    return None


def to_text(policy: Policy) -> str:
    return json.dumps(plain_json(as_dict(policy)))


def from_text(text: str) -> Policy:
    policy = read(Policy, parse_object(text))
    if policy is None:
        raise ValueError("it is no policy")
    return policy


Ended = Sequence[tuple[Row, Intent]]  # rows that have ended, each with what asked for it


def restore_options(tmux: Tmux, options: Iterable[PaneOption]) -> None:
    for it in options:
        tmux.do(it.socket, [model.SetOption(it.pane, it.option, it.before)])

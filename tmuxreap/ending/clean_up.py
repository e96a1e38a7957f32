"""What is cleaned up after an ending: the pane of another terminal, the git worktree (`--cleanup`),
the task, the conversation (`--purge-conversation`). Removes a worktree with git's own command,
never with force, and never one in which another session or any living process works. Nothing else
needs removal: `start` creates nothing else on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tmuxreap.agents.conversations.find import GUESS, wrote_nothing
from tmuxreap.agents.conversations.purge import Purged, purge, why_not_purgeable
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import EndVerb, Live, Outcome, Process, Row, Terminal
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Ending, Item, problem_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.ending_state import EndingState, out_of_reach
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import NewEvent
from tmuxreap.proof.observe import Place
from tmuxreap.registry.file import RegistryFile
from tmuxreap.sessions.caller import Caller
from tmuxreap.sessions.conversation import Finder
from tmuxreap.system import git
from tmuxreap.system.headless import drop_logs, log_path
from tmuxreap.system.terminals import close_pane

OTHER_TERMINALS = (Terminal.KITTY, Terminal.WEZTERM)
CLEANED = "cleaned"  # the event of a removal after the session had ended
NAMED = 5
LEAVE_S = 0.5


@frozen
class CleanUp:
    """Cleans up after endings, and before them what earlier ones left."""

    books: Books
    processes: Processes
    place: Place
    caller: Caller
    environ: Mapping[str, str]

    def after(self, ending: EndingState, result: Ending) -> Ending:
        """Clean up after the proof of death: the pane of another terminal, the worktree, the
        task."""
        row = ending.row
        policy = ending.policy
        failure = None
        # A pane's number may be reused by now: the session's process must have been seen in it.
        was_alive = ending.first.live is Live.ALIVE
        if row.terminal in OTHER_TERMINALS and row.pane.id is not None and was_alive:
            failure = _close_pane(self.environ, row, row.pane.id)
        if policy.cleanup and result.outcome != Outcome.SURVIVED:  # survivors may work in it
            result, not_removed = self._without_worktree(row, result)
            failure = not_removed or failure
        set_task(self.books, row, policy.task_status, policy.reason)
        return replace(result, error=problem_of(failure) or result.error)

    def early_answer(self, ending: EndingState) -> Item | None:
        """Return the answer of a session that needs no ending. With `--cleanup`, remove the
        worktree of a row that had ended before; a missing one is fine."""
        answer = ending.answer
        row = ending.row
        if not ending.policy.cleanup or not isinstance(answer, Ending):
            return answer
        if answer.outcome != Outcome.ALREADY_STOPPED:
            return answer
        if row.worktree and not os.path.lexists(_path_of(row, row.worktree)):
            return answer
        answer, failure = self._without_worktree(row, answer)
        if answer.removed:
            by = ending.policy.asked_by or self.caller.facts()
            note_removed(self.books, row, answer.removed, by)
        return replace(answer, error=problem_of(failure))

    def _without_worktree(self, row: Row, result: Ending) -> tuple[Ending, Failure | None]:
        path = self.remove_worktree(row)
        if isinstance(path, Failure):
            return result, path
        return replace(result, removed=(path,) if path else ()), None

    def remove_worktree(self, row: Row) -> str | Failure | None:
        """Remove the row's worktree and return its path, or why it stays; None when the row has
        none."""
        tree = row.worktree
        if tree is None or not tree.strip():
            return None
        if not os.path.isabs(tree) and row.pane.cwd is None:  # noqa: PTH117 - a string from a row
            reason = f"{tree} is a relative path, and the row names no folder"
            return _cleanup_failed(row, reason, "write its whole path")
        path = _path_of(row, tree)
        users = []
        for other in _running(self.books.registry, row):
            if _within(other, path):
                users.append(other.name)
        if users:
            hint = f"stop that first: {command('stop', users[0])}"
            return _cleanup_failed(row, f"{', '.join(users)} works in {path} too", hint)
        strangers = self._processes_in(path)
        if strangers:
            named = ", ".join(f"{process.comm} ({process.pid})" for process in strangers[:NAMED])
            if len(strangers) > NAMED:
                more = f" and {len(strangers) - NAMED} more"
            else:
                more = ""
            hint = f"when they have left it: {command('stop', row.name, '--cleanup')}"
            return _cleanup_failed(row, f"living processes use {path}: {named}{more}", hint)
        return git.remove_worktree(row.name, path, self.environ) or path

    def _processes_in(self, path: str) -> list[Process]:
        """Return the living processes with their working directory, program or an open file in this
        folder. One that may not be looked at counts as elsewhere."""
        processes = self.processes
        folder = os.path.realpath(path)
        found = []
        for process in processes.look().values():
            if process.pid != self.place.pid and _uses(processes, process, folder):
                found.append(process)
        alive = {process.id for process in found}
        # A tmux server that was started there leaves a moment after its last session.
        while alive and (gone := processes.wait(alive, LEAVE_S)):
            alive -= gone
        return [process for process in found if process.id in alive]


def note_removed(
    books: Books, row: Row, removed: Sequence[str], ended_by: Mapping[str, object]
) -> None:
    """Record a removal that no event of an ending tells of."""
    books.note_all([NewEvent(row.name, CLEANED, {"removed": removed, "ended_by": ended_by})])


def set_task(books: Books, row: Row, status: object, reason: str) -> None:
    """Set the status of the row's task in the ledger, if one was given."""
    if isinstance(status, str) and row.task_id is not None:
        books.set_task(row.task_id, status, f"Agent killed: {reason}")


def _close_pane(environ: Mapping[str, str], row: Row, pane: str) -> Failure | None:
    return close_pane(row.name, row.terminal, pane, environ, row.pane.listen_on)


def _uses(processes: Processes, process: Process, folder: str) -> bool:
    program = processes.argv_and_executable(process.id)[1]
    if any(_is_in(place, folder) for place in (processes.cwd(process.id), program) if place):
        return True
    return any(_is_in(place, folder) for place in processes.open_files(process.id, folder))


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder + os.sep)


def _path_of(row: Row, tree: str) -> str:
    return str(Path(row.pane.cwd or "/", tree))


def _running(registry: RegistryFile, row: Row) -> list[Row]:
    rows = [other for other in registry.look().rows if isinstance(other, Row)]
    found: list[Row] = []
    for other in rows:
        if not other.status.ended and other.name != row.name:
            found.append(other)
    return found


def _within(row: Row, folder: str) -> bool:
    inside = os.path.realpath(folder)
    own = [_path_of(row, row.worktree)] if row.worktree else []
    places = []
    for place in (row.pane.cwd, *own):
        if place:
            places.append(os.path.realpath(place))
    return any(_is_in(place, inside) for place in places)


def _cleanup_failed(row: Row, reason: str, hint: str) -> Failure:
    return could_not("remove the worktree of", row.name, reason, hint, Code.CLEANUP_FAILED)


PURGE = "purge the conversation of"
IN_USE = ("goes_on", "conversation_forked")
Rows = Callable[[], Iterable[Row]]  # the rows of the registry, read when they are needed


def rows_beside(registry: RegistryFile, row: Row) -> Iterable[Row]:
    """Return the rows of the registry; a session that is in none needs none."""
    try:
        return registry.look().usable
    except Failure as failure:
        if row.index < 0 and failure.code is Code.REGISTRY_NOT_FOUND:
            return ()
        raise


def why_no_purge_yet(ending: EndingState, rows: Rows) -> Failure | None:
    """Return, before the ending, why the conversation may not be purged."""
    uncertain = ending.conversation.id is None or ending.conversation.source == GUESS
    if uncertain and _banner_expected(ending):
        return None
    return why_no_purge(ending, rows)


def why_no_purge(ending: EndingState, rows: Rows) -> Failure | None:
    """Return why the conversation may not be purged: it must be certain, and only this row's."""
    row = ending.row
    conversation = ending.conversation
    if ending.known.candidates:
        reason = f"it could be any of {', '.join(ending.known.candidates)}"
        hint = f"stop it without: {command('stop', row.name)}"
        return could_not(PURGE, row.name, reason, hint, Code.AMBIGUOUS_CONVERSATION)
    if conversation.id is not None:
        users = _users(rows(), conversation.id, row.name)
    else:
        users = []
    if users:
        hint = f"forget that row first: {command('forget', users[0])}"
        reason = f"{', '.join(users)} has it too"
        return could_not(PURGE, row.name, reason, hint, Code.CONVERSATION_IN_USE)
    if (
        conversation.id is None
        and ending.profile is not None
        and wrote_nothing(ending.profile, ending.known.clues)
    ):
        return None  # no message was ever sent: there is nothing to delete
    return why_not_purgeable(row.name, ending.profile, ending.known.clues.store, conversation)


def _users(rows: Iterable[Row], conversation: str, name: str) -> list[str]:
    others = (row for row in rows if row.name != name)
    found: list[str] = []
    for row in others:
        if conversation in dict(row.conversations).values():
            found.append(row.name)
    return found


def _banner_expected(ending: EndingState) -> bool:
    """Tell whether the agent's exit banner will name the conversation for certain: until then a
    guess is no reason to refuse."""
    policy = ending.policy
    keyed = policy.verb is EndVerb.STOP and policy.keys_timeout_s != 0 and bool(ending.sight.keyed)
    return keyed and ending.profile is not None and ending.profile.prints_exit_banner


def purge_now(
    ending: EndingState,
    registry: RegistryFile,
    finder: Finder,
) -> None:
    """Purge after the proof of death and before the record: `reconcile` recognizes a crash between
    the two. Check again first: the conversation may have changed since the plan."""
    rows = partial(rows_beside, registry, ending.row)
    failure = why_no_purge(ending, rows) or _still_in_use(finder, ending)
    if ending.cut_off:
        failure = out_of_reach(ending.policy.verb, ending.name, ending.beyond)
    if failure is not None:
        ending.purged = Purged(failure=failure)
    elif ending.conversation.id is None or ending.profile is None:  # no message was ever sent
        ending.purged = Purged()
    else:
        store = ending.known.clues.store
        ending.purged = purge(ending.name, ending.profile, store, ending.conversation)
    if ending.row.terminal is Terminal.NONE and ending.purged.failure is None:
        logs = drop_logs(log_path(registry.resolved, ending.name))  # they show the conversation
        ending.purged = replace(ending.purged, paths=(*ending.purged.paths, *logs))


def _still_in_use(finder: Finder, ending: EndingState) -> Failure | None:
    told = [it.warning for it in finder.sessions_in(ending.known, ending.profile)]
    told += finder.background_warnings(ending.known, ending.profile, ending.name, finder.lists())
    said = [warning.partition(": ") for warning in told]
    reason = next((words for code, _, words in said if code in IN_USE), None)
    if reason is None:
        return None
    hint = f"then: {command('stop', ending.name, '--purge-conversation')}"
    return could_not(PURGE, ending.name, reason, hint, Code.CONVERSATION_IN_USE)

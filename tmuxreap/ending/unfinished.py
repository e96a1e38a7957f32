"""Finishes an ending whose owner died: ends the session, sets the task, removes the worktree,
reports to the delegator of a job, restores options.

Never judges whether an owner is dead: the caller has checked it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tmuxreap.core import model
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row, Verb
from tmuxreap.core.ports import Tmux
from tmuxreap.ending.delegation import report_finished
from tmuxreap.ending.plan import Policy
from tmuxreap.ledger.records import Intent, PaneOption
from tmuxreap.sessions.context import Context

Ended = Sequence[tuple[Row, Intent]]


def finish_ending(context: Context, name: str, policy: Policy) -> str:
    """End what is left of a session and return a message about the result."""
    from tmuxreap.ending.end import end_rows  # late: rarely needed

    lost = context.spares_lost
    if policy.verb is Verb.STOP and lost is not None:
        return f"it is not ended while it is not known which programs you spare: {lost.message}"
    row = context.registry.look().named(name)
    ended = end_rows(context, [row], policy) if row is not None else []
    failures = [item.error.message for item in ended if item.error is not None]
    return failures[0] if failures else f"finished its {policy.verb.value}"


def finish_recorded(context: Context, dead: Ended, ended: Ended) -> None:
    """Report the sessions found dead to their delegators, and set task and worktree of each ended
    one as its recorded plan says. Call it after their rows were written."""
    warnings = report_finished(context.books, dead, context.clock.now())
    context.warnings.extend(warnings)
    if not ended:
        return
    from tmuxreap.ending.clean_up import (  # late: rarely needed
        note_removed,
        remove_worktree,
        set_task,
    )

    for row, intent in ended:
        plan = json.loads(intent.plan)
        set_task(context.books, row, plan.get("task_status"), intent.reason)
        if plan.get("cleanup") is not True:
            continue
        removed = remove_worktree(context, row)
        if isinstance(removed, Failure):
            context.warnings.append(f"{removed.code.text}: {removed.message}")
        elif removed is not None:
            by = context.caller.as_recorded(context.books)
            note_removed(context.books, row, [removed], by)


def restore_options(tmux: Tmux, options: Iterable[PaneOption]) -> None:
    for it in options:
        tmux.do(it.socket, [model.SetOption(it.pane, it.option, it.before)])

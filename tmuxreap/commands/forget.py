"""`forget`: removes rows of ended sessions; conversations stay, and so do events unless named."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers import Forgotten
from tmuxreap.core.errors import Code, Failure, command, could_not, declined
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item, Result, problem_of
from tmuxreap.core.values import frozen
from tmuxreap.ledger import surroundings
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.edits import Unsafe
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import ended_epoch, wants_restart
from tmuxreap.registry.targets import Wanted
from tmuxreap.registry.transitions import is_lost
from tmuxreap.sessions.context import Context
from tmuxreap.system.headless import drop_logs, log_path


@frozen
class ForgetRequest:
    targets: tuple[str, ...]
    history: bool = False
    force: bool = False
    dry_run: bool = False
    reason: str | None = None
    older_than_s: float | None = None  # since their end; without targets, of all rows
    yes: bool = False
    ask: Callable[[str], bool] | None = None  # set on a terminal: asks before anything is lost


def run(context: Context, request: ForgetRequest) -> Result:
    look = context.registry.look()
    targets = request.targets or (() if request.older_than_s is None else ("all",))
    chosen = choose_rows(
        context, look, targets, Wanted.ALL if request.force else Wanted.ENDED, skip_protected=True
    )
    rows = [row for row in chosen.rows if _old_enough(context, row, request)]
    if rows and not _agreed(rows, request, sweeping=chosen.sweeping):
        return context.result("forget", failure=declined("forget"))
    items = _forgotten(context, rows, request)
    items += not_chosen(look, chosen, Forgotten)
    return context.result("forget", items)


def _agreed(rows: Sequence[Row], request: ForgetRequest, *, sweeping: bool) -> bool:
    """Ask the user if more than the named rows goes, or if history is lost."""
    if request.ask is None or request.yes or request.dry_run or not (sweeping or request.history):
        return True
    names = ", ".join(row.name for row in rows)
    sessions = "1 session"
    whose = "its"
    if len(rows) != 1:
        sessions = f"{len(rows)} sessions"
        whose = "their"
    history = f" and {whose} history" if request.history else ""
    return request.ask(f"forget {sessions}{history} ({names})?")


def _old_enough(context: Context, row: Row, request: ForgetRequest) -> bool:
    """Tell whether the row ended long enough ago; a row with an unknown end never did."""
    if request.older_than_s is None:
        return True
    ended_at = ended_epoch(row) if row.status.ended else None
    return ended_at is not None and context.clock.now() - ended_at > request.older_than_s


def _forgotten(context: Context, rows: Sequence[Row], request: ForgetRequest) -> list[Item]:
    failures: dict[str, Failure] = {}
    for row in rows:
        try:
            # cancels a pending restart, or waits for one in progress
            now = [row]
            if is_lost(row) and wants_restart(row) and not request.dry_run:
                # late: few rows wait for a restart
                from tmuxreap.commands.endings import ender_of

                now = ender_of(context).cancel_restarts(now, "forget")
            _check(context, now[0], request)
        except Failure as failure:
            failures[row.name] = failure
    names = [row.name for row in rows if row.name not in failures]
    if names and not request.dry_run:
        failures |= _forget(context, names, request)
    return [_item(row.name, failures.get(row.name), request) for row in rows]


def _item(name: str, failure: Failure | None, request: ForgetRequest) -> Item:
    if failure is not None:
        return Forgotten(name, error=problem_of(failure))
    return Forgotten(name, forgotten=not request.dry_run, history=request.history)


def _check(context: Context, row: Row, request: ForgetRequest) -> None:
    if request.force:
        return
    if not row.status.ended:
        stop = command("stop", row.name)
        hint = f"stop it first: {stop}, or forget it anyway with --force"
        reason = "the registry says that it is running"
        raise could_not("forget", row.name, reason, hint, Code.SESSION_ALIVE)
    intent = context.books.open_intents().get(row.name)
    if intent is not None and context.active.is_in_progress(intent):
        hint = "wait for that, or forget it anyway with --force"
        reason = "it is being ended right now"
        raise could_not("forget", row.name, reason, hint, Code.SESSION_ALIVE)


def _forget(context: Context, names: Sequence[str], request: ForgetRequest) -> dict[str, Failure]:
    """Remove the rows in one write; one by one if one of them cannot be removed. Return the
    failures."""
    try:
        _remove(context, names, request)
    except Failure as failure:
        of_a_row = failure.code in (Code.ROW_INVALID, Code.SESSION_ALIVE)
        if len(names) == 1 or not of_a_row:
            return dict.fromkeys(names, failure)
        failures: dict[str, Failure] = {}
        for name in names:
            failures |= _forget(context, [name], request)
        return failures
    return {}


def _remove(context: Context, names: Sequence[str], request: ForgetRequest) -> None:
    def edit(look: RegistryLook) -> str:
        rows = []
        for name in names:
            if (row := look.named(name)) is not None:
                rows.append(row)
        for row in rows:
            _check(context, row, request)
        try:
            if rows:
                return look.without(*(row.index for row in rows))
            return look.text
        except Unsafe as error:
            raise error.failure(look.path) from None

    before, after = context.registry.change(edit)
    context.books.forget_seen(names)
    events: list[NewEvent] = []
    for name in names:
        row = before.named(name)
        if request.history:
            context.books.drop_events(name)
            drop_logs(log_path(context.registry.resolved, name))
        if row is not None and wants_restart(row):
            surroundings.keep(context.books, name, None)
        events += _recorded(name, request, before.text_of(row) if row is not None else None)
    context.books.follow(after, events)


def _recorded(name: str, request: ForgetRequest, image: str | None) -> list[NewEvent]:
    """Record the row's text as part of its history; without history, only a given reason."""
    if request.reason is None:
        data = {}
    else:
        data = {"reason": request.reason}
    if request.history:
        return [NewEvent(name, "forgotten", data)] if data else []
    return [NewEvent(name, "forgotten", data, image)]

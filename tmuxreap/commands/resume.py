"""`resume`: continues captured conversations, each in its folder and with its store. Halts when
starts fail one after the other, or agents leave at once: what makes three of them fail makes the
others fail, too."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.agents.conversations.command_lines import resume_line, resume_words
from tmuxreap.agents.screens import State
from tmuxreap.commands.reconcile.reconcile import restarts_cut_off, settle, settle_restarts
from tmuxreap.commands.starting.comeback import resumable, take_up
from tmuxreap.commands.starting.launch import exists, launch, make_way
from tmuxreap.commands.starting.row import CONFIRM_S, failed_launch
from tmuxreap.commands.targets import Members, choose_rows, members_of, not_chosen
from tmuxreap.core.answers import Launched, Session
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Outcome, ProcessId, Row
from tmuxreap.core.results import Item, Result, problem_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.registry.rows import ended_epoch, wants_restart
from tmuxreap.registry.targets import Chosen, Wanted
from tmuxreap.registry.transitions import MODES, RowEvent
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import newer_rows

DAY_S = 86400.0
MAX_FAILURES = 3


@frozen
class ResumeRequest:
    targets: tuple[str, ...]
    print_only: bool = False
    confirm_s: float = CONFIRM_S
    dry_run: bool = False
    lost: Lost | None = None
    set_name: str | None = None  # only what was ended with this set, or the newest for `last`
    max_failures: int = MAX_FAILURES


@frozen
class Lost:
    """Selects sessions found dead in the last `since_s`; by default since boot, at least 24 h."""

    since_s: float | None = None
    at_once: int = 4
    pace_s: float = 2.0


def run(context: Context, request: ResumeRequest) -> Result:
    only_shown = request.dry_run or request.print_only
    if request.lost is not None:
        settle(context, dry_run=request.dry_run)
    look = context.registry.look()
    wanted = request.set_name
    if wanted is None:
        members = None
    else:
        members = members_of(context.books, look, wanted)
    targets = request.targets or (("all",) if request.lost or members else ())
    chosen = choose_rows(context, look, targets, Wanted.ENDED)
    if not only_shown and settle_restarts(context, [row.name for row in chosen.rows]):
        look = context.registry.look()
        chosen = choose_rows(context, look, targets, Wanted.ENDED)
    if members is not None:
        chosen = _of_set(context, chosen, members)
    lost = request.lost
    rows = []
    for row in chosen.rows:
        if lost is None or _was_lost(context, row, lost):
            rows.append(row)
    items, halt = _resumed_in_turn(context, rows, request, several=chosen.sweeping)
    items += not_chosen(look, chosen, failed_launch)
    name = None if members is None else members.name
    more = {"set": name, "not_tried": [] if halt is None else halt.not_tried}
    failure = None if halt is None else halt.failure
    return context.result("resume", items, failure=failure, more=more)


def _of_set(context: Context, chosen: Chosen, members: Members) -> Chosen:
    """Keep what is of the set; name those of it that run again."""
    if members.running:
        names = ", ".join(members.running)
        context.warnings.append(f"session_exists: {names} of the set {members.name} run again")
    rows = tuple(row for row in chosen.rows if row.name in members.ended)
    bad = tuple(row for row in chosen.bad if row.name in members.ended)
    return replace(chosen, rows=rows, bad=bad)


def _resumed_in_turn(
    context: Context, rows: Sequence[Row], request: ResumeRequest, *, several: bool
) -> tuple[list[Item], Halt | None]:
    """Resume the rows, unless too many fail: then what comes after them is left alone."""
    starts = not (request.dry_run or request.print_only)
    breaker = Breaker(context, request.max_failures if several and starts else 0)
    items: list[Item] = []
    for index, row in enumerate(rows):
        halt = breaker.halt([one.name for one in rows[index:]], request.set_name)
        if halt is not None:
            return breaker.told_once(items), halt
        # a few at a time: thirty agents starting at once would slow each other down
        lost = request.lost
        if lost is not None and starts and index and index % lost.at_once == 0:
            context.processes.wait((), lost.pace_s)
        items.append(_resumed(context, row, request))
        breaker.note(items[-1])
    return items, None


def _was_lost(context: Context, row: Row, lost: Lost) -> bool:
    ended_at = ended_epoch(row)
    if lost.since_s is None:
        longest_s = max(DAY_S, context.clock.uptime())
    else:
        longest_s = lost.since_s
    is_lost = row.status.ended and row.termination_mode == MODES[RowEvent.FOUND_DEAD]
    return is_lost and ended_at is not None and context.clock.now() - ended_at <= longest_s


def _resumed(context: Context, row: Row, request: ResumeRequest) -> Item:
    try:
        return _resume(context, row, request)
    except Failure as failure:
        return Launched(row.name, status=row.status, error=problem_of(failure))


def _resume(context: Context, row: Row, request: ResumeRequest) -> Item:
    sight = context.sights.of_row(row)
    newer = newer_rows(context.books, [(row, sight)], context.sights.with_pasts).get(row.name)
    if newer is not None:
        row = newer.row
        sight = newer.sight
    if exists(row.terminal, sight):
        reason = "its session is alive"
        hint = f"attach to it, or stop it first: {command('stop', row.name)}"
        if row.name in restarts_cut_off(context):
            reason = "its restart was cut off"
            hint = "close its pane first: tmuxreap reconcile"
        raise could_not("resume", row.name, reason, hint, Code.SESSION_EXISTS)
    profile, conversation, environment = resumable(context, row)
    words = resume_words(profile, row.start_command, conversation)
    launched = Launched(row.name, command=resume_line(words, environment), cwd=row.pane.cwd)
    if request.print_only:
        return launched
    spec = replace(take_up(context, row), confirm_s=request.confirm_s)
    make_way(context, context.registry.look(), row, spec, replace=False)
    if request.dry_run:
        return replace(launched, outcome=Outcome.PLANNED)
    if wants_restart(row):
        context.restarts.cancel(row, "resume", context.caller.facts)
    resumed = launch(context, spec)
    if _was_asking(context, row):
        context.warnings.append(
            f"dialog_open: {row.name} was ended while it waited for an answer, and may ask again:"
            " look before you type"
        )
    return resumed


def _was_asking(context: Context, row: Row) -> bool:
    """Tell whether it was ended while a dialog was open."""
    ends = (Outcome.STOPPED.value, Outcome.KILLED.value)
    endings = []
    for event in context.books.events([row.name], None):
        if event.kind in ends:
            endings.append(event.data)
    return bool(endings) and endings[-1].get("state") == State.DIALOG.value


LEFT_WITHIN_S = 10.0
SCREEN = "; its last screen:"  # in the message of a failed start


@frozen
class Halt:
    """Why the rest was not tried, and the names of the rest."""

    failure: Failure
    not_tried: tuple[str, ...]


@frozen
class _Resumed:
    name: str
    process: ProcessId
    at: float


class Breaker:
    """Counts the failures of one resume. `limit`: how many are too many; 0: none are."""

    def __init__(self, context: Context, limit: int) -> None:
        self._context = context
        self._limit = limit
        self._failed: list[Item] = []  # in a row
        self._young: list[_Resumed] = []
        self._left: list[str] = []

    def note(self, item: Item) -> None:
        """Count a result. A refusal tells nothing about the others."""
        if item.error is not None:
            if item.error.code == Code.START_FAILED.text:
                self._failed.append(item)
            return
        self._failed.clear()
        pid = item.pid if isinstance(item, Session) else None
        if pid is None:
            process = None
        else:
            process = self._context.processes.identify(pid)
        if process is not None:
            self._young.append(_Resumed(item.name, process, self._context.clock.monotonic()))
        elif pid is not None:
            self._left.append(item.name)

    def halt(self, rest: Sequence[str], set_name: str | None) -> Halt | None:
        """Return why the rest is not to be tried, or None."""
        if self._limit == 0:
            return None
        self._look()
        if len(self._failed) >= self._limit:
            count = len(self._failed)
            last = _cause(self._failed[-1])
            cause = f"{count} starts in a row failed; the last: {last}"
        elif len(self._left) >= self._limit:
            names = ", ".join(self._left)
            count = len(self._left)
            cause = f"{count} agents left within {LEFT_WITHIN_S:g} s of their start: {names}"
        else:
            return None
        message = f"could not resume the rest ({', '.join(rest)}), which was not tried: {cause}"
        words = rest if set_name is None else ("--set", set_name)
        hint = f"when that is fixed: {command('resume', *words)}"
        return Halt(Failure(Code.RESUME_HALTED, message, hint), tuple(rest))

    def told_once(self, items: Sequence[Item]) -> list[Item]:
        """Return the results without the screens of the failed starts: the cause stands in the
        failure of the whole."""
        return [_without_screen(item) if item in self._failed else item for item in items]

    def _look(self) -> None:
        """Note which agents have left by now; those that stayed long enough are fine."""
        now = self._context.clock.monotonic()
        processes = self._context.processes
        gone = [one for one in self._young if processes.refresh(one.process) is None]
        self._left += [one.name for one in gone if now - one.at <= LEFT_WITHIN_S]
        self._young = [
            one for one in self._young if one not in gone and now - one.at <= LEFT_WITHIN_S
        ]


def _cause(item: Item) -> str:
    assert item.error is not None  # noqa: S101 - only failed ones are kept
    return item.error.message


def _without_screen(item: Item) -> Item:
    if not isinstance(item, Launched) or item.error is None:
        return item
    message = item.error.message.partition(SCREEN)[0]
    return replace(item, error=replace(item.error, message=message))

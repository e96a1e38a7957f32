"""`reconcile`: finds all that differs between the registry and the world in one look, brings
registry, ledger and tmux into agreement, and reports the rest with hints."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.reconcile import held
from tmuxreap.commands.reconcile.drift import (
    DriftKind,
    RowDrift,
    drift_of_send,
    drift_of_start,
    drifts_of,
    drifts_of_restart,
    is_headless,
    reverted,
)
from tmuxreap.commands.reconcile.held import is_of_restart
from tmuxreap.core.answers import Action
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live, NoServer, Row, Server, Status, Terminal
from tmuxreap.core.results import Result
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending import end
from tmuxreap.ending.policy import set_of
from tmuxreap.ledger.records import SEND, START, Closing, Intent, NewEvent, PaneOption
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.registry.file import RegistryLook, edited_where_safe
from tmuxreap.registry.transitions import Changes, life_of
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import Newer, newer_rows
from tmuxreap.sessions.under_way import GOOD_EXIT, SERVER
from tmuxreap.system.files import Stamp

OF_CONVERSATION = frozenset({DriftKind.ID_CHANGED, DriftKind.MOVED})
NOT_RECORDED = frozenset({DriftKind.UNREGISTERED, DriftKind.REVIVED, DriftKind.REPLACED})
NOBODY = Sight(Live.GONE, "", NoServer(""))
Seen = tuple[tuple[Row, Sight], ...]


@frozen
class FoundDrift:
    drifts: list[RowDrift]
    confirmed: bool  # every tmux server that was asked answered
    seen: Seen
    again: bool = False  # other verbs changed rows during the look: these were left out


@frozen
class _Others:
    """The rows that other processes are changing now, or changed during the look."""

    names: frozenset[str]
    passed: bool  # some were opened, closed, handed over or rewritten during the look


def find_drifts(
    context: Context, look: RegistryLook, only: frozenset[str] | None = None
) -> FoundDrift:
    """Return all drift, or only that of the rows in `only`."""
    rows = [row for row in look.usable if only is None or row.name in only]
    # an intent that opens between these two reads counts as new
    latest = context.books.latest_intent()
    intents = context.books.open_intents()
    seen = tuple(zip(rows, context.sights.of(rows, unregistered=True), strict=True))
    newer, seen = _judged_by_the_ledger(context, seen)
    at_work = _others_at_work(context, look, latest, intents)
    others = at_work.names
    abandoned = {name: intent for name, intent in intents.items() if name not in others}
    starts = [it for it in abandoned.values() if it.verb == START and not is_of_restart(it)]
    others_of = (START, SEND)
    endings = {}
    for name, it in abandoned.items():
        if it.verb not in others_of:
            endings[name] = it
    drifts: list[RowDrift] = []
    for row, sight in seen:
        if row.name in others:
            continue
        if row.name in newer:
            drifts.append(reverted(context, row, newer[row.name], endings.get(row.name)))
        elif row.name in abandoned and is_of_restart(abandoned[row.name]):
            drifts += drifts_of_restart(context, row, sight, abandoned[row.name])
        else:
            drifts += drifts_of(context, row, sight, endings.get(row.name))
    if newer:
        seen = tuple(_as_known(newer.get(row.name), row, sight) for row, sight in seen)
    if only is None:
        for intent in abandoned.values():
            if is_of_restart(intent) and look.named(intent.name) is None:
                drifts += drifts_of_restart(context, _row_of(intent), NOBODY, intent)
                endings.pop(intent.name, None)
        drifts += [drift for drift in _unregistered(context, seen) if drift.name not in others]
        for intent in starts:
            drift = drift_of_start(context, rows, intent)
            if drift is not None:
                if not is_headless(intent):
                    drifts = [one for one in drifts if not _is_same(one, drift)]
                drifts.append(drift)
        drifts += [drift_of_send(one) for one in abandoned.values() if one.verb == SEND]
        for intent in endings.values():
            # an unreadable row's holds the request and stays open
            if look.named(intent.name) is None and look.bad_row(intent.name) is None:
                evidence = f"a {intent.verb} of it was not closed, and its row is gone"
                drifts.append(RowDrift(intent.name, DriftKind.INTENT, evidence, {}, intent))
    confirmed = not any(
        sight.live is Live.UNKNOWN and row.terminal is Terminal.TMUX for row, sight in seen
    )
    return FoundDrift(_with_server_loss(look, drifts, seen), confirmed, seen, at_work.passed)


def _judged_by_the_ledger(context: Context, seen: Seen) -> tuple[dict[str, Newer], Seen]:
    """Return what the ledger knows of rows that went back in time, and what was seen. Where nothing
    was left of a row and a second look does not agree with the ledger, the world changed between
    the two: the row is looked at once more, before it is recorded as lost."""
    doubted: set[str] = set()

    def look(rows: Sequence[Row]) -> Sequence[tuple[Sight, Past]]:
        doubted.update(row.name for row in rows)
        return context.sights.with_pasts(rows)

    newer = newer_rows(context.books, seen, look)
    again = []
    for row, sight in seen:
        if row.name in doubted and row.name not in newer and sight.live is Live.GONE:
            again.append(row)
    if not again:
        return newer, seen
    fresh = dict(zip([row.name for row in again], context.sights.of(again), strict=True))
    return newer, tuple((row, fresh.get(row.name, sight)) for row, sight in seen)


def _row_of(intent: Intent) -> Row:
    """Return a row for a session that has none any more."""
    return Row(intent.name, Status.STOPPED, agent=intent.recorded_start.agent or None)


def _as_known(newer: Newer | None, row: Row, sight: Sight) -> tuple[Row, Sight]:
    """Return the row as the ledger knows it, if the registry went back in time."""
    if newer is None:
        return (row, sight)
    return (newer.row, newer.sight)


def _others_at_work(
    context: Context, look: RegistryLook, latest: int, intents: Mapping[str, Intent]
) -> _Others:
    """Compare with the newest and the open intents before the look. Owners are checked before the
    ledger is read: an intent still open after its owner's death was not closed."""
    busy = context.active.busy(intents)
    now = context.books.open_intents()
    started = context.books.begun_since(latest)
    ended = set()
    for name, then in intents.items():
        if not _is_unchanged(then, now.get(name)):
            ended.add(name)
    is_same = context.registry.is_unchanged_since(look)
    if is_same:
        rewritten = set()
    else:
        rewritten = look.differing(context.registry.look())
    passed = ended | started | rewritten
    return _Others(frozenset(busy | passed), bool(passed))


def _is_unchanged(then: Intent, now: Intent | None) -> bool:
    return now is not None and (now.id, now.owner) == (then.id, then.owner)


def _is_same(found: RowDrift, start: RowDrift) -> bool:
    """Tell whether a start explains what was found of its session."""
    return found.name == start.name and {found.kind, start.kind} <= NOT_RECORDED


def _with_server_loss(look: RegistryLook, found: list[RowDrift], seen: Seen) -> list[RowDrift]:
    """Name the server's loss as the cause for rows that shared it: an agent may exit cleanly when
    its terminal closes, and be reported first."""
    if not any(one.kind is DriftKind.DEAD for one in found):
        return found
    running_on = Counter(row.tmux.server_pid for row in look.usable if not row.status.ended)
    lost: set[str] = set()
    for row, sight in seen:
        is_there = isinstance(sight.server, Server) and sight.server.pid == row.tmux.server_pid
        if running_on[row.tmux.server_pid] > 1 and row.tmux.known and not is_there:
            lost.add(row.name)
    drifts = []
    for one in found:
        if one.kind is DriftKind.DEAD and one.name in lost and not one.cause:
            one = replace(one, cause=SERVER)
        drifts.append(one)
    return drifts


def _unregistered(context: Context, seen: Seen) -> list[RowDrift]:
    """Report agents in unregistered sessions, on the servers that the registry names."""
    if not any(isinstance(sight.server, Server) for _, sight in seen):
        return []

    found: list[RowDrift] = []
    for newcomer in context.newcomers.of([row for row, _ in seen], [one for _, one in seen]):
        found.append(
            RowDrift(
                newcomer.name,
                DriftKind.UNREGISTERED,
                f"a {newcomer.agent} runs in it and is not registered",
                hint=newcomer.command,
            )
        )
    return found


SETTLED = {
    DriftKind.DEAD: "recorded as ended",
    DriftKind.ID_CHANGED: "recorded its conversation",
    DriftKind.MOVED: "recorded its conversation",
    DriftKind.INTENT: "closed it",
    DriftKind.REVERTED: "written back",
}


def run(context: Context, *, dry_run: bool = False) -> Result:
    return settle(context, dry_run=dry_run).result


@frozen
class Settled:
    result: Result
    seen: Seen
    again: bool  # other verbs changed rows during the look: those are left to the next one
    written: Stamp | None  # of our write, if the registry was not written by others since the look


def settle(
    context: Context,
    *,
    dry_run: bool = False,
    only: frozenset[str] | None = None,
    cause_of: Callable[[str], str | None] = lambda _: None,
) -> Settled:
    """Settle what is certain, and return what was seen of each row. `only`: the rows that may have
    changed; `cause_of`: a known cause of an end."""
    look = context.registry.look()
    findings = find_drifts(context, look, only)
    drifts = [_with_cause(drift, cause_of(drift.name)) for drift in findings.drifts]
    if not dry_run:
        _try(look, drifts)
    if only is None and not dry_run:
        for path in context.registry.left_by_dead(context.processes.identify):
            path.unlink(missing_ok=True)
    if dry_run:
        done = _Done(drifts)
    else:
        done = _settle(context, look, drifts)
    answers = [drift.answer for drift in done.drifts]
    greeting = "nothing to settle among the sessions that could be looked at"
    unseen = [(row, sight) for row, sight in findings.seen if sight.live is Live.UNKNOWN]
    result = context.result(
        "reconcile",
        answers,
        (*look.warnings, *_not_seen(unseen)),
        more={"tmux_confirmed": findings.confirmed, "drifts": answers, "actions": done.actions},
        failure=_not_asked(context, unseen),
        greeting=None if findings.confirmed else greeting,
    )
    return Settled(result, findings.seen, findings.again, done.stamp)


def settle_restarts(context: Context, names: Collection[str]) -> bool:
    """Settle the restarts of these sessions that were cut off, for a verb that is about to use
    their rows. Tell whether there were any."""
    cut_off = restarts_cut_off(context).intersection(names)
    if cut_off:
        settle(context, only=cut_off)
    return bool(cut_off)


def restarts_cut_off(context: Context) -> frozenset[str]:
    """Return the sessions whose restart was cut off: its owner is dead, their pane is held."""
    found = []
    for name, intent in context.active.abandoned().items():
        if held.is_of_restart(intent):
            found.append(name)
    return frozenset(found)


def _try(look: RegistryLook, drifts: Sequence[RowDrift]) -> None:
    """Make the edit before the lock, while another writer may still be updating the ledger."""
    if changes := _by_row(drifts):
        with contextlib.suppress(Failure):
            edited_where_safe(look, changes)


def _with_cause(drift: RowDrift, cause: str | None) -> RowDrift:
    """Add the reported cause, but never replace a lost server or reboot by a good exit."""
    if cause is None or (cause == GOOD_EXIT and drift.cause):
        return drift
    return replace(drift, cause=cause)


def _not_asked(context: Context, unseen: Iterable[tuple[Row, Sight]]) -> Failure | None:
    """Return why a tmux server that the rows name on this host could not be asked."""
    troubles = []
    for row, sight in unseen:
        if row.terminal is Terminal.TMUX and row.tmux.host in (None, context.place.host):
            troubles.append(sight.trouble)
    return next((it for it in troubles if it is not None and it.code in UNASKED), None)


UNASKED = frozenset({Code.TMUX_UNREACHABLE, Code.TMUX_MISSING, Code.PERMISSION_DENIED})


def _not_seen(unseen: Iterable[tuple[Row, Sight]]) -> list[str]:
    """Return a warning for each reason why rows could not be looked at."""
    named: dict[str, list[str]] = {}
    for row, sight in unseen:
        if sight.trouble is not None:
            reason = sight.trouble.message.removeprefix(f"could not look at {row.name}: ")
            named.setdefault(reason, []).append(row.name)
    return [f"could not look at {', '.join(names)}: {reason}" for reason, names in named.items()]


@frozen
class _Done:
    drifts: Sequence[RowDrift]  # as they stand: without what others have settled meanwhile
    actions: Sequence[Action] = ()
    stamp: Stamp | None = None  # of our write, if nobody else wrote since the look


def _settle(context: Context, look: RegistryLook, drifts: Sequence[RowDrift]) -> _Done:
    """Write, under the lock, what still holds; then close intents and finish what is left. A pane
    that was held for an agent is closed first: its intent is all that tells of it."""
    drifts = [_with_pane_closed(context, drift) for drift in drifts]
    rows = {row.name: row for row in look.usable}
    written = [drift for drift in drifts if drift.changes is not None]
    refused: dict[str, Failure] = {}
    stamp: Stamp | None = None

    def edit(now: RegistryLook) -> str:
        nonlocal written, refused
        standing = [drift for drift in drifts if _holds(rows, now, drift)]
        text, refused = edited_where_safe(now, _by_row(standing))
        written = [drift for drift in standing if drift.name not in refused]
        return text

    if any(drift.changes for drift in drifts):
        before, after = context.registry.change(edit)
        closings = _closings([drift for drift in drifts if drift.name not in refused])
        events = _events(context, before, after, drifts, written)
        context.books.follow(after, events, closings)
        stamp = None
        if before.content.stamp == look.content.stamp:
            stamp = after.content.stamp
    elif drifts or context.books.is_behind(look):
        # A mirror that lags behind another tool's write is nobody's drift: it is updated, untold.
        context.books.follow(look, _events(context, look, look, drifts, written), _closings(drifts))
    closed = [(drift, drift.intent) for drift in written if drift.intent is not None]
    dead = []
    for one, it in closed:
        if one.kind is DriftKind.DEAD:
            dead.append((rows[one.name], it))
    ended = []
    for one, it in closed:
        if _has_ended(rows, one):
            ended.append((rows[one.name], it))
    ender_of(context).finish_recorded(dead, ended)
    finished = [
        _action(
            drift, ender_of(context).finish_ending(drift.name, drift.finish, context.spares_lost)
        )
        for drift in drifts
        if drift.finish
    ]
    for drift in drifts:
        end.restore_options(context.tmux, _changed_options(rows, drift))
    settled = [_action(drift, SETTLED.get(drift.kind, "healed")) for drift in written]
    known = {id(drift) for drift in written}  # a set: there may be thousands
    left = [
        _with_refusal(drift, refused)
        for drift in drifts
        if drift.changes is None or id(drift) in known or drift.name in refused
    ]
    return _Done(left, settled + finished, stamp)


def _with_pane_closed(context: Context, drift: RowDrift) -> RowDrift:
    if drift.held is None or held.close(context, drift.held):
        return drift
    evidence = f"{drift.evidence}; its pane could not be closed"
    hint = "try again: tmuxreap reconcile"
    return replace(drift, changes=None, intent=None, evidence=evidence, hint=hint)


def _action(drift: RowDrift, done: str) -> Action:
    return Action(drift.name, drift.kind.value, done)


def _changed_options(rows: Mapping[str, Row], drift: RowDrift) -> Sequence[PaneOption]:
    """Return the options to restore. Those of an intent only for a session just identified as the
    recorded one: a new server reuses pane ids."""
    if drift.intent is None or drift.kind is not DriftKind.INTENT:
        return drift.restore
    is_running = drift.name in rows and not rows[drift.name].status.ended
    return (*drift.restore, *(drift.intent.options if is_running else ()))


def _with_refusal(drift: RowDrift, refused: Mapping[str, Failure]) -> RowDrift:
    """Keep reporting the drift of a row that could not be edited."""
    failure = refused.get(drift.name)
    if failure is None or drift.changes is None:
        return drift
    evidence = f"{drift.evidence}; {failure.message}"
    return replace(drift, changes=None, evidence=evidence, hint=failure.hint)


def _has_ended(rows: Mapping[str, Row], drift: RowDrift) -> bool:
    """Tell whether the row ended by this ending: recorded now, or before its owner died."""
    row = rows.get(drift.name)
    return row is not None and (
        drift.kind is DriftKind.DEAD or (drift.kind is DriftKind.INTENT and row.status.ended)
    )


def _holds(before: Mapping[str, Row], now: RegistryLook, drift: RowDrift) -> bool:
    if drift.changes is None:
        return False
    row = now.named(drift.name)
    old = before.get(drift.name)
    if row is None or old is None:
        return row is old
    is_same = (row.status, row.tmux, row.pane) == (old.status, old.tmux, old.pane)
    if drift.kind in OF_CONVERSATION:  # another watch may have recorded it meanwhile
        return is_same and row.conversations == old.conversations
    return is_same


def _by_row(drifts: Sequence[RowDrift]) -> dict[str, Changes]:
    changes: dict[str, Changes] = {}
    for drift in drifts:
        if drift.changes:
            changes[drift.name] = {**changes.get(drift.name, {}), **drift.changes}
    return changes


def _closings(drifts: Sequence[RowDrift]) -> list[Closing]:
    """Close the intents of dead owners."""
    closings: list[Closing] = []
    for drift in drifts:
        if drift.intent is not None:
            if drift.kind is DriftKind.DEAD:
                outcome = "finished"
            else:
                outcome = "abandoned"
            closings.append(Closing(drift.intent.id, outcome, {"by": "reconcile"}))
    return closings


def _events(
    context: Context,
    before: RegistryLook,
    after: RegistryLook,
    drifts: Sequence[RowDrift],
    written: Sequence[RowDrift],
) -> list[NewEvent]:
    """Return what to record: what is written, and an agent that left if that is new."""
    gone = [drift for drift in drifts if drift.kind is DriftKind.AGENT_GONE]
    reported = [drift for drift in gone if not _was_reported(context, drift)]
    return [_event(before, after, drift) for drift in (*written, *reported)]


def _event(before: RegistryLook, after: RegistryLook, drift: RowDrift) -> NewEvent:
    row = before.named(drift.name)
    now = after.named(drift.name)
    reason = drift.intent.reason if drift.intent else None
    data: dict[str, object] = {"evidence": drift.evidence, "reason": reason, "cause": drift.cause}
    if drift.goodbye is not None:
        data["goodbye"] = drift.goodbye
    intent = drift.intent
    has_ended = now is not None and now.status.ended
    of_set = None
    if intent is not None and intent.verb != START:
        of_set = set_of(intent)
    if of_set is not None and has_ended:
        data["set"] = of_set
    if drift.changes is not None and drift.kind is not DriftKind.REVERTED and now is not None:
        data["life"] = life_of(now)
    return NewEvent(drift.name, drift.kind.value, data, before.text_of(row) if row else None)


def _was_reported(context: Context, drift: RowDrift) -> bool:
    events = context.books.events({drift.name}, None)
    return bool(events) and events[-1].kind == drift.kind.value

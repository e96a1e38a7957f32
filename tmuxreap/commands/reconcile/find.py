"""Finds all that differs between the registry and the world in one look. Changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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
from tmuxreap.core.model import Live, NoServer, Row, Server, Status, Terminal
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.records import SEND, START, Intent
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import Newer, newer_rows
from tmuxreap.sessions.restarts import SERVER

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

    busy: frozenset[str]
    passed: frozenset[str]  # opened, closed, handed over or rewritten during the look

    def __contains__(self, name: str) -> bool:
        return name in self.busy or name in self.passed


def find_drifts(
    context: Context, look: RegistryLook, only: frozenset[str] | None = None
) -> FoundDrift:
    """Return all drift, or only that of the rows in `only`."""
    rows = [row for row in look.usable if only is None or row.name in only]
    # an intent that opens between these two reads counts as new
    latest = context.books.latest_intent()
    intents = context.books.open_intents()
    seen = tuple(zip(rows, context.sights.of(rows, unregistered=True), strict=True))
    newer = newer_rows(context.books, seen, context.sights.with_pasts)
    others = _others_at_work(context, look, latest, intents)
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
        row.terminal is Terminal.TMUX and sight.live is Live.UNKNOWN for row, sight in seen
    )
    return FoundDrift(_with_server_loss(look, drifts, seen), confirmed, seen, bool(others.passed))


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
    return _Others(frozenset(busy), frozenset(ended | started | rewritten))


def _is_unchanged(then: Intent, now: Intent | None) -> bool:
    return now is not None and (now.id, now.owner) == (then.id, then.owner)


def _is_same(found: RowDrift, start: RowDrift) -> bool:
    """Tell whether a start explains what was found of its session."""
    return found.name == start.name and {found.kind, start.kind} <= NOT_RECORDED


def _with_server_loss(look: RegistryLook, found: list[RowDrift], seen: Seen) -> list[RowDrift]:
    """Name the server's loss as the cause for rows that shared it: an agent may exit cleanly when
    its terminal closes, and be reported first."""
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

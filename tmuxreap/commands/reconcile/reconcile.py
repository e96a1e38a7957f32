"""`reconcile`: registry, ledger and tmux brought into agreement; what is not certain is told with
its way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from tmuxreap.commands.reconcile.disturbed import is_behind
from tmuxreap.commands.reconcile.drift import Drift, DriftKind, find_drifts
from tmuxreap.core.answers.news import Action
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live, Row, Terminal
from tmuxreap.core.results import Result
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.ending import unfinished
from tmuxreap.ledger.records import Closing, NewEvent
from tmuxreap.registry.file import RegistryLook, edited_where_safe
from tmuxreap.registry.transitions import Changes
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.restarts import GOOD_EXIT
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.files import Stamp

SETTLED = {
    DriftKind.DEAD: "recorded as ended",
    DriftKind.ID_CHANGED: "recorded its conversation",
    DriftKind.INTENT: "closed it",
}


def run(context: Context, *, dry_run: bool = False) -> Result:
    return settle(context, dry_run=dry_run).result


Seen = tuple[tuple[Row, Sight], ...]


@frozen
class Settled:
    result: Result
    seen: Seen
    again: (
        bool  # other verbs were at work during the look: what it kept to itself shows at the next
    )
    written: (
        Stamp | None
    )  # the registry as we wrote it, where nobody else had written it since the look


def settle(
    context: Context,
    *,
    dry_run: bool = False,
    only: frozenset[str] | None = None,
    cause_of: Callable[[str], str | None] = lambda _: None,
) -> Settled:
    """And what was seen of each row. `only`: the rows that can have changed; `cause_of`: what is
    known of an end."""
    look = context.registry.look()
    found = find_drifts(context, look, only)
    drifts = [_with_cause(one, cause_of(one.name)) for one in found.drifts]
    if only is None and is_behind(context, look):
        drifts.append(
            Drift("", DriftKind.LEDGER, "the mirror in the ledger is not the registry's", {})
        )
    if only is None and not dry_run:
        context.registry.sweep(lambda pid: context.processes.identify(pid) is not None)
    done = _Done(drifts) if dry_run else _settle(context, look, drifts)
    settled = {id(drift) for drift in done.drifts}  # of thousands each is looked for
    drifts = [
        _told(drift, done)
        for drift in drifts
        if drift.changes is None or id(drift) in settled or drift.name in done.refused
    ]
    answers = [drift.answer for drift in drifts]
    result = Result(
        "reconcile",
        context.registry_name,
        context.clock.now(),
        answers,
        (*context.warnings, *look.warnings, *_not_seen(found.seen)),
        more={
            "tmux_confirmed": found.confirmed,
            "drifts": answers,
            "actions": done.actions,
        },
        failure=_not_asked(context, found.seen),
        greeting=(
            None
            if found.confirmed
            else "nothing to settle among the sessions that could be looked at"
        ),
    )
    return Settled(result, found.seen, found.again, done.written)


def _with_cause(drift: Drift, heard: str | None) -> Drift:
    """What was heard of its end; not of a good exit, where more than itself has ended."""
    if heard is None or (heard == GOOD_EXIT and drift.cause):
        return drift
    return replace(drift, cause=heard)


def _not_asked(context: Context, seen: Seen) -> Failure | None:
    """Why not all tmux servers of this host that the rows name could be asked. What is elsewhere
    was not to be."""
    troubles = [
        sight.trouble
        for row, sight in seen
        if row.terminal is Terminal.TMUX
        and sight.live is Live.UNKNOWN
        and row.tmux.host in (None, context.place.host)
    ]
    return next((one for one in troubles if one is not None and one.code in UNASKED), None)


UNASKED = frozenset({Code.TMUX_UNREACHABLE, Code.TMUX_MISSING, Code.PERMISSION_DENIED})


def _not_seen(seen: Seen) -> list[str]:
    """Of how many nothing can be said, each reason once."""
    named: dict[str, list[str]] = {}
    for row, sight in seen:
        if sight.live is Live.UNKNOWN and sight.trouble is not None:
            reason = sight.trouble.message.removeprefix(f"could not look at {row.name}: ")
            named.setdefault(reason, []).append(row.name)
    return [f"could not look at {', '.join(names)}: {reason}" for reason, names in named.items()]


@frozen
class _Done:
    drifts: Sequence[Drift]
    actions: Sequence[Action] = ()
    refused: Mapping[str, Failure] = field(default_factory=dict)  # rows that could not be edited
    written: Stamp | None = None


def _settle(context: Context, look: RegistryLook, drifts: Sequence[Drift]) -> _Done:
    """Under the lock only what still stands as it was seen is written."""
    before = {row.name: row for row in look.usable}
    done: list[Drift] = []
    refused: dict[str, Failure] = {}
    found: list[RegistryLook] = []
    written: Stamp | None = None

    def edit(now: RegistryLook) -> str:
        found[:] = [now]
        standing = [
            drift for drift in drifts if drift.changes is not None and _stands(before, now, drift)
        ]
        text, stuck = edited_where_safe(now, _by_row(standing))
        refused.clear()
        refused.update(stuck)
        done[:] = [drift for drift in standing if drift.name not in stuck]
        return text

    def closings() -> list[Closing]:
        return _closings([drift for drift in drifts if drift.name not in refused])

    def events(then: RegistryLook) -> list[NewEvent]:
        told = [
            drift
            for drift in drifts
            if drift.kind is DriftKind.AGENT_GONE and not _told_before(context, drift)
        ]
        return [
            _event(then, drift) for drift in (*done, *told) if drift.kind is not DriftKind.LEDGER
        ]

    if any(drift.changes for drift in drifts):
        after = context.books.change(edit, events, closings)
        written = after.content.stamp if found[0].content.stamp == look.content.stamp else None
    elif drifts:
        done[:] = [drift for drift in drifts if drift.changes is not None]
        context.books.follow(look, events(look), _closings(drifts))
    dead = [
        (before[d.name], d.intent)
        for d in done
        if d.kind is DriftKind.DEAD and d.intent is not None
    ]
    ended = [
        (before[d.name], d.intent) for d in done if d.intent is not None and _has_ended(before, d)
    ]
    unfinished.see_to(context, dead, ended)
    finished = [
        Action(
            drift.name, drift.kind.value, unfinished.carry_out(context, drift.name, drift.finish)
        )
        for drift in drifts
        if drift.finish
    ]
    unfinished.put_back(context.tmux, chain.from_iterable(drift.restore for drift in drifts))
    for drift in drifts:
        # Only of a session that was just seen to be the recorded one: pane ids begin anew with a
        # new server.
        if (
            drift.intent is not None
            and drift.kind is DriftKind.INTENT
            and _is_running(before, drift)
        ):
            unfinished.put_back(context.tmux, drift.intent.options)
    settled = [
        Action(drift.name, drift.kind.value, SETTLED.get(drift.kind, "healed")) for drift in done
    ]
    return _Done(done, settled + finished, refused, written)


def _told(drift: Drift, done: _Done) -> Drift:
    """A row that could not be edited stays as it is, and its drift is told until it can be."""
    failure = done.refused.get(drift.name)
    if failure is None or drift.changes is None:
        return drift
    return replace(
        drift, changes=None, evidence=f"{drift.evidence}; {failure.message}", hint=failure.hint
    )


def _is_running(before: Mapping[str, Row], drift: Drift) -> bool:
    return drift.name in before and not before[drift.name].status.ended


def _has_ended(before: Mapping[str, Row], drift: Drift) -> bool:
    """By that very ending: written now, or written before its owner died."""
    row = before.get(drift.name)
    return row is not None and (
        drift.kind is DriftKind.DEAD or (drift.kind is DriftKind.INTENT and row.status.ended)
    )


def _stands(before: Mapping[str, Row], now: RegistryLook, drift: Drift) -> bool:
    row, old = now.named(drift.name), before.get(drift.name)
    if drift.kind is DriftKind.LEDGER or (row is None and old is None):
        return True
    return (
        row is not None
        and old is not None
        and (row.status, row.tmux, row.pane) == (old.status, old.tmux, old.pane)
    )


def _by_row(drifts: Sequence[Drift]) -> dict[str, Changes]:
    found: dict[str, Changes] = {}
    for drift in drifts:
        if drift.changes:
            found[drift.name] = {**found.get(drift.name, {}), **drift.changes}
    return found


def _closings(drifts: Sequence[Drift]) -> list[Closing]:
    """A dead owner's intent has no effect after this."""
    return [
        Closing(
            drift.intent.id,
            "finished" if drift.kind is DriftKind.DEAD else "abandoned",
            {"by": "reconcile"},
        )
        for drift in drifts
        if drift.intent is not None
    ]


def _event(look: RegistryLook, drift: Drift) -> NewEvent:
    row = look.named(drift.name)
    data = {
        "evidence": drift.evidence,
        "reason": drift.intent.reason if drift.intent else None,
        "cause": drift.cause,
        **({} if drift.goodbye is None else {"goodbye": drift.goodbye}),
    }
    return NewEvent(drift.name, drift.kind.value, data, look.text_of(row) if row else None)


def _told_before(context: Context, drift: Drift) -> bool:
    events = context.books.events({drift.name}, None)
    return bool(events) and events[-1].kind == drift.kind.value

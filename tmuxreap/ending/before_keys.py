"""What happens before the first key: what could fail after the last one is checked (folder, disk,
text and rows), and the intents are recorded.

A kill skips the checks: the process that it ends may be filling the disk."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence

from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.model import Row, Verb
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.one_at_a_time import ActiveIntents, MarkInProgress, with_options
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.results import failed_target
from tmuxreap.ledger.records import Begun, Busy, Intent, NewIntent
from tmuxreap.proof.observe import Place
from tmuxreap.registry.file import Registry
from tmuxreap.registry.look import RegistryLook, not_editable
from tmuxreap.registry.rows import conversation_field
from tmuxreap.registry.transitions import EVENT_OF_VERB, Changes, End, end_changes
from tmuxreap.sessions.context import Context

DEADLINE_SLACK_S = 30.0


def check_lock(endings: Sequence[Ending], policy: Policy, *, lock_held: bool) -> None:
    """Fail if the caller holds the lock and a session is alive: only dead ones can be recorded
    then."""
    sights = {ending.name: ending.sight for ending in endings if ending.answer is None}
    living = [name for name, sight in sights.items() if sight.session or sight.owned.own]
    if lock_held and living:
        raise LockIsHeld(f"{policy.verb.value} {', '.join(living)}")


def begin(
    context: Context, endings: Sequence[Ending], policy: Policy, mark_in_progress: MarkInProgress
) -> tuple[list[Ending], list[Intent], list[Ending]]:
    """Record the intents under the lock. An ending whose row changed since the plan is stale."""
    if not endings:
        return [], [], []
    with _lock_registry(context.registry, policy):
        now = context.registry.look()
        stale = [ending for ending in endings if not _unchanged(ending.found, now)]
        fresh = recordable(context.registry, now, [it for it in endings if it not in stale], policy)
        ports = context.processes, context.clock, context.place
        news = [_new_intent(*ports, ending) for ending in fresh]
        answers = context.books.begin(
            news, ActiveIntents.of(context).is_in_progress, take_over=policy.verb is Verb.KILL
        )
        mark_in_progress(answer.intent for answer in answers if isinstance(answer, Begun))
    started = context.clock.monotonic()
    begun: list[Ending] = []
    busy: list[Intent] = []
    for ending, answer in zip(fresh, answers, strict=True):
        if isinstance(answer, Busy):
            busy.append(answer.intent)
            continue
        if isinstance(answer, Begun):
            ending.intent = answer.intent
            if answer.inherited is not None:
                ending.plan = with_options(ending.plan, answer.inherited)
        ending.started = started
        begun.append(ending)
    return begun, busy, stale


def _unchanged(row: Row, look: RegistryLook) -> bool:
    now = look.named(row.name)
    return now is not None and (now.status, now.tmux, now.pane) == (row.status, row.tmux, row.pane)


def _new_intent(processes: Processes, clock: Clock, place: Place, ending: Ending) -> NewIntent:
    plan, policy = ending.plan, ending.policy
    owner = processes.identify(place.pid)
    assert owner is not None  # noqa: S101 - this very process
    longest_s = sum(rung.wait_s for rung in plan.rungs if rung.skipped is None)
    longest_s += plan.after_turn_s or 0.0
    return NewIntent(
        name=ending.name,
        verb=policy.verb.value,
        reason=policy.reason.encode("utf-8", "backslashreplace").decode(),
        scope=policy.scope.value,
        owner=owner,
        boot_id=place.boot_id,
        deadline=clock.now() + longest_s + DEADLINE_SLACK_S,
        options=plan.options,
        plan=json.dumps(plan.as_json()),
    )


@contextlib.contextmanager
def _lock_registry(registry: Registry, policy: Policy) -> Iterator[None]:
    """Hold the lock; a kill continues without it where the lock cannot be created."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(registry.locked())
        except Failure as failure:
            if policy.verb is not Verb.KILL or failure.code is not Code.REGISTRY_UNWRITABLE:
                raise
        yield


def recordable(
    registry: Registry, look: RegistryLook, endings: Sequence[Ending], policy: Policy
) -> list[Ending]:
    """Return the endings whose end could be written, and answer the others. Raise a Failure when
    the registry as a whole cannot be written. A plan goes through the same trial."""
    if policy.verb is Verb.KILL or not endings:
        return list(endings)
    registry.check_writable()
    registry.check_space(look)
    _check_reason(policy)
    refused = not_editable(
        look, lambda row: _possible_changes(row, policy), [it.row for it in endings]
    )
    for ending in endings:
        if ending.name in refused:
            ending.answer = failed_target(ending.name, refused[ending.name])
    return [ending for ending in endings if ending.name not in refused]


def _check_reason(policy: Policy) -> None:
    try:
        policy.reason.encode()
    except UnicodeEncodeError:
        raise Failure(
            Code.REGISTRY_UNWRITABLE,
            f"could not {policy.verb.value}: the reason {policy.reason!r} is not UTF-8, and the"
            " registry is",
            "give the reason in UTF-8",
        ) from None


def _possible_changes(row: Row, policy: Policy) -> Changes:
    """Return all fields that the end may write."""
    recorded = [field for field, _ in row.conversations]
    ending = End(
        event=EVENT_OF_VERB[policy.verb],
        at=0.0,
        reason=policy.reason,
        resumable=True,
        screen="one line\nanother",
    )
    fields = recorded or [conversation_field(row.agent or "agent")]
    return {
        **end_changes(row.status, ending),
        ("stopped_by",): "",
        **{(field,): "x" for field in fields},
    }

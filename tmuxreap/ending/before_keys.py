"""Checks before the first key what could fail after the last: folder, disk, text and rows.

Writes nothing. A kill skips the checks: the process that it ends may be filling the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row, Verb
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.plan import Policy
from tmuxreap.ending.results import failed_target
from tmuxreap.registry.file import Registry
from tmuxreap.registry.look import RegistryLook, not_editable
from tmuxreap.registry.rows import conversation_field
from tmuxreap.registry.transitions import EVENT_OF_VERB, Changes, End, end_changes


@contextlib.contextmanager
def lock_registry(registry: Registry, policy: Policy) -> Iterator[None]:
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
    the registry as a whole cannot be written."""
    if policy.verb is Verb.KILL:
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

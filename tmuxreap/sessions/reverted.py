"""Whose is the end: finds the rows of a registry that went back in time (an old buffer, a checkout,
a writer without the lock), and what the ledger knows of them since. Never writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tmuxreap.core.model import Live, Row
from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import RecordedEvent
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.registry.lives import Life, end_key_of, is_ended, newer_lives, with_life

REVERTED = "reverted"
UNDONE = (
    "reverted: the registry shows it as it was before; its end is written again by: tmuxreap"
    " reconcile"
)
PAUSE_S = 10.0  # between two corrections of a row: a writer that dumps old memory is not fought

Looks = Callable[[Sequence[Row]], Sequence[tuple[Sight, Past]]]


@frozen
class Newer:
    """A row as the ledger knows it, where the registry shows an older life of it."""

    row: Row
    life: Life
    sight: Sight
    past: Past
    corrected_at: float | None  # when it was last written back


def newer_rows(books: Books, seen: Iterable[tuple[Row, Sight]], look: Looks) -> dict[str, Newer]:
    """Return the newer state of each row that went back in time. It counts only if a look agrees:
    nothing is left of what had ended, and what was begun is there."""
    seen = [*seen]
    if any(row.status.ended for row, _ in seen):
        ends = books.end_keys()
    else:
        ends = {}
    old = [row for row, sight in seen if _may_be_old(row, sight) or _shows_other_end(row, ends)]
    if not old:
        return {}
    events = books.lives([row.name for row in old])
    choices = {row.name: lives_after(books, row, events.get(row.name, ())) for row in old}
    found: dict[str, Newer] = {}
    while rows := [row for row in old if choices[row.name] and row.name not in found]:
        lives = [choices[row.name].pop(0) for row in rows]
        then = [with_life(row, life) for row, life in zip(rows, lives, strict=True)]
        for row, life, (sight, past) in zip(then, lives, look(then), strict=True):
            if _agrees(row, sight):
                written = []
                for it in events[row.name]:
                    if it.kind == REVERTED:
                        written.append(it.at)
                found[row.name] = Newer(row, life, sight, past, max(written, default=None))
    return found


def lives_after(books: Books, row: Row, events: Sequence[RecordedEvent]) -> list[Life]:
    """Return the lives in these events that may be newer than the row's, the best first."""
    lives = []
    newest = None
    for event in events:
        if isinstance(life := event.data.get("life"), dict):
            lives.append(life)
            newest = event
    if newest is not None and _means_a_later_process(books, row, newest):
        return []
    before = []
    for event in events:
        if isinstance(life := event.data.get("earlier"), dict):
            before.append(life)
    return newer_lives(row, lives, before)


def _means_a_later_process(books: Books, row: Row, newest: RecordedEvent) -> bool:
    """Tell whether a row without a start means a process that was seen after this end, and only has
    the number of the one that ended."""
    ended = newest.data.get("leader")
    pid = row.pane.pid
    if pid is None or not isinstance(ended, Mapping) or ended.get("pid") != pid:
        return False
    if row.pane.start_ticks is not None or row.pane.created_epoch is not None:
        return False
    return books.leader_seen(row.name, pid) not in (None, ended)


def why_reverted(row: Row, newer: Newer) -> str:
    """Return the sentence that tells what the registry undid."""
    if is_ended(newer.life):
        now = newer.row
        reason = now.stop_reason or now.termination_mode or "no reason is recorded"
        ended = f"it was {now.status.value} at {now.ended_at} ({reason})"
        return f"{ended}, and the registry went back to before that"
    began = f"it was started again after it was {row.status.value}"
    return f"{began}, its session lives, and the registry went back to before that"


def _may_be_old(row: Row, sight: Sight) -> bool:
    """Tell whether the world contradicts the row: only then the ledger is asked."""
    if sight.live is Live.UNKNOWN:
        return False
    if row.status.ended:
        return sight.session is not None or sight.live in (Live.REPLACED, Live.ALIVE)
    if sight.session is None:
        return sight.live is not Live.ALIVE
    return row.pane.pid is not None and (sight.pane is None or sight.pane.pid != row.pane.pid)


def _shows_other_end(row: Row, ends: Mapping[str, str]) -> bool:
    """Tell whether this ended row shows another end than the newest in the ledger."""
    return row.status.ended and row.name in ends and ends[row.name] != end_key_of(row)


def _agrees(row: Row, sight: Sight) -> bool:
    if not row.status.ended:
        return sight.live in (Live.ALIVE, Live.AGENT_GONE)
    return sight.live is Live.GONE and sight.session is None and not sight.owned.own

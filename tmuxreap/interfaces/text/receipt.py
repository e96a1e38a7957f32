"""The receipt of an ending, or its plan in a dry run, as lines of text. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tmuxreap.core.answers import Reported
from tmuxreap.core.errors import command
from tmuxreap.core.model import Outcome, StoppedBy
from tmuxreap.core.results import Ending, Process
from tmuxreap.core.text import Style
from tmuxreap.core.times import short_duration
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import RecordedPlan

WAYS: dict[str, str] = {
    StoppedBy.DAEMON: "ended by its agent's own daemon",
    StoppedBy.EXIT_KEYS: "exited on its own exit keys",
    StoppedBy.HANGUP: "ended by SIGHUP or SIGTERM",
    StoppedBy.SIGTERM: "ended by SIGTERM",
    StoppedBy.SIGKILL: "ended by SIGKILL",
    StoppedBy.ALREADY_GONE: "had exited before",
}


@frozen
class RungWords:
    """A rung in a receipt, while it runs, and in a cell of the popup meanwhile."""

    name: str
    doing: str
    briefly: str


RUNGS = {
    "daemon": RungWords("own daemon", "its agent's own daemon ends it", "own daemon"),
    "keys": RungWords("exit keys", "sending its exit keys", "exit keys"),
    # Its session may be gone.
    "hangup": RungWords("hangup", "ending what is left of it", "hanging up"),
    "term": RungWords("SIGTERM", "sending SIGTERM", "SIGTERM"),
    "kill": RungWords("SIGKILL", "sending SIGKILL", "SIGKILL"),
}
SHOWN_NAMES = 6


def receipt(one: Ending, style: Style, *, brief: bool = False) -> Iterator[str]:
    """Yield the receipt of one ending. `brief`: one line, and what needs attention."""
    if one.outcome == Outcome.PLANNED and one.plan is not None:
        yield from planned(RecordedPlan.from_facts(one.plan), style)
        return
    if one.outcome == Outcome.ALREADY_STOPPED:
        when = f" at {one.ended_at}" if one.ended_at else ""
        yield f"{one.name}: already {one.status or 'stopped'} ({one.stop_reason or 'ended'}{when})"
        yield from (f"  {line}" for line in _deleted(one))
        return
    name = style.paint(one.name, "bold")
    if one.stopped_by is None:
        if one.outcome == Outcome.TERMINATED:  # it had ended before; now its conversation is purged
            yield f"{name}: {style.paint(str(one.outcome), 'green')}"
            yield from (f"  {line}" for line in _notable(one))
        else:
            yield f"{name}: {style.paint(str(one.outcome), 'red')}"
        return
    took = f"{one.duration_ms / 1000:.1f} s"
    way = WAYS.get(one.stopped_by, one.stopped_by)
    yield f"{name}: {style.paint(str(one.outcome), 'green')}, {way}, {took}"
    for line in _notable(one) if brief else _details(one):
        yield f"  {line}"


def verdict(one: Ending, style: Style) -> Iterator[str]:
    """Yield why a session was ended: the verdict and its evidence."""
    evidence = one.evidence or {}
    facts = []
    for key, value in evidence.items():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
            facts.append(_fact(key, value))
    yield f"{style.paint(one.name, 'bold')}: {one.verdict}: {', '.join(facts)}"
    for kind in ("processes", "children"):
        children = evidence.get(kind)
        for child in children if isinstance(children, list) else []:
            more = []
            for key in child:
                if key not in ("pid", "name"):
                    more.append(f"{key} {child[key]}")
            yield f"  {kind:<13} {child['pid']:>7} {child['name']} ({', '.join(more)})"


def _fact(key: str, value: str | int | float) -> str:
    """Format one fact: `idle_s 4.2` becomes `idle 4s`."""
    if key.endswith("_s") and isinstance(value, (int, float)):
        return f"{key[:-2].replace('_', ' ')} {short_duration(value)}"
    return f"{key.replace('_', ' ')} {value}"


def _details(one: Ending) -> Iterator[str]:
    for rung in one.rungs:
        step = RUNGS[rung.name].name
        if rung.enough:
            yield f"step          {step} worked after {rung.waited_ms / 1000:.1f} s"
        elif rung.waited_ms > 0 and rung.skipped is None:
            yield f"step          {step}: no exit within {rung.waited_ms / 1000:.1f} s"
    if one.swept:
        yield f"also ended    {_names(one.swept)}, left over in its session"
    yield from _kept(one)
    if one.freed_mb:
        yield f"memory freed  {one.freed_mb:g} MB"
    if one.conversation.id is not None:
        yield f"conversation  {one.conversation.id} (by {one.conversation.source or 'the row'})"
    if one.resumable:
        yield f"resume        {command('resume', one.name)}"
    elif one.conversation.id is not None:
        yield "resume        not possible: no message of it is on disk"
    yield from _deleted(one)
    yield from _left(one)


def _notable(one: Ending) -> Iterator[str]:
    yield from _kept(one)
    yield from _deleted(one)
    yield from _left(one)


def _deleted(one: Ending) -> Iterator[str]:
    yield from (f"purged        {path}" for path in one.purged)
    yield from (f"removed       {path}" for path in one.removed)


def _kept(one: Ending) -> Iterator[str]:
    if one.spared:
        programs = ", ".join(f"{it.name} ({it.pid}): {it.why}" for it in one.spared)
        yield f"spared        {programs}"
    if one.draft is not None:
        yield f"draft kept    {one.draft.text!r}"


def _left(one: Ending) -> Iterator[str]:
    yield from (f"left          {path}" for path in one.left)
    yield from (f"warning       {warning}" for warning in one.warnings)


def planned(plan: RecordedPlan, style: Style) -> Iterator[str]:
    only_purges = bool(plan.purge) and plan.session is None and not plan.processes
    if only_purges:
        what = "delete the conversation of this ended session"
    else:
        what = f"{plan.verb} it"
    yield f"{style.paint(plan.name, 'bold')}: would {what} (reason: {plan.reason})"
    if plan.after_turn is not None:
        wait_s = plan.after_turn.waits_ms / 1000
        yield f"  turn          waits up to {wait_s:g} s for the agent to end it"
    yield from (f"  deletes       {path}" for path in plan.purges or ())
    yield from (f"  leaves        {path}" for path in plan.left or ())
    if plan.purge and not plan.purges:
        yield "  deletes       what the agent names as it exits; no file is known yet"
    for rung in () if only_purges else plan.rungs:
        waits = f"waits up to {round(rung.waits_ms / 1000, 1):g} s"
        skipped = None
        if rung.skipped:
            skipped = f"skipped: {rung.skipped}"
        yield f"  {RUNGS[rung.name].name:<12}  {skipped or waits}"
    words = {"ends": plan.processes, "spares": plan.spared, "names only": plan.unproven or ()}
    for word, found in words.items():
        for process in found:
            yield f"  {word:<12}  {process.name} ({process.pid}): {process.why}"


def _names(found: Iterable[Process]) -> str:
    names = [f"{one.name} ({one.pid})" for one in found]
    if len(names) > SHOWN_NAMES:
        more = f" and {len(names) - SHOWN_NAMES} more"
    else:
        more = ""
    return ", ".join(names[:SHOWN_NAMES]) + more


def times_of(one: Reported) -> str:
    """Return how long the session was in each state."""
    seconds = {
        "working": one.working_s,
        "waiting": one.waiting_s,
        "limited": one.limited_s,
        "idle": one.idle_s,
        "unknown": one.unknown_s,
    }
    told = []
    for state, took in seconds.items():
        if took:
            told.append(f"{state} {short_duration(took)}")
    return ", ".join(told) or "did not run"


def end_of(one: Reported) -> str:
    """Return how the session ended, and what that freed."""
    facts = [WAYS.get(one.stopped_by or "", one.stopped_by), one.stop_reason]
    if one.ended_by is not None:
        facts.append(f"by {one.ended_by}")
    if one.processes:
        facts.append(f"{counted(one.processes, 'process', 'processes')}, {size(one.freed_mb)}")
    if one.survivors:
        facts.append(f"{counted(one.survivors, 'process', 'processes')} survived")
    told = ", ".join(fact for fact in facts if fact)
    return f"ended {one.ended_at}" + (f": {told}" if told else "")


def counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def size(megabytes: float) -> str:
    if megabytes >= 1024:
        return f"{megabytes / 1024:.1f} GB"
    return f"{megabytes:g} MB"

"""Tells a Result to people or to scripts. Decides nothing and cannot change an outcome.

Results go to stdout; what went wrong, and talk, to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

from tmuxreap.durations import short_duration
from tmuxreap.errors import Failure, Unheard
from tmuxreap.model import Outcome, StoppedBy
from tmuxreap.ownership import Belonging
from tmuxreap.plan import Plan
from tmuxreap.results import EndResult, Item, JoinedResult, PlainResult, Result, SessionResult
from tmuxreap.values import frozen

WAYS = {
    StoppedBy.EXIT_KEYS: "left by its own exit keys",
    StoppedBy.HANGUP: "ended by hanging up",
    StoppedBy.SIGTERM: "ended by SIGTERM",
    StoppedBy.SIGKILL: "had to be killed",
    StoppedBy.ALREADY_GONE: "was gone already",
}
COLOURS = {"green": "32", "yellow": "33", "red": "31", "dim": "2", "bold": "1"}
SHOWN_NAMES = 6


@frozen
class Voice:
    """How to speak: to a script, to a person, in colour or not."""

    json: bool = False
    quiet: bool = False
    colour: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colour else text


def report(result: Result, voice: Voice) -> None:
    try:
        _report(result, voice)
        sys.stdout.flush()
    except OSError as error:
        raise Unheard(error.errno, error.strerror) from None


def _report(result: Result, voice: Voice) -> None:
    if voice.json:
        print(json.dumps(result.as_json(), default=str))
        return
    if not voice.quiet:
        for line in lines(result, voice):
            print(line)
    tell_trouble(result, voice)


def report_line(item: Item, voice: Voice) -> None:
    """One result of an endless command."""
    found = [json.dumps(item.as_json(), default=str)] if voice.json else _item(item, voice)
    try:
        for line in found:
            print(line, flush=True)
    except OSError as error:
        raise Unheard(error.errno, error.strerror) from None


def tell_trouble(result: Result, voice: Voice) -> None:
    for warning in result.warnings:
        print(f"tmuxreap: {voice.paint('warning:', 'yellow')} {warning}", file=sys.stderr)
    failures = [item.failure for item in result.results if item.failure is not None]
    for failure in [*failures, *([result.failure] if result.failure else [])]:
        tell_failure(failure, voice, sys.stderr)


def tell_failure(failure: Failure, voice: Voice, to: TextIO) -> None:
    print(f"tmuxreap: {voice.paint(failure.message, 'red')}", file=to)
    if failure.hint:
        print(f"  way out: {failure.hint}", file=to)


def lines(result: Result, voice: Voice) -> Iterator[str]:
    sessions = [item for item in result.results if isinstance(item, SessionResult)]
    if sessions and result.command == "list":
        yield from table(sessions, voice)
        return
    if not result.results and result.failure is None and result.command in NOTHING:
        yield NOTHING[result.command]
    for item in result.results:
        yield from _item(item, voice)


NOTHING = {
    "list": "no sessions yet; begin with: tmuxreap start NAME --agent AGENT",
    "stop": "nothing to stop",
    "kill": "nothing to kill",
    "events": "nothing happened yet",
    "reconcile": "registry, ledger and tmux agree",
}


def _item(item: Item, voice: Voice) -> Iterator[str]:
    if isinstance(item, EndResult):
        yield from receipt(item, voice)
    elif isinstance(item, SessionResult):
        yield from session(item, voice)
    elif isinstance(item, JoinedResult):
        yield f"{item.recorded.get('name')}: another stop was at it: {item.recorded.get('outcome')}"
    elif isinstance(item, PlainResult) and item.failure is None:
        yield from _plain(item)


def receipt(one: EndResult, voice: Voice) -> Iterator[str]:
    """What a person wants to know of one ending."""
    if one.outcome is Outcome.PLANNED and one.plan is not None:
        yield from _planned(one.plan, voice)
        return
    if one.outcome is Outcome.ALREADY_STOPPED:
        when = f" at {one.ended_at}" if one.ended_at else ""
        status = one.status.value if one.status else "stopped"
        yield f"{one.name}: already {status} ({one.stop_reason or 'ended'}{when})"
        return
    if one.stopped_by is None:
        yield f"{voice.paint(one.name, 'bold')}: {voice.paint(one.outcome.value, 'red')}"
        return
    took = f"{one.duration_ms / 1000:.1f} s"
    yield f"{voice.paint(one.name, 'bold')}: {voice.paint(one.outcome.value, 'green')}, {WAYS[one.stopped_by]}, {took}"
    for line in _details(one):
        yield f"  {line}"


def _details(one: EndResult) -> Iterator[str]:
    for rung in one.rungs:
        if rung.enough:
            yield f"rung          {rung.rung.value}, enough after {round(rung.waited_s * 1000)} ms"
        elif rung.waited_s > 0 and rung.skipped is None:
            yield f"rung          {rung.rung.value}, not enough in {round(rung.waited_s * 1000)} ms"
    if one.swept:
        yield f"swept         {_names(one.swept)}"
    if one.spared:
        yield f"spared        {', '.join(f'{o.process.comm} ({o.process.pid}): {o.why}' for o in one.spared)}"
    if one.draft is not None:
        yield f"draft kept    {one.draft.text!r}"
    if one.freed_mb:
        yield f"memory freed  {one.freed_mb:g} MB"
    if one.conversation.id is not None:
        yield f"conversation  {one.conversation.id} (by {one.conversation.source or 'the row'})"
    if one.resumable:
        yield f"resume        tmuxreap resume {one.name}"
    elif one.conversation.id is not None:
        yield "resume        not possible: no message of it is on disk"
    for warning in one.warnings:
        yield f"warning       {warning}"


def _planned(plan: Plan, voice: Voice) -> Iterator[str]:
    yield f"{voice.paint(plan.name, 'bold')}: would {plan.verb.value} it (reason: {plan.reason})"
    for rung in plan.rungs:
        what = f"skipped: {rung.skipped}" if rung.skipped else f"waits up to {rung.wait_s:g} s"
        yield f"  rung {rung.rung.value:<8} {what}"
    yield from (f"  ends   {one.process.pid:>7} {one.process.comm} ({one.why})" for one in plan.own)
    yield from (f"  spares {one.process.pid:>7} {one.process.comm} ({one.why})" for one in plan.spared)


def session(one: SessionResult, voice: Voice) -> Iterator[str]:
    yield f"{voice.paint(one.name, 'bold')}: {one.status.value}, {one.live.value}" + (
        f" (drift: {one.drift})" if one.drift else ""
    )
    facts = {
        "agent": one.agent,
        "pane": f"{one.pane_id} (pid {one.pid})" if one.pane_id or one.pid else None,
        "folder": one.cwd,
        "server": one.tmux_server,
        "tags": " ".join(one.tags) or None,
        "conversation": one.conversation_id,
        "memory": f"{one.memory_mb:g} MB" if one.memory_mb else None,
        "idle": short_duration(one.idle_s) if one.idle_s is not None else None,
        "state": one.facts.get("pane_state"),
    }
    yield from (f"  {name:<13} {value}" for name, value in facts.items() if value is not None)
    for kind in ("processes", "protected"):
        found = one.facts.get(kind)
        for process in found if isinstance(found, list) else []:
            yield f"  {kind:<13} {process['pid']:>7} {process['name']} ({process['why']})"
    screen = one.facts.get("screen")
    if isinstance(screen, str) and screen:
        yield from (f"  | {line}" for line in screen.splitlines())


def table(sessions: Sequence[SessionResult], voice: Voice) -> Iterator[str]:
    columns: list[tuple[str, Callable[[SessionResult], str]]] = [
        ("NAME", lambda one: one.name),
        ("AGENT", lambda one: one.agent or "-"),
        ("STATUS", lambda one: one.status.value),
        ("LIVE", lambda one: one.live.value),
        ("IDLE", lambda one: short_duration(one.idle_s) if one.idle_s is not None else "-"),
        ("MEMORY", lambda one: f"{one.memory_mb:g} MB" if one.memory_mb else "-"),
        ("CONVERSATION", lambda one: (one.conversation_id or "-")[:8]),
        ("TAGS", lambda one: " ".join(one.tags)),
    ]
    rows = [[name for name, _ in columns], *([cell(one) for _, cell in columns] for one in sessions)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    for number, row in enumerate(rows):
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        yield voice.paint(line, "dim") if number == 0 else line


def _plain(item: PlainResult) -> Iterator[str]:
    facts = item.facts
    if "kind" in facts:
        yield f"{facts['timestamp']}  {item.name}  {facts['kind']}{_event_words(facts.get('data'))}"
    elif "locators" in facts:
        can = [word for word, fact in AGENT_WORDS.items() if facts.get(fact)]
        yield f"{item.name:<14}{facts['about']}"
        yield f"{'':<14}can: {', '.join(can) or 'be hung up'}; verified: {facts['verified'] or 'no'}"
    elif "drift" in facts:
        yield f"{item.name or 'the ledger'}: {facts['drift']}: {facts['evidence']}"
        settled = "  settled" if facts.get("settled") else f"  way out: {facts.get('hint')}"
        yield settled
    elif "command" in facts:
        yield str(facts["command"])
    else:
        words = ", ".join(f"{key} {value}" for key, value in facts.items())
        yield f"{item.name}: {words}"


AGENT_WORDS = {"exit keys": "exit_keys", "ID at start": "takes_an_id", "resume": "resume", "purge": "purge"}


def _event_words(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    words = [str(data[key]) for key in ("stopped_by", "reason", "text") if data.get(key)]
    return f"  ({', '.join(words)})" if words else ""


def _names(found: Iterable[Belonging]) -> str:
    names = [f"{one.process.comm} ({one.process.pid})" for one in found]
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more

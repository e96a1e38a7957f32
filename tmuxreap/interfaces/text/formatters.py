"""The text of each kind of answer: one function per type. Decides nothing.

The caller has sanitized all text: nothing in it can control a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tmuxreap.core import answers, results
from tmuxreap.core.model import Outcome
from tmuxreap.core.results import Item, RemoteResult
from tmuxreap.core.text import Style, cut, pad, width
from tmuxreap.core.times import short_duration
from tmuxreap.interfaces.text.receipt import end_of, planned, receipt, times_of, verdict
from tmuxreap.ledger.records import RecordedPlan

WITH_ERROR = (results.Ending, answers.Session, answers.Shown)  # printed even if they have an error


def item_lines(item: Item, style: Style, *, brief: bool = False) -> Iterator[str]:
    """Format one result by its type. `brief`: it is one of many, so that the first does not scroll
    away."""
    kind = type(item)
    if brief and kind in BRIEFLY:
        yield from BRIEFLY[kind](item, style)
    elif isinstance(item, RemoteResult):
        yield from item.lines
    elif item.error is None or kind in WITH_ERROR:
        yield from FORMATTERS[kind](item, style)


def _ending(item: results.Ending, style: Style, *, brief: bool = False) -> Iterator[str]:
    if item.verdict is not None:
        yield from verdict(item, style)
    if item.joined:
        yield f"{item.name}: another stop was handling it: {item.outcome}"
    else:
        yield from receipt(item, style, brief=brief)


def _session_in_a_line(one: answers.Session, style: Style) -> Iterator[str]:
    if one.live is not None:
        facts = [one.agent, one.state, f"conversation {(one.conversation_id or 'none')[:8]}"]
        details = ", ".join(fact for fact in facts if fact)
        yield f"{style.paint(one.name, 'bold')}: {one.status}, {one.live} ({details})"


def _session(one: answers.Session, style: Style) -> Iterator[str]:
    if one.live is None:  # a missing session has only an error
        return
    if one.drift:
        drift = style.paint(f" (drift: {one.drift})", "red")
    else:
        drift = ""
    yield f"{style.paint(one.name, 'bold')}: {one.status}, {one.live}{drift}"
    for name, value in (*_living(one), *_recorded(one), *_over(one)):
        if value is not None:
            yield f"  {name:<13} {value}"


Fact = tuple[str, str | None]


def _living(one: answers.Session) -> Iterator[Fact]:
    """Yield what a look shows."""
    yield "agent", one.agent
    yield "seat", one.seat if one.seat != one.pane_id else None
    if one.pane_id or one.pid:
        yield "pane", f"{one.pane_id or '-'} (pid {one.pid or '-'})"
    yield "folder", one.cwd
    yield "server", one.tmux_server
    if one.live in ALIVE:
        yield "socket", one.socket
        yield "attached", "a client shows it" if one.attached else None
        yield "memory", f"{one.memory_mb:g} MB" if one.memory_mb else None
        if isinstance(one, answers.Shown):
            yield from _usage(one)
        yield "idle", _ago(one.idle_s)
        yield "last report", _ago(one.heartbeat_age_s)
    yield "state", _state(one)
    yield "waiting for", one.waiting_for


def _usage(one: answers.Shown) -> Iterator[Fact]:
    """Yield what its processes use together."""
    if one.cpu_percent is None:
        now = None
    else:
        now = f"{one.cpu_percent:.0f} % of a processor now"
    if one.cpu_s is None:
        so_far = None
    else:
        so_far = f"{one.cpu_s:g} s so far"
    yield "cpu", ", ".join(told for told in (now, so_far) if told) or None
    yield "listens on", " ".join(f"{port}" for port in one.ports) or None


def _recorded(one: answers.Session) -> Iterator[Fact]:
    """Yield what its row says."""
    yield "conversation", _conversation(one)
    yield "tags", " ".join(one.tags) or None
    yield "task", one.task_id
    yield "parent", one.parent
    yield "worktree", one.worktree
    yield "created", one.created_at
    yield "command", one.start_command
    yield "may run", one.ttl
    yield "restart", one.restart
    yield "protected", "only naming it ends it" if one.keep else None


def _over(one: answers.Session) -> Iterator[Fact]:
    """Yield how it ended."""
    if not one.ended:
        return
    yield "ended", one.stopped_at
    yield "reason", one.stop_reason
    yield "how", one.termination_mode
    if isinstance(one, answers.Shown) and one.ended_by is not None:
        by = one.ended_by
        words = (by.user, by.host and f"on {by.host}", by.tool and f"by {by.tool}", _inside(by))
        yield "by", " ".join(word for word in words if word) or None


ALIVE = ("alive", "agent_gone", "unknown")


def _inside(by: results.Author) -> str | None:
    return f"from inside {by.session}" if by.session else None


def _ago(seconds: int | None) -> str | None:
    return None if seconds is None else short_duration(seconds)


def _conversation(one: answers.Session) -> str | None:
    if one.conversation_id is None:
        return None
    if one.resumable:
        able = "it can be resumed"
    else:
        able = "no message of it is on disk"
    if one.ended:
        return f"{one.conversation_id} ({able})"
    return one.conversation_id


def _shown(one: answers.Shown, style: Style) -> Iterator[str]:
    yield from _session(one, style)
    yield from _processes("processes", one.processes, style)
    yield from _processes("spared", one.protected, style)
    for locator in one.locators:
        yield from _located(locator)
    if one.screen:
        yield "  screen"
        bar = f"  {style.paint('|', 'dim')} "
        yield from (_within(bar, line, style) for line in one.screen.splitlines())


def _located(one: results.LocatorAnswer) -> Iterator[str]:
    """Say where the conversation was found, and which others fit."""
    if one.source is not None:
        if one.path:
            where = f"in {one.path}"
        else:
            where = f"{one.id} is in no file"
        gone = ", not on disk" if one.path and not one.exists else ""
        yield f"  {'found by':<13} {one.source}, {where}{gone}"
    if one.candidates:
        yield f"  {'candidates':<13} {', '.join(one.candidates)}"


def _state(one: answers.Session) -> str | None:
    """Return the agent's state and its source; without an agent, what is left in the pane."""
    if one.state is None:
        return getattr(one, "pane_state", None)
    until = f" until {one.until}" if one.until else ""
    if one.state_since is not None:
        since = f", since {one.state_since}"
    else:
        since = ""
    return f"{one.state}{until}{since}{f' (by its {one.state_source})' if one.state_source else ''}"


def _processes(kind: str, found: Sequence[results.Process], style: Style) -> Iterator[str]:
    if not found:
        return
    yield f"  {kind}"
    cells = max(width(process.name) for process in found)
    for process in found:
        line = f"{process.pid:>9}  {pad(process.name, cells)}  {process.why}"
        if isinstance(process, results.Used):
            line += _share(process)
        yield _within("  ", line, style)


def _share(process: results.Used) -> str:
    """Tell what one process uses, if that is worth a word."""
    if (process.cpu_percent or 0) >= 1:
        busy = f", {process.cpu_percent:.0f} % CPU"
    else:
        busy = ""
    ports = " ".join(f"{port}" for port in process.ports)
    return busy + (f", listens on {ports}" if ports else "")


def _within(before: str, text: str, style: Style) -> str:
    """Cut the line at the terminal's width; `before` takes at most four cells."""
    if style.width is not None:
        text = cut(text, max(style.width - 4, 1))
    return before + text


def _event(item: answers.Event, style: Style) -> Iterator[str]:
    yield f"{item.timestamp}  {item.name}  {item.kind}{_event_words(item.data or {})}"


def _default(item: answers.Default, style: Style) -> Iterator[str]:
    where = f" ({item.place})" if item.place else ""
    note = f"; {item.note}" if item.note else ""
    source = style.paint(f"{item.source}{where}{note}", "dim")
    yield f"{item.name:<20}{_value_text(item.value)}  {source}"


def _value_text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value >= 1:
        return short_duration(value)
    return str(value)


def _agent(item: answers.Agent, style: Style) -> Iterator[str]:
    abilities = {
        "exit keys": item.exit_keys,
        "ID at start": item.takes_an_id,
        "resume": item.resume,
        "purge": item.purge,
    }
    known = [word for word, able in abilities.items() if able]
    yield f"{item.name:<14}{item.about}"
    listed = ", ".join(known) or "none of its own: it is ended by SIGHUP"
    yield f"{'':<14}can: {listed}; verified: {item.verified or 'no'}"


def _drift(item: answers.Drift, style: Style) -> Iterator[str]:
    yield f"{item.name or 'the ledger'}: {item.drift}: {item.evidence}"
    if item.settled:
        yield "  settled"
    else:
        yield f"  hint: {item.hint}"


def _reported(item: answers.Reported, style: Style) -> Iterator[str]:
    agent = f" ({item.agent})" if item.agent else ""
    yield f"{style.paint(item.name, 'bold')}{agent}: {times_of(item)}"
    if item.ended_at is not None:
        yield f"  {end_of(item)}"


def _launched(item: answers.Launched, style: Style) -> Iterator[str]:
    if item.command is not None:
        yield item.command
    elif item.outcome is not None:
        pane = f"{item.pane_id or '-'} (pid {item.pid or '-'})"
        yield f"{item.name}: {item.outcome}: {item.agent}, pane {pane}, in {item.cwd}"


def _forgotten(item: answers.Forgotten, style: Style) -> Iterator[str]:
    history = ", with its history" if item.history else ""
    word = "removed" if item.forgotten else "would be removed"
    yield f"{item.name}: {word} from the registry{history}"


def _protected(item: answers.Protected, style: Style) -> Iterator[str]:
    word = "protected" if item.keep else "not protected"
    yield f"{item.name}: {word}{'' if item.changed else ', as before'}"


def _awaited(item: answers.Awaited, style: Style) -> Iterator[str]:
    missed = "" if item.reached else ", not reached"
    yield f"{item.name}: {item.state or 'gone'}, after {item.waited_ms} ms{missed}"


def _interrupted(item: answers.Interrupted, style: Style) -> Iterator[str]:
    keys = " ".join(item.keys) or "its agent's own server"
    texts = {
        Outcome.PLANNED: f"would be interrupted by {keys}",
        Outcome.INTERRUPTED: f"interrupted, {item.state} now",
        Outcome.ALREADY_IDLE: "already idle",
    }
    yield f"{item.name}: {texts.get(item.outcome, item.outcome)}"  # type: ignore[call-overload]
    yield from (f"warning       {warning}" for warning in item.warnings)


def _sent(item: answers.Sent, style: Style) -> Iterator[str]:
    size = f"{item.chars} characters"
    if item.outcome == Outcome.PLANNED:
        yield f"{item.name}: {size} would be sent"
        return
    if item.waited_ms:
        waited = f", after {item.waited_ms / 1000:.1f} s"
    else:
        waited = ""
    yield f"{item.name}: {item.outcome}, {size}{waited}; {item.state} now"


def _restarted(item: results.Restarted, style: Style) -> Iterator[str]:
    if item.plan is not None:
        yield from planned(RecordedPlan.from_facts(item.plan), style)
        yield f"  comes back in pane {item.pane_id}, in its conversation {item.conversation_id}"
        return
    colour = "green" if item.error is None else "red"
    name = style.paint(item.name, "bold")
    outcome = style.paint(str(item.outcome), colour)
    if item.error is not None:
        again = ", resumable" if item.resumable else ""
        yield f"{name}: {outcome}; it is {item.status}{again}"
    else:
        waited = ""
        if item.waited_ms:
            waited = f" after {item.waited_ms / 1000:.1f} s"
        took = f"{item.duration_ms / 1000:.1f} s"
        pane = f"pane {item.pane_id} (pid {item.old_pid} -> {item.pid})"
        yield f"{name}: {outcome}{waited}, {item.agent} in {pane}, {took}"
        yield f"  conversation  {item.conversation_id}"
    if item.draft is not None:
        word = "draft back" if item.draft_back else "draft kept"
        yield f"  {word:<12}  {item.draft.text!r}"
    yield from (f"  warning       {warning}" for warning in item.warnings)


def _restarted_in_a_line(item: results.Restarted, style: Style) -> Iterator[str]:
    found = list(_restarted(item, style))
    yield found[0]
    yield from (line for line in found[1:] if line.startswith("  warning"))


def _skill(item: answers.Skill, style: Style) -> Iterator[str]:
    yield f"{item.name}: {item.outcome} in {item.folder}"


def _script(item: answers.Script, style: Style) -> Iterator[str]:
    yield from item.script


def _hooked(item: answers.Hooked, style: Style) -> Iterator[str]:
    yield f"{item.name}: hooks {item.action}: {item.file}"
    yield from item.diff


def _beat(item: answers.Beat, style: Style) -> Iterator[str]:
    yield f"{item.name}: state {item.state}"


def _reached(item: answers.Reached, style: Style) -> Iterator[str]:
    well = item.state == "ok"
    counted = f"{item.running} running of {item.sessions} sessions"
    if well:
        more = f"{item.version}, {counted}, {item.round_trip_ms} ms"
    else:
        more = ""
    state = style.paint(str(item.state), "green" if well else "red")
    yield f"{style.paint(item.name, 'bold')}: {state}  {more}".rstrip()


LEVEL_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


def _finding(item: answers.Finding, style: Style) -> Iterator[str]:
    """Print one finding of `doctor`, and the fixing command on its own line, to be copied."""
    level = str(item.level)
    first, *rest = _wrapped(f"{level:<8} {item.name:<9} {item.message}", style)
    yield style.paint(level, LEVEL_COLOURS.get(level)) + first[len(level) :]
    yield from rest
    if item.hint:
        yield f"{'':<9}{style.paint('fix:', 'bold')} {item.hint}"


def _wrapped(line: str, style: Style) -> list[str]:
    if style.width is None or width(line) <= style.width:
        return [line]
    from textwrap import wrap  # only on a terminal

    return wrap(line, max(style.width, 20), subsequent_indent=" " * 9, break_on_hyphens=False)


EVENT_WORDS = ("stopped_by", "reason", "verdict", "cause", "by", "text", "evidence", "job")


def _event_words(data: Mapping[str, object]) -> str:
    words = []
    for key in EVENT_WORDS:
        if isinstance(data.get(key), str) and data[key]:
            words.append(str(data[key]))
    if data.get("before") and data.get("state"):
        words += [f"{data['before']} -> {data['state']}"]
    elif data.get("state"):  # of an end: what its screen showed
        words += [f"at a {data['state']}"]
    if isinstance(data.get("set"), str):
        words += [f"set {data['set']}"]
    who = data.get("ended_by")
    if isinstance(who, Mapping):
        words += [f"by {who.get('user')} ({who.get('tool')})"]
    for kind in ("purged", "removed"):
        paths = data.get(kind)
        if isinstance(paths, list):
            words += [f"{kind} {path}" for path in paths]
    return f"  ({', '.join(words)})" if words else ""


# The short forms, for many results: one line, and what needs attention.
BRIEFLY: dict[type, Callable[[Any, Style], Iterator[str]]] = {
    results.Ending: partial(_ending, brief=True),
    answers.Session: _session_in_a_line,
    results.Restarted: _restarted_in_a_line,
}

FORMATTERS: dict[type, Callable[[Any, Style], Iterator[str]]] = {
    answers.Agent: _agent,
    answers.Awaited: _awaited,
    answers.Beat: _beat,
    answers.Default: _default,
    answers.Drift: _drift,
    results.Ending: _ending,
    answers.Event: _event,
    answers.Finding: _finding,
    answers.Forgotten: _forgotten,
    answers.Hooked: _hooked,
    answers.Interrupted: _interrupted,
    answers.Launched: _launched,
    answers.Listed: _session,
    answers.Protected: _protected,
    answers.Reached: _reached,
    answers.Reported: _reported,
    answers.Script: _script,
    results.Restarted: _restarted,
    answers.Sent: _sent,
    answers.Session: _session,
    answers.Shown: _shown,
    answers.Skill: _skill,
}

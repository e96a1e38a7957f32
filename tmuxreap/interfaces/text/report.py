"""Tells a Result to people or to scripts. Decides nothing and cannot change an outcome.

Results go to stdout; what went wrong, and talk, to stderr. What people read is made plain first: no
name, title or screen of somebody else's can command their terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from tmuxreap.core.errors import Failure, Unheard
from tmuxreap.core.model import Outcome
from tmuxreap.core.results import Item, PlainResult, RemoteResult, Result
from tmuxreap.core.text import Voice, cut, pad, plain, plain_value, width
from tmuxreap.core.times import iso, short_duration
from tmuxreap.ending.results import EndResult, JoinedResult, Reaped
from tmuxreap.sessions.results import SessionResult


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
    _tell_trouble(result, voice)
    if not voice.quiet:
        _tell_beside(result, voice)


def _tell_beside(result: Result, voice: Voice) -> None:
    """What is no result and no trouble, and worth a line."""
    if result.more.get("registry_made"):
        print(f"new registry: {plain(str(result.registry))}", file=sys.stderr)
    found = result.more.get("unregistered")
    if isinstance(found, list) and found:
        names = ", ".join(plain(f"{one['name']} ({one['agent']})") for one in found[:8])
        more = f", and {len(found) - 8} more" if len(found) > 8 else ""
        are = "agent is" if len(found) == 1 else "agents are"
        command = found[0]["command"] if len(found) == 1 else "tmuxreap adopt --all"
        print(
            f"{len(found)} {are} not registered: {names}{more}; register with: {plain(command)}",
            file=sys.stderr,
        )


def report_line(item: Item, voice: Voice) -> None:
    """One result of an endless command."""
    found = (
        [json.dumps(item.as_json(), default=str)] if voice.json else _item(plain_value(item), voice)
    )
    try:
        for line in found:
            print(line, flush=True)
    except OSError as error:
        raise Unheard(error.errno, error.strerror) from None


def _tell_trouble(result: Result, voice: Voice) -> None:
    for warning in result.warnings:
        print(f"{voice.paint('warning:', 'yellow')} {_indented(warning)}", file=sys.stderr)
    failures = [item.failure for item in result.results if item.failure is not None]
    for failure in [*failures, *result.others, *([result.failure] if result.failure else [])]:
        tell_failure(failure, voice, sys.stderr)


def tell_failure(failure: Failure, voice: Voice, to: TextIO) -> None:
    print(f"{voice.paint('error:', 'red')} {_indented(failure.message)}", file=to)
    if failure.hint:
        print(f"hint: {_indented(failure.hint)}", file=to)


def _indented(text: str) -> str:
    """A line break in a name must not make a line that looks like ours."""
    return plain(text, keep="\n").replace("\n", "\n    ")


def lines(result: Result, voice: Voice) -> Iterator[str]:
    items: list[Item] = [plain_value(item) for item in result.results]
    seen = [item.shown if isinstance(item, RemoteResult) else item for item in items]
    sessions = [item for item in seen if isinstance(item, SessionResult)]
    if sessions and result.command == "list":
        from tmuxreap.interfaces.text.table import summary, table

        yield from table(sessions, voice)
        if voice.width is not None:
            yield from (voice.paint(line, "dim") for line in [*summary(sessions), *_by_host(items)])
        return
    if (
        not result.results
        and (result.greeting or result.failure is None)
        and result.command in NOTHING
    ):
        yield result.greeting or NOTHING[result.command]
    if "plan" in result.more:
        yield from _launch(result.more["plan"])
    brief = sum(isinstance(item, EndResult) for item in items) > MANY
    for item in items:
        yield from _brief(item, voice) if brief else _item(item, voice)
    yield from _sums(result)


def _brief(item: Item, voice: Voice) -> Iterator[str]:
    """One of a crowd: of an ending a line, so that the first does not scroll away."""
    if not isinstance(item, EndResult) or item.outcome is Outcome.PLANNED:
        yield from _item(item, voice)
        return
    from tmuxreap.interfaces.text.receipt import receipt

    yield from receipt(item, voice, brief=True)


def _sums(result: Result) -> Iterator[str]:
    """After several one line, and after a plan of `reap` that it was only a plan."""
    outcomes = [str(item.as_json().get("outcome")) for item in result.results]
    if result.command == "reap" and "planned" in outcomes:
        yield (
            f"nothing was done; to end {_these(outcomes.count('planned'))}: the same command with"
            " --yes"
        )
    counts = result.more.get("counts")
    if len(outcomes) < 2 or "planned" in outcomes or not isinstance(counts, dict):
        return
    ways = {
        "by_keys": "by their exit keys",
        "by_term": "by hangup or SIGTERM",
        "by_kill": "by SIGKILL",
    }
    how = ", ".join(f"{counts[way]} {word}" for way, word in ways.items() if counts.get(way))
    before = outcomes.count("already_stopped")
    parts = [f"{counts['ended']} ended{f' ({how})' if how else ''}"]
    parts += [f"{before} had ended before"] if before else []
    parts += [f"{counts['failed']} failed"] if counts["failed"] else []
    yield ", ".join(parts)
    yield from _by_host(result.results)


def _by_host(items: Sequence[Item]) -> Iterator[str]:
    if any(isinstance(item, RemoteResult) for item in items):
        from tmuxreap.interfaces.text.by_host import by_host  # few commands ask another host

        yield from by_host(items)


def _these(count: int) -> str:
    return "it" if count == 1 else f"these {count}"


def _launch(plan: object) -> Iterator[str]:
    """What a start would run."""
    import shlex

    if isinstance(plan, dict):
        yield f"would start it: {shlex.join(plan['command'])}"


MANY = 3  # endings; of more each has a line
NOTHING = {
    "list": "no sessions yet; begin with: tmuxreap start NAME --agent AGENT",
    "stop": "nothing to stop",
    "kill": "nothing to kill",
    "reap": "nothing to reap",
    "forget": "nothing to forget",
    "interrupt": "nothing to interrupt",
    "events": "nothing happened yet",
    "reconcile": "registry, ledger and tmux agree",
}


def _item(item: Item, voice: Voice) -> Iterator[str]:
    if isinstance(item, EndResult):
        from tmuxreap.interfaces.text.receipt import receipt  # no other verb needs it

        yield from receipt(item, voice)
    elif isinstance(item, Reaped):
        from tmuxreap.interfaces.text.receipt import verdict

        yield from verdict(item, voice)
        yield from _item(item.result, voice)
    elif isinstance(item, SessionResult):
        yield from session(item, voice)
    elif isinstance(item, JoinedResult):
        name, outcome = item.recorded.get("name"), item.recorded.get("outcome")
        yield f"{name}: another stop was handling it: {outcome}"
    elif isinstance(item, PlainResult) and item.failure is None:
        yield from _plain(item, voice)
    elif isinstance(item, RemoteResult):
        yield from item.lines


def session(one: SessionResult, voice: Voice) -> Iterator[str]:
    drift = voice.paint(f" (drift: {one.drift})", "red") if one.drift else ""
    yield f"{voice.paint(one.name, 'bold')}: {one.status.value}, {one.live.value}{drift}"
    facts = {
        "agent": one.agent,
        "pane": f"{one.pane_id or '-'} (pid {one.pid or '-'})" if one.pane_id or one.pid else None,
        "folder": one.cwd,
        "server": one.tmux_server,
        "tags": " ".join(one.tags) or None,
        "conversation": one.conversation_id,
        "memory": f"{one.memory_mb:g} MB" if one.memory_mb else None,
        "idle": short_duration(one.idle_s) if one.idle_s is not None else None,
        "state": _state(one),
    }
    yield from (f"  {name:<13} {value}" for name, value in facts.items() if value is not None)
    for kind in ("processes", "protected"):
        found = one.facts.get(kind)
        if isinstance(found, list) and found:
            yield from _processes(kind, found, voice)
    screen = one.facts.get("screen")
    if isinstance(screen, str) and screen:
        yield "  screen"
        yield from (
            _within(f"  {voice.paint('|', 'dim')} ", line, voice) for line in screen.splitlines()
        )


def _state(one: SessionResult) -> str | None:
    """What it is at, and how that is known; of an agent that is no more what is left in its
    pane."""
    told = one.told
    if told is None or told.state is None:
        left = one.facts.get("pane_state")
        return str(left) if left else None
    until = f" until {told.until}" if told.until else ""
    since = f", since {iso(told.since)}" if told.since is not None else ""
    return f"{told.state.value}{until}{since}{f' (by its {told.source})' if told.source else ''}"


def _processes(kind: str, found: list[dict[str, object]], voice: Voice) -> Iterator[str]:
    yield f"  {kind}"
    cells = max(width(str(process["name"])) for process in found)
    for process in found:
        yield _within(
            "  ",
            f"{process['pid']:>9}  {pad(str(process['name']), cells)}  {process['why']}",
            voice,
        )


def _within(before: str, text: str, voice: Voice) -> str:
    """Cut where the terminal ends; `before` takes four cells at most."""
    return before + (text if voice.width is None else cut(text, max(voice.width - 4, 1)))


def _plain(item: PlainResult, voice: Voice) -> Iterator[str]:
    tell = next((tell for fact, tell in BY_FACT.items() if fact in item.facts), _other)
    return tell(item, voice)


def _happened(item: PlainResult, voice: Voice) -> Iterator[str]:
    facts = item.facts
    yield f"{facts['timestamp']}  {item.name}  {facts['kind']}{_event_words(facts.get('data'))}"


def _default(item: PlainResult, voice: Voice) -> Iterator[str]:
    facts = item.facts
    value = facts["value"]
    told = " ".join(map(str, value)) or "none" if isinstance(value, list) else _valued(value)
    where = f" ({facts['place']})" if facts.get("place") else ""
    note = f"; {facts['note']}" if facts.get("note") else ""
    source = voice.paint(f"{facts['source']}{where}{note}", "dim")
    yield f"{item.name:<20}{told}  {source}"


def _valued(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return short_duration(value) if isinstance(value, float) and value >= 1 else str(value)


def _agent(item: PlainResult, voice: Voice) -> Iterator[str]:
    facts = item.facts
    can = [word for word, fact in AGENT_WORDS.items() if facts.get(fact)]
    yield f"{item.name:<14}{facts['about']}"
    told = ", ".join(can) or "none of its own: it is ended by SIGHUP"
    yield f"{'':<14}can: {told}; verified: {facts['verified'] or 'no'}"


def _reaped(item: PlainResult, voice: Voice) -> Iterator[str]:
    yield f"{item.name}: {item.facts['verdict']}: {item.facts['outcome']}"


def _drift(item: PlainResult, voice: Voice) -> Iterator[str]:
    facts = item.facts
    yield f"{item.name or 'the ledger'}: {facts['drift']}: {facts['evidence']}"
    yield "  settled" if facts.get("settled") else f"  hint: {facts.get('hint')}"


def _to_run(item: PlainResult, voice: Voice) -> Iterator[str]:
    yield str(item.facts["command"])


def _forgotten(item: PlainResult, voice: Voice) -> Iterator[str]:
    history = ", with its history" if item.facts.get("history") else ""
    word = "removed" if item.facts["forgotten"] else "would be removed"
    yield f"{item.name}: {word} from the registry{history}"


def _protected(item: PlainResult, voice: Voice) -> Iterator[str]:
    word = "protected" if item.facts["keep"] else "not protected"
    yield f"{item.name}: {word}{'' if item.facts['changed'] else ', as before'}"


def _awaited(item: PlainResult, voice: Voice) -> Iterator[str]:
    waited = f"after {item.facts['waited_ms']} ms"
    yield (
        f"{item.name}: {item.facts['state'] or 'gone'},"
        f" {waited}{'' if item.facts['reached'] else ', not reached'}"
    )


def _interrupted(item: PlainResult, voice: Voice) -> Iterator[str]:
    keys = " ".join(str(key) for key in _listed(item.facts["keys"]))
    told = {
        "planned": f"would be interrupted by {keys}",
        "interrupted": f"interrupted, {item.facts['state']} now",
        "already_idle": "already idle",
    }
    outcome = str(item.facts["outcome"])
    yield f"{item.name}: {told.get(outcome, outcome)}"


def _skill(item: PlainResult, voice: Voice) -> Iterator[str]:
    yield f"{item.name}: {item.facts['outcome']} in {item.facts['folder']}"


def _script(item: PlainResult, voice: Voice) -> Iterator[str]:
    yield from _listed(item.facts["script"])


def _hooks(item: PlainResult, voice: Voice) -> Iterator[str]:
    yield f"{item.name}: hooks {item.facts['action']}: {item.facts['file']}"
    yield from _listed(item.facts["diff"])


def _other(item: PlainResult, voice: Voice) -> Iterator[str]:
    words = ", ".join(f"{key} {value}" for key, value in item.facts.items())
    yield f"{item.name}: {words}"


def _host(item: PlainResult, voice: Voice) -> Iterator[str]:
    facts = item.facts
    state = str(facts["state"])
    colour = "green" if state == "ok" else "red"
    counted = f"{facts['running']} running of {facts['sessions']} sessions"
    more = f"{facts['version']}, {counted}, {facts['round_trip_ms']} ms" if state == "ok" else ""
    yield f"{voice.paint(item.name, 'bold')}: {voice.paint(state, colour)}  {more}".rstrip()


def _listed(lines: object) -> list[str]:
    return lines if isinstance(lines, list) else []


AGENT_WORDS = {
    "exit keys": "exit_keys",
    "ID at start": "takes_an_id",
    "resume": "resume",
    "purge": "purge",
}
LEVEL_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


def _finding(item: PlainResult, voice: Voice) -> Iterator[str]:
    """One finding of `doctor`, and the command that fixes it: that stands on a line of its own, to
    be copied."""
    level = str(item.facts["level"])
    first, *rest = _wrapped(f"{level:<8} {item.name:<9} {item.facts['message']}", voice)
    yield voice.paint(level, LEVEL_COLOURS.get(level)) + first[len(level) :]
    yield from rest
    if item.facts.get("hint"):
        yield f"{'':<9}{voice.paint('fix:', 'bold')} {item.facts['hint']}"


# Each kind of plain result by the fact that no other has.
BY_FACT: dict[str, Callable[[PlainResult, Voice], Iterator[str]]] = {
    "round_trip_ms": _host,
    "kind": _happened,
    "locators": _agent,
    "level": _finding,
    "verdict": _reaped,
    "drift": _drift,
    "command": _to_run,
    "forgotten": _forgotten,
    "keep": _protected,
    "reached": _awaited,
    "keys": _interrupted,
    "folder": _skill,
    "script": _script,
    "source": _default,
    "diff": _hooks,
}


def _wrapped(line: str, voice: Voice) -> list[str]:
    if voice.width is None or width(line) <= voice.width:
        return [line]
    from textwrap import wrap  # only for who sits there

    return wrap(line, max(voice.width, 20), subsequent_indent=" " * 9, break_on_hyphens=False)


def _event_words(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    words = [str(data[key]) for key in ("stopped_by", "reason", "text") if data.get(key)]
    return f"  ({', '.join(words)})" if words else ""


def terminal_columns() -> int:
    from shutil import get_terminal_size  # with all that packs archives: only for who sits there

    return get_terminal_size().columns

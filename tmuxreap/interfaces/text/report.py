"""Prints a Result, as text or JSON. Decides nothing and cannot change an outcome.

Results go to stdout, errors and remarks to stderr. Text is always sanitized first: no name, title
or screen can control the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence

from tmuxreap.core.answers import Freed, Reported, Session
from tmuxreap.core.errors import Exit, Failure, command, printing
from tmuxreap.core.results import ENDED, Counts, Item, Problem, RemoteResult, Result, local
from tmuxreap.core.text import Style, plain, plain_value
from tmuxreap.core.verbs import VERBS, Verb
from tmuxreap.interfaces.text.formatters import item_lines
from tmuxreap.interfaces.text.receipt import counted, size
from tmuxreap.interfaces.text.table import summary, table
from tmuxreap.registry.targets import LAST


def report(result: Result, style: Style) -> None:
    with printing():
        _report(result, style)
        sys.stdout.flush()


def _report(result: Result, style: Style) -> None:
    if style.json:
        print(json.dumps(result.as_json(), default=str))
        return
    if not style.quiet:
        for line in lines(result, style):
            print(line)
    _print_problems(result, style)
    if not style.quiet:
        _print_remarks(result, style)


def _print_remarks(result: Result, style: Style) -> None:
    """Print remarks that are neither results nor errors."""
    if result.more.get("registry_made"):
        print(f"new registry: {plain(str(result.registry))}", file=sys.stderr)
    elif result.remark is not None:
        print(plain(result.remark, keep="\n"), file=sys.stderr)
    hosts = result.more.get("hosts")
    for one in hosts if isinstance(hosts, list) else ():
        if one.get("registry_made"):
            print(plain(f"new registry on {one['host']}: {one['registry']}"), file=sys.stderr)
    missing = result.more.get("unregistered")
    if isinstance(missing, list) and missing:
        names = ", ".join(plain(f"{one['name']} ({one['agent']})") for one in missing[:8])
        if len(missing) > 8:
            more = f", and {len(missing) - 8} more"
        else:
            more = ""
        are = "agent is" if len(missing) == 1 else "agents are"
        if len(missing) == 1:
            adopt = missing[0]["command"]
        else:
            adopt = "tmuxreap adopt --all"
        print(
            f"{len(missing)} {are} not registered: {names}{more}; register with: {plain(adopt)}",
            file=sys.stderr,
        )


def report_line(item: Item, style: Style) -> None:
    """Print one result of an endless command."""
    if style.json:
        printed = [json.dumps(item.as_json(), default=str)]
    else:
        printed = list(item_lines(plain_value(item), style))
    with printing():
        for line in printed:
            print(line, flush=True)


def _print_problems(result: Result, style: Style) -> None:
    """Print the failures, and the warnings; if all went well, a quiet command prints neither."""
    warnings = result.warnings
    if style.quiet and result.exit is Exit.OK:
        warnings = ()
    for warning in warnings:
        print(f"{_label('warning:', 'yellow', style)} {_indented(warning)}", file=sys.stderr)
    failures: list[Failure | Problem] = []
    for item in result.results:
        if item.error:
            failures.append(item.error)
    for failure in [*failures, *result.others, *([result.failure] if result.failure else [])]:
        print_failure(failure, style)


def print_failure(failure: Failure | Problem, style: Style) -> None:
    print(f"{_label('error:', 'red', style)} {_indented(failure.message)}", file=sys.stderr)
    if failure.hint:
        print(f"hint: {_indented(failure.hint)}", file=sys.stderr)


def _indented(text: str) -> str:
    """Indent further lines: a line break in a name must not fake a line of ours."""
    return plain(text, keep="\n").replace("\n", "\n    ")


def lines(result: Result, style: Style) -> Iterator[str]:
    items: list[Item] = [plain_value(item) for item in result.results]
    if result.command == "list" and (sessions := _sessions(items)):
        yield from table(sessions, style)
        if style.width is not None:
            yield from (style.paint(line, "dim") for line in [*summary(sessions), *by_host(items)])
        return
    if not result.results:
        where = f" in {result.registry}" if result.registry else ""
        if result.failure or result.others:
            nothing = None
        else:
            nothing = _verb(result).nothing.format(where=where)
        if said := result.greeting or nothing:
            yield said
    launch = result.more.get("plan")
    if isinstance(launch, dict):
        import shlex

        yield f"would start it: {shlex.join(launch['command'])}"
    brief = len(items) > (1 if _verb(result).lined else MANY)
    for item in items:
        yield from item_lines(item, style, brief=brief)
    yield from _summary_lines(result)


def _sessions(items: Iterable[Item]) -> list[Session]:
    """Return the existing sessions; missing ones are printed as errors."""
    found = map(local, items)
    return [one for one in found if isinstance(one, Session) and one.live is not None]


def _verb(result: Result) -> Verb:
    """Return the verb of the answer; without words of its own for one that does not exist."""
    return VERBS.get(result.command) or Verb(result.command, "")


def _freed_line(freed: Freed) -> str:
    """Sum up a report in the one line that people quote."""
    ended = counted(freed.sessions, "session", "sessions")
    processes = counted(freed.processes, "process", "processes")
    survivors = counted(freed.survivors, "survivor", "survivors")
    return f"ended: {ended}, {processes}, {size(freed.freed_mb)}, {survivors}"


def _nobody_looked(result: Result) -> bool:
    """Tell whether a report has no state of any session."""
    told = [item for item in result.results if isinstance(item, Reported)]
    known = sum(one.working_s + one.waiting_s + one.limited_s + one.idle_s for one in told)
    return not known and any(one.unknown_s for one in told)


def _summary_lines(result: Result) -> Iterator[str]:
    """Sum up several results in one line; after a plan of `reap` say that nothing was done."""
    freed = result.more.get("freed")
    if isinstance(freed, Freed):
        yield _freed_line(freed)
        if _nobody_looked(result):
            yield "unknown: nobody looked then; tmuxreap watch records the states"
    outcomes = [str(getattr(local(item), "outcome", None)) for item in result.results]
    if result.command == "reap" and "planned" in outcomes:
        count = outcomes.count("planned")
        these = "it" if count == 1 else f"these {count}"
        yield f"nothing was done; to end {these}: the same command with --yes"
    done = sum(bool(getattr(local(item), "live", None)) for item in result.results)
    done += outcomes.count("restarted")
    lined = _verb(result).lined
    if lined and done and len(outcomes) > 1:
        if done < len(outcomes):
            more = f", {len(outcomes) - done} failed"
        else:
            more = ""
        yield f"{done} {lined}{more}"
    counts: Counts | None = result.more.get("counts")  # type: ignore[assignment]
    if len(outcomes) < 2 or "planned" in outcomes or counts is None:
        return
    ways = {
        "by exit keys": counts.by_keys,
        "by hangup or SIGTERM": counts.by_term,
        "by SIGKILL": counts.by_kill,
    }
    how = ", ".join(f"{count} {way}" for way, count in ways.items() if count)
    before = outcomes.count("already_stopped")
    parts = [f"{counts.ended} ended{f' ({how})' if how else ''}"]
    parts += [f"{before} had ended before"] if before else []
    if counts.failed:
        parts += [f"{counts.failed} failed"]
    yield ", ".join(parts)
    again = to_resume(result)
    if again is not None:
        yield f"to resume them: {again}"
    yield from by_host(result.results)


def to_resume(result: Result) -> str | None:
    """Return the command that resumes what was ended, on several hosts each by its own set; None
    if nothing of it can be resumed."""
    if not any(getattr(local(item), "resumable", False) for item in result.results):
        return None
    its_set = result.more.get("set")
    hosts = result.more.get("hosts")
    where: list[str] = []
    if isinstance(hosts, list):
        names = [one["host"] for one in hosts if one.get("counts") and one["counts"].ended]
        where = ["--host", ",".join(names)]
        if its_set is None and result.command in ("stop", "kill"):
            its_set = LAST
    if its_set is None:
        return None
    return command("resume", "--set", plain(str(its_set)), *where)


def by_host(items: Sequence[Item]) -> Iterator[str]:
    """Sum up the answers of several hosts in one line."""
    remote = [item for item in items if isinstance(item, RemoteResult)]
    hosts = list(dict.fromkeys(item.host for item in remote))
    if len(hosts) > 1:
        sums = (_sum_of([item for item in remote if item.host == host]) for host in hosts)
        yield f"by host: {'; '.join(sums)}"


def _sum_of(items: Sequence[RemoteResult]) -> str:
    host = plain(items[0].host)
    found = [local(item) for item in items]
    if all(getattr(one, "outcome", None) is None for one in found):
        alive = sum(getattr(one, "live", None) == "alive" for one in found)
        return f"{host} {alive} of {len(items)} alive"
    ended = sum(getattr(one, "outcome", None) in ENDED for one in found)
    failed = sum(item.error is not None for item in items)
    return f"{host} {ended} of {len(items)} ended" + (f", {failed} failed" if failed else "")


MANY = 3  # more endings than this get one line each


def terminal_columns() -> int:
    from shutil import get_terminal_size  # a slow import (archive modules): only on a terminal

    return get_terminal_size().columns


def _label(word: str, color: str, style: Style) -> str:
    """Paint a word for stderr, which may be a file while stdout is a terminal."""
    return word if style.plain_errors else style.paint(word, color)

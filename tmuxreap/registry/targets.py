"""Selects rows by the targets of a command line: names, patterns, tags, agents, pids. Pure: never
looks at tmux or processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fnmatch import fnmatchcase

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row
from tmuxreap.core.values import frozen
from tmuxreap.registry.rows import BadRow, below, is_protected

AnyRow = Row | BadRow
LONGEST_PID = 19  # digits, as in the kernel's largest numbers; int() refuses very long ones
RESERVED = frozenset({"all", "-"})
LAST = "last"  # the newest set
SWEEPING = ("tag:", "agent:", "task:", "tree:")  # each may select several rows
PREFIXES = (*SWEEPING, "pid:")


class Wanted(Enum):
    """Which rows a pattern, a tag, an agent or `all` selects. A name always selects its row, a task
    all of its rows."""

    RUNNING = "running"
    ENDED = "ended"
    ALL = "all"


@frozen
class Questions:
    """Callbacks for what a selection needs from the world: the row that a process is proven to
    belong to, a row's agent, and which ended rows count as running (for kill: those with live
    processes)."""

    row_of_pid: Callable[[int], str | None] = lambda pid: None
    agent_of: Callable[[Row], str | None] = lambda row: row.agent
    counts: Callable[[Row], bool] = lambda row: False


@frozen
class Chosen:
    """The selected rows in the order of their targets, each once, and the targets without a row."""

    rows: tuple[Row, ...]
    bad: tuple[BadRow, ...]
    missing: tuple[Missing, ...]
    sweeping: bool  # a target may select several rows: users are asked, agents must pass --yes
    protected: tuple[str, ...] = ()  # left out, as they were not named themselves


@frozen
class Missing:
    target: str
    failure: Failure


def choose(
    rows: Sequence[AnyRow],
    targets: Iterable[str],
    wanted: Wanted,
    ask: Questions,
    *,
    skip_protected: bool = False,
) -> Chosen:
    """Select rows. `skip_protected`: only a name or a pid selects a protected row; those left out
    for it are in `protected`."""
    picked: dict[int, AnyRow] = {}
    missing: list[Missing] = []
    spared: dict[int, str | None] = {}
    sweeping = False
    for target in dict.fromkeys(targets):
        named = [row for row in rows if row.name == target and target not in RESERVED]
        matched: list[AnyRow] | Failure = named
        if not named:
            sweeping = sweeping or selects_many(target)
            matched = _selected(rows, target, wanted, ask)
            if skip_protected and selects_many(target) and not isinstance(matched, Failure):
                kept = {}
                for row in matched:
                    if _is_protected(row):
                        kept[row.index] = row.name
                spared.update(kept)
                if kept:
                    matched = _unprotected(rows, target, wanted, ask)
        if isinstance(matched, Failure):
            missing.append(Missing(target, matched))
        else:
            picked.update((row.index, row) for row in matched)
    chosen = picked.values()
    return Chosen(
        rows=tuple(row for row in chosen if isinstance(row, Row)),
        bad=tuple(row for row in chosen if isinstance(row, BadRow)),
        missing=tuple(missing),
        sweeping=sweeping,
        protected=tuple(str(name) for index, name in spared.items() if index not in picked),
    )


def _unprotected(
    rows: Sequence[AnyRow], target: str, wanted: Wanted, ask: Questions
) -> list[AnyRow] | Failure:
    """Select as if the protected rows did not exist; fail if the target then matches nothing."""
    matches = _matching(rows, target, ask)  # protected rows still connect a tree
    others = [row for row in rows if not _is_protected(row) and matches(row)]
    if others or target == "all":
        return [row for row in others if _is_selected(row, target, wanted, ask)]
    return Failure(
        Code.SESSION_NOT_REGISTERED,
        f"could not take {target!r}: every session it matches is protected",
        "name the session itself, or remove its protection with: tmuxreap unprotect NAME",
    )


def _is_protected(row: AnyRow) -> bool:
    return isinstance(row, Row) and is_protected(row)


def is_pattern(target: str) -> bool:
    return any(sign in target for sign in "*?[")


def selects_many(target: str) -> bool:
    return target == "all" or is_pattern(target) or target.startswith(SWEEPING)


def _selected(
    rows: Sequence[AnyRow], target: str, wanted: Wanted, ask: Questions
) -> list[AnyRow] | Failure:
    pid = _pid(target)
    if pid is not None:
        return _of_pid(rows, target, pid, ask)
    matches = _matching(rows, target, ask)
    matched = [row for row in rows if matches(row)]
    if not matched and target != "all":
        return unknown(target, rows)
    return [row for row in matched if _is_selected(row, target, wanted, ask)]


def _is_selected(row: AnyRow, target: str, wanted: Wanted, ask: Questions) -> bool:
    """Tell whether a matching row is selected. Like a name, a task selects ended rows, too: they
    have reached the goal."""
    if target.startswith("task:") or isinstance(row, BadRow):
        return True
    is_wanted = wanted is Wanted.ALL or row.status.ended is (wanted is Wanted.ENDED)
    return is_wanted or ask.counts(row)


def _matching(rows: Sequence[AnyRow], target: str, ask: Questions) -> Callable[[AnyRow], bool]:
    kind, _, word = target.partition(":")
    if kind == "tree" and word:
        names = {word, *below((row for row in rows if isinstance(row, Row)), word)}
        return lambda row: row.name in names
    return lambda row: _matches(row, target, ask)


def _matches(row: AnyRow, target: str, ask: Questions) -> bool:
    if target == "all":
        return True
    kind, _, word = target.partition(":")
    if isinstance(row, Row) and word:
        if kind == "tag":
            return word in row.tags
        if kind == "agent":
            return ask.agent_of(row) == word
        if kind == "task":
            return row.task_id == word
    return row.name is not None and is_pattern(target) and fnmatchcase(row.name, target)


def _pid(target: str) -> int | None:
    number = target.removeprefix("pid:")
    is_pid = number.isascii() and number.isdigit() and len(number) <= LONGEST_PID
    return int(number) if is_pid else None


def _of_pid(
    rows: Sequence[AnyRow], target: str, pid: int, ask: Questions
) -> list[AnyRow] | Failure:
    name = ask.row_of_pid(pid)
    matched = [row for row in rows if name is not None and row.name == name]
    return matched or Failure(
        Code.PROCESS_NOT_FOUND,
        f"could not find the session of {target}: no process {pid} is proven to belong to one",
        "see the processes of a session with: tmuxreap show NAME",
    )


def unknown(target: str, rows: Sequence[AnyRow]) -> Failure:
    """Return the failure for a target without a row, with similar names as a hint."""
    names = [row.name for row in rows if row.name]
    near = []
    for name in names:
        if name.startswith(target[:3]) and not selects_many(target):
            near.append(name)
    reason = "no registered session matches"
    hint = "see all sessions with: tmuxreap list"
    name, _, host = target.rpartition("@")
    if name and host and not target.startswith(PREFIXES):
        reason += f", and {host!r} is no host that was asked"
        hint += "; the hosts with: tmuxreap hosts"
    if near:
        hint = f"did you mean {', '.join(near[:3])}? {hint}"
    return Failure(Code.SESSION_NOT_REGISTERED, f"could not find {target!r}: {reason}", hint)

"""Converts parsed rows of the registry to `Row` values, and tells what they say: their fields,
their parents, their restarts, and what is wrong with one. Never trusts that parents form a tree,
and never touches a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import RecordedPane, RecordedTmux, Row, Status, Terminal
from tmuxreap.core.times import epoch_of, parse_duration
from tmuxreap.core.values import frozen

GREATEST_PID = 2**31 - 1
_OWN = "_id_own"  # a cheap first test on every field of thousands of rows
E = TypeVar("E", bound=Enum)

NO_PANE = RecordedPane()
NO_TMUX = RecordedTmux()


@frozen
class BadRow:
    """A row that cannot be read or edited safely; only targets that match it fail."""

    index: int
    name: str | None
    reason: str
    line: int
    column: int


def conversation_field(agent: str) -> str:
    """Return the field of an agent's conversation ID; those of claude and codex are older than this
    program."""
    if agent in ("claude", "codex"):
        kind = "session"
    else:
        kind = "conversation"
    return f"{agent.replace('-', '_')}_{kind}_id_own"


def read_row(index: int, data: Mapping[str, object]) -> Row:
    """Convert a row; raise ValueError with the reason if it cannot be acted on."""
    row = Row.__new__(Row)
    _fill(row, index, data)
    return row


def _fill(row: Any, index: int, data: Mapping[str, object]) -> None:
    terminal = Terminal.TMUX
    if data.get("terminal") is not None:
        terminal = _known(Terminal, "terminal", data.get("terminal"))
    row.__init__(
        name=_name(data),
        status=_known(Status, "status", data.get("status")),
        agent=_text(data.get("agent")),
        terminal=terminal,
        tags=_tags(data.get("tags")),
        task_id=_text(data.get("task_id")),
        tmux_server=_text(data.get("tmux_server")),
        start_command=_text(data.get("start_command")),
        pane=_pane(data.get("pane")),
        tmux=_tmux(data.get("tmux")),
        conversations=_conversations(data),
        resumable=_flag(data.get("resumable")),
        stop_reason=_text(data.get("stop_reason")),
        data=data,
        index=index,
    )


def _is_conversation(key: str) -> bool:
    """Tell whether a field is like `codex_session_id_own`."""
    agent, _, kind = key.removesuffix(_OWN).rpartition("_")
    plain = agent.isascii() and agent.replace("_", "a").isalnum()
    return plain and kind in ("session", "conversation")


class _CachedRow(Row):
    """A row of which only name and status are converted, and the rest at the first question for one
    of them: most of ten thousand rows are asked for no more. It equals any row of its content."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        # Python calls this only while the field's slot is empty.
        _fill(self, self.index, self.data)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and _compared(self) == _compared(other)

    __hash__ = Row.__hash__


_compared = attrgetter(*(name for name in Row.__match_args__ if name != "data"))
_SETTERS: dict[str, Any] = {name: getattr(Row, name).__set__ for name in Row.__match_args__}


def cached_row(index: int, data: Mapping[str, object]) -> Row:
    """Return the row of cached data that was valid when it was parsed."""
    row = _CachedRow.__new__(_CachedRow)
    _SETTERS["index"](row, index)
    _SETTERS["name"](row, data["name"])
    _SETTERS["status"](row, Status(data["status"]))
    _SETTERS["data"](row, data)
    return row


def recorded_conversation(row: Row, agent: str | None) -> str | None:
    """Return the row's conversation ID for this agent; without an agent, its only one."""
    by_field = dict(row.conversations)
    if agent is not None:
        return by_field.get(conversation_field(agent))
    ids = [value for value in by_field.values() if value]
    return ids[0] if len(ids) == 1 else None


def is_protected(row: Row) -> bool:
    """Tell whether it is protected; any word of another tool except a plain no means yes."""
    word = row.data.get("keep")
    return bool(word) and str(word).lower() not in ("false", "no", "off", "0")


def fields_of(row: Row) -> set[str]:
    """Return the names of all its fields, those of other tools included."""
    return set(row.data)


def has_field(row: Row, *path: str) -> bool:
    """Tell whether the row has that field, even an empty one."""
    value: object = row.data
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True


def folder_of(row: Row) -> str | None:
    """Return the row's `pane.cwd` without converting its other fields."""
    pane = row.data.get("pane")
    if isinstance(pane, dict):
        return _text(pane.get("cwd"))
    return None


def parent_of(row: Row) -> str | None:
    """Return the name of the session that it was started from."""
    return _text(row.data.get("parent"))


def ended_epoch(row: Row) -> float | None:
    """Return when it ended, in seconds since the epoch; None if the row does not say."""
    for word in ("stopped", "terminated"):
        if (at := _number(row.data.get(f"{word}_at_epoch"))) is not None:
            return at
    timestamp = row.data.get("stopped_at") or row.data.get("terminated_at")
    return None if timestamp is None else epoch_of(timestamp)


def _conversations(data: Mapping[str, object]) -> tuple[tuple[str, str | None], ...]:
    own = [key for key in map(str, data) if key.endswith(_OWN)]
    return tuple((key, _text(data[key])) for key in own if _is_conversation(key))


def _name(data: Mapping[str, object]) -> str:
    name = data.get("name")
    if isinstance(name, (int, float)) and not isinstance(name, bool):
        raise ValueError(f"its name {name!r} is a number in YAML; put it in quotes")
    if not isinstance(name, str) or not name:
        raise ValueError("it has no name")
    if "\0" in name:
        raise ValueError("its name holds a NUL character")
    return name


def _known(kind: type[E], field: str, value: object) -> E:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise ValueError(f"its {field} {value!r} is not one of {known}") from None


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: object) -> int | None:
    if type(value) is int:  # excludes bool
        return value
    if not isinstance(value, str):
        return None
    try:
        return int(value)
    except ValueError:
        return None


def _pid(value: object) -> int | None:
    """Return None or a valid pid; raise ValueError otherwise: a row with a broken pid must not fall
    back to its name alone."""
    if value is None or value == "":
        return None
    number = _integer(value)
    if number is None or not 0 < number <= GREATEST_PID:
        raise ValueError(f"its pane.pid {str(value)[:40]!r} is not a process ID")
    return number


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return None


def _tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(str(tag) for tag in value)
    return ()


def _pane(value: object) -> RecordedPane:
    if not isinstance(value, dict) or not value:
        return NO_PANE
    get = value.get
    return RecordedPane(
        pid=_pid(get("pid")),
        cmd=_text(get("cmd")),
        cwd=_text(get("cwd")),
        id=_text(get("id")),
        created_epoch=_number(get("created_epoch")),
        start_ticks=_integer(get("start_ticks")),
        listen_on=_text(get("listen_on")),
    )


def _tmux(value: object) -> RecordedTmux:
    if not isinstance(value, dict) or not value:
        return NO_TMUX
    get = value.get
    return RecordedTmux(
        socket=_text(get("socket")),
        host=_text(get("host")),
        boot_id=_text(get("boot_id")),
        server_pid=_integer(get("server_pid")),
        server_started=_integer(get("server_started")),
        session_id=_text(get("session_id")),
        session_created=_integer(get("session_created")),
    )


def below(rows: Iterable[Row], name: str) -> set[str]:
    """Return the names of all descendants, itself excluded."""
    children = _children(rows)
    descendants: set[str] = set()
    todo = [name]
    while todo:
        new = []
        for child in children.get(todo.pop(), ()):
            if child not in descendants:
                new.append(child)
        descendants.update(new)
        todo += new
    return descendants - {name}


def as_trees(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Sort each row after its parent, with its depth; a row whose parent is missing is a root."""
    children = _children(rows)
    names = dict.fromkeys(row.name for row in rows)
    roots = [row.name for row in rows if parent_of(row) not in names]
    depths: dict[str, int] = {}
    for name in (*roots, *names):  # `names` again for cycles, which have no root
        _add_tree(name, children, depths)
    return list(depths.items())


def _add_tree(root: str, children: dict[str, list[str]], depths: dict[str, int]) -> None:
    todo = [(root, 0)]
    while todo:
        name, depth = todo.pop()
        if name not in depths:
            depths[name] = depth
            todo += [(child, depth + 1) for child in reversed(children.get(name, []))]


def running_below(rows: Iterable[Row], names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each of these sessions that has running descendants not among them, with their
    names."""
    all_rows = list(rows)
    ending = set(names)
    running = {row.name for row in all_rows if not row.status.ended} - ending
    for name in sorted(ending):
        if running_left := below(all_rows, name) & running:
            yield name, sorted(running_left)


def _children(rows: Iterable[Row]) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    for row in rows:
        if (parent := parent_of(row)) is not None:
            children.setdefault(parent, []).append(row.name)
    return children


LONGEST_PAUSE_S = 300.0
MOST = 1000  # a higher limit would be no limit
_LIMIT = re.compile(r"\s*(\d+)\s*/\s*(\S+)\s*")


class Restart(Enum):
    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


@frozen
class Limit:
    """At most `count` restarts within this time."""

    count: int = 5
    within_s: float = 600.0


@frozen
class RestartPolicy:
    """When a row's session is to be restarted, and how often."""

    when: Restart
    limit: Limit


def parse_restart(word: str) -> Restart:
    """Parse a restart word; raise ValueError with the known words."""
    try:
        return Restart(word)
    except ValueError:
        known = ", ".join(one.value for one in Restart)
        raise ValueError(f"{word!r} is not one of {known}") from None


def parse_limit(text: str) -> Limit:
    """Parse a limit such as `5/10m`; raise ValueError with a reason that the user can act on."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no limit; use for example 5/10m: 5 times within 10 minutes")
    count = int(match[1][:9])
    within_s = parse_duration(match[2])
    if not 1 <= count <= MOST:
        raise ValueError(f"{text!r} allows {match[1][:9]} restarts; use 1 to {MOST}")
    if within_s < 1:
        raise ValueError(f"{text!r} counts within less than a second")
    return Limit(count, within_s)


def wants_restart(row: Row) -> bool:
    """Tell whether the row has any restart policy; cheap, as it is called for every row."""
    return row.data.get("restart") not in (None, "", False, "never")


def policy_of(row: Row) -> RestartPolicy | None:
    """Return a row's restart policy, or None; raise ValueError if another tool wrote an unknown
    word."""
    if not wants_restart(row):
        return None
    when = parse_restart(str(row.data.get("restart")))
    limit = row.data.get("restart_limit")
    return RestartPolicy(when, Limit() if limit in (None, "") else parse_limit(str(limit)))


def loss_key(row: Row) -> str:
    """Return a key for this loss: decisions about an earlier loss of the session do not apply."""
    return f"{ended_epoch(row)} {row.pane.pid} {row.pane.created_epoch}"


def pause_s(restarts: int) -> float:
    """Return the pause after so many restarts: 1, 2, 4 ... s."""
    return min(LONGEST_PAUSE_S, 2.0 ** min(restarts, 16))


EMPTY = "the file is empty"
FOLDER = "it is a folder, not a file"


def invalid(path: Path, reason: str, line: int, column: int) -> Failure:
    where = ""
    if line and reason != EMPTY:
        where = f", line {line}, column {column}"
    if reason == EMPTY:
        hint = "restore it, as from git; or delete it, and the next start makes a new one"
    elif reason == FOLDER:
        hint = "name the file in it, as in: --registry DIR/.hermes/agent-sessions.yaml"
    else:
        edit = f"edit line {line}" if line else "edit the file"
        hint = f"{edit}, or restore it, as from git; nothing was written to it"
    message = f"could not read the registry {path}{where}: {reason}"
    return Failure(Code.REGISTRY_INVALID, message, hint)


def unwritable(path: Path, error: OSError) -> Failure:
    return Failure(
        Code.REGISTRY_UNWRITABLE,
        f"could not write the registry {path}: {error.strerror or error}",
        "make room or fix the permissions of its folder, then run: tmuxreap reconcile",
    )


def row_invalid(path: Path, row: BadRow) -> Failure:
    if row.name:
        label = repr(row.name)
    else:
        label = f"number {row.index + 1}"
    return Failure(
        Code.ROW_INVALID,
        f"could not use the row {label}: {row.reason} ({path}, line {row.line}, column"
        f" {row.column})",
        f"edit line {row.line} of {path}, then try again",
    )

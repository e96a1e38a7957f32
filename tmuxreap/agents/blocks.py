"""Reads settings from YAML: merges mappings, checks each value when it is used, and reports each
error with its place. Does not know what the settings mean, and writes nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tmuxreap.core.values import frozen

if TYPE_CHECKING:
    import yaml  # late elsewhere: cached settings do not need it

Path_ = tuple[str, ...]  # the keys that lead to a value
DEEPEST = 50
ESCAPED = re.compile(r"\\.", re.DOTALL)
A_STYLE = r"(?:\x1b\[[0-9;]*m)"
MOST_VALUES = 100_000


class Misplaced(Exception):  # noqa: N818 - it says what the value is
    """A value that is not allowed at its place."""

    def __init__(self, path: Path_, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


class Unreadable(Exception):  # noqa: N818
    """A file that cannot be read; the reason names the line if there is one."""


def _with_styles(escaped: re.Match[str]) -> str:
    return A_STYLE if escaped.group() == r"\e" else escaped.group()


class LazyPattern:
    """A pattern that is compiled on first use: a start needs few of three hundred."""

    __slots__ = ("_made", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._made: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = _compiled(self.pattern)
        return getattr(self._made, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (LazyPattern, re.Pattern)) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


@frozen
class Block:
    """A mapping, with the keys that lead to it. `validated`: its patterns are known to be valid."""

    data: Mapping[str, object]
    path: Path_ = ()
    validated: bool = False

    def only(self, known: Collection[str]) -> Block:
        """Reject unknown keys: a misspelt one would silently have no effect."""
        for key in self.data:
            if key not in known:
                reason = f"{key!r} is not known here; known are {', '.join(known)}"
                raise self.bad(str(key), reason)
        return self

    def inner(self, key: str) -> Block:
        return self._block(self.data.get(key), (*self.path, key))

    def blocks(self, key: str) -> dict[str, Block]:
        """Return a mapping of blocks, by name."""
        inner = self.inner(key)
        found: dict[str, Block] = {}
        for name, value in inner.data.items():
            found[str(name)] = self._block(value, (*inner.path, str(name)))
        return found

    def entries(self, key: str, short: str) -> Iterator[Block]:
        """Yield a list of blocks; a bare word means a block with only that word under `short`."""
        for number, item in enumerate(self.list(key)):
            path = (*self.path, key, str(number))
            yield self._block({short: item} if isinstance(item, str) else item, path)

    def list(self, key: str) -> list[object]:
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.bad(key, f"expected a list, not {value!r}")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        return tuple(_text(item, (*self.path, key)) for item in self.list(key))

    def patterns(self, key: str) -> tuple[re.Pattern[str], ...]:
        entries = {str(place): word for place, word in enumerate(self.words(key))}
        block = self._block(entries, (*self.path, key))
        return tuple(pattern for place in entries if (pattern := block.pattern(place)))

    def text(self, key: str) -> str | None:
        value = self.data.get(key)
        if value is None:
            return None
        return _text(value, (*self.path, key))

    def number(self, key: str, default: float) -> float:
        value: Any = self.data.get(key, default)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not 0 <= value < float("inf"):
            raise self.bad(key, f"{value!r} is not a number of seconds")
        return float(value)

    def switch(self, key: str, *, default: bool) -> bool:
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.bad(key, f"{value!r} is neither true nor false")
        return value

    def pattern(self, key: str, example: str = "") -> re.Pattern[str] | None:
        """Return a pattern, with `{id}` in it replaced by the example, and `\\e` by a style."""
        text = self.text(key)
        if text is None:
            return None
        filled = text.replace("{id}", example) if example else text
        if r"\e" in filled:
            filled = ESCAPED.sub(_with_styles, filled)
        try:
            lazy = cast("re.Pattern[str]", LazyPattern(filled))
            return lazy if self.validated else _compiled(filled)
        except re.error as error:
            raise self.bad(key, f"{text!r} is not a valid pattern: {error}") from None

    def check_in_store(self, key: str) -> None:
        """Raise Misplaced for a path that leads out of the store."""
        path = self.text(key) or ""
        if path.startswith(("/", "~")) or ".." in path.split("/"):
            raise self.bad(key, f"{path!r} does not lie in the store")

    def bad(self, key: str, reason: str) -> Misplaced:
        return Misplaced((*self.path, key), reason)

    def _block(self, value: object, path: Path_) -> Block:
        if value is not None and not isinstance(value, Mapping):
            raise Misplaced(path, f"expected a mapping, not {value!r}")
        return Block(value or {}, path, self.validated)


def _text(value: object, path: Path_) -> str:
    if isinstance(value, (Mapping, list)):
        raise Misplaced(path, f"expected a word, not {value!r}")
    return str(value)


def _loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parsed(text: str) -> dict[str, object]:
    """Parse a document; raise Unreadable for what is no mapping, nested too deeply (the parser in C
    recurses without a limit), or too large."""
    import yaml

    try:
        check_extent(text)
        loaded = yaml.load(text, _loader())  # noqa: S506 - one of the safe ones
    except yaml.MarkedYAMLError as error:
        raise Unreadable(f"{_where(error.problem_mark)}{error.problem}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise Unreadable(" ".join(str(error).split())) from None
    if loaded is not None and not isinstance(loaded, dict):
        raise Unreadable("line 1, column 1: the file is not a mapping")
    return loaded or {}


def check_extent(text: str) -> None:
    """Raise Unreadable for a text that is nested too deeply, or too large with its aliases written
    out: a few lines of them may stand for billions of values."""
    import yaml

    sizes: dict[str | None, int] = {}  # of what has an anchor; 0 as long as it is not complete
    around: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(text, _loader()):
        size = 0
        if isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1) or MOST_VALUES + 1  # it refers to itself
        elif isinstance(event, yaml.CollectionStartEvent):
            around.append((event.anchor, 1))
            sizes[event.anchor] = 0
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = around.pop()
            sizes[anchor] = size
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
            sizes[event.anchor] = size
        outer, before = around[-1]
        around[-1] = (outer, before + size)
        mark = cast("yaml.Mark | None", event.start_mark)
        if len(around) > DEEPEST + 1:
            raise Unreadable(f"{_where(mark)}it is nested too deeply")
        if before + size > MOST_VALUES:
            raise Unreadable(f"{_where(mark)}its aliases expand to too many values")


def merged(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Merge mappings key by key; replace any other value as a whole."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return result


def place(text: str, path: Path_, *, of_key: bool = False) -> str | None:
    """Return line and column of a value, or of its key, in a text that `parsed` can read; None if
    not found."""
    import yaml

    node = yaml.compose(text, _loader())
    at = node
    for key in path:
        at, node = _entry(node, key)
        if node is None:
            return None
    node = at if of_key and at else node
    return _where(node.start_mark) if node else None


def _entry(node: yaml.Node | None, key: str) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Return the node of this key, if it has one, and that of its value."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        entries = ((name, value) for name, value in node.value if name.value == key)
        return next(entries, (None, None))
    if isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
        return None, node.value[int(key)]
    # A bare word may mean a block.
    return None, node if isinstance(node, yaml.ScalarNode) else None


def _where(mark: yaml.Mark | None) -> str:
    if mark:
        return f"line {mark.line + 1}, column {mark.column + 1}: "
    return ""


def block_path(path: Path_, theirs: Mapping[str, object]) -> Path_:
    """Return the keys of the block that a value belongs to: an agent's, or one at the top."""
    agents = theirs.get("agents")
    if path[0] == "agents" and isinstance(agents, Mapping):
        return path[:2]
    return path[:1]


def at(data: Mapping[str, object], path: Path_) -> object:
    value: object = data
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        else:
            value = None
    return value


def with_block(data: Mapping[str, object], path: Path_, block: object) -> dict[str, object]:
    """Return the data with another block at this place; without it for None."""
    key = path[0]
    rest = path[1:]
    inner = data.get(key)
    if rest:
        block = with_block(inner if isinstance(inner, Mapping) else {}, rest, block)
    found: dict[str, object] = {}
    for name, value in {**data, key: block}.items():
        if value is not None:
            found[name] = value
    return found


def place_error(error: Misplaced, file: Path, text: str) -> str:
    """Return the message with the place of the error, or of the block that it is in."""
    found = None
    for depth in range(len(error.path), 0, -1):
        found = place(text, error.path[:depth])
        if found is not None:
            break
    return f"{file}: {found or ''}{'.'.join(error.path)}: {error.reason}"

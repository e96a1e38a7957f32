"""Changes the fields of one row, in the row's own text.

Gets a single valid row; returns its new text and the data which that must mean. Never sees the rest
of the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from tmuxreap.registry.transitions import Remove
from tmuxreap.registry.yaml import rows
from tmuxreap.registry.yaml.rows import ALIAS, Entry, Leaf, Node, read_row
from tmuxreap.registry.yaml.scalars import Value, as_loaded, same, written
from tmuxreap.registry.yaml.splice import (
    CannotSplice,
    Splice,
    add_entries,
    remove_entry,
    replace_value,
    spliced,
)

REMOVE: Final = Remove.KEY
Path: TypeAlias = tuple[str, ...]
Change: TypeAlias = "Value | Remove"
Changes: TypeAlias = "Mapping[Path, Change]"
_Data: TypeAlias = dict[Any, Any]


class _Inner(_Data):
    """Changes to keys of a nested mapping, as opposed to a mapping that replaces a value."""


def changed(
    text: str, data: Mapping[str, object], changes: Changes, newline: str
) -> tuple[str, _Data]:
    """Apply changes to a row. `text` is the row alone, indented as in its file."""
    result: dict[Any, Any] = {key: as_loaded(value) for key, value in data.items()}
    for step in _steps(changes):
        edit = _Edit(text, newline)
        edit.plan(read_row(text), result, step, ())
        text = spliced(text, edit.splices)
        for path in edit.removals:
            text = _without(text, result, path, newline)
    return text, result


def _leads_through(path: Path, changes: Changes) -> bool:
    return len(path) > 1 and any(path[:size] in changes for size in range(1, len(path)))


def _steps(changes: Changes) -> Iterator[_Inner]:
    """Yield all changes at once, or one by one if a path leads through another."""
    if any(_leads_through(path, changes) for path in changes):
        yield from (_tree({path: change}) for path, change in changes.items())
    else:
        yield _tree(changes)


def _tree(changes: Changes) -> _Inner:
    tree = _Inner()
    for path, change in changes.items():
        branch = tree
        for key in path[:-1]:
            branch = branch.setdefault(key, _Inner())
        branch[path[-1]] = change if isinstance(change, Remove) else as_loaded(change)
    return tree


def _new_value(change: object) -> Any:
    """Return the value for a missing key; REMOVE if there is nothing to create."""
    if not isinstance(change, _Inner):
        return change
    inner = {key: made for key, each in change.items() if (made := _new_value(each)) is not REMOVE}
    return inner or REMOVE


class _Edit:
    """Collects the splices for values that are set or added, and the paths to be removed after
    that."""

    def __init__(self, text: str, newline: str) -> None:
        self.text = text
        self.newline = newline
        self.splices: list[Splice] = []
        self.removals: list[tuple[object, ...]] = []

    def plan(self, mapping: Node, data: _Data, tree: _Inner, path: tuple[object, ...]) -> None:
        if not isinstance(mapping, rows.Mapping):
            raise CannotSplice("it is not a mapping", mapping.start)
        entries = mapping.own
        adds = {}
        for key, change in tree.items():
            if key in entries:
                self.change(mapping, entries[key], data, key, change, (*path, key))
            elif key in data:
                adds.update(_overriding(mapping, key, data[key], change))
            elif (made := _new_value(change)) is not REMOVE:
                adds[key] = made
        if adds:
            self.splices += add_entries(self.text, mapping, adds, self.newline)
            data.update(adds)

    def change(
        self,
        mapping: rows.Mapping,
        entry: Entry,
        data: _Data,
        key: object,
        change: Any,
        path: tuple[object, ...],
    ) -> None:
        old = data[key]
        if change is REMOVE:
            self.removals.append(path)
        elif isinstance(entry.value, Leaf) and entry.value.style == ALIAS:
            self.replace(mapping, entry, data, key, _in_whole(entry.key.start, old, change))
        elif isinstance(change, _Inner) and isinstance(old, dict):
            self.plan(entry.value, old, change, path)
        elif isinstance(change, _Inner) and old is not None:
            raise CannotSplice(f"`{key}` is not a mapping", entry.key.start)
        elif same(old, change) or (value := _new_value(change)) is REMOVE:
            return
        elif isinstance(old, dict) and isinstance(value, dict):
            gone = {each: REMOVE for each in old if each not in value}
            self.plan(entry.value, old, _Inner(value | gone), path)
        else:
            self.replace(mapping, entry, data, key, value)

    def replace(
        self, mapping: rows.Mapping, entry: Entry, data: _Data, key: object, value: Any
    ) -> None:
        if same(data[key], value):
            return
        self.splices += replace_value(
            self.text, entry, value, mapping.column, mapping.flow, self.newline
        )
        data[key] = value


def _overriding(mapping: rows.Mapping, key: str, old: object, change: object) -> _Data:
    """Return the key of its own that a mapping needs for a value other than the merged one."""
    if change is REMOVE:
        raise CannotSplice(f"`{key}` comes by a merge key", mapping.start)
    value = _in_whole(mapping.start, old, change)
    return {} if same(old, value) else {key: value}


def _in_whole(position: int, old: object, change: object) -> Any:
    """Return the changed value as one that is written out here, as the old one stands elsewhere."""
    if not isinstance(change, _Inner):
        return change
    if not isinstance(old, dict) and old is not None:
        raise CannotSplice("it is not a mapping", position)
    value = dict(old or {})
    for key, each in change.items():
        if each is REMOVE:
            value.pop(key, None)
            continue
        made = _in_whole(position, value.get(key), each)
        if made is not None or not isinstance(each, _Inner):
            value[key] = made
    if old is None and not value:
        return None
    try:
        written(value)
    except TypeError as error:  # a date, or a key that is no text
        raise CannotSplice(f"it repeats a value that is not plain: {error}", position) from None
    return value


def _without(text: str, data: _Data, path: tuple[object, ...], newline: str) -> str:
    mapping, parent = cast(rows.Mapping, read_row(text)), None
    for key in path[:-1]:
        parent = mapping, mapping.entries[_number(mapping, key)]
        mapping, data = cast(rows.Mapping, parent[1].value), data[key]
    number = _number(mapping, path[-1])
    del data[path[-1]]
    if len(mapping.entries) > 1 or mapping.flow:
        splices = remove_entry(text, mapping, number)
    elif parent is None:
        splices = [Splice(mapping.start, mapping.end, "{}")]
    else:
        splices = replace_value(text, parent[1], {}, parent[0].column, parent[0].flow, newline)
    return spliced(text, splices)


def _number(mapping: rows.Mapping, key: object) -> int:
    return [each.name for each in mapping.entries].index(key)

"""Who was started by whom: the rows as trees, by their `parent`. Pure.

Never trusts that they are trees: a row may name itself, or one below it, as its parent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tmuxreap.core.model import Row
from tmuxreap.registry.rows import parent_of


def below(rows: Iterable[Row], name: str) -> set[str]:
    """Name all that stand below this one, itself left out."""
    children = _children(rows)
    found: set[str] = set()
    todo = [name]
    while todo:
        new = [child for child in children.get(todo.pop(), ()) if child not in found]
        found.update(new)
        todo += new
    return found - {name}


def as_trees(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Put each row behind its parent, with its depth; one whose parent is not among them is a
    root."""
    children = _children(rows)
    names = [row.name for row in rows]
    roots = [
        row.name for row in rows if parent_of(row) not in children or parent_of(row) not in names
    ]
    told: dict[str, int] = {}
    for name in (*roots, *names):  # the second time for those that go round in a circle
        _put(name, children, told)
    return list(told.items())


def _put(root: str, children: dict[str, list[str]], told: dict[str, int]) -> None:
    todo = [(root, 0)]
    while todo:
        name, depth = todo.pop()
        if name not in told:
            told[name] = depth
            todo += [(child, depth + 1) for child in reversed(children.get(name, []))]


def running_below(rows: Iterable[Row], names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """For each of these that has running ones below that are not among them: who these are."""
    there = list(rows)
    ending = set(names)
    running = {row.name for row in there if not row.status.ended} - ending
    for name in sorted(ending):
        if left := below(there, name) & running:
            yield name, sorted(left)


def _children(rows: Iterable[Row]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if (parent := parent_of(row)) is not None:
            found.setdefault(parent, []).append(row.name)
    return found

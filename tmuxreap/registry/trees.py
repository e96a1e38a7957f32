"""The rows as trees, by their `parent`: the session that each was started from. Pure.

Never trusts that they are trees: a row may name itself or a descendant as its parent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tmuxreap.core.model import Row
from tmuxreap.registry.rows import parent_of


def below(rows: Iterable[Row], name: str) -> set[str]:
    """Return the names of all descendants, itself excluded."""
    children = _children(rows)
    descendants: set[str] = set()
    todo = [name]
    while todo:
        new = [child for child in children.get(todo.pop(), ()) if child not in descendants]
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

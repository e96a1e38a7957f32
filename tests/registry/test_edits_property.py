"""Any style of registry: an edit changes what was asked for, and not one byte elsewhere."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.registry_text import set_fields
from tests.yaml_documents import documents
from tests.yaml_parts import KEYS, Field, Made, RowPlace
from tmuxreap.registry.edits import Unsafe, _edited, add_row, edit_rows, remove_rows
from tmuxreap.registry.yaml import parse as yamlparse
from tmuxreap.registry.yaml.parse import Document, parse
from tmuxreap.registry.yaml.splice import REMOVE

pytestmark = pytest.mark.long
some = settings(
    max_examples=int(os.environ.get("EXAMPLES", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

texts = st.one_of(
    st.sampled_from(
        [
            "stopped",
            "2026-11-18T09:12:33Z",
            "no",
            "%1",
            "a: b",
            "x # y",
            "",
            " ",
            "'",
            '"',
            "a\nb\n",
            "0x1f",
            "-",
            "=",
            "<<",
        ]
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
)
scalars = st.one_of(texts, st.integers(), st.floats(), st.booleans(), st.none())
names = st.one_of(st.sampled_from(KEYS), texts)
values = st.one_of(
    scalars,
    scalars,
    st.lists(scalars, max_size=3),
    st.dictionaries(names, st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=3),
)


NULL = ("NoneType", "None")


def tally(what: str) -> None:
    event(what)


def truth(text: str) -> Any:
    """Parse with the whole-file loader, which the edits do not use; make NaN and types
    comparable."""
    return comparable(yaml.load(text.removeprefix("\ufeff"), Loader=yaml.CSafeLoader))


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return (type(value).__name__, repr(value))


def readable(made: Made) -> Document:
    try:
        truth(made.text)
    except (yaml.YAMLError, ValueError):
        assume(False)
    return parse(made.text)


def apply(data: Any, path: tuple[str, ...], change: Any) -> None:
    for key in path[:-1]:
        if data.get(key, NULL) == NULL:
            if change is REMOVE:
                return
            data[key] = {}
        data = data[key]
    if change is REMOVE:
        data.pop(path[-1], None)
    else:
        data[path[-1]] = comparable(change)


def check_meaning(before: str, after: str, edits: dict[int, dict[tuple[str, ...], Any]]) -> None:
    want = truth(before)
    for index, changes in edits.items():
        for path, change in changes.items():
            apply(want["tmux_sessions"][index], path, change)
    assert truth(after) == want
    assert comparable(yaml.load(after.removeprefix("\ufeff"), Loader=yaml.SafeLoader)) == want


def changed_part(before: str, after: str) -> tuple[int, int, str]:
    """Return the smallest changed part of the old text, and its replacement."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    tail = 0
    while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return start, len(before) - tail, after[start : len(after) - tail]


def has_moved(before: str, after: str) -> bool:
    """Tell whether a value that is repeated went from its place to another one."""
    anchors = [(each.start(), each[0]) for each in re.finditer(r"&\w+", before)]
    gone = {name[1:] for at, name in anchors if before[max(at - 8, 0) : at] + name not in after}
    repeated = re.compile(r"[*&](\w+)")
    return not gone.isdisjoint(repeated.findall(after))


def is_apart(document: Document, index: int, changes: Mapping[tuple[str, ...], Any]) -> bool:
    """Tell whether the edit is only possible where a value that others may repeat is written anew,
    as a value of its own."""
    try:
        _edited(document, {index: changes})
    except Unsafe:
        return True
    return False


def line_after(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def value_end(text: str, place: Field) -> int:
    """Blank lines after a block scalar belong to it if it keeps them, or if its indentation is
    unknown."""
    end = place.end if place.flow else line_after(text, place.end)
    if re.search(r"[|>]-?[0-9+]", text[place.value : line_after(text, place.end)]):
        while end < len(text) and not text[end : line_after(text, end)].strip():
            end = line_after(text, end)
    return end


def check_around(made: Made, row: RowPlace, after: str) -> None:
    """Check that the text before the row and after its last line is unchanged."""
    assert after.startswith(made.text[: row.start])
    assert after.endswith(made.text[row_end(made, row) :])


def row_end(made: Made, row: RowPlace) -> int:
    if row.flow:
        return row.end
    last = max(row.fields, key=lambda each: each.start)
    return max(line_after(made.text, row.end), value_end(made.text, last))


@some
@given(made=documents(), troubled=documents(troubled=True), pure=st.booleans())
def test_rows_read_as_the_loader_reads_them(made: Made, troubled: Made, pure: bool) -> None:
    for each in (made, troubled):
        try:
            want = truth(each.text)["tmux_sessions"]
        except (yaml.YAMLError, ValueError):
            continue
        kept = yamlparse.LOADER
        yamlparse.LOADER = yaml.SafeLoader if pure else yaml.CSafeLoader
        try:
            rows = parse(each.text).rows
        finally:
            yamlparse.LOADER = kept
        assert [comparable(row.data) for row in rows] == (want if isinstance(want, list) else [])
        assert [row.trouble is None for row in rows] == [row.clean for row in each.rows]
        assert parse(each.text).rows == rows  # both loaders give the same positions


@some
@given(made=documents(), data=st.data(), value=values)
def test_one_field_set_changes_that_value_alone(
    made: Made, data: st.DataObject, value: Any
) -> None:
    document = readable(made)
    fields = [(index, each) for index, row in enumerate(made.rows) for each in row.fields]
    assume(fields)
    index, place = data.draw(st.sampled_from(fields))
    try:
        after = set_fields(document, index, {place.path: value})
    except Unsafe as refusal:
        tally(f"set refused: {refusal.reason}")
        return
    tally("set")
    check_meaning(made.text, after, {index: {place.path: value}})
    if has_moved(made.text, after) or is_apart(document, index, {place.path: value}):
        return
    check_around(made, made.rows[index], after)
    assert after.startswith(made.text[: place.value])
    assert after[place.value :].endswith(made.text[value_end(made.text, place) :])


@some
@given(made=documents(), data=st.data(), value=values, name=names)
def test_a_new_key_is_put_in_and_nothing_taken_out(
    made: Made, data: st.DataObject, value: Any, name: str
) -> None:
    document = readable(made)
    assume(made.rows)
    index = data.draw(st.integers(0, len(made.rows) - 1))
    path = data.draw(st.sampled_from([(name,), ("pane", name), ("pane", "new", name)]))
    row = document.rows[index].data
    assert row is not None
    assume(path[0] not in row)
    try:
        after = set_fields(document, index, {path: value})
    except Unsafe as refusal:
        tally(f"add refused: {refusal.reason}")
        return
    tally("add")
    check_meaning(made.text, after, {index: {path: value}})
    if has_moved(made.text, after) or is_apart(document, index, {path: value}):
        return
    check_around(made, made.rows[index], after)
    start, end, put_in = changed_part(made.text, after)
    assert start == end
    assert len(after) == len(made.text) + len(put_in)


@some
@given(made=documents(), data=st.data())
def test_a_removed_key_takes_only_its_own_lines(made: Made, data: st.DataObject) -> None:
    document = readable(made)
    fields = [(index, each) for index, row in enumerate(made.rows) for each in row.fields]
    assume(fields)
    index, place = data.draw(st.sampled_from(fields))
    try:
        after = set_fields(document, index, {place.path: REMOVE})
    except Unsafe as refusal:
        tally(f"remove refused: {refusal.reason}")
        return
    tally("remove")
    check_meaning(made.text, after, {index: {place.path: REMOVE}})
    if has_moved(made.text, after) or is_apart(document, index, {place.path: REMOVE}):
        return
    check_around(made, made.rows[index], after)
    start, end, put_in = changed_part(made.text, after)
    assert put_in in ("", "{}", " {}") or place.only
    if not place.only and not place.flow:
        gone = made.text[start:end]
        assert "tmux_sessions" not in gone
        others = [
            f
            for f in made.rows[index].fields
            if f.path[: len(place.path)] != place.path and f.start > place.end
        ]
        assert all(made.text[f.start : f.end] in after for f in others)


@some
@given(made=documents(), data=st.data())
def test_many_rows_can_be_changed_at_once(made: Made, data: st.DataObject) -> None:
    document = readable(made)
    assume(made.rows)
    paths = st.one_of(st.tuples(names), st.tuples(st.sampled_from(["pane", "tmux"]), names))
    change = st.one_of(values, st.just(REMOVE))
    edits: dict[int, dict[tuple[str, ...], Any]] = {}
    for index in data.draw(st.sets(st.integers(0, len(made.rows) - 1), min_size=1)):
        row = copy.deepcopy(document.rows[index].data)
        assert row is not None
        own = [f.path for f in made.rows[index].fields]
        drawn = data.draw(
            st.dictionaries(
                st.one_of(paths, st.sampled_from(own)) if own else paths, change, max_size=6
            )
        )
        edits[index] = {path: each for path, each in drawn.items() if reachable(row, path, drawn)}
    try:
        after = edit_rows(document, edits)
    except Unsafe as refusal:
        assert refusal.index in edits
        tally(f"many refused: {refusal.reason}")
        return
    tally("many")
    check_meaning(made.text, after, edits)
    if has_moved(made.text, after):
        return
    first, last = min(edits), max(edits)
    assert after.startswith(made.text[: made.rows[first].start])
    assert after.endswith(made.text[row_end(made, made.rows[last]) :])
    for index, place in enumerate(made.rows):
        if index not in edits:
            assert made.text[place.start : place.end] in after


def reachable(row: Any, path: tuple[str, ...], all_paths: Any) -> bool:
    """Drop paths through another path, and through anything but a mapping."""
    if any(path[:size] in all_paths for size in range(1, len(path))):
        return False
    for key in path[:-1]:
        row = row.get(key)
        if row is None:
            return True
        if not isinstance(row, dict):
            return False
    return True


@some
@given(
    made=documents(),
    row=st.dictionaries(names, values, max_size=4),
    troubled=st.booleans(),
    data=st.data(),
)
def test_an_added_row_is_put_in_and_nothing_taken_out(
    made: Made, row: Any, troubled: bool, data: st.DataObject
) -> None:
    if troubled:
        made = data.draw(documents(troubled=True))
    document = readable(made)
    try:
        after = add_row(document, row)
    except Unsafe as refusal:
        tally(f"row refused: {refusal.reason}")
        return
    tally("row")
    want = truth(made.text)
    want["tmux_sessions"] = [*(want["tmux_sessions"] if document.rows else []), comparable(row)]
    assert truth(after) == want
    assert comparable(yaml.load(after.removeprefix("\ufeff"), Loader=yaml.SafeLoader)) == want
    start, end, _ = changed_part(made.text, after)
    if document.rows:
        assert start == end
    else:
        without = re.sub(r"""(tmux_sessions["']? ?:) *(\[ ?\]|null|~)""", r"\1", made.text, count=1)
        parts = changed_part(without, after)
        assert start == end or parts[0] == parts[1]


@some
@given(made=documents(), troubled=st.booleans(), data=st.data())
def test_a_removed_row_goes_alone(made: Made, troubled: bool, data: st.DataObject) -> None:
    if troubled:
        made = data.draw(documents(troubled=True))
    document = readable(made)
    assume(made.rows)
    index = data.draw(st.integers(0, len(made.rows) - 1))
    try:
        after = remove_rows(document, index)
    except Unsafe as refusal:
        tally(f"row stays: {refusal.reason}")
        return
    tally("row gone")
    want = truth(made.text)
    del want["tmux_sessions"][index]
    assert truth(after) == want
    gone = made.rows[index]
    shared = re.findall(r"&(\w+)", made.text[gone.start : gone.end])
    alias = re.compile("|".join(rf"\*{name}\b" for name in shared) or r"\Z")
    for other, place in enumerate(made.rows):
        if other != index:
            for part in alias.split(made.text[place.start : place.end]):
                assert part in after
    if any(f"*{name}" in after or f"&{name}" in after for name in shared):
        tally("row gone, a value of it moved")
    elif len(made.rows) > 1:
        start, end, put_in = changed_part(made.text, after)
        assert (put_in, len(after)) == ("", len(made.text) - (end - start))


@some
@given(value=values, flow=st.booleans())
def test_every_value_comes_back_as_itself_in_both_loaders(value: Any, flow: bool) -> None:
    text = "tmux_sessions:\n- {a: 1}\n" if flow else "tmux_sessions:\n- a: 1\n"
    after = set_fields(parse(text), 0, {("b",): value})
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        assert comparable(yaml.load(after, Loader=loader)["tmux_sessions"][0]["b"]) == comparable(
            value
        )

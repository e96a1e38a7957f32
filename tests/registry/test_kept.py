"""An edit in an excerpt of the text comes to the same as one of the whole, whatever the hand it was
written by; and what is kept of it is what the whole text would be read as."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.yaml_documents import KEYS, Made, documents
from tmuxreap.registry import kept
from tmuxreap.registry.edits import (
    REMOVE,
    Document,
    Unsafe,
    add_row,
    edit_rows,
    parse,
    remove_row,
)
from tmuxreap.registry.kept import Change, Excerpt, Kept

some = settings(
    max_examples=int(os.environ.get("EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
scalars = st.one_of(
    st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.sampled_from(["a\nb", "- x"])
)
values = st.one_of(
    scalars, st.lists(scalars, max_size=2), st.dictionaries(st.text(max_size=3), scalars)
)
fields = st.one_of(st.sampled_from(KEYS), st.text(max_size=3))


def whole(made: Made) -> tuple[Document, Kept]:
    try:
        yaml.load(made.text.removeprefix("\ufeff"), Loader=yaml.CSafeLoader)
        document = parse(made.text)
    except (yaml.YAMLError, ValueError):
        assume(False)
    found = kept.of_document(document)
    assume(found is not None)
    assert found is not None
    return document, found


def compared(
    document: Document,
    here: Callable[[], str],
    carried: Callable[[], Change | None],
    touched: int,
) -> None:
    """What the edit of the whole comes to, by the excerpt too, where it can be told."""
    try:
        after = here()
    except Unsafe:
        after = None
    try:
        change = carried()
    except Unsafe:
        change = None
    if change is None:
        event("left to the whole")
        return
    event("by the excerpt")
    assert change.text == after
    again = kept.of_document(parse(change.text))
    assert again is not None
    now = change.kept
    assert (now.head, list(now.lengths), list(now.rows)) == (
        again.head,
        list(again.lengths),
        list(again.rows),
    )
    assert len(change.rows) == touched


@pytest.mark.long
@some
@given(made=documents(least=9), data=st.data())
def test_fields_of_rows(made: Made, data: st.DataObject) -> None:
    document, found = whole(made)
    assume(found.lengths)
    indices = data.draw(st.sets(st.integers(0, len(document.rows) - 1), min_size=1, max_size=2))
    path = st.one_of(st.tuples(fields), st.tuples(st.just("pane"), fields))
    change = st.one_of(values, st.just(REMOVE))
    edits: dict[int, Any] = {
        index: data.draw(st.dictionaries(path, change, min_size=1, max_size=3)) for index in indices
    }
    excerpt = Excerpt(found, made.text, indices)
    assert excerpt.agrees
    here = {excerpt.place(index): one for index, one in edits.items()}
    compared(
        document,
        lambda: edit_rows(document, edits),
        lambda: excerpt.changed(edit_rows(excerpt.document, here), edits),
        len(edits),
    )


@pytest.mark.long
@some
@given(made=documents(least=9), data=st.data())
def test_a_row_less(made: Made, data: st.DataObject) -> None:
    document, found = whole(made)
    assume(found.lengths)
    index = data.draw(st.integers(0, len(document.rows) - 1))
    excerpt = Excerpt(found, made.text, [index])
    compared(
        document,
        lambda: remove_row(document, index),
        lambda: excerpt.without(remove_row(excerpt.document, excerpt.place(index)), index),
        0,
    )


@pytest.mark.long
@some
@given(made=documents(least=9), row=st.dictionaries(fields, values, max_size=4))
def test_a_row_more(made: Made, row: Any) -> None:
    document, found = whole(made)
    assume(found.lengths)
    excerpt = Excerpt(found, made.text, [])
    compared(
        document,
        lambda: add_row(document, row),
        lambda: excerpt.with_another(add_row(excerpt.document, row)),
        1,
    )

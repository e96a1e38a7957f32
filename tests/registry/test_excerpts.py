"""An edit in an excerpt equals one of the whole text, in any style; and cached rows equal those of
a full parse."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.fakes import Story
from tests.yaml_documents import documents
from tests.yaml_parts import KEYS, Made
from tmuxreap.core import cache
from tmuxreap.ledger.database import ledger_path
from tmuxreap.registry import edits, excerpts
from tmuxreap.registry.edits import Unsafe, add_row, edit_rows, remove_rows
from tmuxreap.registry.excerpts import CachedRows, EditedText, Excerpt
from tmuxreap.registry.file import RegistryLook, edited
from tmuxreap.registry.rows import BadRow
from tmuxreap.registry.yaml import parse as yamlparse
from tmuxreap.registry.yaml.parse import Document, parse
from tmuxreap.registry.yaml.splice import REMOVE
from tmuxreap.system.files import Content

some = settings(
    max_examples=int(os.environ.get("EXAMPLES", "25")),
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


def whole(made: Made) -> tuple[Document, CachedRows]:
    try:
        yaml.load(made.text.removeprefix("\ufeff"), Loader=yaml.CSafeLoader)
        document = parse(made.text)
    except (yaml.YAMLError, ValueError):
        assume(False)
    found = excerpts.of_document(document)
    assume(found is not None)
    assert found is not None
    return document, found


def compared(
    document: Document,
    here: Callable[[], str],
    carried: Callable[[], EditedText | None],
    touched: int,
) -> None:
    """Return the edit of the whole; check that the excerpt gives the same, where it can."""
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
    again = excerpts.of_document(parse(change.text))
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
def test_fields_are_changed_in_an_excerpt_as_in_the_whole(made: Made, data: st.DataObject) -> None:
    document, found = whole(made)
    assume(found.lengths)
    indices = data.draw(st.sets(st.integers(0, len(document.rows) - 1), min_size=1, max_size=2))
    path = st.one_of(st.tuples(fields), st.tuples(st.just("pane"), fields))
    change = st.one_of(values, st.just(REMOVE))
    edits: dict[int, Any] = {
        index: data.draw(st.dictionaries(path, change, min_size=1, max_size=3)) for index in indices
    }
    excerpt = Excerpt(found, made.text, indices)
    assert excerpt.matches_text
    here = {excerpt.place(index): one for index, one in edits.items()}
    compared(
        document,
        lambda: edit_rows(document, edits),
        lambda: excerpt.applied(edit_rows(excerpt.document, here), edits, (), False),
        len(edits),
    )


@pytest.mark.long
@some
@given(made=documents(least=9), data=st.data())
def test_rows_are_removed_from_an_excerpt_as_from_the_whole(
    made: Made, data: st.DataObject
) -> None:
    document, found = whole(made)
    assume(found.lengths)
    gone = data.draw(st.sets(st.integers(0, len(document.rows) - 1), min_size=1, max_size=2))
    excerpt = Excerpt(found, made.text, gone)
    here = [excerpt.place(index) for index in gone]
    compared(
        document,
        lambda: remove_rows(document, *gone),
        lambda: excerpt.applied(remove_rows(excerpt.document, *here), (), gone, False),
        0,
    )


@pytest.mark.long
@some
@given(made=documents(least=9), row=st.dictionaries(fields, values, max_size=4))
def test_a_row_is_added_to_an_excerpt_as_to_the_whole(made: Made, row: Any) -> None:
    document, found = whole(made)
    assume(found.lengths)
    excerpt = Excerpt(found, made.text, [])
    compared(
        document,
        lambda: add_row(document, row),
        lambda: excerpt.applied(add_row(excerpt.document, row), (), (), True),
        1,
    )


# With the registry and its ledger

ROWS = 700  # three pieces


@pytest.fixture
def read_chars(story: Story, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the lengths of the texts parsed as YAML, after many rows were cached."""
    rows = "".join(
        f"  - name: r{number}\n    status: stopped   # {number}\n    pane: {{pid: {number + 1}}}\n"
        for number in range(ROWS)
    )
    story.path.write_text(f"# mine\ntmux_sessions:\n{rows}other: 1\n")
    app = story.app()
    app.books.follow(app.registry.look())
    found: list[int] = []
    whole = edits.parse

    def parse(text: str) -> Document:
        found.append(len(text))
        return whole(text)

    monkeypatch.setattr(edits, "parse", parse)
    monkeypatch.setattr(yamlparse, "parse", parse)
    return found


def mirrored(story: Story) -> dict[str, Any]:
    with contextlib.closing(sqlite3.connect(ledger_path(story.path))) as db:
        return {
            name: json.loads(data) for name, data in db.execute("SELECT name, data FROM sessions")
        }


CHANGES: dict[str, Callable[[RegistryLook], str]] = {
    "a field": lambda look: edited(look, {"r300": {("status",): "terminated", ("x",): "a: b"}}),
    "two rows": lambda look: edited(look, {f"r{n}": {("x",): n} for n in (0, ROWS - 1)}),
    "a row less": lambda look: look.without(300),
    "the first less": lambda look: look.without(0),
    "two rows less": lambda look: look.without(299, 300),
    "a row more": lambda look: look.with_row({"name": "new", "status": "running"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_few_rows_reads_few(what: str, story: Story, read_chars: list[int]) -> None:
    """The ledger then has what a full parse would leave there."""
    app = story.app()
    size = len(story.path.read_text())
    after = app.books.change(CHANGES[what], lambda look: [], list)
    assert sum(read_chars) < size / 20
    assert len(story.app().registry.look().rows) == len(after.rows)
    assert sum(read_chars) < size / 20, "the next one reads all"
    truth = yaml.safe_load(story.path.read_text())["tmux_sessions"]
    assert [row.data for row in story.app().registry.look().rows] == truth
    assert mirrored(story) == {row["name"]: row for row in truth}
    fresh = RegistryLook(story.path, Content(story.path.read_bytes(), after.content.stamp))
    assert fresh.rows == after.rows == story.app().registry.look().rows


def test_a_cache_of_another_registry_state_is_not_used(story: Story, read_chars: list[int]) -> None:
    """Neither cached rows nor the mirror of another state of the registry are used."""
    app = story.app()
    look = app.registry.look()
    story.path.write_text(story.path.read_text().replace("name: r5\n", "name: mine\n"))
    app.books.change(CHANGES["a row less"], lambda look: [], list)
    assert look.named("r5") is not None
    assert {"mine"} <= mirrored(story).keys()
    assert not {"r5", "r300"} & mirrored(story).keys()


@pytest.mark.parametrize(
    "row", [{"name": "r5", "status": "running"}, {"name": "new", "status": "?"}, {"status": "x"}]
)
def test_a_row_that_will_be_a_bad_one_is_reported_as_such(
    row: Any, story: Story, read_chars: list[int]
) -> None:
    after = story.app().books.change(lambda look: look.with_row(row), lambda look: [], list)
    fresh = RegistryLook(story.path, Content(story.path.read_bytes(), after.content.stamp))
    assert fresh.rows == after.rows == story.app().registry.look().rows
    assert any(isinstance(one, BadRow) for one in after.rows)


def test_a_cache_entry_of_an_older_version_is_not_read(story: Story) -> None:
    """An older version cached all rows in one list."""
    story.path.write_text("tmux_sessions:\n- {name: a, status: stopped}\n")
    app = story.app()
    look = app.registry.look()
    stamp = look.cache_entries[0].stamp
    old = cache.cache_entry("registry", stamp, [{"name": "b", "status": "running"}])
    assert old is not None
    app.books.cache_later(old)
    app.books.follow(look)
    assert [row.name for row in story.app().registry.look().rows] == ["a"]

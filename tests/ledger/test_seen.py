"""What looks saw, in the ledger: only what is new, for this boot, and without a word if it cannot
be written."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import Memory, News, SeenPane

LEADER, CHILD, OTHER = ProcessId(7, 70), ProcessId(8, 80), ProcessId(9, 90)
PANE = SeenPane("/tmp/s,5", "%3", "mark")


def test_a_process_that_was_seen_is_recalled_with_the_pane_of_its_leader(story: Story) -> None:
    books = story.app().books
    assert books.seen("boot", ["a"]) == {}
    books.remember_seen("boot", [News("a", {LEADER: PANE, CHILD: None}), News("b", {OTHER: None})])
    assert books.seen("boot", ["a"]) == {"a": Memory({LEADER: PANE, CHILD: None})}
    assert books.seen("boot", ["a"])["a"].pane == PANE
    assert set(books.seen("boot", [*map(str, range(2000)), "b"])) == {"b"}
    assert books.seen("boot", []) == {}
    assert books.seen("another boot", ["a"]) == {}


def test_the_dead_and_other_boots_are_dropped_with_the_next_write(story: Story) -> None:
    books = story.app().books
    books.remember_seen("before", [News("a", {OTHER: None})])
    books.remember_seen("boot", [News("a", {LEADER: PANE, CHILD: None})])
    books.remember_seen("boot", [News("a", {OTHER: None}, [CHILD])])
    assert set(books.seen("boot", ["a"])["a"].processes) == {LEADER, OTHER}
    assert books.seen("before", ["a"]) == {}


def test_the_pane_of_the_newest_leader_counts(story: Story) -> None:
    later = SeenPane("/tmp/s,5", "%9")
    assert Memory({LEADER: PANE, OTHER: later, CHILD: None}).pane == later
    assert Memory().pane is None


def test_a_removed_row_is_forgotten(story: Story) -> None:
    books = story.app().books
    books.forget_seen(["a"])
    assert not ledger_path(story.path).exists()
    books.remember_seen("boot", [News("a", {CHILD: None}), News("b", {OTHER: None})])
    books.forget_seen(["a"])
    assert set(books.seen("boot", ["a", "b"])) == {"b"}


def test_a_look_that_cannot_be_remembered_gives_no_warning(story: Story) -> None:
    app = story.app()
    ledger_path(story.path).mkdir()
    app.books.remember_seen("boot", [News("a", {CHILD: None})])
    assert app.warnings == []


def test_without_news_no_ledger_is_made(story: Story) -> None:
    story.app().books.remember_seen("boot", [])
    assert not ledger_path(story.path).exists()

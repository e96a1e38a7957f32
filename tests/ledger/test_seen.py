"""What looks saw, in the ledger: only what is new, for this boot, and without a word if it cannot
be written."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.seen import Memory, News, SeenPane, forget, recall, remember

LEADER, CHILD, OTHER = ProcessId(7, 70), ProcessId(8, 80), ProcessId(9, 90)
PANE = SeenPane("/tmp/s,5", "%3", "mark")


def test_what_was_seen_is_recalled_with_the_pane_of_its_leader(story: Story) -> None:
    books = story.app().books
    assert recall(books, "boot", ["a"]) == {}
    remember(books, "boot", [News("a", {LEADER: PANE, CHILD: None}), News("b", {OTHER: None})])
    assert recall(books, "boot", ["a"]) == {"a": Memory({LEADER: PANE, CHILD: None})}
    assert recall(books, "boot", ["a"])["a"].pane == PANE
    assert set(recall(books, "boot", [*map(str, range(200))])) == {"a", "b"}
    assert recall(books, "another boot", ["a"]) == {}


def test_the_dead_and_other_boots_are_dropped_with_the_next_write(story: Story) -> None:
    books = story.app().books
    remember(books, "before", [News("a", {OTHER: None})])
    remember(books, "boot", [News("a", {LEADER: PANE, CHILD: None})])
    remember(books, "boot", [News("a", {OTHER: None}, [CHILD])])
    assert set(recall(books, "boot", ["a"])["a"].processes) == {LEADER, OTHER}
    assert recall(books, "before", ["a"]) == {}


def test_the_pane_of_the_newest_leader_counts(story: Story) -> None:
    later = SeenPane("/tmp/s,5", "%9")
    assert Memory({LEADER: PANE, OTHER: later, CHILD: None}).pane == later
    assert Memory().pane is None


def test_a_removed_row_is_forgotten(story: Story) -> None:
    books = story.app().books
    forget(books, ["a"])
    assert not ledger_path(story.path).exists()
    remember(books, "boot", [News("a", {CHILD: None}), News("b", {OTHER: None})])
    forget(books, ["a"])
    assert set(recall(books, "boot", ["a", "b"])) == {"b"}


def test_without_permission_nothing_is_said(story: Story) -> None:
    app = story.app()
    ledger_path(story.path).mkdir()
    remember(app.books, "boot", [News("a", {CHILD: None})])
    assert app.warnings == []


def test_without_news_no_ledger_is_made(story: Story) -> None:
    remember(story.app().books, "boot", [])
    assert not ledger_path(story.path).exists()

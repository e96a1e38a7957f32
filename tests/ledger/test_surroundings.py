"""The environments of sessions that may be restarted."""

from __future__ import annotations

from tests.fakes import Story
from tmuxreap.ledger.surroundings import keep, kept


def test_the_last_environment_is_kept_byte_for_byte_until_it_is_dropped(story: Story) -> None:
    books = story.app().books
    assert kept(books, "api") is None
    keep(books, "api", {"A": "old", "B": "gone"})
    keep(books, "api", {"A": "\udcff\n='\u00e9"})
    keep(books, "web", {})
    assert kept(books, "api") == {"A": "\udcff\n='\u00e9"}
    assert kept(books, "web") == {}
    keep(books, "api", None)
    assert kept(books, "api") is None

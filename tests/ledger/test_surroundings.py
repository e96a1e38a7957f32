"""The environments of sessions that may be restarted."""

from __future__ import annotations

from tmuxreap.ledger import surroundings
from tmuxreap.ledger.ledger import Ledger


def keep(ledger: Ledger, name: str, environ: dict[str, str] | None) -> None:
    ledger.transact(lambda db: surroundings.keep(db, name, environ))


def kept(ledger: Ledger, name: str) -> dict[str, str] | None:
    return ledger.transact(lambda db: surroundings.kept(db, name))


def test_the_last_one_is_kept_byte_for_byte_until_it_is_dropped(ledger: Ledger) -> None:
    assert kept(ledger, "api") is None
    keep(ledger, "api", {"A": "old", "B": "gone"})
    keep(ledger, "api", {"A": "\udcff\n='\u00e9"})
    keep(ledger, "web", {})
    assert kept(ledger, "api") == {"A": "\udcff\n='\u00e9"}
    assert kept(ledger, "web") == {}
    keep(ledger, "api", None)
    assert kept(ledger, "api") is None

"""Events and awaited states."""

from __future__ import annotations

from pathlib import Path

import pytest

import tmuxreap
from tests.ledger_records import Ledger
from tmuxreap.interfaces.python.options import NotFoundError, UsageError
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import NewEvent


@pytest.fixture
def opened(registry: Path) -> tmuxreap.Registry:
    registry.write_text("tmux_sessions:\n- {name: acme, status: stopped}\n")
    with Ledger.open(ledger_path(registry), now=1.0) as ledger:
        ledger.record_event(NewEvent("acme", "started"), 1.0)
        ledger.record_event(NewEvent("gone", "stopped"), 2.0)
    return tmuxreap.open_registry(registry)


def test_events_come_oldest_first_by_name_and_age(opened: tmuxreap.Registry) -> None:
    assert [(one.name, one.kind) for one in opened.events()] == [
        ("acme", "started"),
        ("gone", "stopped"),
    ]
    assert [one.name for one in opened.events("gone")] == ["gone"]
    assert opened.events(since="1h") == []
    with pytest.raises(NotFoundError):
        opened.events("nobody")


def test_followed_events_begin_with_old_ones_and_end_when_closed(
    opened: tmuxreap.Registry,
) -> None:
    with opened.follow() as stream:
        assert [next(stream).name, next(stream).name] == ["acme", "gone"]
    assert list(stream) == []


def test_an_invalid_duration_or_state_is_refused(opened: tmuxreap.Registry) -> None:
    with pytest.raises(UsageError):
        opened.events(since="soon")
    with pytest.raises(UsageError):
        opened.wait("acme", until="happy")


def test_an_ended_session_is_not_waited_for(opened: tmuxreap.Registry) -> None:
    (told,) = opened.wait("acme", until="ended")
    assert told.name == "acme"

"""The fields of each kind of event."""

from __future__ import annotations

import pytest

from tmuxreap.core.answers import Change
from tmuxreap.core.results import Ending

ALWAYS = {"name", "event", "timestamp", "error"}
DRIFT = {"drift", "evidence", "settled", "hint", "cause"}


@pytest.mark.parametrize(
    ("change", "more"),
    [
        (Change("a", "state", "T", state="idle", before="working"), {"state", "before", "source"}),
        (Change("", "dropped", "T", count=3), {"count"}),
        (Change("a", "dead", "T", "dead"), DRIFT),
        (Change("", "registry_invalid", "T", registry="/r"), {*DRIFT, "registry"}),
    ],
)
def test_an_event_prints_the_fields_it_has(change: Change, more: set[str]) -> None:
    told = set(change.as_json())
    assert told >= ALWAYS | more
    assert told - ALWAYS - more <= {"until", "waiting_for"}


def test_an_ending_by_the_watch_is_reported_whole() -> None:
    ending = Ending("a", "stopped", verdict="idle", evidence={"idle_s": 9})
    told = Change("a", "reaped", "T", ending=ending).as_json()
    assert told == {**ending.as_json(), "event": "reaped", "timestamp": "T"}

"""The requests of a ladder."""

from __future__ import annotations

import pytest

from tmuxreap.ending.ladder.requests import Checkpoint, ask
from tmuxreap.ending.plan import RungKind


def test_the_answer_reaches_the_generator_that_asked() -> None:
    asking = ask(Checkpoint(RungKind.KEYS))
    assert next(asking) == Checkpoint(RungKind.KEYS)
    with pytest.raises(StopIteration) as stopped:
        asking.send(False)
    assert stopped.value.value is False

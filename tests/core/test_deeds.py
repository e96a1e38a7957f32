"""Actions on a multiplexer: comparable values, and the command of each."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.ending.test_plan import PANE, SERVER, SESSION
from tmuxreap.core import deeds
from tmuxreap.core.deeds import Deed
from tmuxreap.system.tmux.commands import command_of

EVERY: dict[type, Deed] = {
    type(one): one
    for one in (
        deeds.CloseSession(SERVER, SESSION, (PANE,)),
        deeds.ClosePane(SERVER, SESSION, PANE),
        deeds.Press(SERVER, PANE, ("C-c",)),
        deeds.SetOption("%0", "remain-on-exit", "on"),
        deeds.LeaveMode("%0"),
        deeds.SwitchClient(SERVER, SESSION, PANE),
        deeds.SetStatus("/r", "1 idle"),
    )
}
HARMLESS = (deeds.SetOption, deeds.LeaveMode, deeds.SetStatus)


@pytest.mark.parametrize("kind", get_args(Deed))
def test_each_deed_has_words_and_what_could_hit_a_stranger_is_compared_first(kind: type) -> None:
    words = command_of(EVERY[kind])
    assert all(isinstance(word, str) for word in words)
    if kind not in HARMLESS:
        assert words[:2] == ["if-shell", "-F"]
        assert f"#{{==:#{{pid}},{SERVER.pid}}}" in words[4]
        assert f"#{{==:#{{start_time}},{SERVER.started}}}" in words[4]


def test_a_deed_is_what_it_says() -> None:
    one, other = deeds.Press(SERVER, PANE, text="x"), deeds.Press(SERVER, PANE, text="x")
    assert one == other
    assert one != deeds.Press(SERVER, PANE, ("x",))

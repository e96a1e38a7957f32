"""Actions on a multiplexer: comparable values, and the command of each."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.ending.test_plan import PANE, SERVER, SESSION
from tmuxreap.core import model
from tmuxreap.core.model import Deed
from tmuxreap.system.tmux.client import command_of

EVERY: dict[type, Deed] = {
    type(one): one
    for one in (
        model.CloseSession(SERVER, SESSION, (PANE,)),
        model.ClosePane(SERVER, SESSION, PANE),
        model.SendKeys(SERVER, PANE, ("C-c",)),
        model.PasteText(SERVER, PANE, "one\ntwo"),
        model.Respawn(SERVER, PANE, "/", ["agent"]),
        model.SetOption("%0", "remain-on-exit", "on"),
        model.LeaveMode("%0"),
        model.SwitchClient(SERVER, SESSION, PANE),
        model.SetStatus("/r", "1 idle"),
    )
}
HARMLESS = (model.SetOption, model.LeaveMode, model.SetStatus)


@pytest.mark.parametrize("kind", get_args(Deed))
def test_each_deed_has_words_and_what_could_hit_a_stranger_is_compared_first(kind: type) -> None:
    words = command_of(EVERY[kind])
    assert all(isinstance(word, str) for word in words)
    if kind not in HARMLESS:
        assert words[:2] == ["if-shell", "-F"]
        assert f"#{{==:#{{pid}},{SERVER.pid}}}" in words[4]
        assert f"#{{==:#{{start_time}},{SERVER.started}}}" in words[4]


def test_a_deed_is_what_it_says() -> None:
    one, other = model.SendKeys(SERVER, PANE, text="x"), model.SendKeys(SERVER, PANE, text="x")
    assert one == other
    assert one != model.SendKeys(SERVER, PANE, ("x",))

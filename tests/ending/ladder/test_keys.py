"""The exit keys rung: each key is sent only where it is harmless."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ending.ladder.test_climb import ALONE, GONE, IDLE, OURS, UNTOLD, run, scripted
from tests.ending.test_plan import AGENT, DEMO, SIGHT, STOP
from tmuxreap.agents.profiles import Key, Pause, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.values import replace
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder.requests import (
    PARTIAL,
    KeepDraft,
    Press,
    ReadScreen,
    Request,
    Wait,
)

STAYS = frozenset({AGENT.id})
BUSY, UNREAD = Screen(State.BUSY), Screen(State.UNKNOWN)
ESCAPE, UP = Key("Escape"), Key("Up")


def pressed(asked: list[Request[Any]]) -> list[object]:
    return [request.step for request in asked if isinstance(request, Press)]


def keyed(*screens: Screen, **answers: object) -> tuple[list[Request[Any]], Ending]:
    given = {"ReadScreen": list(screens), "Look": [ALONE, GONE], "Capture": UNTOLD, **answers}
    return run(STOP, scripted(**given))


def test_no_enter_where_something_else_than_ours_stands() -> None:
    asked, _ = keyed(IDLE, Screen(State.DRAFT, "rm -rf /exit"))
    assert Key("Enter") not in pressed(asked)


def test_enter_submits_our_own_words_and_nothing_else() -> None:
    asked, _ = keyed(IDLE, OURS, Wait=[STAYS, frozenset()])
    assert pressed(asked) == [Text("/exit"), Key("Enter")]


def test_the_pane_is_made_ready_once_before_the_first_key() -> None:
    asked, _ = keyed(IDLE, OURS, Wait=[STAYS, frozenset()])
    assert [request.ready for request in asked if isinstance(request, ReadScreen)] == [True, False]


def test_a_draft_seen_in_part_is_reported_as_lost() -> None:
    asked, ended = keyed(replace(Screen(State.DRAFT, "half"), partial=True))
    assert KeepDraft("half") in asked
    assert ended.draft_lost == PARTIAL


def test_several_texts_are_kept_each_once_and_what_grew_replaces_what_it_grew_from() -> None:
    drafts = [Screen(State.DRAFT, text) for text in ("half", "half a line", "other")]
    asked, ended = keyed(*drafts, KeepDraft=[1, 2, 3])
    assert [request.text for request in asked if isinstance(request, KeepDraft)] == [
        "half",
        "half a line",
        "other",
    ]
    assert ended.draft is not None
    assert (ended.draft.text, ended.draft.event) == ("half a line\n\nother", 3)


def test_a_pause_waits_for_the_agent_and_ends_when_it_leaves() -> None:
    slow = replace(DEMO, idle_keys=(Text("/exit"), Pause(3.0), Key("Enter")))
    answers = scripted(
        ReadScreen=[IDLE, OURS], Wait=[frozenset()], Look=[ALONE, GONE], Capture=UNTOLD
    )
    asked, _ = run(STOP, answers, profile=slow)
    assert pressed(asked) == [Text("/exit")]
    assert next(request.processes for request in asked if isinstance(request, Wait)) == STAYS


@pytest.mark.parametrize(("again", "times"), [(False, 1), (True, 3)])
def test_a_turn_is_interrupted_again_only_where_the_profile_says_so(
    again: bool, times: int
) -> None:
    busy = replace(DEMO, interrupt_keys=(ESCAPE,), turn_again=again, safe_keys=(), again_keys=())
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Look=[ALONE, GONE]), SIGHT, busy)
    assert pressed(asked) == [ESCAPE] * times


def test_a_dialog_that_escape_harms_gets_none_from_a_stop() -> None:
    profile = replace(
        DEMO, safe_keys=(Key("C-c"), ESCAPE, Key("C-c")), again_keys=(ESCAPE, Key("C-c"))
    )
    answers = scripted(ReadScreen=Screen(State.DIALOG), Look=[ALONE, GONE])
    asked, _ = run(STOP, answers, SIGHT, profile)
    assert ESCAPE not in pressed(asked)
    assert pressed(asked)[:2] == [Key("C-c")] * 2
    asked, _ = run(STOP, scripted(ReadScreen=UNREAD, Look=[ALONE, GONE]), SIGHT, profile)
    assert ESCAPE in pressed(asked)


@pytest.mark.parametrize(("again", "typed"), [((), True), ((Key("C-c"),), False)])
def test_an_input_that_the_safe_keys_emptied_is_left_like_an_empty_one(
    again: tuple[Key, ...], typed: bool
) -> None:
    """An agent that leaves by a command alone has no key to be repeated."""
    profile = replace(DEMO, safe_keys=(Key("C-c"),), again_keys=again)
    screens = [Screen(State.DRAFT, "half"), IDLE, OURS]
    answers = scripted(ReadScreen=screens, Look=[ALONE, GONE], Capture=UNTOLD, KeepDraft=1)
    asked, _ = run(STOP, answers, profile=profile)
    assert (Text("/exit") in pressed(asked)) is typed


# A look may meet a screen that is being drawn


def drawn(planned: Screen, *screens: Screen) -> tuple[list[Request[Any]], Ending]:
    profile = replace(DEMO, interrupt_keys=(ESCAPE,), unqueue_keys=(UP,), turn_again=True)
    answers = scripted(ReadScreen=list(screens), Look=[ALONE, GONE], Capture=UNTOLD, KeepDraft=1)
    return run(STOP, answers, profile=profile, screen=planned)


@pytest.mark.parametrize("half", [BUSY, UNREAD])
def test_no_key_that_would_begin_what_is_queued_and_not_drawn_yet(half: Screen) -> None:
    queued = replace(BUSY, queued="run it")
    asked, ended = drawn(queued, half, queued, queued, replace(BUSY, draft="run it"))
    assert pressed(asked)[:2] == [UP, ESCAPE]
    assert ended.kept == ["run it"]


def test_a_draft_that_is_not_drawn_yet_is_not_lost() -> None:
    _, ended = drawn(IDLE, BUSY, BUSY, UNREAD, UNREAD, UNREAD, Screen(State.DRAFT, "half"))
    assert (ended.kept, ended.draft_lost) == (["half"], "")


def test_a_turn_is_not_over_because_its_screen_is_being_drawn() -> None:
    asked, _ = drawn(BUSY, BUSY, UNREAD, *[BUSY] * 20)
    assert pressed(asked)[:3] == [ESCAPE] * 3


def test_a_screen_that_tells_nothing_is_looked_at_no_longer_for_it() -> None:
    asked, ended = drawn(UNREAD, UNREAD)
    reads = next(at for at, request in enumerate(asked) if isinstance(request, Press))
    assert sum(isinstance(request, ReadScreen) for request in asked[:reads]) == 1
    assert ended.draft_lost

"""The ladder that ends a turn: its keys, and its reaction to the screens that follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ending.ladder.test_climb import an_ending
from tests.ending.test_plan import DEMO
from tests.fakes import FakeClock
from tmuxreap.agents.profiles import Key, Pause, Profile, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.requests import (
    PARTIAL,
    KeepDraft,
    Press,
    ReadScreen,
    Request,
    Wait,
)
from tmuxreap.ending.ladder.turns import end_turn

BUSY, IDLE, DIALOG = Screen(State.BUSY), Screen(State.IDLE), Screen(State.DIALOG)
UNKNOWN, SETUP = Screen(State.UNKNOWN), Screen(State.DIALOG, setup=True)
ESCAPE, UP = Key("Escape"), Key("Up")
PROFILE = replace(DEMO, turn_keys=(ESCAPE,), unqueue_keys=(UP,))


def done(
    screens: list[Screen],
    *,
    after: dict[Key, Screen | list[Screen] | Iterator[Screen]] | None = None,
    leaves: bool = False,
    profile: Profile = PROFILE,
) -> tuple[EndingState, list[Request[Any]]]:
    """Run it. The last screen repeats until a key of `after` brings others; of an iterator each
    press brings the next."""
    clock, keyed = FakeClock(), dict(after or {})
    one = an_ending(profile=profile)
    steps = end_turn(one)
    asked: list[Request[Any]] = []
    answer: object = None
    while True:
        one.now = clock.monotonic()
        try:
            request = steps.send(answer)
        except StopIteration:
            return one, asked
        asked.append(request)
        assert len(asked) < 1000
        if isinstance(request, ReadScreen):
            answer = screens.pop(0) if len(screens) > 1 else screens[0]
        elif isinstance(request, Press):
            brought = keyed.get(request.step, screens) if isinstance(request.step, Key) else screens
            if isinstance(brought, Iterator):
                brought = next(brought)
            screens = list(brought) if isinstance(brought, list) else [brought]
            answer = True
        elif isinstance(request, KeepDraft):
            answer = 7
        elif isinstance(request, Wait):
            answer = frozenset() if leaves else request.processes
            clock.move_to(request.until)


def keys(asked: list[Request[Any]]) -> list[object]:
    return [request.step for request in asked if isinstance(request, Press)]


def test_one_key_ends_a_turn() -> None:
    ended, asked = done([BUSY], after={ESCAPE: IDLE})
    assert (ended.outcome.value, ended.trouble, keys(asked)) == ("interrupted", None, [ESCAPE])


def test_words_in_a_dialog_are_kept_and_named_where_the_screen_may_not_show_all() -> None:
    for partial in (False, True):
        screen = replace(DIALOG, draft="neither but violet", partial=partial)
        ended, asked = done([screen], after={ESCAPE: IDLE})
        assert ended.outcome.value == "interrupted"
        assert (ended.kept, ended.draft_lost) == (
            ["neither but violet"],
            PARTIAL if partial else "",
        )
        assert asked.index(KeepDraft("neither but violet")) < asked.index(Press(ESCAPE))


def test_the_second_of_two_keys_follows_the_answer_to_the_first() -> None:
    """Sooner, a slow agent hears both at once, which is another key; later it has forgotten one."""
    profile = replace(PROFILE, turn_keys=(ESCAPE, Pause(2.0), ESCAPE))
    armed = replace(BUSY, armed=True)
    answers = {ESCAPE: [BUSY, BUSY, armed]}
    _, asked = done([BUSY], after=answers, profile=profile)  # type: ignore[arg-type]
    first, second = [place for place, one in enumerate(asked) if one == Press(ESCAPE)]
    between = asked[first:second]
    waits = [request.until for request in between if isinstance(request, Wait)]
    assert len([one for one in between if isinstance(one, ReadScreen)]) == 4
    assert waits[-1] - waits[0] < 0.2


def test_a_turn_that_the_first_of_two_keys_has_ended_gets_no_second() -> None:
    profile = replace(PROFILE, turn_keys=(ESCAPE, Pause(2.0), ESCAPE))
    ended, asked = done([BUSY], after={ESCAPE: IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])


def test_a_dialog_that_the_key_of_a_turn_does_not_close_has_a_key_of_its_own() -> None:
    deny = Key("C-c")
    profile = replace(PROFILE, deny_keys=(deny,))
    ended, asked = done([DIALOG], after={deny: BUSY, ESCAPE: IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [deny, ESCAPE])


@pytest.mark.parametrize("looks", [0, 10, 40])
def test_the_turn_behind_a_dialog_is_ended_however_late_the_dialog_closes(looks: int) -> None:
    """A frozen agent shows its dialog for seconds before it hears the key."""
    deny = Key("C-c")
    profile = replace(PROFILE, deny_keys=(deny,))
    after: dict[Key, Any] = {deny: [*[DIALOG] * looks, BUSY], ESCAPE: IDLE}
    ended, asked = done([DIALOG], after=after, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [deny, ESCAPE])


@pytest.mark.parametrize("looks", [1, 5])
def test_a_turn_that_ends_with_its_dialog_gets_no_key_of_its_own(looks: int) -> None:
    deny = Key("C-c")
    profile = replace(PROFILE, deny_keys=(deny,))
    after: dict[Key, Any] = {deny: [*[DIALOG] * 20, *[BUSY] * looks, IDLE]}
    ended, asked = done([DIALOG], after=after, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [deny])


def test_a_dialog_that_an_answer_alone_closes_gets_no_key() -> None:
    profile = replace(PROFILE, deny_keys=())
    ended, asked = done([DIALOG], after={ESCAPE: IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("refused", [])
    ended, asked = done([BUSY], after={ESCAPE: IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])


@pytest.mark.parametrize(
    ("again", "outcome", "times"), [(True, "interrupted", 2), (False, "failed", 1)]
)
def test_a_key_that_empties_a_field_of_the_dialog_is_sent_again_where_the_profile_says_so(
    again: bool, outcome: str, times: int
) -> None:
    deny = Key("C-c")
    profile = replace(PROFILE, deny_keys=(deny,), deny_again=again)
    screen = replace(DIALOG, draft="neither but violet")
    ended, asked = done([screen], after={deny: iter([DIALOG, IDLE])}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == (outcome, [deny] * times)
    assert ended.kept == ["neither but violet"]


def in_view(*pages: str) -> list[Screen]:
    return [replace(DIALOG, view=page) for page in pages]


def test_each_page_of_a_menu_is_left_by_a_key_of_its_own() -> None:
    search, settings = in_view("Esc to clear", "Esc to close")
    ended, asked = done([search], after={ESCAPE: iter([settings, IDLE])})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE, ESCAPE])


@pytest.mark.parametrize("hidden", [BUSY, DIALOG])
def test_a_turn_or_dialog_that_a_view_had_hidden_gets_its_own_key(hidden: Screen) -> None:
    view = replace(BUSY, view="Showing detailed transcript")
    ended, asked = done([view], after={ESCAPE: iter([hidden, IDLE])})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE, ESCAPE])


def test_a_turn_revealed_by_a_view_gets_its_key_once() -> None:
    view = replace(BUSY, view="Showing detailed transcript")
    ended, asked = done([view], after={ESCAPE: BUSY})
    assert (ended.outcome.value, keys(asked)) == ("failed", [ESCAPE, ESCAPE])


@pytest.mark.parametrize("looks", [0, 10, 25, 40])
def test_the_next_page_gets_its_key_only_when_the_screen_shows_it(looks: int) -> None:
    """The agent may be frozen: it hears two keys at once then, and the second is one too many."""
    search, settings = in_view("Esc to clear", "Esc to close")
    after = {ESCAPE: iter([[search] * looks + [settings], [settings] * looks + [IDLE]])}
    ended, asked = done([search], after=after)  # type: ignore[arg-type]
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE, ESCAPE])


def test_a_view_that_does_not_change_gets_its_key_once() -> None:
    ended, asked = done(in_view("Esc to close"))
    assert (ended.outcome.value, keys(asked)) == ("failed", [ESCAPE])


def test_a_queue_behind_a_view_comes_back_before_the_turn_is_ended() -> None:
    view, queued = replace(BUSY, view="Search prompts"), replace(BUSY, queued="run it")
    after: dict[Key, Any] = {
        ESCAPE: iter([[BUSY, queued], Screen(State.DRAFT, "run it")]),
        UP: Screen(State.BUSY, "run it"),
    }
    ended, asked = done([view], after=after)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE, UP, ESCAPE])
    assert ended.kept == ["run it"]


def test_a_queue_behind_a_view_that_does_not_come_back_is_not_started() -> None:
    view, queued = replace(BUSY, view="Search prompts"), replace(BUSY, queued="run it")
    ended, asked = done([view], after={ESCAPE: queued})
    assert (ended.outcome.value, keys(asked)) == ("failed", [ESCAPE, UP])


@pytest.mark.parametrize("draft", ["neither but violet", ""])
def test_a_dialog_that_does_not_change_gets_its_key_once(draft: str) -> None:
    """The agent may be slow, and hear both keys at once."""
    deny = Key("C-c")
    profile = replace(PROFILE, deny_keys=(deny,), deny_again=True)
    ended, asked = done([replace(DIALOG, draft=draft)], profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("failed", [deny])
    assert ended.trouble is not None
    assert ended.trouble.message.endswith("its key was sent, and its dialog is open still")


def test_a_question_that_hears_no_key_gets_none_and_its_words_stay() -> None:
    screen = replace(DIALOG, draft="neither but violet", deaf=True)
    ended, asked = done([screen], after={ESCAPE: IDLE})
    assert (ended.outcome.value, keys(asked), ended.kept) == ("refused", [], [])
    assert ended.trouble is not None
    assert ended.trouble.code.text == "not_interruptible"
    assert "only an answer closes" in ended.trouble.message


def test_an_agent_between_two_steps_of_a_turn_is_not_idle() -> None:
    ended, asked = done([IDLE, BUSY], after={ESCAPE: IDLE})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])
    ended, asked = done([IDLE])
    assert (ended.outcome.value, keys(asked)) == ("already_idle", [])


def test_interrupt_gives_a_first_question_no_answer() -> None:
    for screen in (SETUP, UNKNOWN):
        ended, asked = done([screen])
        assert (ended.outcome.value, keys(asked)) == ("refused", [])
        assert ended.trouble is not None
        assert ended.trouble.code.text == "not_interruptible"
        assert ReadScreen(ready=True) not in asked


def test_a_screen_being_drawn_is_not_an_unknown_screen() -> None:
    ended, asked = done([UNKNOWN, UNKNOWN, BUSY], after={ESCAPE: IDLE})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])


def test_a_dialog_that_opens_after_a_key_gets_no_other() -> None:
    ended, asked = done([DIALOG], after={ESCAPE: SETUP})
    assert (ended.outcome.value, keys(asked)) == ("failed", [ESCAPE])


@pytest.mark.parametrize(("again", "times"), [(False, 1), (True, 3)])
def test_a_turn_that_continues_gets_its_key_again_only_where_the_profile_says_so(
    again: bool, times: int
) -> None:
    ended, asked = done([BUSY], profile=replace(PROFILE, turn_again=again))
    assert (ended.outcome.value, keys(asked)) == ("failed", [ESCAPE] * times)


@pytest.mark.parametrize("looks", [10, 25, 40])
def test_an_agent_that_is_frozen_for_seconds_gets_one_key_and_is_waited_for(looks: int) -> None:
    """It shows the screen before the key for so many looks of a tenth of a second."""
    ended, asked = done([BUSY], after={ESCAPE: [BUSY] * looks + [IDLE]})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])


def test_an_agent_that_is_blank_after_its_key_is_waited_for() -> None:
    ended, asked = done([BUSY], after={ESCAPE: [UNKNOWN] * 30 + [IDLE]})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])


def test_a_dialog_is_left_by_the_key_with_which_a_stop_begins() -> None:
    profile = replace(PROFILE, safe_keys=(Key("C-c"), ESCAPE), deny_keys=None)
    ended, asked = done([DIALOG], after={Key("C-c"): IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [Key("C-c")])


def test_the_words_around_a_key_take_back_what_they_typed() -> None:
    space, back = Text(" "), Key("BSpace")
    profile = replace(PROFILE, turn_keys=(space, ESCAPE, back))
    ended, asked = done([BUSY], after={ESCAPE: IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [space, ESCAPE, back])


def test_a_queued_prompt_comes_back_first_and_is_kept() -> None:
    queued = replace(BUSY, queued="run it")
    back = Screen(State.BUSY, "run it")
    ended, asked = done([queued], after={UP: back, ESCAPE: Screen(State.DRAFT, "run it")})
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [UP, ESCAPE])
    assert ended.draft is not None
    assert (ended.draft.text, ended.draft.event) == ("run it", 7)


@pytest.mark.parametrize("drawing", [[UNKNOWN], [UNKNOWN, UNKNOWN], [BUSY], [UNKNOWN, BUSY]])
def test_an_agent_that_draws_while_its_queue_returns_is_working(drawing: list[Screen]) -> None:
    """A look may meet the screen before all of it is drawn."""
    queued, back = replace(BUSY, queued="run it"), Screen(State.BUSY, "run it")
    after: dict[Key, Screen | list[Screen]] = {
        UP: [*drawing, back],
        ESCAPE: Screen(State.DRAFT, "run it"),
    }
    ended, asked = done([queued], after=after)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [UP, ESCAPE])
    assert ended.kept == ["run it"]


def test_a_queue_that_does_not_come_back_gets_no_key_that_would_start_it() -> None:
    ended, asked = done([replace(BUSY, queued="run it")])
    assert (ended.outcome.value, keys(asked)) == ("refused", [UP])


def test_an_agent_that_exits_during_an_interrupt_is_gone() -> None:
    ended, _ = done([BUSY], after={ESCAPE: UNKNOWN}, leaves=True)
    assert ended.trouble is not None
    assert (ended.outcome.value, ended.trouble.code.text) == ("failed", "gone")


def test_an_agent_that_rests_is_not_waited_for() -> None:
    ended, _ = done([IDLE])
    assert ended.outcome.value == "already_idle"
    assert ended.now - FakeClock().monotonic() < 1.0


@pytest.mark.parametrize("whole", [True, False])
def test_only_a_whole_pause_outlasts_the_answer_of_the_screen(whole: bool) -> None:
    profile = replace(PROFILE, turn_keys=(ESCAPE, Pause(5.0, whole=whole), ESCAPE))
    ended, asked = done([BUSY], after={ESCAPE: IDLE}, profile=profile)
    assert (ended.outcome.value, keys(asked)) == ("interrupted", [ESCAPE])
    assert (ended.now - FakeClock().monotonic() >= 5.0) is whole

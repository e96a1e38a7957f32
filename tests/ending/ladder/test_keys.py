"""The exit keys rung: each key is sent only where it is harmless."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ending.ladder.test_climb import (
    ALONE,
    GONE,
    IDLE,
    OURS,
    UNTOLD,
    an_ending,
    run,
    scripted,
)
from tests.ending.test_plan import AGENT, DEMO, SIGHT, STOP
from tmuxreap.agents.profiles import Key, Pause, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.keys import REPEATS, confirmed_screen
from tmuxreap.ending.ladder.requests import (
    PARTIAL,
    KeepDraft,
    Press,
    ReadScreen,
    Request,
    Wait,
    type_keys,
)
from tmuxreap.ending.outcome import draft_warning
from tmuxreap.proof.panes import Carried

STAYS = frozenset({AGENT.id})
BUSY, UNREAD = Screen(State.BUSY), Screen(State.UNKNOWN)
ESCAPE, UP = Key("Escape"), Key("Up")


def pressed(asked: list[Request[Any]]) -> list[object]:
    return [request.step for request in asked if isinstance(request, Press)]


def keyed(*screens: Screen, **answers: object) -> tuple[list[Request[Any]], EndingState]:
    given = {"ReadScreen": list(screens), "Look": [ALONE, GONE], "Capture": UNTOLD, **answers}
    return run(STOP, scripted(**given))


def test_enter_is_not_sent_after_words_that_are_not_ours() -> None:
    asked, _ = keyed(IDLE, Screen(State.DRAFT, "rm -rf /exit"))
    assert Key("Enter") not in pressed(asked)


def test_enter_submits_our_own_words_and_nothing_else() -> None:
    asked, _ = keyed(IDLE, OURS, Wait=[*[STAYS] * 3, frozenset()])
    assert pressed(asked) == [Text("/exit"), Key("Enter")]


def test_the_pane_is_made_ready_once_before_the_first_key() -> None:
    asked, _ = keyed(IDLE, OURS, Wait=[STAYS, frozenset()])
    assert [request.ready for request in asked if isinstance(request, ReadScreen)] == [True, False]


def test_a_draft_seen_in_part_is_reported_as_lost() -> None:
    asked, ended = keyed(replace(Screen(State.DRAFT, "half"), partial=True))
    assert KeepDraft("half") in asked
    assert ended.draft_lost == PARTIAL


def test_each_kept_text_appears_once_and_a_longer_one_replaces_its_beginning() -> None:
    drafts = [Screen(State.DRAFT, text) for text in ("half", "half a line", "other")]
    profile = replace(DEMO, empty_keys=())
    answers = scripted(ReadScreen=drafts, KeepDraft=[1, 2, 3], Look=[ALONE, GONE], Capture=UNTOLD)
    asked, ended = run(STOP, answers, profile=profile)
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


def moments(asked: list[Request[Any]], step: object) -> list[float]:
    """Return when the waits before this step ended, at the latest."""
    place = asked.index(Press(step))  # type: ignore[arg-type]
    return [request.until for request in asked[:place] if isinstance(request, Wait)]


def test_a_pause_ends_when_the_input_holds_the_text() -> None:
    quick = replace(DEMO, idle_keys=(Text("/exit"), Pause(3.0), Key("Enter")))
    answers = scripted(ReadScreen=[IDLE, IDLE, OURS], Look=[ALONE, GONE], Capture=UNTOLD)
    asked, _ = run(STOP, answers, profile=quick)
    waits = moments(asked, Key("Enter"))
    assert waits[-1] - waits[0] < 0.1


def test_a_time_that_the_agent_measures_is_waited_out() -> None:
    steps = (Text("/exit"), Pause(3.0), Pause(2.0, whole=True), Key("Enter"))
    answers = scripted(ReadScreen=[IDLE, OURS], Look=[ALONE, GONE], Capture=UNTOLD)
    asked, _ = run(STOP, answers, profile=replace(DEMO, idle_keys=steps))
    waits = moments(asked, Key("Enter"))
    assert waits[-1] - waits[-2] == pytest.approx(2.0)


def test_a_draft_is_kept_cleared_read_back_empty_and_left_like_an_empty_prompt() -> None:
    draft = Screen(State.DRAFT, "half")
    asked, ended = keyed(draft, draft, IDLE, OURS, KeepDraft=1)
    assert pressed(asked) == [Key("C-c"), Text("/exit"), Key("Enter")]
    assert asked.index(KeepDraft("half")) < asked.index(Press(Key("C-c")))
    assert (ended.kept, ended.draft_lost) == (["half"], "")


def test_a_draft_that_is_not_read_back_empty_gets_no_text_after_it() -> None:
    asked, _ = keyed(Screen(State.DRAFT, "half"), KeepDraft=1)
    assert Text("/exit") not in pressed(asked)
    assert pressed(asked)[:3] == [Key("C-c"), ESCAPE, Key("C-u")]


@pytest.mark.parametrize("before", [BUSY, UNREAD, Screen(State.DIALOG)])
def test_a_stop_presses_one_safe_key_when_it_brings_the_empty_prompt(
    before: Screen,
) -> None:
    asked, _ = keyed(before, before, IDLE, IDLE, OURS)
    assert pressed(asked) == [ESCAPE, Text("/exit"), Key("Enter")]


def test_a_prompt_shown_for_a_moment_between_two_steps_is_not_an_idle_one() -> None:
    asked, _ = keyed(BUSY, IDLE, *[BUSY] * 50)
    assert Text("/exit") not in pressed(asked)


def test_a_spinner_that_draws_ends_no_pause() -> None:
    drawn_anew = [replace(BUSY, queued="", asks=str(number)) for number in range(60)]
    asked, _ = keyed(*drawn_anew)
    place = asked.index(Press(Key("C-u")))
    waits = [request.until for request in asked[:place] if isinstance(request, Wait)]
    assert waits[-1] - waits[0] == pytest.approx(0.3, abs=0.02)


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
    profile = replace(DEMO, safe_keys=(Key("C-c"),), again_keys=again, empty_keys=())
    screens = [Screen(State.DRAFT, "half"), IDLE, OURS]
    answers = scripted(ReadScreen=screens, Look=[ALONE, GONE], Capture=UNTOLD, KeepDraft=1)
    asked, _ = run(STOP, answers, profile=profile)
    assert (Text("/exit") in pressed(asked)) is typed


# A look may meet a screen that is being drawn


def drawn(planned: Screen, *screens: Screen) -> tuple[list[Request[Any]], EndingState]:
    profile = replace(DEMO, interrupt_keys=(ESCAPE,), unqueue_keys=(UP,), turn_again=True)
    answers = scripted(ReadScreen=list(screens), Look=[ALONE, GONE], Capture=UNTOLD, KeepDraft=1)
    return run(STOP, answers, profile=profile, screen=planned)


@pytest.mark.parametrize("half", [BUSY, UNREAD])
def test_no_key_starts_a_queued_prompt_that_is_not_drawn_yet(half: Screen) -> None:
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


def test_a_screen_that_says_nothing_is_not_watched_longer() -> None:
    asked, ended = drawn(UNREAD, UNREAD)
    reads = next(at for at, request in enumerate(asked) if isinstance(request, Press))
    assert sum(isinstance(request, ReadScreen) for request in asked[:reads]) == 1
    assert ended.draft_lost


def test_a_pause_between_keys_sends_no_key() -> None:
    one = an_ending()
    steps = type_keys(one, (Key("C-c"), Pause(0.5), Key("C-c")))
    asked = [next(steps)]
    with pytest.raises(StopIteration) as done:
        while True:
            asked.append(steps.send(True))
    assert asked == [Press(Key("C-c")), Wait(one.awaited, one.now + 0.5), Press(Key("C-c"))]
    assert done.value.value is True


def test_an_escape_clears_no_draft() -> None:
    """The screen told nothing before it, and shows an empty input before the key that clears."""
    asked, ended = keyed(UNREAD, IDLE)
    assert pressed(asked)[0] == ESCAPE
    assert ended.draft_lost == ""
    _, ended = keyed(UNREAD)
    assert draft_warning(ended) == (
        "draft_lost: its screen could not be read: if something was half-typed, it is lost;"
        " its last screen is in the row"
    )


@pytest.mark.parametrize(
    ("deny", "first"), [((), ESCAPE), ((ESCAPE,), ESCAPE), ((Key("C-c"),), Text("/exit"))]
)
def test_escape_is_left_out_where_another_key_leaves_a_dialog(
    deny: tuple[Key, ...], first: Key | Text
) -> None:
    dialog = Screen(State.DIALOG)
    answers = scripted(ReadScreen=[dialog, dialog, IDLE], Look=[ALONE, GONE], Capture=UNTOLD)
    asked, _ = run(STOP, answers, profile=replace(DEMO, deny_keys=deny))
    assert pressed(asked)[0] == first


CARRIED = replace(SIGHT, carrier=Carried(AGENT, "docker", True, argv=("docker", "exec")))


@pytest.mark.parametrize(
    ("again", "is_confirmed"),
    [(IDLE, True), (Screen(State.BUSY), False), (Screen(State.UNKNOWN), False)],
)
def test_a_screen_behind_a_carrier_counts_once_it_was_seen_twice(
    again: Screen, is_confirmed: bool
) -> None:
    first = again if again.state is State.UNKNOWN else IDLE
    ending = an_ending(STOP, CARRIED)
    steps = confirmed_screen(ending, first)
    assert isinstance(next(steps), Wait)
    assert steps.send(frozenset()) == ReadScreen()
    with pytest.raises(StopIteration) as end:
        steps.send(again)
    assert end.value.value == (again if is_confirmed else None)
    assert (ending.unsent is None) is is_confirmed


@pytest.mark.parametrize("idle_keys", [(), DEMO.idle_keys])
def test_keys_are_repeated_within_the_time_to_leave(idle_keys: tuple[Any, ...]) -> None:
    again = Key("C-d")
    profile = replace(
        DEMO, idle_keys=idle_keys, safe_keys=(Key("C-c"),), again_keys=(again,), empty_keys=()
    )
    answers = scripted(ReadScreen=UNREAD, Look=[SIGHT, GONE], KeepDraft=1, Wait=STAYS)
    asked, _ = run(STOP, answers, profile=profile)
    assert pressed(asked).count(again) == REPEATS


def test_an_input_without_a_draft_is_not_cleared_for_what_is_queued() -> None:
    profile = replace(DEMO, unqueue_keys=(UP,), clear_keys=(Key("C-u"),), turn_again=True)
    queued = replace(BUSY, queued="run it")
    for draft, first in (("", [UP]), ("half", [Key("C-u"), UP])):
        begins = replace(queued, draft=draft)
        cleared = [begins, queued] if draft else [queued]
        screens = [*cleared, replace(BUSY, draft="run it")]
        answers = scripted(ReadScreen=screens, Look=[ALONE, GONE], Capture=UNTOLD, KeepDraft=1)
        asked, ended = run(STOP, answers, profile=profile, screen=begins)
        assert pressed(asked)[: len(first)] == first
        assert "run it" in ended.kept

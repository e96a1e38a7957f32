"""A draft of which the screen shows a part is read whole, in the editor that the agent opens."""

from __future__ import annotations

import re
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest

from tests.ending.ladder.test_climb import ALONE, GONE, UNTOLD, run, scripted
from tests.ending.test_plan import DEMO, STOP
from tmuxreap.agents.profiles import Key, Text
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.keys import CLOSES_S, OPENS_S
from tmuxreap.ending.ladder.requests import (
    PARTIAL,
    KeepDraft,
    MayEdit,
    Press,
    ReadEditor,
    Request,
    Signal,
    Wait,
    keep_draft,
)
from tmuxreap.sessions.editors import Opened

EDITOR = ProcessId(300, 9)
PASTE = replace(Screen(State.DRAFT, "[Pasted #1]"), partial=True)
WITH = replace(DEMO, editor_keys=(Key("C-g"),), marks={"shortened": re.compile(r"\[Pasted")})


def handed(
    *editors: Opened | None, screen: Screen = PASTE, profile: Any = WITH, **answers: object
) -> tuple[list[Request[Any]], EndingState]:
    given = {"ReadScreen": screen, "ReadEditor": list(editors), "Look": [ALONE, GONE], **answers}
    return run(STOP, scripted(Capture=UNTOLD, **given), profile=profile)


def keys(asked: list[Request[Any]]) -> list[object]:
    return [request.step for request in asked if isinstance(request, Press)]


def signals(asked: list[Request[Any]]) -> list[object]:
    return [
        request.signals
        for request in asked
        if isinstance(request, Signal) and EDITOR in request.processes
    ]


def test_the_whole_draft_replaces_its_placeholder() -> None:
    asked, ended = handed(None, Opened(EDITOR, "one\ntwo\n"))
    assert (ended.kept, ended.draft_lost) == (["one\ntwo"], "")
    assert ended.draft is not None
    assert ended.draft.text == "one\ntwo"
    assert keys(asked).count(Key("C-g")) == 1
    first = next(request for request in asked if isinstance(request, Signal))
    assert (first.processes, first.strikes) == (frozenset({EDITOR}), False)


@pytest.mark.parametrize("text", ["one\ntwo", "one\ntwo\n", "one"])
def test_a_draft_that_the_screen_did_show_whole_is_kept(text: str) -> None:
    """A draft may be exactly as high as its visible part."""
    _, ended = handed(Opened(EDITOR, text), screen=replace(PASTE, draft="one\ntwo"))
    assert (ended.kept, ended.draft_lost) == ([text.rstrip("\n")], "")


def test_another_draft_after_one_that_was_read_whole_is_kept_too() -> None:
    """A user went on typing at a prompt that was empty again."""
    _, ended = handed(None, Opened(EDITOR, "one\ntwo\n"))
    for text in ("two", "[Pasted #1]", "three"):
        for request in keep_draft(ended, text):
            assert request == KeepDraft("three")
    assert ended.kept == ["one\ntwo", "three"]


def test_an_editor_that_stays_is_killed() -> None:
    asked, _ = handed(Opened(EDITOR, "one"))
    assert signals(asked) == [(SIGTERM,), (SIGKILL,)]
    waits = [
        request for request in asked if isinstance(request, Wait) and request.processes == {EDITOR}
    ]
    assert waits[1].until - waits[0].until == CLOSES_S


def test_a_command_for_the_shell_keeps_its_sign() -> None:
    _, ended = handed(Opened(EDITOR, "one"), screen=replace(PASTE, draft="!echo [Pasted #1]"))
    assert ended.kept == ["!one"]


@pytest.mark.parametrize("text", ["", "see [Pasted #1]"])
def test_a_placeholder_is_not_taken_for_the_whole_draft(text: str) -> None:
    asked, ended = handed(Opened(EDITOR, text))
    assert (ended.kept, ended.draft_lost) == (["[Pasted #1]"], PARTIAL)
    assert signals(asked)[0] == (SIGTERM,)


def test_an_editor_that_does_not_come_is_awaited_for_a_while() -> None:
    asked, ended = handed(None)
    key, following = [at for at, request in enumerate(asked) if isinstance(request, Press)][:2]
    reads = [at for at in range(key, following) if isinstance(asked[at], ReadEditor)][:-1]
    waited = [request for request in asked[reads[0] : reads[-1]] if isinstance(request, Wait)]
    assert waited[-1].until - waited[0].until == pytest.approx(OPENS_S - 0.1, abs=0.1)
    assert (ended.kept, ended.draft_lost, signals(asked)) == (["[Pasted #1]"], PARTIAL, [])


def test_an_editor_that_exits_is_asked_no_more() -> None:
    asked, _ = handed(None, Wait=frozenset())
    assert sum(isinstance(request, ReadEditor) for request in asked) == 1


@pytest.mark.parametrize(
    ("screen", "profile", "may"),
    [
        (replace(PASTE, partial=False), WITH, True),
        (replace(PASTE, state=State.DIALOG), WITH, True),
        (PASTE, replace(WITH, editor_keys=()), True),
        (PASTE, WITH, False),
    ],
)
def test_no_editor_is_opened_otherwise(screen: Screen, profile: Any, may: bool) -> None:
    asked, _ = handed(None, screen=screen, profile=profile, MayEdit=may)
    assert Key("C-g") not in keys(asked)
    assert may or any(isinstance(request, MayEdit) for request in asked)


def test_words_in_a_dialog_are_read_whole_where_a_key_of_it_is_known() -> None:
    profile = replace(WITH, words_editor_keys=(Key("C-x"),))
    screen = replace(PASTE, state=State.DIALOG, draft="last line")
    asked, ended = handed(
        None, Opened(EDITOR, "first\nlast line\n"), screen=screen, profile=profile
    )
    assert (ended.kept, ended.draft_lost) == (["first\nlast line"], "")
    assert keys(asked).count(Key("C-x")) == 1
    assert Key("C-g") not in keys(asked)


SAFE = [step for step in WITH.safe_keys if isinstance(step, Key)]
AWAITED = [None] * 51  # as often as it is looked for while it may open


@pytest.mark.parametrize("more", range(len(SAFE) + 1))
def test_an_editor_that_opens_late_gets_no_key_but_is_read(more: int) -> None:
    asked, ended = handed(*AWAITED, *[None] * more, Opened(EDITOR, "one\ntwo"), None)
    read = [at for at, request in enumerate(asked) if isinstance(request, ReadEditor)]
    first_signal = next(at for at, request in enumerate(asked) if isinstance(request, Signal))
    assert keys(asked[:first_signal]) == [Key("C-g"), *SAFE[:more]]
    assert read[-1] < first_signal
    assert signals(asked)[0] == (SIGTERM,)
    assert (ended.kept, ended.draft_lost) == (["one\ntwo"], "")


OWN = Screen(State.UNKNOWN)


@pytest.mark.parametrize(
    ("shown", "kept", "lost"),
    [
        ("one\ntwo\n~\n1,1  All", ["one\ntwo"], ""),
        (
            "one\nthree\n~\n-- INSERT --",
            ["one\ntwo", "one\nthree"],
            "vi had changes that were not saved",
        ),
    ],
)
def test_a_persons_own_editor_gets_no_key_and_is_ended_first(
    shown: str, kept: list[str], lost: str
) -> None:
    given = {"ReadScreen": [Screen(State.IDLE)], "Look": [ALONE, GONE]}
    open_one = {"editor_screen": OWN, "last_screen": shown}
    asked, ended = run(
        STOP,
        scripted(Capture=UNTOLD, ReadEditor=[Opened(EDITOR, "one\ntwo\n", "vi"), None], **given),
        profile=WITH,
        **open_one,
    )
    first = next(at for at, request in enumerate(asked) if isinstance(request, (Signal, Press)))
    assert isinstance(asked[first], Signal)
    assert signals(asked)[0] == (SIGTERM,)
    assert (ended.kept, ended.draft_lost) == (kept, lost)


def test_no_text_is_typed_while_an_editor_may_open() -> None:
    asked, _ = handed(None, ReadScreen=[PASTE, Screen(State.IDLE)])
    assert [request for request in keys(asked) if isinstance(request, Text)] == []

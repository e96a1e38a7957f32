"""The ladder alone: its requests in order, with scripted answers."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGCONT, SIGKILL, SIGTERM
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.ending.test_plan import AGENT, DEMO, KILL, SIGHT, STOP, TROUBLE
from tests.fakes import FakeClock, Story
from tmuxreap.agents.conversations.find import NONE, Clues
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Key, Pause, Profile, Text
from tmuxreap.agents.programs import Spares
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.model import Live, Outcome, Row, StoppedBy
from tmuxreap.core.ports import SignalSent
from tmuxreap.core.results import Conversation, Draft
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.climb import climb
from tmuxreap.ending.ladder.requests import (
    Capture,
    Checkpoint,
    Close,
    KeepDraft,
    Look,
    Press,
    ReadScreen,
    Request,
    Signal,
    Wait,
)
from tmuxreap.ending.plan import RungKind, make_plan
from tmuxreap.ending.policy import Policy
from tmuxreap.proof.ownership import Belonging, Owned
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.sessions.conversation import Known

ROW = cast("Row", SimpleNamespace(name="acme"))
UNTOLD = Known(NONE, Clues())
ALONE = replace(SIGHT, live=Live.AGENT_GONE, agent=(), owned=Owned())
GONE = replace(ALONE, live=Live.GONE, session=None, pane=None)
IDLE, OURS = Screen(State.IDLE), Screen(State.DRAFT, "/exit")


def an_ending(
    policy: Policy = STOP,
    sight: Sight = SIGHT,
    profile: Profile = DEMO,
    screen: Screen | None = None,
    **facts: Any,
) -> EndingState:
    """Return an ending as `prepare` makes it."""
    return EndingState(
        row=ROW,
        agent="demo",
        profile=profile,
        spares=Spares.of(),
        policy=policy,
        plan=make_plan("acme", "demo", sight, screen, profile, policy),
        sight=sight,
        past=Past(first=sight),
        known=UNTOLD,
        **facts,
    )


def run(
    policy: Policy,
    answers: Callable[[Request[Any]], object],
    sight: Sight = SIGHT,
    profile: Profile = DEMO,
    screen: Screen | None = None,
    **known: Any,
) -> tuple[list[Request[Any]], EndingState]:
    """Return every request, and the result. Waits take their time. `known`: of the plan."""
    clock = FakeClock()
    one = an_ending(policy, sight, profile, screen, looked_at=clock.monotonic())
    for name, value in known.items():
        setattr(one, name, value)
    steps = climb(one)
    asked: list[Request[Any]] = []
    answer: object = None
    while True:
        one.now = clock.monotonic()
        try:
            request = steps.send(answer)
        except StopIteration:
            return asked, one
        asked.append(request)
        assert len(asked) < 1000, "it never ends"
        answer = answers(request)
        if isinstance(request, Wait) and (answer or not request.processes):
            clock.move_to(request.until)


def scripted(**answers: object) -> Callable[[Request[Any]], object]:
    """Return answers by request name; a list is used in order, and its last item repeats."""

    def answer(request: Request[Any]) -> object:
        given = answers.get(type(request).__name__, True)
        if isinstance(given, list):
            given = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(request, Wait) and given is True:
            return request.processes
        if isinstance(request, Signal) and given is True:
            return dict.fromkeys(request.processes, SignalSent.SENT)
        return given

    return answer


def kinds(requests: list[Request[Any]]) -> list[str]:
    return [type(request).__name__ for request in requests]


def test_a_stop_that_goes_well_makes_these_requests() -> None:
    known = Conversation("id", "exit-banner", None, exists=True)
    # still there after the pauses between the keys, gone after the last
    waits = [*[frozenset({AGENT.id})] * 3, frozenset()]
    answers = scripted(
        ReadScreen=[IDLE, OURS], Wait=waits, Capture=Known(known, Clues()), Look=[ALONE, GONE]
    )
    asked, ended = run(STOP, answers)
    assert kinds(asked) == [
        "Checkpoint",
        "ReadScreen",
        "Press",
        "Wait",
        "ReadScreen",
        "Wait",
        "Wait",
        "ReadScreen",
        "Press",
        "Wait",
        "Capture",
        "Checkpoint",
        "Look",
        "Close",
        "Look",
        "Look",
    ]
    assert [request.step for request in asked if isinstance(request, Press)] == [
        Text("/exit"),
        Key("Enter"),
    ]
    assert (ended.outcome, ended.stopped_by, ended.conversation) == (
        Outcome.STOPPED,
        StoppedBy.EXIT_KEYS,
        known,
    )


def test_a_stop_taken_over_before_the_first_key_presses_none() -> None:
    asked, ended = run(STOP, scripted(Checkpoint=False))
    assert asked == [Checkpoint(RungKind.KEYS)]
    assert (ended.outcome, ended.stopped_by, ended.survivors) == (Outcome.TAKEN_OVER, None, ())


def test_a_stop_taken_over_between_two_rungs_sends_nothing_more() -> None:
    asked, ended = run(STOP, scripted(Checkpoint=[True, False], ReadScreen=IDLE))
    assert ended.outcome is Outcome.TAKEN_OVER
    assert not [request for request in asked if isinstance(request, Signal | Close)]


def test_one_clean_look_proves_no_end() -> None:
    late = replace(GONE, owned=Owned((Belonging(AGENT, "mark"),)))
    asked, ended = run(
        replace(STOP, keys_timeout_s=0.0), scripted(Look=[GONE, late, GONE, GONE], Wait=frozenset())
    )
    assert kinds(asked) == ["Checkpoint", "Look", "Look", "Signal", "Wait", "Look", "Look"]
    assert ended.outcome is Outcome.STOPPED


def test_every_process_is_signalled_once_and_woken() -> None:
    asked, _ = run(replace(STOP, keys_timeout_s=0.0, force=False), scripted(Look=SIGHT))
    assert [request for request in asked if isinstance(request, Signal)] == [
        Signal(frozenset({AGENT.id}), (SIGTERM, SIGCONT))
    ]


def test_a_kill_is_repeated_until_the_time_is_up() -> None:
    asked, ended = run(replace(KILL, grace_s=0.0), scripted(Look=SIGHT))
    signals = [request.signals for request in asked if isinstance(request, Signal)]
    assert len(signals) == 41
    assert set(signals) == {(SIGKILL,)}
    assert (ended.outcome, [one.process for one in ended.survivors]) == (Outcome.SURVIVED, [AGENT])


def test_a_killed_agent_gets_no_notice() -> None:
    asked, _ = run(replace(KILL, grace_s=0.0), scripted(Look=[SIGHT, GONE], Wait=frozenset()))
    assert kinds(asked)[:4] == ["Checkpoint", "Look", "Signal", "Close"]


def test_the_terminal_goes_before_the_signals_that_ask() -> None:
    asked, _ = run(
        replace(STOP, keys_timeout_s=0.0), scripted(Look=[SIGHT, GONE], Wait=frozenset())
    )
    assert kinds(asked)[:4] == ["Checkpoint", "Look", "Close", "Signal"]


def test_a_look_that_could_not_be_made_proves_nothing() -> None:
    blind = replace(GONE, live=Live.UNKNOWN, trouble=TROUBLE)
    asked, ended = run(STOP, scripted(Look=blind, ReadScreen=IDLE))
    assert (ended.outcome, ended.trouble, ended.stopped_by) == (Outcome.FAILED, TROUBLE, None)
    assert not [request for request in asked if isinstance(request, Signal)]


def test_when_every_rung_is_skipped_nothing_is_asked() -> None:
    asked, ended = run(replace(KILL, grace_s=0.0, force=False), scripted())
    assert asked == []
    assert ended.outcome is Outcome.SURVIVED


def test_a_draft_is_kept_once_and_before_the_first_key() -> None:
    """Even before an Escape: a user may have just pressed one, and the second one clears."""
    answers = scripted(ReadScreen=Screen(State.DRAFT, "half"), KeepDraft=17, Look=[ALONE, GONE])
    asked, ended = run(STOP, answers)
    assert [request for request in asked if isinstance(request, KeepDraft)] == [KeepDraft("half")]
    kept = kinds(asked).index("KeepDraft")
    pressed = [request.step for request in asked[:kept] if isinstance(request, Press)]
    assert pressed == []
    assert ended.draft == Draft(4, 17, "half")


# Queued prompts, and a continuing turn

QUEUED = Screen(State.BUSY, queued="run it")
BACK = Screen(State.BUSY, "run it")


def pressed(asked: list[Request[Any]]) -> list[object]:
    return [request.step for request in asked if isinstance(request, Press)]


def test_a_queued_prompt_is_taken_back_and_kept_before_the_turn_is_ended() -> None:
    profile = replace(DEMO, unqueue_keys=(Key("Up"),))
    asked, ended = run(
        STOP, scripted(ReadScreen=[QUEUED, BACK], KeepDraft=17, Look=GONE), profile=profile
    )
    assert pressed(asked)[:2] == [Key("Up"), Key("Escape")]
    assert kinds(asked).index("KeepDraft") < asked.index(Press(Key("Escape")))
    assert ended.draft == Draft(6, 17, "run it")


def test_a_draft_is_kept_where_the_queue_returns_into_an_empty_input() -> None:
    profile = replace(DEMO, unqueue_keys=(Key("Up"),), clear_keys=(Key("C-u"),))
    screens = [replace(QUEUED, draft="half"), QUEUED, BACK]
    asked, ended = run(STOP, scripted(ReadScreen=screens, KeepDraft=17, Look=GONE), profile=profile)
    assert pressed(asked)[:3] == [Key("C-u"), Key("Up"), Key("Escape")]
    assert ended.draft == Draft(12, 17, "half\n\nrun it")


@pytest.mark.parametrize("profile", [DEMO, replace(DEMO, unqueue_keys=(Key("Up"),))])
def test_no_key_ends_a_turn_while_a_prompt_is_queued_behind_it(profile: Profile) -> None:
    asked, ended = run(STOP, scripted(ReadScreen=QUEUED, KeepDraft=17, Look=GONE), profile=profile)
    assert set(pressed(asked)) <= {Key("Up")}
    assert (ended.stopped_by, ended.draft) == (StoppedBy.HANGUP, Draft(6, 17, "run it"))


def test_a_dialog_that_hides_a_queue_gets_no_key() -> None:
    profile = replace(DEMO, unqueue_keys=(Key("Up"),))
    asked, _ = run(
        STOP, scripted(ReadScreen=replace(QUEUED, state=State.DIALOG), Look=GONE), profile=profile
    )
    assert pressed(asked) == []


def test_a_question_before_the_first_prompt_gets_no_answer() -> None:
    """Not even an Escape: it may mean a permanent "no"."""
    asking = Screen(State.DIALOG, setup=True)
    asked, _ = run(STOP, scripted(ReadScreen=asking, Look=GONE))
    assert pressed(asked) == []
    profile = replace(DEMO, setup_keys=(Key("C-c"), Key("C-c")))
    asked, _ = run(STOP, scripted(ReadScreen=asking, Look=GONE), profile=profile)
    assert set(pressed(asked)) == {Key("C-c")}


@pytest.mark.parametrize(
    ("screen", "why"),
    [
        (Screen(State.DRAFT, "[Pasted text]", partial=True), "only a part"),
        (Screen(State.UNKNOWN), "could not be read"),
        (Screen(State.DRAFT, "half"), ""),
        (Screen(State.DIALOG), ""),
    ],
)
def test_a_cleared_text_that_was_not_read_whole_is_reported(screen: Screen, why: str) -> None:
    _, ended = run(STOP, scripted(ReadScreen=screen, KeepDraft=17, Look=GONE))
    assert why in ended.draft_lost
    assert bool(why) is bool(ended.draft_lost)


def test_an_unreadable_screen_after_the_first_clearing_key_counts_as_closing() -> None:
    screens = [*[Screen(State.BUSY)] * 9, Screen(State.UNKNOWN)]
    _, ended = run(STOP, scripted(ReadScreen=screens, Look=GONE))
    assert ended.draft_lost == ""


@pytest.mark.parametrize(
    ("screen", "lost"),
    [
        (Screen(State.UNKNOWN), "its screen could not be read"),
        (Screen(State.UNKNOWN, blank=True), ""),
        (Screen(State.IDLE), ""),
        (Screen(State.DRAFT, "half", stashed=True), "it was laid aside, and not shown"),
    ],
)
def test_an_ending_without_keys_tells_what_it_may_lose(screen: Screen, lost: str) -> None:
    _, ended = run(KILL, scripted(KeepDraft=17, Look=GONE), screen=screen)
    assert ended.draft_lost == lost


def test_a_kill_keeps_what_the_screen_showed() -> None:
    shown = Screen(State.DRAFT, "half", queued="run it", partial=True)
    asked, ended = run(KILL, scripted(KeepDraft=17, Look=GONE), screen=shown)
    assert [request.text for request in asked if isinstance(request, KeepDraft)] == [
        "half",
        "run it",
    ]
    assert ended.draft_lost


LAID_ASIDE = Screen(State.IDLE, stashed=True)


def test_a_stash_returns_into_the_input_and_is_kept() -> None:
    profile = replace(DEMO, unstash_keys=(Key("C-s"),))
    answers = scripted(
        ReadScreen=[LAID_ASIDE, Screen(State.DRAFT, "half")], KeepDraft=17, Look=GONE
    )
    asked, ended = run(STOP, answers, profile=profile)
    assert pressed(asked)[:2] == [Key("C-s"), Key("C-c")]
    assert (ended.draft, ended.draft_lost) == (Draft(4, 17, "half"), "")


@pytest.mark.parametrize("state", [State.IDLE, State.DRAFT, State.BUSY])
@pytest.mark.parametrize("profile", [DEMO, replace(DEMO, unstash_keys=(Key("C-s"),))])
def test_a_stash_that_does_not_come_back_is_reported(profile: Profile, state: State) -> None:
    """Nor is it requested where it would swap places with the text in the input."""
    screen = replace(LAID_ASIDE, state=state)
    asked, ended = run(STOP, scripted(ReadScreen=screen, Look=GONE), profile=profile)
    assert "laid aside" in ended.draft_lost
    asks = profile.unstash_keys and state is State.IDLE
    assert (Key("C-s") in pressed(asked)) is bool(asks)


def test_a_draft_in_the_input_needs_no_key_that_brings_one_back() -> None:
    profile = replace(DEMO, unstash_keys=(Key("C-s"),))
    asked, _ = run(STOP, scripted(ReadScreen=IDLE, Look=GONE), profile=profile)
    assert Key("C-s") not in pressed(asked)


def test_a_kill_reports_what_was_stashed() -> None:
    _, ended = run(KILL, scripted(Look=GONE), screen=LAID_ASIDE)
    assert "laid aside" in ended.draft_lost


def test_a_turn_is_ended_and_looked_at_again_before_anything_is_typed() -> None:
    profile = replace(DEMO, interrupt_keys=(Key("Escape"),))
    busy = Screen(State.BUSY)
    waits = [*[frozenset({AGENT.id})] * 6, frozenset()]
    screens = [busy, busy, IDLE, IDLE, OURS]
    answers = scripted(ReadScreen=screens, Wait=waits, Capture=UNTOLD, Look=GONE)
    asked, _ = run(STOP, answers, profile=profile)
    assert pressed(asked) == [Key("Escape"), Text("/exit"), Key("Enter")]
    typed = asked.index(Press(Text("/exit")))
    assert kinds(asked[:typed]).count("ReadScreen") == len([busy, busy, IDLE, IDLE])


def test_a_key_that_could_not_be_sent_is_the_last() -> None:
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Press=[True, False], Look=GONE))
    assert [request.step for request in asked if isinstance(request, Press)] == [
        Key("Escape"),
        Key("C-u"),
    ]


def test_an_agent_whose_processes_exit_one_by_one_is_waited_for() -> None:
    """The foreground process is gone, but not its launcher: no key reaches it, and it exits by
    those already sent."""
    living = frozenset({AGENT.id})
    conversation = Conversation("id", "exit-banner", None, exists=True)
    waits = [
        living,
        living,
        frozenset(),
    ]  # after the Escape, at the failed key, after the time to exit
    answers = scripted(
        ReadScreen=Screen(State.BUSY),
        Press=[True, False],
        Wait=waits,
        Capture=Known(conversation, Clues()),
        Look=GONE,
    )
    _, ended = run(STOP, answers)
    assert ended.stopped_by is StoppedBy.EXIT_KEYS


def test_a_skipped_key_is_not_waited_for() -> None:
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Press=False, Look=GONE))
    assert kinds(asked)[:5] == ["Checkpoint", "ReadScreen", "Press", "Wait", "Checkpoint"]


def test_no_key_comes_after_its_time() -> None:
    asked, _ = run(
        replace(STOP, keys_timeout_s=0.2), scripted(ReadScreen=Screen(State.BUSY), Look=GONE)
    )
    assert [request.step for request in asked if isinstance(request, Press)] == [Key("Escape")]


def test_the_screen_is_read_before_each_key_that_clears_or_submits() -> None:
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Look=GONE))
    for before, request in zip(asked, asked[1:]):  # noqa: B905, RUF007 - pairs
        if isinstance(request, Press) and request.step != Key("Escape"):
            assert isinstance(before, ReadScreen)


def test_an_agent_that_had_exited_is_not_captured() -> None:
    asked, ended = run(STOP, scripted(Look=GONE), ALONE)
    assert not [request for request in asked if isinstance(request, Capture | ReadScreen | Press)]
    assert ended.stopped_by is StoppedBy.ALREADY_GONE
    assert Look() in asked


# Timing of the keys

UNREAD = Screen(State.UNKNOWN)


@pytest.mark.parametrize(
    ("profile", "screen"),
    [
        (DEMO, IDLE),
        (DEMO, UNREAD),
        (DEMO, Screen(State.BUSY)),
        (replace(DEMO, leave_s=10.0), UNREAD),
        (load_profiles(None).agents["claude"], UNREAD),
        (load_profiles(None).agents["codex"], UNREAD),
    ],
)
def test_the_keys_of_an_unresponsive_agent_take_the_planned_time(
    profile: Profile, screen: Screen
) -> None:
    """The time to exit counts from the last key of the sequence; repeats stay within it."""
    plan = make_plan("acme", "demo", SIGHT, screen, profile, STOP)
    screens = [IDLE, *[IDLE] * 13, OURS] if screen is IDLE else screen
    asked, ended = run(
        STOP, scripted(ReadScreen=screens, Look=GONE), profile=profile, screen=screen
    )
    rung = ended.rungs[0]
    steps = profile.idle_keys if screen is IDLE else profile.safe_keys
    waits = sum(step.seconds for step in steps if isinstance(step, Pause)) + profile.leave_s
    assert rung.waited_s == pytest.approx(waits, abs=0.2 if screen is IDLE else None)
    assert plan.rungs[0].wait_s == pytest.approx(waits)
    assert len(pressed(asked)) >= len([step for step in steps if not isinstance(step, Pause)])


def test_a_repeat_begins_only_if_it_fits() -> None:
    slow = replace(DEMO, again_keys=(Key("C-c"), Pause(2.9), Key("C-c")))
    asked, ended = run(STOP, scripted(ReadScreen=UNREAD, Look=GONE), profile=slow)
    assert [step for step in slow.safe_keys if not isinstance(step, Pause)] == pressed(asked)
    assert ended.rungs[0].waited_s == pytest.approx(3.7)


def test_a_pane_that_comes_during_the_turn_has_the_stop_refused(story: Story) -> None:
    """Somebody opens it beside the agent while that works: neither is ended, and nobody is told
    so."""
    agent = story.agent(state="busy")
    session = story.tmux.servers[story.SOCKET].sessions[0]
    story.processes.after(1.0, lambda: story.tmux.split(story.SOCKET, session, "vim"))
    (item,) = story.stop("acme", after_turn_s=60.0).results
    assert (item.as_json()["outcome"], story.row()["status"]) == ("refused", "running")
    assert story.processes.alive(agent.process)


@pytest.mark.parametrize(("age_s", "again"), [(0.2, 0), (5.0, 1)])
def test_a_look_that_is_old_is_repeated_before_keys(age_s: float, again: int) -> None:
    """Foreign panes may have come since."""
    old = FakeClock().monotonic() - age_s
    asked, _ = run(STOP, scripted(ReadScreen=[IDLE, OURS], Look=ALONE), looked_at=old)
    first = next(at for at, it in enumerate(asked) if isinstance(it, ReadScreen))
    assert kinds(asked[:first]).count("Look") == again

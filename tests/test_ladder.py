"""The ladder alone: what it asks for, in which order, with the answers given by hand."""

from __future__ import annotations

from collections.abc import Callable, Generator
from signal import SIGCONT, SIGKILL, SIGTERM

from tests.fakes import FakeClock
from tests.test_plan import AGENT, DEMO, KILL, SIGHT, STOP, TROUBLE
from tmuxreap import ladder
from tmuxreap.locators import NONE
from tmuxreap.model import Conversation, Live, Outcome, StoppedBy
from tmuxreap.ownership import Belonging, Owned
from tmuxreap.plan import Policy, Rung, make_plan
from tmuxreap.profiles import Key, Text
from tmuxreap.requests import (
    Capture,
    Checkpoint,
    Close,
    Draft,
    Ended,
    KeepDraft,
    Look,
    Press,
    ReadScreen,
    Request,
    Signal,
    Wait,
)
from tmuxreap.screens import Screen, State
from tmuxreap.seams import Sent
from tmuxreap.sights import Sight
from tmuxreap.values import replace

ALONE = replace(SIGHT, live=Live.AGENT_GONE, agent=(), owned=Owned())
GONE = replace(ALONE, live=Live.GONE, session=None, pane=None)
IDLE, OURS = Screen(State.IDLE), Screen(State.DRAFT, "/exit")


def run(policy: Policy, answers: Callable[[Request], object], sight: Sight = SIGHT) -> tuple[list[Request], Ended]:
    """Every request, and the end. A wait takes its time."""
    clock = FakeClock()
    plan = make_plan("acme", "demo", sight, None, DEMO, policy)
    steps: Generator[Request, object, Ended] = ladder.climb(plan, DEMO, policy, clock, sight, NONE)
    asked: list[Request] = []
    answer: object = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as end:
            return asked, end.value
        asked.append(request)
        assert len(asked) < 1000, "it never ends"
        answer = answers(request)
        if isinstance(request, Wait) and (answer or not request.processes):
            clock.move_to(request.until)


def scripted(**answers: object) -> Callable[[Request], object]:
    """By the name of the request; a list is used up from its front, its last stays."""

    def answer(request: Request) -> object:
        given = answers.get(type(request).__name__, True)
        if isinstance(given, list):
            given = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(request, Wait) and given is True:
            return request.processes
        if isinstance(request, Signal) and given is True:
            return dict.fromkeys(request.processes, Sent.SENT)
        return given

    return answer


def kinds(requests: list[Request]) -> list[str]:
    return [type(request).__name__ for request in requests]


def test_the_requests_of_a_stop_that_goes_well() -> None:
    known = Conversation("id", "exit-banner", None, exists=True)
    waits = [frozenset({AGENT.id}), frozenset()]  # still there after the pause in the keys, gone after the last
    answers = scripted(ReadScreen=[IDLE, OURS], Wait=waits, Capture=known, Look=[ALONE, GONE])
    asked, ended = run(STOP, answers)
    assert kinds(asked) == [
        "Checkpoint", "ReadScreen", "Press", "Wait", "ReadScreen", "Press", "Wait", "Capture",
        "Checkpoint", "Look", "Close", "Look", "Look",
    ]  # fmt: skip
    assert [request.step for request in asked if isinstance(request, Press)] == [Text("/exit"), Key("Enter")]
    assert (ended.outcome, ended.stopped_by, ended.conversation) == (Outcome.STOPPED, StoppedBy.EXIT_KEYS, known)


def test_taken_over_before_the_first_key() -> None:
    asked, ended = run(STOP, scripted(Checkpoint=False))
    assert asked == [Checkpoint(Rung.KEYS)]
    assert (ended.outcome, ended.stopped_by, ended.survivors) == (Outcome.TAKEN_OVER, None, ())


def test_taken_over_between_two_rungs() -> None:
    asked, ended = run(STOP, scripted(Checkpoint=[True, False], ReadScreen=IDLE))
    assert ended.outcome is Outcome.TAKEN_OVER
    assert not [request for request in asked if isinstance(request, Signal | Close)]


def test_one_clean_look_is_none() -> None:
    late = replace(GONE, owned=Owned((Belonging(AGENT, "mark"),)))
    asked, ended = run(replace(STOP, keys_timeout_s=0.0), scripted(Look=[GONE, late, GONE, GONE], Wait=frozenset()))
    assert kinds(asked) == ["Checkpoint", "Look", "Look", "Signal", "Wait", "Look", "Look"]
    assert ended.outcome is Outcome.STOPPED


def test_everybody_is_asked_once_and_woken() -> None:
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


def test_what_is_killed_hears_of_nothing_beforehand() -> None:
    asked, _ = run(replace(KILL, grace_s=0.0), scripted(Look=[SIGHT, GONE], Wait=frozenset()))
    assert kinds(asked)[:4] == ["Checkpoint", "Look", "Signal", "Close"]


def test_the_terminal_goes_before_the_signals_that_ask() -> None:
    asked, _ = run(replace(STOP, keys_timeout_s=0.0), scripted(Look=[SIGHT, GONE], Wait=frozenset()))
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


def test_a_draft_is_kept_once_and_before_the_key_that_clears_it() -> None:
    answers = scripted(ReadScreen=Screen(State.DRAFT, "half"), KeepDraft=17, Look=[ALONE, GONE])
    asked, ended = run(STOP, answers)
    assert [request for request in asked if isinstance(request, KeepDraft)] == [KeepDraft("half")]
    kept = kinds(asked).index("KeepDraft")
    pressed = [request.step for request in asked[:kept] if isinstance(request, Press)]
    assert pressed == [Key("Escape")]
    assert ended.draft == Draft("half", 17)


def test_a_key_that_could_not_be_sent_is_the_last() -> None:
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Press=[True, False], Look=GONE))
    assert [request.step for request in asked if isinstance(request, Press)] == [Key("Escape"), Key("C-u")]


def test_an_agent_that_leaves_in_pieces_is_waited_for() -> None:
    """The process that has the terminal is gone, not its launcher: no key reaches it, and it leaves by those sent."""
    living, told = frozenset({AGENT.id}), Conversation("id", "exit-banner", None, exists=True)
    waits = [living, living, frozenset()]  # after the Escape, at the key that failed, after the time to leave
    answers = scripted(ReadScreen=Screen(State.BUSY), Press=[True, False], Wait=waits, Capture=told, Look=GONE)
    _, ended = run(STOP, answers)
    assert ended.stopped_by is StoppedBy.EXIT_KEYS


def test_who_got_no_key_is_not_waited_for() -> None:
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Press=False, Look=GONE))
    assert kinds(asked)[:4] == ["Checkpoint", "ReadScreen", "Press", "Wait"]
    assert kinds(asked)[4] == "Checkpoint"


def test_no_key_comes_after_its_time() -> None:
    asked, _ = run(replace(STOP, keys_timeout_s=0.2), scripted(ReadScreen=Screen(State.BUSY), Look=GONE))
    assert [request.step for request in asked if isinstance(request, Press)] == [Key("Escape")]


def test_the_screen_is_read_before_each_key_that_clears_or_submits() -> None:
    asked, _ = run(STOP, scripted(ReadScreen=Screen(State.BUSY), Look=GONE))
    for before, request in zip(asked, asked[1:]):  # noqa: B905, RUF007 - pairs
        if isinstance(request, Press) and request.step != Key("Escape"):
            assert isinstance(before, ReadScreen)


def test_the_agent_that_had_left_is_captured_by_nobody() -> None:
    asked, ended = run(STOP, scripted(Look=GONE), ALONE)
    assert not [request for request in asked if isinstance(request, Capture | ReadScreen | Press)]
    assert ended.stopped_by is StoppedBy.ALREADY_GONE
    assert Look() in asked

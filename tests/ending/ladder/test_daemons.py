"""A session that its agent's own daemon runs: ended by that agent's command, proven by the daemon's
list and by its processes, and signalled only without a daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ending.ladder.test_climb import an_ending
from tests.ending.test_plan import DEMO, KILL, PANE, SESSION, STOP, TROUBLE
from tests.fakes import FakeClock
from tmuxreap.agents.conversations.find import Clues
from tmuxreap.agents.conversations.jobs import Job, Jobs, Served
from tmuxreap.agents.profiles import Background
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code
from tmuxreap.core.model import EndVerb, Live, NoServer, Outcome, Process, ProcessId, StoppedBy
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.ladder.climb import climb
from tmuxreap.ending.ladder.requests import (
    BeginOwnEnd,
    Checkpoint,
    Close,
    Follow,
    KeepDraft,
    Look,
    ReadServed,
    Request,
    Signal,
    Wait,
)
from tmuxreap.ending.ladder.turns import end_turn
from tmuxreap.ending.plan import DAEMON_WAIT_S, PlannedRung, RungKind
from tmuxreap.ending.policy import Policy
from tmuxreap.proof.ownership import Belonging, Owned
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.conversation import Known

STORE = Path("/store")
HOLDER = Process(ProcessId(300, 1), 1, 300, 300, 0, -1, "S", "pty")
WORKER = Process(ProcessId(301, 2), 300, 301, 300, 0, -1, "S", "agent")
JOB = Job("demo", STORE, "j1", HOLDER.id, WORKER.id, "talk")
AGAIN = replace(JOB, holder=ProcessId(400, 9), process=ProcessId(401, 9))
SERVED = Served("demo", STORE, "talk")
TURN = Job("demo", STORE, "t1", conversation="talk", server=ProcessId(50, 1))
RESPAWN_S = 1.0
PROFILE = replace(DEMO, background=Background(file="list.json", respawn_s=RESPAWN_S))
FOLLOWED = Known(Conversation("talk", "hook", None, exists=True), Clues())
FOR_EVER = 1e9


class Daemon:
    """What a daemon and its list are like at each second since the ending began."""

    def __init__(
        self,
        *,
        job: Job = JOB,
        said_s: float = 0.0,  # the command runs so long
        says: str | None = None,
        listed_s: float = 0.0,
        lives_s: float = 0.0,
        back_s: float = FOR_EVER,  # then another process has it
        unreadable: tuple[float, float] = (FOR_EVER, FOR_EVER),
        daemon_s: float = FOR_EVER,
        pane_s: float = -1.0,
    ) -> None:
        self.clock = FakeClock()
        self.began = self.clock.monotonic()
        self.job, self.said_s, self.says = job, said_s, says
        self.listed_s, self.lives_s, self.back_s = listed_s, lives_s, back_s
        self.unreadable, self.daemon_s, self.pane_s = unreadable, daemon_s, pane_s
        self.asked: list[Request[Any]] = []
        self.signalled = False

    @property
    def passed_s(self) -> float:
        return self.clock.monotonic() - self.began

    def processes(self) -> tuple[Process, ...]:
        lives = self.passed_s < self.lives_s and not self.signalled
        return (HOLDER, WORKER) if lives and self.job is JOB else ()

    def has(self) -> Job | None:
        if self.passed_s >= self.back_s:
            return AGAIN
        return self.job if self.passed_s < self.listed_s and not self.signalled else None

    def is_readable(self) -> bool:
        begin, end = self.unreadable
        return not begin <= self.passed_s < end

    def sight(self) -> Sight:
        job = self.has() if self.is_readable() else None
        pane = self.passed_s < self.pane_s
        return Sight(
            live=Live.ALIVE if job or pane else Live.GONE,
            socket="/tmp/s",
            server=NoServer("/tmp/s"),
            session=SESSION if pane else None,
            pane=PANE if pane else None,
            owned=Owned(tuple(Belonging(it, "daemon") for it in self.processes())),
            trouble=None if self.is_readable() else TROUBLE,
            job=job,
            daemon=60 if self.passed_s < self.daemon_s else None,
        )

    def answer(self, request: Request[Any]) -> object:
        if isinstance(request, BeginOwnEnd):
            return self
        if isinstance(request, Look):
            return self.sight()
        if isinstance(request, ReadServed):
            job = self.has()
            return Jobs((job,) if job else (), is_known=self.is_readable())
        if isinstance(request, Wait):
            left = request.processes & {it.id for it in self.processes()}
            if left or not request.processes:
                self.clock.move_to(request.until)
            return left
        if isinstance(request, Signal):
            self.signalled = True
            return {}
        return FOLLOWED if isinstance(request, Follow) else True

    # What `BeginOwnEnd` returns

    line = "demo stop j1"

    @property
    def is_done(self) -> bool:
        return self.passed_s >= self.said_s

    @property
    def reason(self) -> str | None:
        return self.says if self.is_done else None

    def play(self, ending: EndingState, steps: Any) -> EndingState:
        answer: object = None
        while True:
            ending.now = self.clock.monotonic()
            try:
                request = steps.send(answer)
            except StopIteration:
                return ending
            self.asked.append(request)
            assert len(self.asked) < 2000, "it never ends"
            answer = self.answer(request)

    def end(self, policy: Policy = STOP, **facts: Any) -> EndingState:
        first = replace(self.sight(), live=Live.ALIVE, job=self.job, trouble=None)
        ending = an_ending(policy, first, PROFILE, looked_at=self.began, **facts)
        return self.play(ending, climb(ending))

    def count(self, kind: type) -> int:
        return sum(isinstance(request, kind) for request in self.asked)


def rungs(ending: EndingState) -> list[tuple[RungKind, bool, str | None]]:
    return [(one.rung, one.enough, one.skipped) for one in ending.rungs]


KEPT = "its agent's own daemon has it still"


@pytest.mark.parametrize(("policy", "outcome"), [(STOP, Outcome.STOPPED), (KILL, Outcome.KILLED)])
def test_a_session_that_left_by_its_agents_own_command_is_never_signalled(
    policy: Policy, outcome: Outcome
) -> None:
    daemon = Daemon(said_s=0.5, listed_s=0.8, lives_s=0.9)
    ended = daemon.end(policy)
    assert (ended.outcome, ended.stopped_by) == (outcome, StoppedBy.DAEMON)
    assert (ended.swept_by, ended.unended, ended.known) == (StoppedBy.DAEMON, None, FOLLOWED)
    assert (daemon.count(BeginOwnEnd), daemon.count(Signal), daemon.count(Close)) == (1, 0, 0)
    assert rungs(ended) == [
        (RungKind.DAEMON, True, None),
        (RungKind.TERM, False, "nothing was left"),
        (RungKind.KILL, False, "nothing was left"),
    ]
    # It is watched for as long as its daemon may take to bring it back.
    assert 0.9 + RESPAWN_S <= daemon.passed_s < 0.9 + RESPAWN_S + 0.2
    assert ended.rungs[0].waited_s == pytest.approx(daemon.passed_s)


def test_no_look_is_made_while_the_command_runs() -> None:
    daemon = Daemon(said_s=2.0)
    daemon.end()
    before = daemon.asked[: next(n for n, it in enumerate(daemon.asked) if isinstance(it, Look))]
    assert [type(it) for it in before[:2]] == [Checkpoint, BeginOwnEnd]
    waits = [it.until - daemon.began for it in before[2:] if isinstance(it, Wait)]
    assert len(waits) == len(before) - 2
    assert waits[-1] == pytest.approx(2.0, abs=0.06)


def test_a_command_that_hangs_is_awaited_no_longer_than_planned() -> None:
    daemon = Daemon(said_s=FOR_EVER, listed_s=FOR_EVER, lives_s=FOR_EVER)
    ended = daemon.end()
    assert ended.outcome is Outcome.SURVIVED
    assert daemon.passed_s == pytest.approx(DAEMON_WAIT_S + RESPAWN_S, abs=0.1)


@pytest.mark.parametrize(
    ("says", "said"), [(None, "demo's own list has it still"), ("no such job", "no such job")]
)
def test_a_session_that_stays_with_its_daemon_survives_unsignalled(
    says: str | None, said: str
) -> None:
    daemon = Daemon(listed_s=FOR_EVER, lives_s=FOR_EVER, says=says)
    ended = daemon.end()
    assert (ended.outcome, ended.stopped_by, daemon.count(Signal)) == (Outcome.SURVIVED, None, 0)
    assert rungs(ended) == [
        (RungKind.DAEMON, False, None),
        (RungKind.TERM, False, KEPT),
        (RungKind.KILL, False, KEPT),
    ]
    assert ended.unended is not None
    assert ended.unended.code is Code.STILL_RUNNING
    assert ended.unended.message.endswith(f"still alive: demo:j1; {said}")
    assert ended.unended.hint == "try it by hand: demo stop j1"


@pytest.mark.parametrize(
    ("listed_s", "lives_s"), [(0.0, FOR_EVER), (FOR_EVER, 0.0)], ids=["process", "list"]
)
def test_the_list_and_the_processes_both_have_to_say_that_it_is_gone(
    listed_s: float, lives_s: float
) -> None:
    ended = Daemon(listed_s=listed_s, lives_s=lives_s).end()
    assert ended.outcome is Outcome.SURVIVED
    assert ended.unended is not None
    assert ended.unended.code is Code.STILL_RUNNING


@pytest.mark.parametrize("back_s", [0.0, 0.5, RESPAWN_S])
def test_a_session_that_its_daemon_brings_back_is_reported(back_s: float) -> None:
    ended = Daemon(lives_s=0.0, back_s=back_s).end()
    assert (ended.outcome, ended.touched) == (Outcome.SURVIVED, False)
    assert ended.unended is not None
    assert ended.unended.code is Code.RESPAWNED
    assert ended.unended.message.endswith("demo's own daemon brought demo:j1 back")


def test_a_session_that_came_back_beside_its_old_process_still_runs() -> None:
    ended = Daemon(lives_s=FOR_EVER, back_s=0.0).end()
    assert ended.unended is not None
    assert ended.unended.code is Code.STILL_RUNNING


@pytest.mark.parametrize("since_s", [0.0, 0.5])
def test_a_list_that_cannot_be_read_proves_no_end(since_s: float) -> None:
    daemon = Daemon(unreadable=(since_s, FOR_EVER))
    ended = daemon.end()
    assert (ended.unended, ended.stopped_by, daemon.count(Signal)) == (TROUBLE, None, 0)


def test_a_list_that_can_be_read_again_proves_the_end() -> None:
    assert Daemon(unreadable=(0.0, 2.0)).end().outcome is Outcome.STOPPED
    assert Daemon(unreadable=(0.2, 0.9)).end().outcome is Outcome.STOPPED


def test_one_look_at_a_list_is_no_proof() -> None:
    """Between two entries of it a daemon may write its list anew."""
    daemon = Daemon(listed_s=FOR_EVER, lives_s=FOR_EVER)
    seen = daemon.has
    looks = iter([None])
    daemon.has = lambda: next(looks, seen()) if daemon.count(BeginOwnEnd) else seen()  # type: ignore[method-assign]
    daemon.processes = lambda: ()  # type: ignore[method-assign]
    assert daemon.end().outcome is Outcome.SURVIVED


def test_a_session_that_outlived_its_daemon_is_signalled_like_any_process() -> None:
    daemon = Daemon(listed_s=FOR_EVER, lives_s=FOR_EVER, daemon_s=5.0)
    ended = daemon.end()
    assert (ended.outcome, ended.unended) == (Outcome.STOPPED, None)
    assert ended.stopped_by is StoppedBy.SIGTERM
    assert daemon.count(Signal) == 1


def test_a_session_that_a_pane_shows_too_is_ended_there_after_its_daemon() -> None:
    daemon = Daemon(listed_s=0.5, lives_s=0.5, pane_s=FOR_EVER)
    ended = daemon.end(KILL, screen=Screen(State.DRAFT, "half"))
    assert daemon.asked.index(KeepDraft("half")) < daemon.asked.index(BeginOwnEnd(JOB))
    assert (rungs(ended)[0], ended.touched) == ((RungKind.DAEMON, True, None), True)
    assert daemon.count(Close) > 0


def test_a_session_that_stays_in_its_daemon_keeps_its_pane() -> None:
    daemon = Daemon(listed_s=FOR_EVER, lives_s=FOR_EVER, daemon_s=0.0, pane_s=FOR_EVER)
    ended = daemon.end(KILL)
    assert (ended.outcome, daemon.count(Signal), daemon.count(Close)) == (Outcome.SURVIVED, 0, 0)
    assert {skipped for _, _, skipped in rungs(ended)[1:]} == {KEPT}


def test_an_ending_that_another_took_over_tells_the_daemon_nothing() -> None:
    daemon = Daemon(listed_s=FOR_EVER)
    answer = daemon.answer
    daemon.answer = lambda it: False if isinstance(it, Checkpoint) else answer(it)  # type: ignore[method-assign]
    assert daemon.end().outcome is Outcome.TAKEN_OVER
    assert daemon.asked == [Checkpoint(RungKind.DAEMON)]


# A turn of a conversation, which the agent's own server runs


def interrupted(daemon: Daemon) -> EndingState:
    policy = replace(STOP, verb=EndVerb.INTERRUPT)
    ending = an_ending(policy, daemon.sight(), PROFILE, looked_at=daemon.began)
    return daemon.play(ending, end_turn(ending))


def test_a_turn_at_a_server_is_over_when_two_looks_do_not_find_it() -> None:
    daemon = Daemon(job=TURN, listed_s=1.0)
    ended = interrupted(daemon)
    assert (ended.outcome, ended.trouble) == (Outcome.INTERRUPTED, None)
    assert daemon.count(Look) < 10  # a server has other work


def test_a_turn_that_its_server_continues_is_a_failure() -> None:
    ended = interrupted(Daemon(job=TURN, listed_s=FOR_EVER))
    assert ended.outcome is Outcome.FAILED
    assert ended.trouble is not None
    assert ended.trouble.code is Code.STILL_RUNNING


def served(daemon: Daemon, work: Served = SERVED, known: Known | None = None) -> EndingState:
    """End a session whose pane is gone, and for which the server may still work."""
    sight = replace(daemon.sight(), trouble=None)
    ending = an_ending(STOP, sight, PROFILE, looked_at=daemon.began)
    rung = PlannedRung(RungKind.DAEMON, DAEMON_WAIT_S)
    ending.plan = replace(ending.plan, rungs=(rung,))
    ending.served = work
    ending.known = known or ending.known
    return daemon.play(ending, climb(ending))


@pytest.mark.parametrize(
    ("job", "told"),
    [(TURN, 1), (replace(TURN, conversation="other"), 0), (replace(TURN, server=None), 0)],
)
def test_only_the_turn_of_its_own_conversation_is_ended_at_the_server(job: Job, told: int) -> None:
    daemon = Daemon(job=job, listed_s=1.0)
    ended = served(daemon)
    assert daemon.count(BeginOwnEnd) == told
    (report,) = ended.rungs
    assert report.skipped == (None if told else "nothing was left")
    assert report.waited_s == pytest.approx(1.2 if told else 0.2, abs=0.21)


GUESS = replace(SERVED, since=0.0, is_certain=False)
BEGUN = replace(TURN, began=1.0)


def named(conversation: str, source: str) -> Known:
    return Known(Conversation(conversation, source, None, exists=True), Clues())


@pytest.mark.parametrize(
    ("work", "known", "told"),
    [
        (GUESS, named("talk", "sole-candidate"), 0),
        (replace(GUESS, is_certain=True), named("talk", "sole-candidate"), 1),
        (GUESS, named("talk", "exit-banner"), 1),
        (replace(GUESS, conversation="other"), named("talk", "exit-banner"), 1),
        (replace(GUESS, is_certain=True), named("other", "exit-banner"), 0),
    ],
    ids=["a guess", "its pane shows a turn", "named", "it is another", "the guess was wrong"],
)
def test_a_guess_is_left_to_its_server_until_it_is_certain(
    work: Served, known: Known, told: int
) -> None:
    daemon = Daemon(job=BEGUN, listed_s=1.0)
    ended = served(daemon, work, known)
    assert (ended.unended, daemon.count(BeginOwnEnd)) == (None, told)


def test_a_guess_that_its_server_says_nothing_of_is_not_called_gone() -> None:
    daemon = Daemon(job=BEGUN, unreadable=(0.0, FOR_EVER))
    ended = served(daemon, GUESS, named("talk", "sole-candidate"))
    assert ended.unended is not None
    assert (ended.unended.code, daemon.count(BeginOwnEnd)) == (Code.STILL_RUNNING, 0)


@pytest.mark.parametrize(
    ("daemon", "said", "hint"),
    [
        (
            Daemon(job=TURN, listed_s=FOR_EVER),
            "its pane is gone; demo's own server is still working on it",
            "try it by hand: demo stop j1",
        ),
        (
            Daemon(job=TURN, listed_s=FOR_EVER, says="busy"),
            "its pane is gone; busy",
            "try it by hand: demo stop j1",
        ),
        (
            Daemon(job=TURN, unreadable=(0.0, FOR_EVER)),
            "demo's own server does not say whether talk continues",
            "try again",
        ),
    ],
    ids=["works on", "says why", "does not say"],
)
def test_a_turn_that_goes_on_at_the_server_is_named(daemon: Daemon, said: str, hint: str) -> None:
    ended = served(daemon)
    assert ended.outcome is Outcome.SURVIVED
    assert ended.unended is not None
    assert ended.unended.code is Code.STILL_RUNNING
    assert ended.unended.message.endswith(said)
    assert ended.unended.hint == hint
    assert daemon.passed_s == pytest.approx(DAEMON_WAIT_S, abs=0.3)

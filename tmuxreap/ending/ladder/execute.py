"""Runs the ladders of many sessions concurrently, in one loop: tmux is asked in batches, one look
at the processes serves all, and one wait covers them all. Decides one thing only: no key goes to a
pane whose foreground process is not the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from signal import Signals
from typing import TYPE_CHECKING, Any, TypeVar

from tmuxreap.agents.conversations.background import Lists, before_copy
from tmuxreap.agents.conversations.jobs import NO_JOBS
from tmuxreap.agents.profiles import Key, Text
from tmuxreap.core import faults, model
from tmuxreap.core.model import Deed, ProcessId
from tmuxreap.core.ports import DRAW_S, PaneQuestion, Processes, Progress, SignalSent, Tmux
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import EndingState, screen_for_keys
from tmuxreap.ending.ladder import requests
from tmuxreap.ending.ladder.climb import FAULT_OF_RUNG, climb
from tmuxreap.ending.ladder.requests import Request, Steps, Wait
from tmuxreap.ending.own_ends import OwnEnd, begin_own_end
from tmuxreap.ending.plan import DAEMON_WAIT_S, WHILE_KEYS
from tmuxreap.ledger.records import PaneOption
from tmuxreap.proof.observe import Observer
from tmuxreap.proof.panes import in_foreground
from tmuxreap.proof.see import see_again
from tmuxreap.proof.sight import past_of, wanted_by
from tmuxreap.proof.state import visible_screen
from tmuxreap.sessions.conversation import Finder, after_exit, record_of
from tmuxreap.sessions.editors import may_open, opened
from tmuxreap.sessions.look import BANNER_OPTION
from tmuxreap.sessions.under_way import ActiveIntents

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.jobs import Job, Jobs


def deeds_of(ending: EndingState, request: Request[Any], processes: Processes) -> list[Deed]:
    """Return the commands for a request; none if a key may not be sent right now."""
    if isinstance(request, requests.Press):
        return _press(ending, request.step, processes)
    if isinstance(request, requests.Paste):
        return _paste(ending, request.text, processes)
    if isinstance(request, requests.Hold):
        return [it for it in _during(ending) if it.option == BANNER_OPTION]
    return _close(ending)


def _close(ending: EndingState) -> list[Deed]:
    """Return the commands that close the session; none for a pane that is held. Panes of a window
    that is linked into another session are closed one by one: they would outlive the session."""
    server = ending.plan.server
    session = ending.sight.session
    whole = ending.sight.whole
    assert server is not None and session is not None and whole is not None  # noqa: S101 - it was seen
    ending.strike()
    if ending.policy.holds_pane:
        return []
    if ending.past.pane_only or ending.sight.foreign:
        return [model.ClosePane(server, whole, pane) for pane in session.panes]
    shared = [pane for pane in session.panes if whole.shares(pane)]
    left = replace(whole, panes=tuple(pane for pane in whole.panes if pane not in shared))
    alone = [pane for pane in session.panes if pane not in shared]
    panes = [model.ClosePane(server, whole, pane) for pane in shared]
    return [*panes, model.CloseSession(server, left, alone)]


def ready(ending: EndingState) -> list[Deed]:
    """Return the commands that make the pane ready for keys."""
    pane = ending.plan.sight.pane
    assert pane is not None  # noqa: S101 - a plan without a pane skips the keys
    return [model.LeaveMode(pane.id), *_during(ending)]


def _during(ending: EndingState) -> list[model.SetOption]:
    during = []
    for it in ending.plan.options:
        during.append(model.SetOption(it.pane, it.option, WHILE_KEYS[it.option]))
    return during


def _press(ending: EndingState, step: Key | Text, processes: Processes) -> list[Deed]:
    """Return the command for a key, or none if the agent is not in the foreground right now."""
    pane = ending.sight.pane
    server = ending.plan.server
    if pane is None or server is None or not _is_in_front(ending, processes):
        return []
    if isinstance(step, Key):
        return [model.SendKeys(server, pane, (step.name,), "")]
    return [model.SendKeys(server, pane, (), step.text)]


def _paste(ending: EndingState, text: str, processes: Processes) -> list[Deed]:
    """Return the command for a paste, or none if the agent is not in the foreground right now."""
    pane = ending.sight.pane
    server = ending.plan.server
    if pane is None or server is None or not _is_in_front(ending, processes):
        return []
    return [model.PasteText(server, pane, text)]


def _is_in_front(ending: EndingState, processes: Processes) -> bool:
    now = (processes.refresh(process.id) for process in ending.sight.keyed)
    return any(process and in_foreground(process) for process in now)


def restore(options: Iterable[PaneOption]) -> list[Deed]:
    """Return the commands that give the options of the user's pane their values back."""
    return [model.SetOption(option.pane, option.option, option.before) for option in options]


T = TypeVar("T")

# When many processes exit at the same time, waiting a little longer saves a look for each. The
# wait goes on while exits follow each other closely, up to a limit.
COALESCE_S = 0.005
PATIENCE_S = 0.1


Ladder = Callable[[EndingState], Steps[None]]


class Executor:
    def __init__(
        self,
        tmux: Tmux,
        observer: Observer,
        finder: Finder,
        active: ActiveIntents,
        environ: Mapping[str, str],
        *,
        progress: Progress | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """`meanwhile` is called once, while the first agents exit."""
        self._progress = progress
        self._meanwhile = meanwhile
        self._observer = observer
        self._finder = finder
        self._tmux = tmux
        self._processes = active.processes
        self._clock = active.clock
        self._books = active.books
        self._environ = environ
        self._ladders: dict[EndingState, Steps[None]] = {}
        self._requests: dict[EndingState, Request[Any]] = {}
        self._done: list[EndingState] = []

    def run(
        self, endings: Sequence[EndingState], ladder: Ladder = climb
    ) -> Iterator[list[EndingState]]:
        """Yield the finished endings in batches, as they finish."""
        if self._progress:
            self._progress.begin(len(endings))
            for ending in endings:
                strays = []
                for it in ending.sight.owned.strays:
                    if it not in ending.sight.agent:
                        strays.append(it)
                if strays:
                    self._progress.strays(ending.name, [f"{it.comm} ({it.pid})" for it in strays])
        for ending in endings:
            self._ladders[ending] = ladder(ending)
            self._advance(ending, None)
        try:
            while self._requests or self._done:
                if self._done:
                    yield self._take_finished()
                elif not self._answer_all():
                    self._wait()
        except BaseException:  # Ctrl-C, too: the options of the user's panes are restored
            for ending in self._requests:
                self._tmux.do(ending.sight.socket, restore(ending.plan.options))
            raise

    def _take_finished(self) -> list[EndingState]:
        done = self._done
        self._done = []
        for ending in done:
            if self._progress:
                self._progress.done(ending.name)
            if ending.is_held and ending.stopped_by is not None:
                continue  # until its agent is there again, or the pane is closed
            if ending.survivors or ending.trouble or ending.sight.session is not None:
                self._tmux.do(ending.sight.socket, restore(ending.plan.options))
        return done

    def _deliver(self, ending: EndingState, _: Request[T], answer: T) -> None:
        """Answer the request and advance the ladder to its next one."""
        self._advance(ending, answer)

    def _advance(self, ending: EndingState, answer: object) -> None:
        ending.now = self._clock.monotonic()
        try:
            self._requests[ending] = self._ladders[ending].send(answer)
        except StopIteration:
            self._requests.pop(ending, None)
            self._done.append(ending)

    def _answer_all(self) -> bool:
        """Answer every request that needs no waiting; return False when all ladders wait."""
        ready = {}
        for it, asked in self._requests.items():
            if not isinstance(asked, Wait):
                ready[it] = asked
        for kind in BATCHED:
            self._send_batched([it for it, asked in ready.items() if isinstance(asked, kind)])
        self._read_panes([it for it, asked in ready.items() if isinstance(asked, READS_PANE)])
        self._look({it: asked for it, asked in ready.items() if isinstance(asked, requests.Look)})
        lists = self._finder.lists()  # read once for all that ask now
        for ending, request in ready.items():
            if not isinstance(request, (requests.Look, *READS_PANE, *BATCHED)):
                self._answer(ending, request, lists)
        return bool(ready)

    def _answer(self, ending: EndingState, request: Request[Any], lists: Lists) -> None:
        match request:
            case requests.Checkpoint(rung):
                faults.at(FAULT_OF_RUNG[rung])
                if self._progress:
                    self._progress.rung(ending.name, rung)
                self._deliver(ending, request, self._still_owns(ending))
            case requests.Signal(processes, signals, strikes):
                if strikes:
                    ending.strike()
                results = {process: self._signal(process, signals) for process in sorted(processes)}
                self._deliver(ending, request, results)
            case requests.KeepDraft(text):
                event = self._books.note(ending.name, "draft", {"text": text})
                self._deliver(ending, request, event)
            case requests.BeginOwnEnd(job):
                self._deliver(ending, request, self._begin_own_end(ending, job))
            case requests.ReadServed():
                self._deliver(ending, request, self._read_served(ending, lists))
            case requests.ReadSeats():
                told = ending.plan.sight.job
                seats = self._finder.seats(ending.known, ending.profile, lists, told)
                self._deliver(ending, request, seats)
            case requests.Follow():
                before = replace(ending.known, forked=None)
                known = self._finder.followed(ending.profile, before)
                found = before_copy(
                    ending.keys,
                    known.clues.store,
                    known.conversation,
                    request.job.source,
                    self._processes,
                )
                self._deliver(ending, request, replace(known, conversation=found))
            case requests.MayEdit():
                store = ending.known.clues.store
                opens = may_open(self._processes, ending.sight.agent, ending.keys, store)
                self._deliver(ending, request, opens)
            case requests.ReadEditor():
                editor = opened(self._processes, ending.sight.agent)
                self._deliver(ending, request, editor)
            case requests.ReadTrace():
                trace = self._finder.trace_of(ending.row, ending.sight, ending.profile)
                self._deliver(ending, request, trace)
            case requests.ReadTurn():
                if self._progress:
                    self._progress.turn(ending.name)
                ours = self._still_owns(ending)
                reported = self._finder.last_reported_state
                state = reported(ending.row, ending.sight) if ours else None
                self._deliver(ending, request, state)
            case _:
                raise AssertionError(request)

    def _begin_own_end(self, ending: EndingState, job: Job) -> OwnEnd:
        ports = self._processes, self._environ, self._finder.home
        return begin_own_end(ending.keys, job, *ports, DAEMON_WAIT_S)

    def _read_served(self, ending: EndingState, lists: Lists) -> Jobs:
        if ending.served is None:
            return NO_JOBS
        return lists.of(ending.keys, ending.served.store)

    def _still_owns(self, ending: EndingState) -> bool:
        return ending.intent is None or self._books.still_open(ending.intent.id)

    def _signal(self, process: ProcessId, signals: Sequence[Signals]) -> SignalSent:
        """Return the result of the first signal; later ones (SIGCONT) only make it take effect."""
        answers = [self._processes.signal(process, number) for number in signals]
        return answers[0]

    def _send_batched(self, endings: Sequence[EndingState]) -> None:
        """Send the commands of all endings with one tmux client for each server. For several at
        once the client's result says nothing about each: the next look shows it."""
        asked = {it: deeds_of(it, self._requests[it], self._processes) for it in endings}
        wanted = {ending: its_deeds for ending, its_deeds in asked.items() if its_deeds}
        answers: dict[EndingState, bool] = {}
        for socket in dict.fromkeys(ending.sight.socket for ending in wanted):
            batch = [ending for ending in wanted if ending.sight.socket == socket]
            all_deeds: list[Deed] = []
            for ending in batch:
                all_deeds += wanted[ending]
            done = self._tmux.do(socket, all_deeds)
            answers.update({ending: done or len(batch) > 1 for ending in batch})
        for ending in endings:
            self._deliver(ending, self._requests[ending], answers.get(ending, False))

    def _read_panes(self, endings: Sequence[EndingState]) -> None:
        """Read the panes of all endings, asking each server once. Panes are first made ready for
        keys where that was requested."""
        texts: dict[EndingState, str | None] = {}
        for socket in dict.fromkeys(ending.sight.socket for ending in endings):
            batch = [ending for ending in endings if ending.sight.socket == socket]
            shown = {}
            for it in batch:
                if (question := self._question(it)) is not None:
                    shown[it] = question
            with_ready = requests.ReadScreen(ready=True)
            first: list[Deed] = []
            for ending in batch:
                if self._requests[ending] == with_ready:
                    first += ready(ending)
            texts.update(zip(shown, self._tmux.ask(socket, [*shown.values()], first), strict=True))
        for ending in endings:
            self._deliver_text(ending, texts)

    def _deliver_text(self, ending: EndingState, texts: Mapping[EndingState, str | None]) -> None:
        text = texts.get(ending)
        profile = ending.profile
        match self._requests[ending]:
            case requests.ReadScreen() as request:
                carriers = ending.spares.carriers
                screen = visible_screen(profile, ending.sight, carriers, text)
                record = record_of(profile, ending.known)
                verb = ending.plan.policy.verb
                screen = screen_for_keys(verb, screen, record, ending.sight)
                self._deliver(ending, request, screen)
            case requests.Capture() as request:
                known = after_exit(profile, ending.known, text)
                self._deliver(ending, request, self._finder.followed(profile, known))
            case requests.Recall() as request:
                ending.last_screen = texts.get(ending, ending.last_screen)
                known = self._finder.known_of(ending.row, ending.sight, profile)
                self._deliver(ending, request, known)

    def _question(self, ending: EndingState) -> PaneQuestion | None:
        """Return what to read of the pane. An agent's exit banner is read with wrapped lines
        joined, and only if its profile prints one."""
        captured = isinstance(self._requests[ending], requests.Capture)
        silent = ending.profile is not None and not ending.profile.prints_exit_banner
        if ending.sight.pane is None or (silent and captured):
            return None
        joined = not isinstance(self._requests[ending], requests.ReadScreen)
        styled = not joined and ending.profile is not None and ending.profile.is_styled
        return PaneQuestion(ending.sight.pane.id, joined=joined, styled=styled)

    def _look(self, looks: Mapping[EndingState, requests.Look]) -> None:
        if not looks:
            return
        since = min(map(_oldest_start, looks))
        asked = {it.sight.socket for it, look in looks.items() if not look.processes_only}
        known = {}
        for it in looks:
            if it.sight.socket not in asked:
                known[it.sight.socket] = it.sight.server
        wanted = wanted_by((ending.row, ending.past) for ending in looks)
        world = self._observer.look(asked, since, known, wanted=wanted)
        for ending, look in looks.items():
            sight = see_again(ending.row, ending.profile, ending.spares, world, ending.past)
            ending.past = past_of(sight, ending.past)
            self._deliver(ending, look, sight)

    def _wait(self) -> None:
        """Wait until an awaited process exits or the first timeout is reached."""
        if self._meanwhile is not None:
            meanwhile = self._meanwhile
            self._meanwhile = None
            meanwhile()
        waits = {}
        for it, asked in self._requests.items():
            if isinstance(asked, Wait):
                waits[it] = asked
        awaited: set[ProcessId] = set()
        for wait in waits.values():
            awaited.update(wait.processes)
        until = min(wait.until for wait in waits.values())
        if self._progress and self._progress.live:
            until = min(until, self._clock.monotonic() + DRAW_S)
        gone = self._processes.wait(awaited, max(0.0, until - self._clock.monotonic()))
        if self._progress:
            self._progress.draw()
        if gone and len(waits) > 1:
            gone |= self._wait_for_stragglers(awaited - gone)
        now = self._clock.monotonic()
        for ending, wait in waits.items():
            left = wait.processes - gone
            if now >= wait.until or (wait.processes and not left):
                self._deliver(ending, wait, left)
            elif left != wait.processes:
                self._requests[ending] = Wait(left, wait.until)

    def _wait_for_stragglers(self, awaited: set[ProcessId]) -> set[ProcessId]:
        gone: set[ProcessId] = set()
        until = self._clock.monotonic() + PATIENCE_S
        while (left := awaited - gone) and self._clock.monotonic() < until:
            exited = self._processes.wait(left, COALESCE_S)
            if not exited:
                break
            gone |= exited
        return gone


def _oldest_start(ending: EndingState) -> int:
    """Return the start of the oldest pane leader: no process of a session is older."""
    leaders = ending.past.leaders
    return min((leader.start for leader in leaders), default=ending.row.pane.start_ticks or 0)


BATCHED = (requests.Close, requests.Press, requests.Paste, requests.Hold)
READS_PANE = (requests.ReadScreen, requests.Capture, requests.Recall)

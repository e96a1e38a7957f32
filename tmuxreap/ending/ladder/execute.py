"""Carries the ladders of many sessions out at once, in one loop: tmux is asked in batches,
processes are looked at once for all, and everybody waits together for the kernel's word.

It does what the ladders ask for and decides nothing of its own, but for one thing: no key leaves it
for a pane whose foreground is not the agent's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from signal import Signals

from tmuxreap.agents.profiles import Key, Profile
from tmuxreap.agents.screens import Screen
from tmuxreap.agents.spared import Spares
from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.core.model import Conversation, ProcessId, Row
from tmuxreap.core.ports import DRAW_S, Clock, Processes, Progress, Question, Sent, Tmux
from tmuxreap.core.values import replace, slotted
from tmuxreap.ending.ladder import climb, requests
from tmuxreap.ending.ladder.requests import Ended, Request, Wait
from tmuxreap.ending.plan import PaneOption, Plan, Policy, Rung
from tmuxreap.ledger.records import PaneOption as RecordedOption
from tmuxreap.sessions.observe import Observer
from tmuxreap.sessions.panes import in_front
from tmuxreap.sessions.siblings import shared
from tmuxreap.sessions.sight import Past, Sight, past_of, see_again
from tmuxreap.system.tmux import commands as tmux_commands

# When many end at once, patience saves a look for each: as long as one follows upon the other, but
# not for long.
COALESCE_S = 0.005
PATIENCE_S = 0.1

FAULT_OF_RUNG = {
    Rung.KEYS: Step.KEYS,
    Rung.HANGUP: Step.HANGUP,
    Rung.TERM: Step.HANGUP,
    Rung.KILL: Step.KILL,
}


@slotted
class Task:
    """One session that is being ended, and the questions that its ladder asks of the rest of the
    program."""

    row: Row
    plan: Plan
    profile: Profile | None
    policy: Policy
    spares: Spares
    sight: Sight
    past: Past
    conversation: Conversation
    ours: Callable[[], bool]
    read_screen: Callable[[str | None], Screen]
    keep_draft: Callable[[str], int | None]
    capture: Callable[[str | None], Conversation]
    hear: Callable[[], requests.Heard]
    recall: Callable[[], Conversation]
    looked_at: float | None = None
    ladder: Callable[..., Ladder] | None = None  # another than that of an ending


Ladder = Generator[Request, object, Ended]


class Executor:
    def __init__(
        self,
        observer: Observer,
        tmux: Tmux,
        processes: Processes,
        clock: Clock,
        progress: Progress | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """`meanwhile` is done once, while the first agents leave."""
        self._progress = progress
        self._meanwhile: Callable[[], None] | None = meanwhile
        self._observer = observer
        self._tmux = tmux
        self._processes = processes
        self._clock = clock
        self._ladders: dict[Task, Ladder] = {}
        self._asked: dict[Task, Request] = {}
        self._done: list[tuple[Task, Ended]] = []

    def run(self, tasks: Iterable[Task]) -> Iterator[list[tuple[Task, Ended]]]:
        """Those that have ended, as they end."""
        tasks = list(tasks)
        if self._progress:
            self._progress.begin(len(tasks))
        for task in tasks:
            known = (
                task.plan,
                task.profile,
                task.policy,
                self._clock,
                task.sight,
                task.conversation,
            )
            climbing = (task.ladder or climb.climb)(*known, looked_at=task.looked_at)
            self._ladders[task] = climbing
            self._advance(task, None)
        try:
            while self._asked or self._done:
                if self._done:
                    yield self._finished()
                elif not self._answer_all():
                    self._wait()
        except (
            BaseException
        ):  # also Ctrl-C: what was changed on the user's panes is put back before we go
            for task in self._asked:
                self._tmux.run(task.plan.socket, restore(task.plan.options))
            raise

    def _finished(self) -> list[tuple[Task, Ended]]:
        done, self._done = self._done, []
        for task, ended in done:
            if self._progress:
                self._progress.done(task.plan.name)
            if ended.survivors or ended.trouble or task.sight.session is not None:
                self._tmux.run(task.plan.socket, restore(task.plan.options))
        return done

    def _advance(self, task: Task, answer: object) -> None:
        try:
            self._asked[task] = self._ladders[task].send(answer)
        except StopIteration as end:
            self._asked.pop(task, None)
            self._done.append((task, end.value))

    def _answer_all(self) -> bool:
        """Everything that can be answered without waiting; False when all wait."""
        ready = {
            task: request for task, request in self._asked.items() if not isinstance(request, Wait)
        }
        for kind, commands in TOGETHER.items():
            self._together(
                [task for task, request in ready.items() if isinstance(request, kind)], commands
            )
        self._read([task for task, request in ready.items() if isinstance(request, READ)])
        looks = [task for task, request in ready.items() if isinstance(request, requests.Look)]
        if looks:
            self._look(looks)
        for task, request in ready.items():
            if not isinstance(request, (requests.Look, *READ, *TOGETHER)):
                self._advance(task, self._answer(task, request))
        return bool(ready)

    def _answer(self, task: Task, request: Request) -> object:
        match request:
            case requests.Checkpoint(rung):
                faults.at(FAULT_OF_RUNG[rung])
                if self._progress:
                    self._progress.rung(task.plan.name, rung)
                return task.ours()
            case requests.Signal(processes, signals):
                _struck(task)
                return {one: self._signal(one, signals) for one in sorted(processes)}
            case requests.KeepDraft(text):
                return task.keep_draft(text)
            case requests.Hear():
                if self._progress:
                    self._progress.turn(task.plan.name)
                return task.hear()
            case requests.Recall():
                return task.recall()
        raise AssertionError(request)

    def _signal(self, process: ProcessId, signals: Sequence[Signals]) -> Sent:
        """What became of the first; those after it (SIGCONT) only help it along."""
        answers = [self._processes.signal(process, number) for number in signals]
        return answers[0]

    def _together(self, tasks: Sequence[Task], commands: Commands) -> None:
        """One client a server for all of them; what came of one in a crowd is seen by looking."""
        wanted = {
            task: found
            for task in tasks
            if (found := commands(self._processes, task, self._asked[task]))
        }
        answers: dict[Task, bool] = {}
        for socket in dict.fromkeys(task.plan.socket for task in wanted):
            mine = [task for task in wanted if task.plan.socket == socket]
            done = self._tmux.run(socket, [each for task in mine for each in wanted[task]])
            answers.update({task: done or len(mine) > 1 for task in mine})
        for task in tasks:
            self._advance(task, answers.get(task, False))

    def _read(self, tasks: Sequence[Task]) -> None:
        """The panes of all of them, each server asked once; those that want it are made ready
        first."""
        texts: dict[Task, str | None] = {}
        for socket in dict.fromkeys(task.plan.socket for task in tasks):
            mine = [task for task in tasks if task.plan.socket == socket]
            shown = [
                task for task in mine if task.sight.pane is not None and self._wants_text(task)
            ]
            first = [
                each
                for task in mine
                if self._asked[task] == requests.ReadScreen(ready=True)
                for each in ready(task)
            ]
            asked = [self._question(task, task.sight.pane.id) for task in shown if task.sight.pane]
            texts.update(zip(shown, self._tmux.ask(socket, asked, first), strict=True))
        for task in tasks:
            captured = isinstance(self._asked[task], requests.Capture)
            self._advance(task, (task.capture if captured else task.read_screen)(texts.get(task)))

    def _question(self, task: Task, pane: str) -> Question:
        """Last words that the terminal wrapped are read as the one line that they were."""
        return Question(pane, joined=isinstance(self._asked[task], requests.Capture))

    def _wants_text(self, task: Task) -> bool:
        """The last words are worth a question where the agent has any."""
        silent = task.profile is not None and not task.profile.tells_at_exit
        return not (silent and isinstance(self._asked[task], requests.Capture))

    def _look(self, tasks: Sequence[Task]) -> None:
        since = min(_since(task) for task in tasks)
        asked = {task.plan.socket for task in tasks if self._asked[task] == requests.Look()}
        known = {
            task.plan.socket: task.sight.server for task in tasks if task.plan.socket not in asked
        }
        world = self._observer.look(asked, since, known)
        for task in tasks:
            task.sight = see_again(task.row, task.profile, task.spares, world, task.past)
            task.past = past_of(task.sight, task.past)
            self._advance(task, task.sight)

    def _wait(self) -> None:
        """Until somebody is gone or somebody's time is up."""
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        waits = {
            task: request for task, request in self._asked.items() if isinstance(request, Wait)
        }
        awaited = {process for wait in waits.values() for process in wait.processes}
        until = min(wait.until for wait in waits.values())
        if self._progress and self._progress.live:
            until = min(until, self._clock.monotonic() + DRAW_S)
        gone = self._processes.wait(awaited, max(0.0, until - self._clock.monotonic()))
        if self._progress:
            self._progress.draw()
        if gone and len(waits) > 1:
            gone |= self._stragglers(awaited - gone)
        now = self._clock.monotonic()
        for task, wait in waits.items():
            left = wait.processes - gone
            if now >= wait.until or (wait.processes and not left):
                self._advance(task, left)
            elif left != wait.processes:
                self._asked[task] = Wait(left, wait.until)

    def _stragglers(self, awaited: set[ProcessId]) -> set[ProcessId]:
        gone: set[ProcessId] = set()
        until = self._clock.monotonic() + PATIENCE_S
        while (left := awaited - gone) and self._clock.monotonic() < until:
            more = self._processes.wait(left, COALESCE_S)
            if not more:
                break
            gone |= more
        return gone


def _since(task: Task) -> int:
    """Nothing of a session is older than the first process of its panes."""
    leaders = task.past.leaders
    return min((leader.start for leader in leaders), default=task.row.pane.start_ticks or 0)


def close(processes: Processes, task: Task, request: Request) -> list[list[str]]:
    """A window that stands in another session too, or a group of them, keeps its panes when one
    session goes."""
    server, session, whole = task.plan.server, task.sight.session, task.sight.whole
    assert server is not None and session is not None and whole is not None  # noqa: S101 - it was seen
    _struck(task)
    if task.past.pane_only or task.sight.foreign:
        return [tmux_commands.kill_pane_command(server, whole, pane) for pane in session.panes]
    both = [pane for pane in session.panes if shared(pane, whole)]
    left = replace(whole, panes=tuple(pane for pane in whole.panes if pane not in both))
    alone = [pane for pane in session.panes if pane not in both]
    panes = [tmux_commands.kill_pane_command(server, whole, pane) for pane in both]
    return [*panes, tmux_commands.kill_session_command(server, left, alone)]


def _struck(task: Task) -> None:
    panes = task.sight.session.panes if task.sight.session else ()
    task.past = replace(task.past, struck=task.past.struck | {pane.id for pane in panes})


def ready(task: Task) -> list[list[str]]:
    assert task.plan.pane is not None  # noqa: S101 - a plan without a pane skips the keys
    during = [tmux_commands.set_pane_option(o.pane, o.option, o.during) for o in task.plan.options]
    return [tmux_commands.mode_off(task.plan.pane.id), *during]


def press(processes: Processes, task: Task, request: Request) -> list[list[str]]:
    """The last look before a key: is the agent itself in front, now? No command otherwise."""
    assert isinstance(request, requests.Press)  # noqa: S101 - see TOGETHER
    step, pane, server = request.step, task.sight.pane, task.plan.server
    now = (processes.again(process.id) for process in task.sight.keyed)
    if pane is None or server is None or not any(process and in_front(process) for process in now):
        return []
    keys, text = ((step.name,), "") if isinstance(step, Key) else ((), step.text)
    return [tmux_commands.press(server, pane, keys, text)]


Commands = Callable[[Processes, Task, Request], list[list[str]]]
TOGETHER: dict[type[Request], Commands] = {requests.Close: close, requests.Press: press}
READ = (requests.ReadScreen, requests.Capture)


def restore(options: Iterable[PaneOption | RecordedOption]) -> list[list[str]]:
    return [
        (
            tmux_commands.unset_pane_option(option.pane, option.option)
            if option.before is None
            else tmux_commands.set_pane_option(option.pane, option.option, option.before)
        )
        for option in options
    ]

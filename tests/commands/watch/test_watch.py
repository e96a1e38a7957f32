"""`watch` where a machine slept, a clock was set, memory ran out, or the command of --exec hangs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.fakes import Story
from tests.real import alive, until
from tmuxreap.commands.watch import notifier, outlet, waiting, watch
from tmuxreap.commands.watch.outlet import Outlet
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import PlainResult
from tmuxreap.core.text import Voice
from tmuxreap.interfaces.text import watching

NOTHING = Woken(frozenset(), changed=False, ending=False)
ENOUGH = Woken(frozenset(), changed=False, ending=True)


class Told:
    """A waiter that does in each wait what the history says, and ends after the last."""

    def __init__(self, *history: Callable[[float], Woken]) -> None:
        self.history = list(history)

    def arm(self) -> None:
        pass

    def remember_memory(self) -> None:
        pass

    def how_ended(self, process: ProcessId) -> str | None:
        return None

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        return self.history.pop(0)(timeout_s) if self.history else ENOUGH


class Mute:
    """No status line."""

    def tell(self, sights: object, *, again: bool) -> None:
        pass


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def watched(story: Story, *history: Callable[[float], Woken]) -> list[str]:
    told: list[PlainResult] = []
    app = story.app()
    each = watch._Told(told.append, None, str(story.path))
    watch._Watch(app, Told(*history), each, Mute(), ()).run(10.0)  # type: ignore[arg-type]
    return [str(event.facts["event"]) for event in told]


def test_after_a_sleep_of_the_machine_everything_is_looked_at(story: Story) -> None:
    """The timer is of the clock that goes on meanwhile; the monotonic one has stood still."""
    agent = story.agent()

    def sleep(timeout_s: float) -> Woken:
        story.processes.die(agent.process)
        return NOTHING

    assert watched(story, sleep) == ["dead"]
    assert story.row()["status"] == "terminated"


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_is_set_moves_no_look(story: Story, hours: int) -> None:
    agent = story.agent()
    waits: list[float] = []

    def set_it(timeout_s: float) -> Woken:
        waits.append(timeout_s)
        story.clock._booted += hours * 3600
        return Woken(frozenset(), changed=True, ending=False)

    def pass_time(timeout_s: float) -> Woken:
        waits.append(timeout_s)
        story.processes.die(agent.process)
        story.clock.move_to(story.clock.monotonic() + timeout_s)
        return NOTHING

    assert watched(story, set_it, pass_time) == ["dead"]
    assert waits == [10.0, 10.0]


def test_who_was_killed_when_memory_had_run_out_is_told_so(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("nr_free_pages 1\noom_kill 3\n")
    monkeypatch.setattr(waiting, "VMSTAT", vmstat)
    monkeypatch.setattr(waiting, "_exit_status", lambda pidfd: int(signal.SIGKILL))
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    waiter = Waiter(story.processes, story.path)
    try:
        one = ProcessId(4242, 1)
        assert waiter.how_ended(one) == "SIGKILL"
        vmstat.write_text("nr_free_pages 1\noom_kill 4\n")
        assert waiter.how_ended(one) == "SIGKILL; the kernel ended somebody for want of memory"
        waiter.remember_memory()
        assert waiter.how_ended(one) == "SIGKILL"
    finally:
        waiter.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_command_that_hangs_is_ended_with_what_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notifier, "EXEC_S", 0.3)
    file = tmp_path / "pid"
    notifier.execute(f"sleep 600 & echo $! > {file}; wait", "{}")
    until("the end of its child", lambda: not alive(int(file.read_text())))
    assert capfd.readouterr() == ("", "tmuxreap: the command of --exec ended with: nothing within 0.3 s\n")


def test_a_command_that_fails_is_said_and_its_words_are_no_events(capfd: pytest.CaptureFixture[str]) -> None:
    notifier.execute("echo words; exit 3", "{}")
    assert capfd.readouterr() == ("", "words\ntmuxreap: the command of --exec ended with: 3\n")


def test_a_thousand_events_are_no_thousand_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    now, most, count, lock = [0], [0], [0], threading.Lock()
    done = threading.Event()

    def executed(command: str, event: str) -> int:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        done.wait(0.001)
        with lock:
            now[0] -= 1
            count[0] += 1
        return 0

    monkeypatch.setattr(notifier, "_executed", executed)
    told = watch._Told(lambda event: None, "true", "registry")
    drifts = [{"name": f"n{number}", "drift": "dead", "settled": True} for number in range(1_000)]
    told.drifts(0.0, drifts)
    until("all of them", lambda: count[0] == 1_000)
    assert most[0] == notifier.AT_ONCE


# Who does not read


def test_what_finds_no_room_is_dropped_and_told_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet, "ROOM", 3)
    taken: list[str] = []
    started, reads = threading.Event(), threading.Event()

    def slowly(word: str) -> None:
        started.set()
        reads.wait(10)
        taken.append(word)

    out: Outlet[str] = Outlet(slowly, lambda count: f"{count} lost")
    out.put("0")
    assert started.wait(10)
    for number in range(1, 8):
        out.put(str(number))
    reads.set()
    assert out.drain(10)
    assert taken == ["0", "1", "2", "3", "4 lost"]


@pytest.mark.parametrize("command", ["/nope/x", "no-such-program -q", "if true", "'unfinished"])
def test_a_command_that_cannot_be_run_is_refused(command: str) -> None:
    with pytest.raises(Failure, match="could not use --exec"):
        notifier.check(command)


@pytest.mark.parametrize(
    "command", ["cat > /dev/null", "x=1 env", "{ true; }", "cd / && true", "test -n x", "$EDITOR x"]
)
def test_a_command_that_can_be_run_is_not(command: str) -> None:
    notifier.check(command)


# What people read


@pytest.mark.parametrize(
    ("name", "facts", "line"),
    [
        (
            "acme",
            {"event": "dead", "evidence": "there is\nno session", "settled": True, "cause": "SIGKILL"},
            "T  acme  dead: there is\\nno session (SIGKILL); recorded",
        ),
        ("b", {"event": "revived", "evidence": "e", "hint": "do it"}, "T  b  revived: e; hint: do it"),
        ("", {"event": "ledger", "evidence": "e", "settled": True}, "T  the ledger  ledger: e; recorded"),
        (
            "",
            {"event": "registry_invalid", "evidence": "e", "registry": "/r.yaml", "hint": "h"},
            "T  the registry /r.yaml  registry_invalid: e; hint: h",
        ),
        ("c", {"event": "reaped", "verdict": "idle", "outcome": "stopped"}, "T  c  reaped: idle: stopped"),
        ("", {"event": "dropped", "count": 7}, "T  7 events were dropped: nobody took them in time"),
    ],
)
def test_an_event_is_one_line_with_time_and_cause(name: str, facts: dict[str, object], line: str) -> None:
    voice = Voice(json=False)
    assert watching.line(PlainResult(name, {"timestamp": "T", **facts}), voice) == line


def test_it_begins_with_what_it_watches(story: Story) -> None:
    story.agent("one")
    story.agent("two", status="stopped")
    app = story.app()
    assert watching.greeting(app) == f"watching 1 running of 2 sessions in {story.path}"
    story.path.write_text("{ not yaml")
    assert watching.greeting(app).startswith(f"watching {story.path}, which cannot be read yet: ")

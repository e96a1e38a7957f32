"""`watch` when a machine slept, a clock was set, memory ran out, or --exec hangs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.watch import waiting, watch
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.commands.watch.watch import WatchRequest
from tmuxreap.core.answers import Change
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import NewEvent
from tmuxreap.sessions.context import Context

NOTHING = Woken(frozenset(), changed=False, ending=False)
ENOUGH = Woken(frozenset(), changed=False, ending=True)


class Told:
    """A waiter that plays one step of the history in each wait, and ends after the last."""

    def __init__(self, *history: Callable[[float], Woken]) -> None:
        self.history = list(history)

    def arm(self) -> None:
        pass

    def close(self) -> None:
        pass

    def remember_memory(self) -> None:
        pass

    def how_ended(self, process: ProcessId) -> str | None:
        return None

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        return self.history.pop(0)(timeout_s) if self.history else ENOUGH


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def changes(context: Context, waiter: Told) -> list[Change]:
    told: list[Change] = []
    watch.run(context, WatchRequest(), told.append, waiter)  # type: ignore[arg-type]
    return told


def watched(story: Story, *history: Callable[[float], Woken]) -> list[str]:
    return [event.event for event in changes(story.app(), Told(*history))]


def test_after_a_sleep_of_the_machine_everything_is_looked_at(story: Story) -> None:
    """The timer's clock counts suspended time; the monotonic clock stands still."""
    agent = story.agent()

    def sleep(timeout_s: float) -> Woken:
        story.processes.die(agent.process)
        return NOTHING

    assert watched(story, sleep) == ["dead"]
    assert story.row()["status"] == "terminated"


def test_the_cause_of_a_death_is_reported_even_if_seen_before_the_event(story: Story) -> None:
    """Without the cause, an agent that exited cleanly would be restarted."""
    agent = story.agent()

    class Kernel(Told):
        def how_ended(self, process: ProcessId) -> str | None:
            return "exit status 0" if process == agent.process else None

    def sleep(timeout_s: float) -> Woken:
        story.processes.die(agent.process)
        return NOTHING

    told = changes(story.app(), Kernel(sleep))
    assert [(event.event, event.cause) for event in told] == [("dead", "exit status 0")]


def test_watch_does_not_wait_for_dead_processes(story: Story) -> None:
    """A wait for the dead agent of a row that other processes keep alive would return at once,
    again and again; the death of the others is that of the row."""
    agent = story.agent()
    helper = story.processes.add("sleep", parent=agent.process, new_group=True)
    server = story.tmux.servers[story.SOCKET].process
    waits: list[list[ProcessId]] = []

    class Waiting(Told):
        def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
            waits.append(sorted(one for one in processes if one != server))
            return super().wait(processes, timeout_s)

    def death(process: ProcessId) -> Callable[[float], Woken]:
        def wait(timeout_s: float) -> Woken:
            story.processes.die(process)
            return Woken(frozenset({process}), changed=False, ending=False)

        return wait

    history = Waiting(death(agent.process), lambda _: NOTHING, death(helper))
    told = changes(story.app(), history)
    assert waits[:3] == [[agent.process], [helper], [helper]]
    assert [event.event for event in told] == ["survivors", "dead"]


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


def test_an_oom_kill_is_reported_as_the_cause(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("nr_free_pages 1\noom_kill 3\n")
    monkeypatch.setattr(waiting, "VMSTAT", vmstat)
    monkeypatch.setattr(waiting, "_exit_status", lambda pidfd: int(signal.SIGKILL))
    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    waiter = Waiter(story.processes, story.path)
    try:
        one = ProcessId(4242, 1)
        assert waiter.how_ended(one) == "SIGKILL"
        vmstat.write_text("nr_free_pages 1\noom_kill 4\n")
        assert waiter.how_ended(one) == "SIGKILL; the OOM killer ran"
        waiter.remember_memory()
        assert waiter.how_ended(one) == "SIGKILL"
    finally:
        waiter.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_changed_state_is_reported_once(story: Story) -> None:
    agent = story.agent()
    app = story.app()

    def pass_time(state: str) -> Callable[[float], Woken]:
        def wait(timeout_s: float) -> Woken:
            agent.state = state
            agent.draw()
            story.clock.move_to(story.clock.monotonic() + timeout_s)
            return NOTHING

        return wait

    told = changes(app, Told(pass_time("busy"), pass_time("busy"), pass_time("dialog")))
    states = [(one.before, one.state) for one in told if one.event == "state"]
    assert states == [("idle", "working"), ("working", "waiting")]
    kept = [
        event.data["state"] for event in app.books.events({"acme"}, None) if event.kind == "state"
    ]
    assert kept == ["working", "waiting"]


def test_a_change_of_state_that_two_watches_see_is_recorded_once(story: Story) -> None:
    books = story.app().books

    def note(before: str, state: str) -> None:
        books.note_states([NewEvent("acme", "state", {"before": before, "state": state})])

    for _ in range(2):
        note("idle", "working")
    for _ in range(2):
        note("working", "idle")
    note("idle", "working")
    story.clock.move_to(story.clock.monotonic() + 60)
    note("idle", "working")  # it was idle in between, and nobody looked
    told = [event.data["state"] for event in books.events({"acme"}, None)]
    assert told == ["working", "idle", "working", "working"]


def test_old_heartbeats_are_dropped_after_the_users_own_time(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[float] = []
    monkeypatch.setattr(Books, "retire", lambda books, older_than_s: dropped.append(older_than_s))
    watched(story)
    file = story.folder / ".config" / "tmuxreap" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("retention: 30d\n")
    app = story.app()
    app.configure()
    changes(app, Told())
    assert dropped == [90 * 86400.0, 30 * 86400.0]


def pass_s(story: Story, seconds: float, then: Callable[[], None]) -> Callable[[float], Woken]:
    def wait(_: float) -> Woken:
        story.clock.move_to(story.clock.monotonic() + seconds)
        then()
        return NOTHING

    return wait


def test_a_notice_goes_to_the_clients_of_the_session_that_changed(story: Story) -> None:
    agent = story.agent()
    story.agent("other", conversation="other")

    def work() -> None:
        agent.state = "busy"
        agent.draw()

    def die() -> None:
        story.processes.die(agent.process)

    steps = [pass_s(story, 10, work), pass_s(story, 10, die)]
    request = WatchRequest(notify=True)
    heard: list[str] = []
    watch.run(story.app(), request, lambda event: heard.append(event.event), Told(*steps))  # type: ignore[arg-type]
    assert heard == ["state", "dead"]
    ((place, text),) = story.tmux.notices  # the session that died has no clients
    assert place != story.tmux.servers[story.SOCKET].sessions[0].id
    assert "working" in text


@pytest.mark.parametrize("kinds", [(Kind.IDLE,), ()])
def test_a_watch_reaps_what_it_was_asked_to(story: Story, kinds: tuple[Kind, ...]) -> None:
    agent = story.agent()
    heard: list[Change] = []
    app = story.app()
    wait = pass_s(story, 3 * 3600.0, lambda: None)
    watch.run(app, WatchRequest(reap=kinds), heard.append, Told(wait, wait))  # type: ignore[arg-type]
    assert story.processes.alive(agent.process) is (not kinds)
    assert story.row()["status"] == ("stopped" if kinds else "running")
    assert [one.name for one in heard if one.event == "reaped"] == ["acme"] * len(kinds)


def test_a_watch_that_could_not_read_the_users_settings_reaps_nothing(story: Story) -> None:
    agent = story.agent()
    folder = story.folder / ".config" / "tmuxreap"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("reap: [")
    app = story.app()
    app.configure(lenient=True)
    wait = pass_s(story, 3 * 3600.0, lambda: None)
    watch.run(app, WatchRequest(reap=(Kind.IDLE,)), lambda _: None, Told(wait, wait))  # type: ignore[arg-type]
    assert story.processes.alive(agent.process)


def test_an_agent_that_outlives_its_reaping_is_reported_once(story: Story) -> None:
    agent = story.agent(denied=True, ignores={signal.SIGHUP}, leaves=False)
    heard: list[Change] = []
    wait = pass_s(story, 3 * 3600.0, lambda: None)
    request = WatchRequest(reap=(Kind.IDLE,))
    watch.run(story.app(), request, heard.append, Told(wait, wait, wait))  # type: ignore[arg-type]
    assert story.processes.alive(agent.process)
    failed = [one.name for one in heard if one.error is not None]
    assert failed == ["acme"]


def test_a_registry_that_cannot_be_read_is_reported_once_and_the_watch_continues(
    story: Story,
) -> None:
    agent = story.agent()
    text = story.path.read_text()

    def repair() -> None:
        story.path.write_text(text)
        story.processes.die(agent.process)

    steps = [
        pass_s(story, 10, lambda: story.path.write_text("tmux_sessions: [") and None),
        pass_s(story, 10, lambda: None),
        pass_s(story, 10, repair),
    ]
    assert watched(story, *steps) == ["registry_invalid", "dead"]


def test_the_death_of_the_last_session_ends_its_server_and_not_the_watch(story: Story) -> None:
    agent = story.agent()

    def death(_: float) -> Woken:
        story.processes.die(agent.process)
        assert story.SOCKET not in story.tmux.servers
        return Woken(frozenset({agent.process}), changed=False, ending=False)

    assert watched(story, death) == ["dead"]


def test_an_agent_that_was_reaped_and_began_again_is_reaped_again(story: Story) -> None:
    story.agent()
    heard: list[Change] = []

    def begin_again() -> None:
        story.path.write_text("tmux_sessions: []\n")
        story.agent()

    steps = [pass_s(story, 3 * 3600.0, lambda: None), pass_s(story, 10.0, begin_again)]
    steps += [pass_s(story, 3 * 3600.0, lambda: None), pass_s(story, 10.0, lambda: None)]
    watch.run(story.app(), WatchRequest(reap=(Kind.IDLE,)), heard.append, Told(*steps))  # type: ignore[arg-type]
    assert [one.name for one in heard if one.event == "reaped"] == ["acme", "acme"]

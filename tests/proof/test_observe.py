"""The one look: what is read, how often, and what is reported if it could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from tests.fakes import OWN_PID, FakeClock, FakeProcesses, FakeTmux
from tmuxreap.core.model import NoServer, Pane, ProcessId, Server, Unreachable
from tmuxreap.proof.observe import Observer, Place, ancestors, terminal_number
from tmuxreap.proof.ownership import Sought, Trace

SOCKET = "/tmp/s"


class Counted(FakeProcesses):
    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.asked: Counter[tuple[str, int]] = Counter()

    def environ(self, process: ProcessId) -> object:  # type: ignore[override]
        self.asked["environ", process.pid] += 1
        return super().environ(process)

    def argv(self, process: ProcessId) -> tuple[str, ...]:
        self.asked["argv", process.pid] += 1
        return super().argv(process)


@pytest.fixture
def processes() -> Counted:
    counted = Counted()
    counted.add("tmuxreap", pid=OWN_PID)
    return counted


def observer(processes: Counted, tmux: FakeTmux | None = None) -> Observer:
    return Observer(tmux or FakeTmux(processes), processes, Place("here", "boot", OWN_PID))


def test_each_server_is_asked_once_and_answers_for_itself(processes: Counted) -> None:
    tmux = FakeTmux(processes)
    tmux.open(SOCKET, "acme", "sleep")
    tmux.answers["/tmp/odd"] = Unreachable("/tmp/odd", "no", "")
    world = observer(processes, tmux).look([SOCKET, "/tmp/none", "/tmp/odd", SOCKET], 0)
    assert isinstance(world.servers[SOCKET], Server)
    assert world.servers["/tmp/none"] == NoServer("/tmp/none")
    assert isinstance(world.servers["/tmp/odd"], Unreachable)
    assert (world.host, world.boot_id) == ("here", "boot")


def test_a_pane_whose_pid_came_again_meanwhile_is_dead(processes: Counted) -> None:
    """Between the answer of tmux and the list of processes."""
    tmux = FakeTmux(processes)
    ours, other = tmux.open(SOCKET, "acme", "sleep"), tmux.open(SOCKET, "b", "sleep")
    answer, leader = tmux.look(SOCKET), ours.panes[0].process
    tmux.answers[SOCKET] = answer
    assert [pane.dead for pane in _panes(observer(processes, tmux), ours.name)] == [False]
    processes.die(leader)
    processes.clock._booted -= 1.0
    processes.add("make", pid=leader.pid)
    assert [pane.dead for pane in _panes(observer(processes, tmux), ours.name)] == [True]
    assert [pane.dead for pane in _panes(observer(processes, tmux), other.name)] == [False]


def _panes(looking: Observer, name: str) -> tuple[Pane, ...]:
    server = looking.look([SOCKET], 0).servers[SOCKET]
    assert isinstance(server, Server)
    session = server.named(name)
    assert session is not None
    return session.panes


def test_a_trace_has_mark_pane_and_terminals_of_a_process(processes: Counted) -> None:
    one = processes.add(
        "a", environ={"TMUXREAP_ID": "m", "TMUX": "/tmp/s,x,50,0", "TMUX_PANE": "%3"}
    )
    two = processes.add(
        "b", environ={}, open_files=("/dev/null", "/dev/pts/4", "/dev/pts/5 (deleted)")
    )
    three = processes.add("c", environ={"TMUX": "odd"}, open_files=("/dev/pts/9",))
    traces = observer(processes).look([], 0).index.traces
    assert traces[one.pid] == Trace("m", "/tmp/s,x,50", "%3", session="$0")
    assert traces[two.pid] == Trace(terminals=frozenset({"/dev/pts/4", "/dev/pts/5 (deleted)"}))
    assert traces[three.pid] == Trace(terminals=frozenset({"/dev/pts/9"}))


def test_the_control_group_is_read_of_candidates_only(processes: Counted) -> None:
    """Those of the wanted panes, and scopes seen before; without traced pids none."""
    tmux = FakeTmux(processes)
    ours, other = tmux.open(SOCKET, "acme", "sleep"), tmux.open(SOCKET, "b", "sleep")
    lost, gone = processes.add("sleep"), processes.add("sleep")
    processes.scopes = {
        "acme's": [ours.panes[0].process, lost, gone],
        "b's": [other.panes[0].process],
        "old": [processes.add("sleep")],
    }
    processes.die(gone)
    acme = Sought(frozenset({"acme"}), scopes=frozenset({"old"}))
    looking = observer(processes, tmux)
    index = looking.look([SOCKET], 0, wanted=acme).index
    assert set(index.by_scope) == {"acme's", "old"}
    assert set(index.by_scope["acme's"]) == {ours.panes[0].process.pid, lost.pid}
    assert looking.look_for_output([SOCKET], 0, {}, wanted=acme).index.by_scope == {}


def test_a_leader_is_traced_for_output_only_when_its_server_does_not_show_it(
    processes: Counted,
) -> None:
    """Another tool's row says no more than the pid; the trace tells where a lost one lives."""
    tmux = FakeTmux(processes)
    shown = tmux.open(SOCKET, "acme", "sleep").panes[0].process
    elsewhere = tmux.open("/tmp/other", "lost", "sleep").panes[0].process
    expected = {shown.pid: SOCKET, elsewhere.pid: SOCKET}
    looking = observer(processes, tmux)
    index = looking.look_for_output([SOCKET, "/tmp/other"], 0, expected).index
    read = {pid for what, pid in processes.asked if what == "environ"}
    assert elsewhere.pid in read
    assert shown.pid not in read
    assert index.trace(elsewhere.pid).tmux is not None


class Chain(Counted):
    """Each process is gone when it is read, and has left a successor; the last one stays."""

    def __init__(self, links: int) -> None:
        super().__init__()
        self.left = links
        self.link = self.add("chain", environ={"TMUXREAP_ID": "m"})

    def tmux_variables(self, process: ProcessId) -> Mapping[str, str]:
        if process == self.link and self.left:
            self.left -= 1
            self.link = self.add("chain", environ={"TMUXREAP_ID": "m"})
            self.die(process)
        return super().tmux_variables(process)


def test_a_chain_of_orphans_is_followed_to_who_can_be_read() -> None:
    """Each was listed and gone before it was read; its child appeared after the list was made."""
    processes = Chain(links=3)
    processes.add("tmuxreap", pid=OWN_PID)
    index = observer(processes).look([], 0).index
    assert index.by_mark == {"m": [processes.link.pid]}


def test_an_endless_chain_is_given_up() -> None:
    processes = Chain(links=10**6)
    processes.add("tmuxreap", pid=OWN_PID)
    assert observer(processes).look([], 0).index.by_mark == {}


def test_a_command_line_is_read_once_per_look_and_again_in_the_next(processes: Counted) -> None:
    """The process may have exec'd another program: the same process with another name."""
    one = processes.add("sh")
    looking = observer(processes)
    world = looking.look([], 0)
    assert world.names[one.pid].argv == ("sh",)
    assert processes.asked["argv", one.pid] == 1
    processes.table[one.pid].argv = ("claude",)
    world = looking.look([], 0)
    assert world.names[one.pid].argv == ("claude",)


def test_a_reused_pid_is_read_again(processes: Counted) -> None:
    one = processes.add("a", pid=500, environ={"TMUXREAP_ID": "m"})
    looking = observer(processes)
    looking.look([], 0)
    processes.die(one)
    processes.wait((), 1.0)
    processes.add("b", pid=500, environ={"TMUXREAP_ID": "other"})
    assert looking.look([], 0).index.traces[500].mark == "other"


def test_a_cleared_environment_is_read_again(processes: Counted) -> None:
    """During an exec it reads as empty."""
    one = processes.add("a")
    looking = observer(processes)
    assert looking.look([], 0).index.traces[one.pid] == Trace()
    processes.table[one.pid].environ = {"TMUXREAP_ID": "m"}
    assert looking.look([], 0).index.traces[one.pid].mark == "m"


def test_an_environment_that_cannot_be_read_is_no_evidence(processes: Counted) -> None:
    one = processes.add("a")
    processes.table[one.pid].environ = None
    assert observer(processes).look([], 0).index.traces[one.pid] == Trace()


def test_older_processes_are_seen_but_not_asked(processes: Counted) -> None:
    old = processes.add("a")
    processes.wait((), 1.0)
    young = processes.add("b")
    index = observer(processes).look([], young.start).index
    assert {old.pid, young.pid} <= set(index.processes)
    assert young.pid in index.traces
    assert old.pid not in index.traces
    assert processes.asked["environ", old.pid] == 0


def test_the_caller_and_all_above_it_are_protected(processes: Counted) -> None:
    shell = processes.add("bash")
    inner = processes.add("python3", parent=shell)
    processes.add("sleep", parent=inner)
    assert ancestors(inner.pid, processes.look()) == {inner.pid, shell.pid}
    assert ancestors(4, processes.look()) == frozenset()
    assert observer(processes).look([], 0).protected == {OWN_PID}


def test_an_observer_outside_tmux_does_not_see_itself(processes: Counted) -> None:
    """A finisher whose parent lives in the session that it ends."""
    child = processes.add("tmux", parent=processes.identify(OWN_PID))
    looking = observer(processes)
    looking.hide_self()
    world = looking.look([], 0)
    assert OWN_PID not in world.index.processes
    assert child.pid in world.index.processes
    assert world.protected == frozenset()


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/dev/pts/0", 34816),
        ("/dev/pts/255", 35071),
        ("/dev/pts/256", 1083392),
        ("/dev/nowhere", 0),
        ("", 0),
    ],
)
def test_a_terminal_has_the_number_of_its_device(path: str, number: int) -> None:
    assert terminal_number(path) == number


def test_a_terminals_number_is_the_kernels() -> None:
    assert terminal_number("/dev/null") == (1 << 8) | 3

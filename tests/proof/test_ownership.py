"""Which processes belong to a session: every kind of evidence, and every kind of counter-evidence,
on a table of processes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tmuxreap.core.model import Process, ProcessId
from tmuxreap.proof.ownership import Index, Owned, Reach, Trace, is_its_own, owned

SERVER, LEADER, STRANGER = 50, 100, 900
TMUX, MARK, TTY, PTS = "/tmp/s,50", "m-1", 34816, "/dev/pts/0"
SCOPE = "/sys/fs/cgroup/tmux-spawn-1.scope/cgroup.procs"


@dataclass
class Table:
    """One session with one pane, and added processes."""

    processes: dict[int, Process] = field(default_factory=dict)
    traces: dict[int, Trace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.add(1, 0, comm="init")
        self.add(SERVER, 1, comm="tmux: server", sid=SERVER)
        self.add(LEADER, SERVER, comm="agent", sid=LEADER, tty=TTY, trace=Trace(MARK, TMUX, "%0"))
        self.add(STRANGER, 1, comm="bash", sid=STRANGER, tty=TTY + 7)

    def add(
        self,
        pid: int,
        ppid: int,
        comm: str = "x",
        sid: int = 0,
        tty: int = 0,
        start: int = 10,
        trace: Trace | None = None,
    ) -> None:
        self.processes[pid] = Process(ProcessId(pid, start), ppid, pid, sid, tty, -1, "S", comm)
        if trace is not None:
            self.traces[pid] = trace

    def reach(self, **other: object) -> Reach:
        usual: dict[str, object] = {
            "tmux": TMUX,
            "panes": frozenset({"%0"}),
            "leaders": frozenset({ProcessId(LEADER, 10)}),
            "ttys": frozenset({TTY}),
            "terminals": {PTS: 10},
            "mark": MARK,
            "remembered": frozenset(),
            "scopes": frozenset({SCOPE}),
        }
        return Reach(**{**usual, **other})  # type: ignore[arg-type]

    def owned(self, **reach: object) -> Owned:
        def spare(process: Process) -> str | None:
            return f"a {process.comm}" if process.comm in ("tmux: server", "ssh-agent") else None

        return owned(Index.of(self.processes, self.traces), self.reach(**reach), spare)

    def why(self, pid: int, **reach: object) -> str | None:
        return next((one.why for one in self.owned(**reach).own if one.process.pid == pid), None)


@pytest.fixture
def table() -> Table:
    return Table()


def test_a_pane_owns_its_process_tree(table: Table) -> None:
    table.add(101, LEADER)
    table.add(102, 101)
    table.add(103, 102)
    assert [(one.process.pid, one.why) for one in table.owned().own] == [
        (100, "pane"),
        (101, "tree"),
        (102, "child"),
        (103, "child"),
    ]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"sid": LEADER}, "session"),
        ({"sid": 777, "tty": TTY}, "terminal"),
        ({"sid": 777, "trace": Trace(mark=MARK)}, "mark"),
        ({"sid": 777, "trace": Trace(tmux=TMUX, pane="%0")}, "environment"),
        ({"sid": 777, "trace": Trace(terminals=frozenset({PTS}))}, "descriptor"),
        ({"sid": 777, "trace": Trace(scope=SCOPE)}, "scope"),
        ({"sid": 777, "trace": Trace(scope=SCOPE.replace("1", "2"))}, None),
        ({"sid": 777}, None),
        ({"sid": 777, "trace": Trace(mark="m-2")}, None),
        ({"sid": 777, "trace": Trace(tmux=TMUX, pane="%1")}, None),
        ({"sid": 777, "trace": Trace(tmux="/tmp/s,51", pane="%0")}, None),
        ({"sid": 777, "trace": Trace(tmux="/tmp/other,50", pane="%0")}, None),
        ({"sid": 777, "trace": Trace(terminals=frozenset({"/dev/pts/1"}))}, None),
    ],
)
def test_an_orphan_belongs_by_what_it_has_or_carries(
    table: Table, facts: dict[str, object], why: str | None
) -> None:
    table.add(500, 1, **facts)  # type: ignore[arg-type]
    assert table.why(500) == why


@pytest.mark.parametrize(
    "facts",
    [
        {"tty": TTY + 7, "trace": Trace(mark=MARK)},
        {"tty": TTY + 7, "trace": Trace(terminals=frozenset({PTS}))},
        {"tty": TTY + 7, "trace": Trace(scope=SCOPE)},
        {"trace": Trace(tmux="/tmp/nested,60", pane="%0", scope=SCOPE)},
        {"trace": Trace(mark=MARK, tmux="/tmp/nested,60", pane="%0")},
        {"trace": Trace(mark=MARK, tmux=TMUX, pane="%5")},
    ],
)
def test_marks_on_a_process_that_lives_elsewhere_are_no_evidence(
    table: Table, facts: dict[str, object]
) -> None:
    table.add(500, 1, sid=777, **facts)  # type: ignore[arg-type]
    assert table.why(500) is None


@pytest.mark.parametrize("holder", ["tmux: server", "screen", "zellij", "dtach", "abduco"])
def test_a_control_group_in_which_a_server_holds_other_panes_says_nothing(
    table: Table, holder: str
) -> None:
    """Processes of those panes share only the group with this one."""
    table.add(500, 1, sid=777, trace=Trace(scope=SCOPE))
    assert table.why(500) == "scope"
    table.add(200, 1, comm=holder, sid=200, trace=Trace(scope=SCOPE))
    assert table.why(500) is None


def test_a_shared_daemon_in_the_control_group_is_spared(table: Table) -> None:
    table.add(500, 1, comm="ssh-agent", sid=777, trace=Trace(scope=SCOPE))
    assert [one.process.pid for one in table.owned().spared] == [500]


def test_a_mark_without_a_pane_is_enough_when_the_leader_is_gone(table: Table) -> None:
    del table.processes[LEADER], table.traces[LEADER]
    table.add(500, 1, sid=777, trace=Trace(MARK, TMUX, "%0"))
    assert table.why(500, ttys=frozenset()) == "mark"


@pytest.mark.parametrize(
    ("sid", "trace", "reach", "own"),
    [
        (LEADER, Trace(), {}, True),
        (LEADER, Trace(), {"leaders": frozenset({ProcessId(LEADER, 9)})}, False),
        (777, Trace(MARK, TMUX, "%0"), {}, True),
        (777, Trace("m-2", TMUX, "%0"), {}, False),
        (777, Trace(MARK, TMUX, "%7"), {}, False),
        (777, Trace(None, TMUX, "%0"), {"mark": None}, False),
        (777, Trace(None, TMUX, "%0"), {"remembered": frozenset({ProcessId(500, 10)})}, True),
    ],
)
def test_a_pane_alone_makes_no_process_the_sessions(
    table: Table, sid: int, trace: Trace, reach: dict[str, object], own: bool
) -> None:
    table.add(500, 1, sid=sid, trace=trace)
    index = Index.of(table.processes, table.traces)
    known = table.reach(own_panes=frozenset({"%0"}), **reach)
    assert is_its_own(index, known, table.processes[500]) is own


def test_a_nested_server_is_spared_and_all_below_it(table: Table) -> None:
    nested = Trace(MARK, TMUX, "%0")
    table.add(200, 1, comm="tmux: server", sid=200, trace=nested)
    table.add(201, 200, sid=201, tty=TTY + 3, trace=Trace(MARK, "/tmp/nested,200", "%0"))
    table.add(202, 201, sid=201, tty=TTY + 3, trace=nested)
    result = table.owned()
    assert [one.process.pid for one in result.own] == [LEADER]
    assert [(one.process.pid, one.why) for one in result.spared] == [
        (200, "a tmux: server"),
        (201, "below tmux: server (200)"),
        (202, "below x (201)"),
    ]


def test_a_shared_daemon_below_the_agent_is_spared(table: Table) -> None:
    table.add(101, LEADER, comm="ssh-agent")
    table.add(102, 101, comm="helper", trace=Trace(MARK, TMUX, "%0"))
    result = table.owned()
    assert [one.process.pid for one in result.own] == [LEADER]
    assert [one.process.pid for one in result.spared] == [101, 102]


def test_a_process_seen_earlier_still_belongs(table: Table) -> None:
    table.add(500, 1, sid=777)
    assert table.why(500, remembered=frozenset({ProcessId(500, 10)})) == "seen before"


def test_a_stranger_with_a_remembered_pid_does_not_belong(table: Table) -> None:
    table.add(500, 1, sid=777, start=11)
    assert table.why(500, remembered=frozenset({ProcessId(500, 10)})) is None


def test_a_stranger_with_the_leaders_pid_does_not_belong(table: Table) -> None:
    table.add(LEADER, 1, comm="nginx", sid=LEADER, start=11, trace=Trace())
    table.add(500, LEADER, sid=LEADER)
    assert table.owned(ttys=frozenset()).own == ()


def test_children_of_a_leader_that_is_gone_belong_by_their_session(table: Table) -> None:
    del table.processes[LEADER], table.traces[LEADER]
    table.add(500, 1, sid=LEADER)
    assert table.why(500, ttys=frozenset()) == "session"


def test_pid_1_and_the_tmux_server_belong_to_no_session(table: Table) -> None:
    table.traces[1] = table.traces[SERVER] = Trace(MARK, TMUX, "%0")
    result = table.owned(leaders=frozenset())
    assert 1 not in {one.process.pid for one in (*result.own, *result.spared)}
    assert SERVER not in {one.process.pid for one in result.own}


def test_an_unrelated_process_belongs_to_no_session(table: Table) -> None:
    assert table.why(STRANGER) is None


@pytest.mark.parametrize("known", [None, "mine"])
@pytest.mark.parametrize("carried", [None, "mine", "another"])
def test_a_mark_of_another_registry_is_no_evidence(
    table: Table, known: str | None, carried: str | None
) -> None:
    """Where one of the two names none, the mark alone decides."""
    table.add(500, 1, sid=777, trace=Trace(mark=MARK, registry=carried))
    found = [one.process.pid for one in table.owned(registry=known).own]
    assert (500 in found) == ((known, carried) != ("mine", "another"))

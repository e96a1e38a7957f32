"""Whose process is it? The union of all evidence that ties a process to a session, and the
counter-evidence. Pure.

A process belongs to a session by: the child tree of a pane, the kernel session of a pane's leader,
the controlling terminal, our mark or tmux's own variables in its environment, an open descriptor on
a pane's terminal, the control group that tmux made for a pane, or because it was seen to belong at
an earlier look. It is spared when it is a tmux server, a shared daemon, or below one; and what it
was only given (its environment, its control group) says nothing about a process that lives on
another terminal or in another tmux."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.values import frozen

TMUX_SERVER = "tmux: server"
# who holds the terminals of others: all that was begun there is in the same control group
CARRIED = ("mark", "environment", "descriptor", "scope")  # evidence that nothing else supports
HOLDERS = frozenset({TMUX_SERVER, "screen", "zellij", "dtach", "abduco"})


@frozen
class Trace:
    """What a process carries of the place that it was started in."""

    mark: str | None = None
    tmux: str | None = None  # "socket,server pid" of its TMUX
    pane: str | None = None
    terminals: frozenset[str] = frozenset()  # /dev/pts/N behind its descriptors
    registry: str | None = None  # whose mark it is
    scope: str | None = None  # the control group of a pane

    @property
    def tells(self) -> bool:
        """Could it be evidence at all?"""
        return bool(self.mark or self.pane or self.terminals or self.scope)


NO_TRACE = Trace()


@frozen
class Reach:
    """What is known of one session, for finding its processes."""

    tmux: str | None  # "socket,server pid"
    panes: frozenset[str]
    leaders: frozenset[ProcessId]
    ttys: frozenset[
        int
    ]  # device numbers; empty when the panes are gone: the number may be a stranger's by then
    terminals: frozenset[str]
    mark: str | None
    remembered: frozenset[ProcessId]
    registry: str | None = (
        None  # where the mark is known from the ledger alone: it counts for that one's processes
    )
    scopes: frozenset[str] = frozenset()


@frozen
class Belonging:
    process: Process
    why: str


@frozen
class Owned:
    """The processes of one session at one look."""

    own: tuple[Belonging, ...] = ()
    spared: tuple[Belonging, ...] = ()

    @property
    def strays(self) -> tuple[Process, ...]:
        """Begun from it, and out of its terminal and its tree: a person may think of them as apart
        from it."""
        pids = {one.process.pid for one in self.own}
        found = (one.process for one in self.own if one.why in CARRIED)
        return tuple(process for process in found if process.ppid not in pids)

    @property
    def ids(self) -> frozenset[ProcessId]:
        return frozenset(one.process.id for one in self.own)


@frozen
class Index:
    """All processes of one look, by each kind of evidence; made once for any number of sessions."""

    processes: Mapping[int, Process]
    traces: Mapping[int, Trace]
    children: Mapping[int, list[int]]
    by_session: Mapping[int, list[int]]
    by_tty: Mapping[int, list[int]]
    by_mark: Mapping[str, list[int]]
    by_pane: Mapping[tuple[str, str], list[int]]
    by_terminal: Mapping[str, list[int]]
    by_scope: Mapping[str, list[int]]

    def trace(self, pid: int) -> Trace:
        """What it carries, as far as that was read."""
        return self.traces.get(pid, NO_TRACE)

    def living(self, one: ProcessId) -> Process | None:
        """That very process."""
        process = self.processes.get(one.pid)
        return process if process is not None and process.id == one else None

    @classmethod
    def of(cls, processes: Mapping[int, Process], traces: Mapping[int, Trace]) -> Index:
        group = _grouped(processes.values())
        marks, panes, terminals = defaultdict(list), defaultdict(list), defaultdict(list)
        scopes = defaultdict(list)
        for pid, trace in traces.items():
            if trace.mark:
                marks[trace.mark].append(pid)
            if trace.tmux and trace.pane:
                panes[(trace.tmux, trace.pane)].append(pid)
            if trace.scope:
                scopes[trace.scope].append(pid)
            for terminal in trace.terminals:
                terminals[terminal].append(pid)
        return cls(
            processes=processes,
            traces=traces,
            children=group(lambda p: [p.ppid]),
            by_session=group(lambda p: [p.sid]),
            by_tty=group(lambda p: [p.tty] if p.tty else []),
            by_mark=marks,
            by_pane=panes,
            by_terminal=terminals,
            by_scope=scopes,
        )


SpareReason = Callable[[Process], str | None]


def owned(index: Index, reach: Reach, spare: SpareReason) -> Owned:
    """`spare` says why a process must not be touched, or None."""
    own: dict[int, str] = {}
    spared: dict[int, str] = {}

    def take(pids: Iterable[int], why: str) -> None:
        for pid in pids:
            if pid in own or pid in spared or pid <= 1:
                continue
            reason = spare(index.processes[pid])
            if reason is None:
                own[pid] = why
            else:
                _spare_tree(index, pid, reason, spared)

    for why, pids in _evidence(index, reach):
        take(pids, why)
    queue = list(own)
    for pid in queue:  # grows while children are found
        fresh = [child for child in index.children.get(pid, ()) if child not in own]
        take(fresh, "child")
        queue += [child for child in fresh if child in own]
    if spared:
        own = {pid: why for pid, why in own.items() if pid not in spared}
    return Owned(own=_belongings(index, own), spared=_belongings(index, spared))


def _evidence(index: Index, reach: Reach) -> Iterator[tuple[str, Iterable[int]]]:
    """In order of strength; the first reason is the one that is shown."""
    yield "pane", _living(index, reach.leaders)
    for leader in reach.leaders:
        if _same_or_gone(index, leader):
            yield "tree", index.children.get(leader.pid, ())
            yield "session", index.by_session.get(leader.pid, ())
    for tty in reach.ttys:
        yield "terminal", index.by_tty.get(tty, ())
    yield "seen before", _living(index, reach.remembered)
    for why, pids in _carried(index, reach):
        yield why, [pid for pid in pids if not _elsewhere(index, reach, pid)]


def _carried(index: Index, reach: Reach) -> Iterator[tuple[str, Iterable[int]]]:
    """What processes carry with them. It is inherited by strangers too, so it counts only without
    counter-evidence."""
    if reach.mark:
        marked = index.by_mark.get(reach.mark, ())
        yield "mark", [pid for pid in marked if _is_ours(index, reach, pid)]
    if reach.tmux:
        for pane in reach.panes:
            yield "environment", index.by_pane.get((reach.tmux, pane), ())
    for terminal in reach.terminals:
        yield "descriptor", index.by_terminal.get(terminal, ())
    for scope in reach.scopes:
        yield "scope", _alone_in(index, scope)


def _alone_in(index: Index, scope: str) -> Iterable[int]:
    """Who is in a pane's control group; nobody where a server in it holds others' panes, too."""
    members = index.by_scope.get(scope, ())
    shared = any(index.processes[pid].comm in HOLDERS for pid in members)
    return () if shared else members


def _is_ours(index: Index, reach: Reach, pid: int) -> bool:
    carried = index.trace(pid).registry
    return reach.registry is None or carried is None or carried == reach.registry


def _elsewhere(index: Index, reach: Reach, pid: int) -> bool:
    """It lives on another terminal, or tmux put it into another pane."""
    process, trace = index.processes[pid], index.trace(pid)
    if process.tty and process.tty not in reach.ttys:
        return True
    if trace.tmux is None or reach.tmux is None:
        return False
    return trace.tmux != reach.tmux or (trace.pane is not None and trace.pane not in reach.panes)


def _same_or_gone(index: Index, leader: ProcessId) -> bool:
    """A kernel session is named by its leader's pid, which nobody else gets while the session has
    members."""
    now = index.processes.get(leader.pid)
    return now is None or now.id == leader


def _living(index: Index, ids: Iterable[ProcessId]) -> Iterable[int]:
    return [one.pid for one in sorted(ids) if index.living(one)] if ids else ()


def _spare_tree(index: Index, pid: int, reason: str, spared: dict[int, str]) -> None:
    spared[pid] = reason
    for child in index.children.get(pid, ()):
        if child not in spared:
            _spare_tree(index, child, f"below {index.processes[pid].comm} ({pid})", spared)


def _belongings(index: Index, found: Mapping[int, str]) -> tuple[Belonging, ...]:
    return tuple([Belonging(index.processes[pid], why) for pid, why in sorted(found.items())])


def _grouped(
    processes: Iterable[Process],
) -> Callable[[Callable[[Process], list[int]]], Mapping[int, list[int]]]:
    everyone = list(processes)

    def group(keys: Callable[[Process], list[int]]) -> Mapping[int, list[int]]:
        groups: dict[int, list[int]] = defaultdict(list)
        for process in everyone:
            for key in keys(process):
                groups[key].append(process.pid)
        return groups

    return group

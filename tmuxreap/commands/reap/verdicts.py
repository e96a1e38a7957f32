"""Judges which running sessions are stalled, idle or expired, and what the processes are that an
agent started. Each verdict quotes its evidence: a cheap claim from the ledger and tmux, and no
defense against it from the screen and the children. In doubt the session is kept. Never looks
itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum

from tmuxreap.agents.programs import SHELLS
from tmuxreap.agents.screens import State
from tmuxreap.core.answers import Kept
from tmuxreap.core.defaults import IDLE_AFTER_S, STALLED_AFTER_S
from tmuxreap.core.model import AgentState, Live, Process, Server
from tmuxreap.core.times import iso, short_duration
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.records import Pulse
from tmuxreap.proof.panes import describe_panes
from tmuxreap.proof.sight import Sight

# A launcher starts its agent at once; a later process, or one without a launcher, is another agent.
RELAUNCH_S = 5.0
LAUNCHERS = frozenset({"node", "MainThread", "bun", "deno"})
HELPERS_S = 60.0  # an agent starts its servers within this time after its own start


class ChildKind(Enum):
    """A HELPER says nothing about work; the others may be working, as may what is unclear."""

    HELPER = "helper"
    TOOL = "tool"  # below a shell: this is how agents run commands
    AGENT = "agent"
    LATER = "started later"
    BACKGROUND = "background"  # connected to no other process
    RUNNING = "running"  # on a CPU at this moment


@frozen
class Child:
    pid: int
    name: str
    kind: ChildKind
    started: float  # start of the youngest process in its branch

    @property
    def working(self) -> bool:
        return self.kind is not ChildKind.HELPER

    def as_json(self) -> dict[str, object]:
        return {"pid": self.pid, "name": self.name, "what": self.kind.value}


@frozen
class Probes:
    """Answers about a process: its start, whether it is a known agent, and whether it has a pipe or
    socket to another process, as servers of agents have and background jobs have not."""

    epoch: Callable[[Process], float]
    is_agent: Callable[[Process], bool]
    is_connected: Callable[[Process], bool]


def offspring(sight: Sight, probes: Probes) -> tuple[Child, ...]:
    own = {one.process.pid: one.process for one in sight.owned.own}
    core = _core(sight, own, probes.epoch)
    known = {one.pid for one in core}
    for one in core:
        known.update(_line(one.ppid, own))
    if sight.session:
        known.update(pane.pid or 0 for pane in sight.session.panes)
    branches: dict[int, list[Process]] = {}
    for pid, process in own.items():
        if pid not in known:
            branches.setdefault(_top(process, own, known), []).append(process)
    started = min(map(probes.epoch, core), default=0.0)
    return tuple(
        _child(own[top], branch, started, probes) for top, branch in sorted(branches.items())
    )


def _core(
    sight: Sight, own: dict[int, Process], epoch_of: Callable[[Process], float]
) -> tuple[Process, ...]:
    """Return the agent's own processes: the topmost ones, and those they launched at once."""
    recognised = {one.pid: one for one in sight.agent}
    firsts = [one for one in sight.agent if not recognised.keys() & _line(one.ppid, own)]
    core = dict.fromkeys(firsts)
    for one in sorted(sight.agent, key=lambda process: process.id.start):
        parent = recognised.get(one.ppid)
        if parent is None or parent not in core or parent.comm not in LAUNCHERS:
            continue
        if epoch_of(one) - epoch_of(parent) <= RELAUNCH_S:
            core[one] = None
    return tuple(core)


def _line(pid: int, own: dict[int, Process]) -> list[int]:
    """Return this pid and its ancestors within the session."""
    line: list[int] = []
    while pid in own and pid not in line:
        line.append(pid)
        pid = own[pid].ppid
    return line


def _top(process: Process, own: dict[int, Process], known: set[int]) -> int:
    line = _line(process.pid, own)
    tops = (pid for pid in line if own[pid].ppid in known or own[pid].ppid not in own)
    return next(tops, line[-1])


def _child(top: Process, branch: list[Process], began: float, probes: Probes) -> Child:
    agent = next((one for one in branch if probes.is_agent(one)), None)
    if agent is not None:
        kind = ChildKind.AGENT
    elif any(one.state in ("R", "D") for one in branch):
        kind = ChildKind.RUNNING
    elif top.comm in SHELLS:
        kind = ChildKind.TOOL
    elif probes.epoch(top) - began > HELPERS_S:
        kind = ChildKind.LATER
    else:
        if probes.is_connected(top):
            kind = ChildKind.HELPER
        else:
            kind = ChildKind.BACKGROUND
    shown = agent or top
    return Child(shown.pid, shown.comm, kind, max(map(probes.epoch, branch)))


STALLED_WORD = "stalled"  # reported by a monitor that watches its heartbeats
SAME_MOMENT_S = 1.0  # tolerance between an event and its report, whose clocks differ in grain
SINCE_S = 2.0  # tmux counts whole seconds


class Kind(Enum):
    """The kinds in the order in which they are tried; the first that holds is the verdict."""

    STALLED = "stalled"
    IDLE = "idle"
    EXPIRED = "expired"
    ORPHAN = "orphan"


def kinds_wanted(stalled: bool, idle: bool, expired: bool, orphans: bool) -> tuple[Kind, ...]:
    """Return the kinds to reap; none of them stands for all."""
    wanted = zip(Kind, (stalled, idle, expired, orphans), strict=True)
    return tuple(kind for kind, is_wanted in wanted if is_wanted)


@frozen
class Limits:
    stalled_after_s: float = STALLED_AFTER_S
    idle_after_s: float = IDLE_AFTER_S


@frozen
class Age:
    """How long ago something was reported, even if the wall clock was set since."""

    awake_s: float  # without the time that the machine slept
    at: float  # by the current wall clock
    no_time_s: float = 0.0  # wall-clock seconds since then spent asleep, or added by setting it
    in_order: bool = True  # the wall clock was not set back since: a later time on it is later


@frozen
class RowFacts:
    """The cheap facts of one running row. Times are seconds since the epoch, None if unknown."""

    name: str
    now: float
    agent_since: float | None = None
    output_at: float | None = None
    said: Pulse | None = None  # its last report
    age: Age | None = None  # of `said`; None: by the wall clock
    ttl: str | None = None
    ttl_s: float | None = None
    ttl_since: float | None = None


@frozen
class CloserLook:
    """The facts that need a closer look."""

    state: State = State.UNKNOWN  # as it matters to keys
    doing: AgentState = AgentState.UNKNOWN  # in the words of `list`
    limited: bool = False  # at a provider limit, and continues when that ends
    tool_since: float = 0.0  # processes started since then belong to a running tool
    children: tuple[Child, ...] = ()
    sub_agents: tuple[str, ...] = ()  # live sessions that were started from within it


@frozen
class Verdict:
    name: str
    kind: Kind
    evidence: Mapping[str, object]


def judge(
    kinds: Collection[Kind], seen: RowFacts, limits: Limits, look: Callable[[], CloserLook]
) -> Verdict | Kept:
    """Judge one row; `look` is called only if a claim holds."""
    reasons: list[str] = []
    for kind, (claim_of, defense_of) in RULES.items():
        if kind not in kinds:
            continue
        claim = claim_of(seen, limits)
        if isinstance(claim, str):
            reasons.append(f"not {kind.value}: {claim}")
            continue
        closer = look()
        reason = defense_of(seen, closer)
        if reason is None:
            children = [child.as_json() for child in closer.children]
            evidence = {**claim, "state": closer.doing.value, "children": children}
            return Verdict(seen.name, kind, evidence)
        reasons.append(f"not {kind.value}: {reason}")
    return Kept(seen.name, "; ".join(reasons) or "nothing was asked of it")


def why_exempt(sight: Sight, *, under_way: bool) -> str | None:
    """Tell why a running row is not judged at all. `under_way`: another process is ending it."""
    if under_way:
        return "it is being ended by another"
    if sight.contains_caller:
        return "this command runs inside it"
    if sight.live is not Live.ALIVE:
        return NOT_ALIVE[sight.live]
    if sight.trouble is not None:
        return sight.trouble.message
    if sight.foreign:
        return f"other panes of its session are busy: {describe_panes(sight.foreign)}"
    if _is_watched(sight):
        return "a client is attached to it"
    return None


def _is_watched(sight: Sight) -> bool:
    """Tell whether a client is attached, also through another session that shows the same pane (a
    session group or a linked window)."""
    if isinstance(sight.server, Server):
        sessions = sight.server.sessions
    else:
        sessions = ()
    if sight.session:
        own = {pane.id for pane in sight.session.panes}
    else:
        own = set()
    return any(one.attached and own & {pane.id for pane in one.panes} for one in sessions)


NOT_ALIVE = {
    Live.AGENT_GONE: "its agent has left; what is left there is ended by stop",
    Live.GONE: "its session is gone; reconcile records that",
    Live.UNKNOWN: "it could not be looked at",
    Live.REPLACED: "another session has its name",
}


# Claims: the evidence, or in a few words why there is none.

Claim = dict[str, object] | str


def _stalled(seen: RowFacts, limits: Limits) -> Claim:
    said = _current_report(seen)
    if said is None:
        return "it never reported"
    age = _age(seen, said)
    evidence: dict[str, object] = {
        "said": said.state or None,
        "event": said.kind,
        "at": iso(said.at),
        "age_s": round(age.awake_s),
    }
    if said.state == STALLED_WORD:
        return evidence
    periodic = said.kind == "heartbeat"
    if said.state != "working" and not (periodic and said.state == ""):
        return f"it last said {said.state or said.kind}"
    if age.awake_s <= limits.stalled_after_s:
        return f"it said {said.state or 'so'} {short_duration(max(0.0, age.awake_s))} ago"
    evidence["limit_s"] = limits.stalled_after_s
    if periodic:
        return evidence
    still_s = _still_s(seen, said, age)
    if still_s is None:
        return "its last output cannot be dated"
    if still_s <= limits.stalled_after_s:
        return f"it drew something {short_duration(max(0.0, still_s))} ago"
    return {**evidence, "screen_still_s": round(still_s)}


def _age(seen: RowFacts, said: Pulse) -> Age:
    return seen.age or Age(seen.now - said.at, said.at)


def _still_s(seen: RowFacts, said: Pulse, age: Age) -> float | None:
    """Return how long the screen has not changed: a thinking model redraws it all the time.

    tmux uses the wall clock. Time that did not pass awake counts against a stall, unless the output
    came before the report: then the screen is at least as old as the report."""
    if seen.output_at is None:
        return None
    still_s = seen.now - seen.output_at - age.no_time_s
    if age.in_order and seen.output_at < said.at:
        return max(still_s, age.awake_s)
    return still_s


def _idle(seen: RowFacts, limits: Limits) -> Claim:
    if seen.output_at is None:
        return "its last output cannot be dated"
    said = _current_report(seen)
    last = max(seen.output_at, said.at if said else 0.0)
    idle_s = seen.now - last - (_age(seen, said).no_time_s if said else 0.0)
    if idle_s <= limits.idle_after_s:
        return f"it did something {short_duration(max(0.0, idle_s))} ago"
    last_output = iso(seen.output_at)
    return {"idle_s": round(idle_s), "limit_s": limits.idle_after_s, "last_output": last_output}


def _expired(seen: RowFacts, limits: Limits) -> Claim:
    if seen.ttl is None:
        return "it has no ttl"
    if seen.ttl_s is None:
        return f"its ttl {seen.ttl!r} is not a duration"
    if seen.ttl_since is None:
        return "its start time is not known"
    age_s = seen.now - seen.ttl_since
    if age_s <= seen.ttl_s:
        return f"{short_duration(seen.ttl_s - age_s)} of its ttl are left"
    since = iso(seen.ttl_since)
    return {"ttl": seen.ttl, "ttl_s": seen.ttl_s, "since": since, "age_s": round(age_s)}


def _current_report(seen: RowFacts) -> Pulse | None:
    """Return the report, unless it came from an earlier agent process."""
    said = seen.said
    since = seen.agent_since
    if said is None or since is None:
        return said
    if _age(seen, said).at < since - SAME_MOMENT_S:
        return None
    return said


# Defenses: why the claim does not count, None if it does.


def _no_stall(seen: RowFacts, closer: CloserLook) -> str | None:
    if (reason := _blocked(seen, closer)) is not None:
        return reason
    if seen.said is not None and (seen.said.kind == "heartbeat" or seen.said.state == STALLED_WORD):
        return None  # periodic reports are judged by their age alone
    if _prompt_since(seen, closer):
        return "its turn is over: it has shown its prompt since"
    tools: list[Child] = []
    for child in closer.children:
        if child.kind is ChildKind.AGENT:
            tools.append(child)
        elif child.started >= closer.tool_since - SAME_MOMENT_S:
            tools.append(replace(child, kind=ChildKind.TOOL))
    return _working(tools, closer)


def _no_idling(seen: RowFacts, closer: CloserLook) -> str | None:
    if (reason := _blocked(seen, closer)) is not None:
        return reason
    if closer.state is State.BUSY or _still_says("working", seen, closer):
        return "it is busy"
    said = _current_report(seen)
    if closer.state is State.UNKNOWN and (said is None or said.state not in ("idle", "ended")):
        return "its state cannot be read from its screen"
    return _working([child for child in closer.children if child.working], closer)


def _no_expiry(seen: RowFacts, closer: CloserLook) -> str | None:
    if _waits(seen, closer):
        return "it waits for a person"
    return None


def _blocked(seen: RowFacts, closer: CloserLook) -> str | None:
    if closer.limited:
        return "it met a limit, and waits for its end"
    if _waits(seen, closer):
        return "it waits for a person"
    return None


def _waits(seen: RowFacts, closer: CloserLook) -> bool:
    return _still_says("waiting", seen, closer) or closer.state is State.DIALOG


def _still_says(state: str, seen: RowFacts, closer: CloserLook) -> bool:
    said = _current_report(seen)
    return said is not None and said.state == state and not _prompt_since(seen, closer)


def _prompt_since(seen: RowFacts, closer: CloserLook) -> bool:
    """Tell whether its prompt is back since the last event: no event reports an interrupt."""
    if seen.said is None or seen.output_at is None or closer.state not in (State.IDLE, State.DRAFT):
        return False
    return seen.output_at > seen.said.at + SINCE_S


def _working(children: list[Child], closer: CloserLook) -> str | None:
    if closer.sub_agents:
        return f"sub-agents of it live: {', '.join(closer.sub_agents)}"
    names = [f"{one.name} ({one.pid}, {one.kind.value})" for one in children]
    if names:
        return f"a child of it is working: {', '.join(names)}"
    return None


Defense = Callable[[RowFacts, CloserLook], str | None]
RULES: Mapping[Kind, tuple[Callable[[RowFacts, Limits], Claim], Defense]] = {
    Kind.STALLED: (_stalled, _no_stall),
    Kind.IDLE: (_idle, _no_idling),
    Kind.EXPIRED: (_expired, _no_expiry),
}

"""Tells what runs in a pane (the agent, an idle shell, another tmux or host, something else), and
which panes of a session an ending may take. Never takes a busy pane that appeared after the plan,
and never follows a pane into another session. Never does I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tmuxreap.agents.load import Profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import SHELLS, Carrier, Carriers, program_names
from tmuxreap.core.model import Live, Pane, Process, Row, Server, ServerLook, ServerSession
from tmuxreap.core.values import frozen, replace
from tmuxreap.proof.ownership import TMUX_SERVER, Index, Owned, World

TMUX_CLIENT = "tmux: client"


def agent_in(pane: Pane, profile: Profile | None, world: World) -> tuple[Process, ...]:
    """Return the agent's processes in a pane; without a profile, everything but an idle shell."""
    if pane.dead:
        return ()
    below = list(process_tree(world.index, pane.pid or 0))
    if profile is not None:
        return tuple(process for process in below if _recognised(process, profile, world))
    if _ends_in_idle_shell(pane, world):
        return ()
    return tuple(below)


def agents_in(panes: Sequence[Pane], profiles: Profiles, world: World) -> list[str]:
    """Return the known agents that run in these panes, in the order of `agents.yaml`. A lookup by
    name rules out most programs first."""
    names: set[str] = set()
    for pane in panes:
        for process in process_tree(world.index, pane.pid or 0):
            names.update(_names_of(process, world))
    found: list[str] = []
    for name in profiles.by_programs(names):
        if any(agent_in(pane, profiles.agents[name], world) for pane in panes):
            found.append(name)
    return found


def _names_of(process: Process, world: World) -> Sequence[str]:
    called = world.names_of(process)
    return program_names(called.argv, process.comm, called.executable)


def is_idle_shell(pane: Pane, world: World) -> bool:
    """Tell whether a known shell without children waits in the foreground; also true if nothing
    runs there."""
    leader = leader_of(pane, world)
    if leader is None or world.index.children.get(leader.pid):
        return leader is None
    return is_interactive_shell(leader, world) and in_foreground(leader)


def _ends_in_idle_shell(pane: Pane, world: World) -> bool:
    """Tell whether nothing is below a pane's wrapper shells but an idle shell: `sh -c 'x; bash'`.
    Such a pane is not idle for its neighbours, since a script waits for that shell."""
    last = leader_of(pane, world)
    while last is not None and not is_interactive_shell(last, world):
        below = world.index.children.get(last.pid, ())
        if len(below) != 1 or shell_of(last, world) not in SHELLS:
            return False
        last = world.index.processes[below[0]]
    if last is None or world.index.children.get(last.pid):
        return last is None
    return in_foreground(last)


def leader_of(pane: Pane, world: World) -> Process | None:
    """Return the live process that tmux started in the pane; none for a dead pane, whose pid may
    have been reused."""
    if pane.dead:
        return None
    return world.index.processes.get(pane.pid or 0)


def is_interactive_shell(process: Process, world: World) -> bool:
    """Tell whether the shell reads commands, and runs neither a script nor -c."""
    argv = world.names_of(process).argv
    return shell_of(process, world) in SHELLS and all(
        word.startswith("-") and not _takes_command(word) for word in argv[1:]
    )


def shell_of(process: Process, world: World) -> str:
    argv = world.names_of(process).argv
    if argv:
        return argv[0].lstrip("-").rsplit("/", 1)[-1]
    return process.comm


def _takes_command(flag: str) -> bool:
    return flag.startswith("--command") or (not flag.startswith("--") and "c" in flag)


def live_in(pane: Pane, agent: tuple[Process, ...], world: World) -> Live:
    """Tell whether the agent is alive or gone. It is gone if only shells are left, or nothing; any
    other program may be the agent under another name."""
    if agent:
        return Live.ALIVE
    leader = leader_of(pane, world)
    left = leader is None or is_left_to_shells(leader, world)
    return Live.AGENT_GONE if left else Live.ALIVE


def is_left_to_shells(process: Process, world: World) -> bool:
    """Tell whether only shells are left down to the one that reads commands, as of `sh -c 'agent;
    bash'`. What the user runs in that one is no agent."""
    if is_interactive_shell(process, world):
        return True
    below = (world.index.processes[pid] for pid in world.index.children.get(process.pid, ()))
    return shell_of(process, world) in SHELLS and all(
        is_left_to_shells(one, world) for one in below
    )


def in_foreground(process: Process) -> bool:
    """Tell whether the process is in its terminal's foreground group, which alone gets the keys."""
    return process.tpgid > 0 and process.pgrp == process.tpgid


def on_terminal(pane: Pane, agent: tuple[Process, ...], world: World) -> tuple[Process, ...]:
    """Return the processes on the pane's own terminal. Behind another terminal (script, dtach) a
    process may be in the foreground there, but not in the pane."""
    tty = world.tty_of(pane)
    return tuple([process for process in agent if tty and process.tty == tty])


def is_busy(pane: Pane, world: World) -> bool:
    return not pane.dead and not is_idle_shell(pane, world)


def began_work(pane: Pane, world: World) -> bool:
    """Tell whether an idle shell has begun to work: a job in foreground or background, or another
    program. A process that draws the prompt is no job."""
    leader = leader_of(pane, world)
    if leader is None:
        return False
    children = (world.index.processes[pid] for pid in world.index.children.get(leader.pid, ()))
    job = any(child.pgrp != leader.pgrp for child in children)
    return job or not is_interactive_shell(leader, world) or not in_foreground(leader)


def describe_panes(panes: Iterable[Pane]) -> str:
    return ", ".join(map(_describe, panes))


def _describe(pane: Pane) -> str:
    runs = f"{pane.runs} in " if pane.runs else ""
    return f"{runs}{pane.id} ({'dead' if pane.pid is None else f'pid {pane.pid}'})"


def with_names(panes: Iterable[Pane], world: World) -> tuple[Pane, ...]:
    """Add to each pane the name of its foreground program, by which users recognize it."""
    return tuple(replace(pane, runs=_foreground_program(pane, world)) for pane in panes)


def _foreground_program(pane: Pane, world: World) -> str:
    processes = world.index.processes
    leader = processes.get(pane.pid or 0)
    front = None
    if leader is not None:
        front = processes.get(leader.tpgid, leader)
    return front.comm if front is not None else ""


def process_tree(index: Index, pid: int) -> Iterable[Process]:
    queue = [pid] if pid in index.processes else []
    for current in queue:
        yield index.processes[current]
        if index.processes[current].comm != TMUX_SERVER:
            queue.extend(index.children.get(current, ()))


def agent_among(
    processes: Iterable[Process], profile: Profile | None, world: World
) -> tuple[Process, ...]:
    """Return the agent's own processes among these."""
    return tuple(
        process
        for process in processes
        if profile is not None and _recognised(process, profile, world)
    )


def _recognised(process: Process, profile: Profile, world: World) -> bool:
    names = world.names_of(process)
    return profile.recognises(names.argv, process.comm, names.executable)


@frozen
class KnownPanes:
    """What is known of a session's panes at a later look."""

    agent: Pane | None
    planned: tuple[Pane, ...]
    struck: frozenset[str] = frozenset()  # being ended, with whatever a hook starts in them
    whole_session: bool = False
    leader_of: frozenset[str] = frozenset()  # the conversations that teammates name


def judge_panes(
    session: ServerSession, known: KnownPanes, profile: Profile | None, world: World
) -> tuple[ServerSession | None, tuple[Pane, ...]]:
    """Return the session with only the panes that may be ended, None if none is left; and the busy
    panes that may not."""
    own = own_panes(session, known.agent)
    foreign = tuple(pane for pane in own if not _may_end(pane, known, profile, world))
    if foreign:
        ours = tuple(pane for pane in own if pane not in foreign)
    else:
        ours = own
    # Without foreign panes the session is closed even if it has no own pane: a linked window lives
    # on in the other session.
    left = None
    if ours or not foreign:
        left = within(session, ours)
    return left, with_names(foreign, world)


def within(session: ServerSession, panes: tuple[Pane, ...]) -> ServerSession:
    """Return the session with only these of its panes."""
    if panes == session.panes:
        return session
    return replace(session, panes=panes)


def own_panes(session: ServerSession, agent: Pane | None) -> tuple[Pane, ...]:
    """Return the panes without those of other windows that are linked into another session."""
    if agent is None or not any(map(session.shares, session.panes)):
        return session.panes
    now = next((pane for pane in session.panes if pane.id == agent.id), agent)
    return tuple(
        pane
        for pane in session.panes
        if pane.window_id == now.window_id or not session.shares(pane)
    )


def _may_end(pane: Pane, known: KnownPanes, profile: Profile | None, world: World) -> bool:
    if pane.id in known.struck or (known.agent is not None and pane.id == known.agent.id):
        return True
    planned = any((it.id, it.pid) == (pane.id, pane.pid) for it in known.planned)
    if planned and (known.whole_session or not began_work(pane, world)):
        return True
    return not is_busy(pane, world) or is_mate(pane, known.leader_of, profile, world)


def is_mate(
    pane: Pane, conversations: frozenset[str], profile: Profile | None, world: World
) -> bool:
    """Tell whether the agent itself opened the pane: its process names the agent's conversation as
    its leader."""
    if profile is None or not profile.mates:
        return False
    return any(
        _led_by(world.names_of(process).argv, profile.mates) & conversations
        for process in agent_in(pane, profile, world)
    )


def conversations_of(
    agent: Iterable[Process], known: Iterable[str | None], profile: Profile | None, world: World
) -> frozenset[str]:
    """Return the conversations of an agent that may have teammates: the recorded ones, and the
    words of its command line."""
    if profile is None or not profile.mates:
        return frozenset()
    words = set(known)
    for process in agent:
        words.update(world.names_of(process).argv)
    return frozenset(word for word in words if word)


def _led_by(argv: tuple[str, ...], flags: tuple[str, ...]) -> frozenset[str]:
    pairs = zip(argv, argv[1:])  # noqa: B905, RUF007 - each word and its next
    joined = (word.partition("=")[2] for word in argv if word.partition("=")[0] in flags)
    return frozenset((*(value for flag, value in pairs if flag in flags), *joined))


def holder_of(
    pane: Pane, session: ServerSession | None, server: ServerLook
) -> ServerSession | None:
    """Return the other session that this pane was moved into; None if it is still in place, or
    gone."""
    if not isinstance(server, Server) or (session is not None and session.holds(pane.id)):
        return None
    same = (pane.id, pane.pid, False)
    others = (
        one for one in server.sessions if any((it.id, it.pid, it.dead) == same for it in one.panes)
    )
    return next(others, None)


@frozen
class Nested:
    agent: Process
    socket: str | None  # of that tmux


def nested_in(belongings: Owned, profile: Profile | None, world: World) -> Nested | None:
    """Find the agent in another tmux whose client is in the foreground."""
    if not any(
        it.process.comm == TMUX_CLIENT and in_foreground(it.process) for it in belongings.own
    ):
        return None
    agents = agent_among((it.process for it in belongings.spared), profile, world)
    if not agents:
        return None
    trace = world.index.traces.get(agents[0].pid)
    if trace is None or not trace.tmux:
        return Nested(agents[0], None)
    return Nested(agents[0], trace.tmux.partition(",")[0])


@frozen
class Carried:
    """The carrier in the foreground of the pane, which connects the agent to the terminal."""

    process: Process
    program: str
    beyond: bool  # the agent runs where this kernel cannot see it
    nested: str | None = None  # the program that takes the keys before the agent
    argv: tuple[str, ...] = ()  # its command line, which names the container or host


def carried_in(
    row: Row,
    pane: Pane,
    agent: tuple[Process, ...],
    profile: Profile | None,
    carriers: Carriers,
    world: World,
) -> Carried | None:
    """Return the agent's carrier; None if the agent is on the pane's own terminal, or without a
    carrier."""
    seen = agent if profile is not None else ()
    if pane.dead or on_terminal(pane, seen, world):
        return None
    by_process = {}
    for it in process_tree(world.index, pane.pid or 0):
        if carrier := _carrier(it, carriers, world):
            by_process[it] = carrier
    front = next(
        (it for it in on_terminal(pane, tuple(by_process), world) if in_foreground(it)), None
    )
    if front is None or not _is_its_own(row, pane, front, frozenset(by_process), world):
        return None
    below = []
    for it in process_tree(world.index, front.pid):
        if it in by_process:
            below.append(by_process[it])
    beyond = not seen and any(carrier.beyond for carrier in below)
    if not beyond and not any(in_foreground(it) for it in seen):
        return None
    argv = world.names_of(front).argv
    nested = carriers.taking_keys(argv[1:], profile.process if profile else ())
    return Carried(front, by_process[front].program, beyond, nested, argv)


def _carrier(process: Process, carriers: Carriers, world: World) -> Carrier | None:
    names = world.names_of(process)
    return carriers.matching(program_names(names.argv, process.comm, names.executable), names.argv)


def _is_its_own(
    row: Row, pane: Pane, front: Process, carriers: frozenset[Process], world: World
) -> bool:
    """Tell whether the carrier runs for the agent: only shells and carriers are above it, and if an
    interactive shell waits for it, it is the recorded command. The user may have started another
    carrier from that shell after the agent left."""
    above = front
    index = world.index.processes
    while above.pid != pane.pid:
        above = index[above.ppid]  # exists: the search came down from the pane's leader
        if above not in carriers and shell_of(above, world) not in SHELLS:
            return False
    return not is_interactive_shell(above, world) or row.pane.cmd in (None, front.comm)

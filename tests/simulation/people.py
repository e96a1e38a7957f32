"""What people and agents do in the simulated world, by name: `DEEDS[name](world, number)`.

Each deed is total: where it makes no sense, nothing happens, so that any part of a history can be
played alone."""

from __future__ import annotations

from collections.abc import Callable
from signal import Signals

from tests.fake_processes import TICKS
from tests.fakes import FakePane, FakeSession
from tests.simulation.daemons import LIST, SERVER
from tests.simulation.lives import Life
from tests.simulation.world import GIVEN, HALF, PERSON, SHARED, SHELL, World

Deed = Callable[[World, Life, int], None]
DEEDS: dict[str, Deed] = {}
OF_DAEMONS: dict[str, Deed] = {}  # only where the agent has a daemon of its own


def deed(done: Deed) -> Deed:
    DEEDS[done.__name__] = done
    return done


def deed_of_daemon(done: Deed) -> Deed:
    OF_DAEMONS[done.__name__] = done
    return done


def do(world: World, name: str, of: str, number: int) -> None:
    life = world.newest(of)
    if life is not None:
        {**DEEDS, **OF_DAEMONS}[name](world, life, number)


def session_of(world: World, life: Life) -> FakeSession | None:
    server = world.tmux.servers.get(life.socket or "")
    return life.session if server is not None and life.session in server.sessions else None


def pane_of(world: World, life: Life) -> FakePane | None:
    """Return the agent's pane, wherever it is now."""
    server = world.tmux.servers.get(life.socket or "")
    every = [pane for one in server.sessions for pane in one.panes] if server else []
    return life.pane if any(pane is life.pane for pane in every) else None


def theirs(world: World, life: Life, number: int) -> FakePane | None:
    """Return a pane of a person on the same server."""
    server = world.tmux.servers.get(life.socket or "")
    every = [pane for one in server.sessions for pane in one.panes] if server else []
    found = [pane for pane in every if world.owner.get(pane.process) in (PERSON, SHELL, GIVEN)]
    return found[number % len(found)] if found else None


def drafts(world: World) -> dict[Life, str]:
    """Return what people have half-typed."""
    found = {}
    for life in world.lives:
        if life.agent is not None and life.agent.draft.startswith(HALF):
            found[life] = life.agent.draft
    return found


def gives_up(world: World, name: str, socket: str | None = None) -> None:
    """Give up what is in a session that is ended as a whole, and what carries its mark; on one
    server, or on all."""
    life = world.newest(name)
    named = life is not None and socket in (None, life.socket)
    sessions = [session_of(world, life)] if named else []
    for at, server in world.tmux.servers.items():
        if socket in (None, at):
            sessions += [one for one in server.sessions if one.name == name]
    leaders = {pane.process.pid for one in sessions if one is not None for pane in one.panes}
    marks = {one.mark for one in world.lives if one.name == name} - {None}
    for process, owner in list(world.owner.items()):
        fake = world.processes.table.get(process.pid)
        if fake is None or owner not in (PERSON, SHELL):
            continue
        marked = (fake.environ or {}).get("TMUXREAP_ID") in marks
        if fake.now.sid in leaders or fake.now.ppid in leaders or marked:
            world.owner[process] = GIVEN


# Panes


@deed
def splits(world: World, life: Life, number: int) -> None:
    session = session_of(world, life)
    if session is not None:
        pane = world.split(session, "vim", PERSON, window=bool(number % 2))
        with world.born(PERSON):
            world.processes.add("node", parent=pane.process, new_session=True)


@deed
def opens_a_shell(world: World, life: Life, number: int) -> None:
    session = session_of(world, life)
    if session is not None:
        world.split(session, "bash", SHELL)


@deed
def works_in_it(world: World, life: Life, number: int) -> None:
    """Begin a job in an idle shell beside the agent."""
    session = session_of(world, life)
    for pane in session.panes if session is not None and not world.slowed else ():
        if world.owner.get(pane.process) == SHELL and world.processes.alive(pane.process):
            with world.born(PERSON):
                world.processes.add("make", parent=pane.process, foreground=True)
            world.owner[pane.process] = PERSON
            return


@deed
def joins(world: World, life: Life, number: int) -> None:
    session, pane = session_of(world, life), theirs(world, life, number)
    if session is not None and pane is not None and pane not in session.panes:
        world.tmux.join(pane, session)


@deed
def swaps(world: World, life: Life, number: int) -> None:
    pane, mine = theirs(world, life, number), pane_of(world, life)
    if pane is not None and mine is not None:
        world.tmux.swap(mine, pane)


@deed
def moves(world: World, life: Life, number: int) -> None:
    """Move the agent's pane into a neighbor's session."""
    server = world.tmux.servers.get(life.socket or "")
    quiet = [one for one in server.sessions if one.name == "quiet"] if server else []
    mine = pane_of(world, life)
    if quiet and mine is not None and mine not in quiet[0].panes:
        world.tmux.join(mine, quiet[0])


@deed
def renames(world: World, life: Life, number: int) -> None:
    session = session_of(world, life)
    if session is not None:
        session.name = f"{session.name}~"


@deed
def closes(world: World, life: Life, number: int) -> None:
    """Close the session by hand: its processes are only hung up."""
    session = session_of(world, life)
    if session is not None:
        gives_up(world, life.name)
        world.tmux._kill_session(life.socket or "", session.id)


@deed
def respawns(world: World, life: Life, number: int) -> None:
    """Start another program in the agent's pane: an ending may take it for the agent."""
    mine = pane_of(world, life)
    if mine is not None:
        with world.born(GIVEN):
            world.tmux.respawn(mine, "vim")
        mine.on_key = world._hears(mine, None)


@deed
def keeps_dead_panes(world: World, life: Life, number: int) -> None:
    mine = pane_of(world, life)
    if mine is not None:
        world.tmux.change(mine, remain_on_exit="on")
        mine.options["remain-on-exit"] = "on"


@deed
def scrolls(world: World, life: Life, number: int) -> None:
    mine = pane_of(world, life)
    if mine is not None:
        world.tmux.change(mine, in_mode=True)


@deed
def server_dies(world: World, life: Life, number: int) -> None:
    server = world.tmux.servers.get(life.socket or "")
    if server is not None:
        for name in {one.name for one in world.lives}:
            gives_up(world, name)  # what carries a mark tells no more whose it is
        world.processes.die(server.process)


# Keys


@deed
def types(world: World, life: Life, number: int) -> None:
    """Type half a prompt."""
    agent = life.agent
    if agent is not None and life.kind == "demo" and agent.state == "idle" and not world.slowed:
        agent.press(f"{HALF} {number}")


@deed
def asks(world: World, life: Life, number: int) -> None:
    """Give a prompt; the agent works on it."""
    agent = life.agent
    if agent is not None and life.kind == "demo" and not world.slowed:
        agent.works = True
        for key in ("C-u", f"do {number}", "Enter"):
            agent.press(key)


@deed
def is_asked(world: World, life: Life, number: int) -> None:
    """Open a permission dialog."""
    agent = life.agent
    if agent is not None and life.kind == "demo" and not agent.draft and not world.slowed:
        agent.state = "dialog"
        agent.draw()


@deed
def is_done(world: World, life: Life, number: int) -> None:
    """End the turn."""
    agent = life.agent
    if agent is not None and agent.state == "busy" and not world.slowed:
        agent.state = "idle"
        agent.draw()


# Processes


@deed
def dies(world: World, life: Life, number: int) -> None:
    world.processes.die(life.agent.process if life.agent is not None else life.leader)


@deed
def leaves(world: World, life: Life, number: int) -> None:
    """Leave by its own command, as a person asks it to."""
    agent = life.agent
    if agent is not None and world.processes.alive(agent.process):
        agent._gone()


@deed
def freezes(world: World, life: Life, number: int) -> None:
    if life.agent is not None:
        world.processes._deliver(life.agent.process, Signals.SIGSTOP)


@deed
def thaws(world: World, life: Life, number: int) -> None:
    if life.agent is not None:
        world.processes._deliver(life.agent.process, Signals.SIGCONT)


@deed
def bears(world: World, life: Life, number: int) -> None:
    """Start a child: a daemon, or one that ignores signals, or both."""
    ignored = {Signals.SIGHUP, Signals.SIGTERM} if number & 1 else {Signals.SIGHUP}
    world.bear(life, "node", new_session=bool(number & 2), ignores=ignored)


@deed
def starts_a_shared_daemon(world: World, life: Life, number: int) -> None:
    world.bear(life, "ssh-agent", SHARED, new_session=True)


@deed
def gets_its_pid(world: World, life: Life, number: int) -> None:
    """Give the pid of the dead agent to a program of a person."""
    later = round(world.clock.uptime() * TICKS) > life.leader.start + 1
    if later and life.leader.pid not in world.processes.table:
        with world.born(PERSON):
            world.processes.add("make", pid=life.leader.pid, new_session=True)


@deed
def opens_it_again(world: World, life: Life, number: int) -> None:
    """Open another session of the same name, by hand."""
    if life.socket is not None:
        world.live(life.name, life.kind, life.socket)


# The agent's own daemon


@deed_of_daemon
def goes_to_its_daemon(world: World, life: Life, number: int) -> None:
    """Go on in the agent's own daemon: the pane is left, or stays as what only shows it. Of a
    server, the turn that it works on."""
    agent = life.agent
    if agent is None or not world.processes.alive(agent.process) or world.slowed:
        return
    busy = any(not actor.names or life.name in actor.names for actor in world.actors)
    if busy and world.daemon.kind == SERVER:
        return  # a stop asks a server only for what was at work before it
    seat = world.daemon.take(life)
    if seat is None:
        return
    if number % 2:
        agent._gone()
    elif world.daemon.kind == LIST:
        world.write_pidfile(life, parked=seat.id)


@deed_of_daemon
def comes_back_in_its_daemon(world: World, life: Life, number: int) -> None:
    seat = world.daemon.seat_of(life)
    if seat is not None:
        world.daemon.revive(seat)


@deed_of_daemon
def ends_in_its_daemon(world: World, life: Life, number: int) -> None:
    seat = world.daemon.seat_of(life)
    if seat is not None:
        world.daemon.ended(seat)


@deed_of_daemon
def its_worker_dies(world: World, life: Life, number: int) -> None:
    for process in world.daemon.processes_of(life):
        world.processes.die(process)


@deed_of_daemon
def its_daemon_dies(world: World, life: Life, number: int) -> None:
    if world.daemon.process is not None:
        world.processes.die(world.daemon.process)


@deed_of_daemon
def its_daemon_begins(world: World, life: Life, number: int) -> None:
    world.daemon.begin()


@deed_of_daemon
def its_daemon_says_nothing(world: World, life: Life, number: int) -> None:
    """Leave half of its list, or no answer."""
    world.daemon.torn = True
    world.daemon.write()


@deed_of_daemon
def its_daemon_speaks(world: World, life: Life, number: int) -> None:
    world.daemon.mend()

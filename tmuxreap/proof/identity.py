"""Finds the session and the pane that a row means in one look: the same, gone, or uncertain. Never
does I/O."""

from __future__ import annotations

from pathlib import PurePosixPath

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import SHELLS
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import (
    Pane,
    Process,
    Row,
    Scope,
    Server,
    ServerLook,
    ServerSession,
    Terminal,
    Unreachable,
)
from tmuxreap.proof.ownership import World
from tmuxreap.proof.panes import (
    agent_among,
    agent_in,
    describe_panes,
    is_busy,
    is_left_to_shells,
    leader_of,
    process_tree,
    shell_of,
    with_names,
)
from tmuxreap.proof.sight import Past
from tmuxreap.system.tmux.versions import spellings

PANE = Scope.PANE.value
SAME_START_S = 1.0


def why_unknown(row: Row, server: ServerLook, world: World) -> Failure | None:
    if row.tmux.host is not None and row.tmux.host != world.host:
        reason = f"it runs on the host {row.tmux.host}, this is {world.host}"
        hint = f"run the command on {row.tmux.host}"
        return could_not("look at", row.name, reason, hint, Code.TMUX_UNREACHABLE)
    if row.terminal is not Terminal.TMUX or not isinstance(server, Unreachable):
        return None
    return unreachable_failure(f"look at {row.name}", server)


def unreachable_failure(action: str, server: Unreachable) -> Failure:
    """Return the failure without an answer from tmux. `action`: what could not be done."""
    if server.missing:
        code = Code.TMUX_MISSING
    else:
        code = Code.TMUX_UNREACHABLE
    if server.denied:
        code = Code.PERMISSION_DENIED
    return Failure(code, f"could not {action}: {server.reason}", server.hint)


def find_session(
    row: Row, server: ServerLook, profile: Profile | None, world: World, past: Past
) -> ServerSession | Failure | None:
    """Return the recorded session, None if it is proven gone, or a failure if that is uncertain:
    another session has its name, its pane was moved, its process lives in another tmux, or tmux's
    answer could not be read fully."""
    session = _session_of(row, server, profile, world, past)
    if session is not None:
        return session
    session_id = None
    if row.tmux.known and same_server(row, server, world):
        session_id = row.tmux.session_id
    return unreadable_failure(f"look at {row.name}", server, row.name, session_id)


def unreadable_failure(
    action: str, server: ServerLook, name: str, session: str | None = None
) -> Failure | None:
    """Return why a session missing from this server's list may still exist, or None."""
    if not isinstance(server, Server) or not server.may_hide(session, name):
        return None
    return Failure(
        Code.TMUX_UNREACHABLE,
        f"could not {action}: tmux lists a pane on {server.socket} in a way that cannot be read",
        f"see the list: tmux -S {server.socket} list-panes -a",
    )


def pid_of(row: Row, pane: Pane | None) -> int | None:
    """Return the pane's pid. tmux may not report it for a dead pane: then the recorded one."""
    if pane is None or pane.pid is None:
        return row.pane.pid
    return pane.pid


def _session_of(
    row: Row, server: ServerLook, profile: Profile | None, world: World, past: Past
) -> ServerSession | Failure | None:
    if not isinstance(server, Server):
        return _on_another_server(row, server, profile, world, past)
    recorded = None
    is_its_server = same_server(row, server, world)
    if is_its_server:
        recorded = _recorded_session(row, server, profile, world, past)
    if recorded is not None:
        return recorded
    named = world.session_named(server, row.name)
    if row.tmux.known:
        if named is None or (is_its_server and _lives_on_without_its_pane(row, named)):
            return None
        return _replaced(row, named)
    if named is None and not row.status.ended:
        respelled = _find_respelled(row, server, profile, world, past)
        if respelled is not None:
            return respelled
    if named is None:
        moved = _moved(row, server, profile, world, past)
        return moved or _on_another_server(row, server, profile, world, past)
    if any(is_recorded(row, pane, world, past) for pane in named.panes):
        return named
    moved = _moved(row, server, profile, world, past)
    if moved is not None:  # what was recorded lives there: this one only has its name
        return moved
    # Other tools record no pane id: without the agent, only foreign panes are left.
    if was_pane_only_ending(row):
        return named if _runs_in(named, profile, world) else None
    if row.pane.pid is None:
        return named
    if _runs_in(named, profile, world):
        return named
    return _replaced(row, named)


def is_recorded(row: Row, pane: Pane, world: World, past: Past) -> bool:
    """Tell whether the row means this pane, by the pid. A dead pane without a pid matches if the
    recorded process is gone."""
    if row.pane.pid is None:
        return False
    if pane.pid is None:
        return row.pane.pid not in world.index.processes
    return pane.pid == row.pane.pid and (pane.dead or not is_reused(row, world, past))


def is_reused(row: Row, world: World, past: Past) -> bool:
    """Tell whether the row's pid is another process's by now, as the row or an earlier look knows
    when its own one started."""
    process = world.index.processes.get(row.pane.pid or 0)
    if process is None:
        return False
    if row.pane.start_ticks is not None or row.pane.created_epoch is not None:
        return tracked_process(row, world) is None
    seen = [leader for leader in past.leaders if leader.pid == process.pid]
    return bool(seen) and process.id not in seen


def tracked_process(row: Row, world: World) -> Process | None:
    """Return the recorded process, if the process with that pid has the recorded start time. Its
    ticks decide where the row has them; seconds are for rows of other tools, as a pid may be reused
    within one."""
    process = world.index.processes.get(row.pane.pid or 0)
    if process is None or not row.tmux.of_boot(world.boot_id):
        return None
    if row.pane.start_ticks not in (None, process.id.start):
        return None
    if row.pane.start_ticks is not None and row.tmux.boot_id == world.boot_id:
        return process
    if row.pane.created_epoch is None:
        return None
    same = abs(world.epochs[process.pid] - row.pane.created_epoch) <= SAME_START_S
    return process if same else None


def _find_respelled(
    row: Row, server: Server, profile: Profile | None, world: World, past: Past
) -> ServerSession | Failure | None:
    """Find the session under a name that tmux has changed; its pid identifies it."""
    other = next(filter(None, map(server.named, spellings(row.name))), None)
    if other is None:
        return None
    if any(is_recorded(row, pane, world, past) for pane in other.panes):
        return other
    if row.pane.pid is not None and not _runs_in(other, profile, world):
        return None
    return Failure(
        Code.SESSION_REPLACED,
        f"could not determine whether {other.name} is {row.name}: tmux changes some letters of"
        " names",
        f"if it is the one you mean, record it: {command('adopt', row.name)}",
    )


def _runs_in(session: ServerSession, profile: Profile | None, world: World) -> bool:
    """Tell whether the agent runs in a pane of this session; one in a pane that was moved here is
    another's."""
    if profile is None:
        return False
    for pane in session.panes:
        if agent_in(pane, profile, world) and was_made_in(session, pane, world):
            return True
    return False


def _recorded_session(
    row: Row, server: Server, profile: Profile | None, world: World, past: Past
) -> ServerSession | Failure | None:
    if row.tmux.session_id is None or row.tmux.session_created is None:
        return None
    same = world.sessions.get((server.socket, row.tmux.session_id, row.tmux.session_created))
    if row.pane.id is not None and not (same and same.holds(row.pane.id)):
        for holder in server.sessions:
            for pane in holder.panes:
                if pane.id == row.pane.id:
                    lives = _holds(row, pane, profile, world, past)
                    return moved_failure(row, holder, lives=lives)
    if same is not None and not _lives_on_without_its_pane(row, same):
        return same
    return None


def _moved(
    row: Row, server: Server, profile: Profile | None, world: World, past: Past
) -> Failure | None:
    """Return the failure for a pane of this row that is in a session of another name now."""
    for session in server.sessions:
        if any(_holds(row, pane, profile, world, past) for pane in session.panes):
            return moved_failure(row, session, lives=True)
    return None


def _holds(row: Row, pane: Pane, profile: Profile | None, world: World, past: Past) -> bool:
    """Tell whether this is the row's pane, and not only shells are left in it."""
    if pane.pid != row.pane.pid or is_reused(row, world, past):
        return False
    if agent_in(pane, profile, world):
        return True
    leader = leader_of(pane, world)
    if leader is None or row.status.ended or not _may_be_its_leader(row, leader, world, past):
        return False
    index = world.index
    members = (leader.pid, *index.by_session.get(leader.pid, ()))
    return not all(is_left_to_shells(index.processes[pid], world) for pid in members)


def _may_be_its_leader(row: Row, leader: Process, world: World, past: Past) -> bool:
    """Tell whether the process with the row's pid may be the recorded one. Without a start of it,
    another program than a shell or the recorded one has the number by chance."""
    if leader.id in past.leaders or tracked_process(row, world) is not None:
        return True
    return shell_of(leader, world) in SHELLS or leader.comm == row.pane.cmd


class Moved(Failure):
    """The failure for a session that lives under another name, or in another session."""

    lives_in: str | None = None  # that session, unless only shells are left in the pane


def moved_failure(row: Row, holder: ServerSession, *, lives: bool) -> Failure:
    """Return the failure for a pane that is in another session now (join-pane, move-window), or
    whose session was renamed."""
    reason = f"its pane is in the session {holder.name} now"
    hint = f"record that one: {command('adopt', holder.name)}, or move the pane back"
    failure = _not_taken(row, reason, hint)
    moved = Moved(failure.code, failure.message, failure.hint)
    moved.lives_in = holder.name if lives else None
    return moved


def _on_another_server(
    row: Row, server: ServerLook, profile: Profile | None, world: World, past: Past
) -> Failure | None:
    """Return a failure if the row's process lives on another socket of the same name. A row that
    only names its server means another socket under another TMUX_TMPDIR (cron, units): there
    "no session" proves nothing."""
    process = world.index.processes.get(row.pane.pid or 0)
    if row.tmux.known or row.status.ended or process is None or is_reused(row, world, past):
        return None
    socket = (world.index.trace(process.pid).tmux or "").rpartition(",")[0]
    asked = world.paths[server.socket]
    if socket in ("", asked) or PurePosixPath(socket).name != PurePosixPath(asked).name:
        return None
    if profile is not None and not agent_among(
        process_tree(world.index, process.pid), profile, world
    ):
        return None
    reason = f"nothing of it is on {server.socket}, but its process {process.pid} lives on {socket}"
    again = command("adopt", row.name, "--server", socket)
    hint = f"set TMUX_TMPDIR as for that server, or record its path: {again}"
    return could_not("look at", row.name, reason, hint, Code.TMUX_UNREACHABLE)


def _lives_on_without_its_pane(row: Row, session: ServerSession) -> bool:
    """Tell whether this is the row's session, and only the pane was ended, as recorded: it rightly
    lives on. Another session of that name is somebody else's."""
    is_its_own = (session.id, session.created) == (row.tmux.session_id, row.tmux.session_created)
    without = all(pane.id != row.pane.id for pane in session.panes)
    return is_its_own and was_pane_only_ending(row) and without


def was_pane_only_ending(row: Row) -> bool:
    """Tell whether only the row's pane was ended: the other panes do not belong to it, even with
    its mark."""
    return row.scope == PANE and row.status.ended


def pick_pane(
    row: Row, session: ServerSession, profile: Profile | None, world: World, past: Past
) -> Pane | Failure | None:
    """Pick the agent's pane, by the most reliable evidence first. None: its own pane is gone, and
    the others are busy or cannot be told apart."""
    by_id = []
    for pane in session.panes:
        if row.tmux.known and pane.id == row.pane.id:
            by_id.append(pane)
    if len(by_id) == 1:
        return by_id[0]
    by_pid = [pane for pane in session.panes if is_recorded(row, pane, world, past)]
    lost = row.tmux.known and row.pane.id is not None
    for panes in (by_pid, () if lost else session.panes):
        if len(panes) == 1:
            return panes[0]
    running = []
    for pane in session.panes:
        its_own = profile is not None and agent_in(pane, profile, world)
        if its_own and was_made_in(session, pane, world):
            running.append(pane)
    if len(running) == 1:
        return running[0]
    if lost and not running:
        idle = len(session.panes) == 1 and not is_busy(session.panes[0], world)
        return session.panes[0] if idle else None
    meant = (running or session.panes)[0].id
    return Failure(
        Code.AMBIGUOUS_PANE,
        f"could not determine the agent's pane in {row.name}: it has"
        f" {describe_panes(with_names(session.panes, world))}",
        f"record the one that you mean: {command('adopt', row.name, '--pane', meant)}, or end them"
        " all with --whole-session",
    )


def was_made_in(session: ServerSession, pane: Pane, world: World) -> bool:
    """Tell whether the pane may have been made in this session: one that was moved here, with its
    agent, is another's."""
    made_in = world.index.trace(pane.pid or 0).session
    return made_in in (None, session.id)


def same_server(row: Row, server: ServerLook, world: World) -> bool:
    if not isinstance(server, Server):
        return False
    started = row.tmux.server_started in (None, server.started)
    return row.tmux.of_boot(world.boot_id) and started and row.tmux.server_pid == server.pid


def has_its_name_only(
    row: Row, session: ServerSession, server: ServerLook, world: World, past: Past
) -> bool:
    """Tell whether nothing but its name ties this session to another tool's running row: it has
    neither the pane of the recorded pid, nor the one that an earlier look saw."""
    if row.tmux.known or row.status.ended or row.pane.pid is None or not isinstance(server, Server):
        return False
    if any(is_recorded(row, pane, world, past) for pane in session.panes):
        return False
    seen = past.pane
    tmux = world.tmux_variable(server.socket, server.pid)
    return seen is None or seen.tmux != tmux or not session.holds(seen.pane)


def outlived_failure(row: Row, now: ServerSession, alive: Process, *, adopts: bool) -> Failure:
    """Return the failure for a session that only has the name, while a process of the recorded one
    lives. `adopts`: whether that process has yet to be recorded as the row's."""
    reason = f"{alive.comm} ({alive.pid}) of it lives outside of the one of that name now, {now.id}"
    hint = f"if the one now is the one you mean, record it: {command('adopt', row.name)}"
    if adopts:
        hint += f"; else record the process: {command('adopt', row.name, '--pid', str(alive.pid))}"
    return _not_taken(row, reason, hint)


def _replaced(row: Row, now: ServerSession) -> Failure:
    reason = f"the one of that name now is {now.id}, made later or on another server"
    hint = f"if it is the one you mean, record it: {command('adopt', row.name)}"
    return _not_taken(row, reason, hint)


def _not_taken(row: Row, reason: str, hint: str) -> Failure:
    what = f"{row.name} for the recorded session"
    return could_not("take", what, reason, hint, Code.SESSION_REPLACED)

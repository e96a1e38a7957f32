"""Which session and which pane a row means, held against one look: the same, gone, or not to be
told. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import Pane, Row, Scope, Server, ServerLook, Session, Terminal, Unreachable
from tmuxreap.sessions.panes import agent_among, agent_in, is_busy, listed, tree, with_names
from tmuxreap.sessions.world import World
from tmuxreap.system.tmux.versions import spellings

PANE = Scope.PANE.value


def cannot_tell(row: Row, server: ServerLook, world: World) -> Failure | None:
    if row.tmux.host is not None and row.tmux.host != world.host:
        return Failure(
            Code.TMUX_UNREACHABLE,
            f"could not look at {row.name}: it runs on the host {row.tmux.host}, this is"
            f" {world.host}",
            f"run the command on {row.tmux.host}",
        )
    if row.terminal is not Terminal.TMUX or not isinstance(server, Unreachable):
        return None
    return not_asked(f"look at {row.name}", server)


def not_asked(deed: str, server: Unreachable) -> Failure:
    """`deed`: what could not be done without an answer of tmux."""
    code = Code.TMUX_MISSING if server.missing else Code.TMUX_UNREACHABLE
    if server.denied:
        code = Code.PERMISSION_DENIED
    return Failure(code, f"could not {deed}: {server.reason}", server.hint)


def find_session(
    row: Row, server: ServerLook, profile: Profile | None, world: World
) -> Session | Failure | None:
    """The very session that was recorded, None when it is proven gone, a failure when that cannot
    be said: another has its name, its pane was moved, its process lives on in another tmux, or tmux
    could not say all."""
    found = _session_of(row, server, profile, world)
    if found is not None:
        return found
    known = row.tmux.session_id if row.tmux.known and same_server(row, server, world) else None
    return not_all_read(f"look at {row.name}", server, row.name, known)


def not_all_read(
    deed: str, server: ServerLook, name: str, session: str | None = None
) -> Failure | None:
    """Why it says nothing that a session is not among those of this server."""
    if not isinstance(server, Server) or not server.may_hide(session, name):
        return None
    return Failure(
        Code.TMUX_UNREACHABLE,
        f"could not {deed}: tmux lists a pane on {server.socket} in a way that cannot be read",
        f"see the list: tmux -S {server.socket} list-panes -a",
    )


def pid_of(row: Row, pane: Pane | None) -> int | None:
    """Of a dead pane tmux may not say it any more: then as it was recorded."""
    return row.pane.pid if pane is None or pane.pid is None else pane.pid


def _session_of(
    row: Row, server: ServerLook, profile: Profile | None, world: World
) -> Session | Failure | None:
    if not isinstance(server, Server):
        return _on_another_server(row, server, profile, world)
    here = _recorded_session(row, server, world) if same_server(row, server, world) else None
    if here is not None:
        return here
    named = server.named(row.name)
    if row.tmux.known:
        return None if named is None or _pane_was_ended(row, named) else _replaced(row, named)
    if named is None and not row.status.ended:
        named_otherwise = _respelled(row, server, profile, world)
        if named_otherwise is not None:
            return named_otherwise
    if named is None:
        holders = [one for one in server.sessions if _has_agent(row, one, profile, world)]
        return (
            moved(row, holders[0]) if holders else _on_another_server(row, server, profile, world)
        )
    if any(_is_recorded(row, pane, world) for pane in named.panes):
        return named
    if ended_as_pane(
        row
    ):  # other tools record no pane id: what is left of it are the panes of others
        return named if _runs_in(named, profile, world) else None
    if row.pane.pid is None:
        return named
    return named if _runs_in(named, profile, world) else _replaced(row, named)


def _is_recorded(row: Row, pane: Pane, world: World) -> bool:
    """By the pid. Where tmux does not say that of a dead pane, nothing speaks against it once the
    process is gone."""
    if row.pane.pid is None:
        return False
    return pane.pid == row.pane.pid or (
        pane.pid is None and row.pane.pid not in world.index.processes
    )


def _respelled(
    row: Row, server: Server, profile: Profile | None, world: World
) -> Session | Failure | None:
    """tmux may have given it another name than the row has; by the pid it is known all the same."""
    other = next(filter(None, map(server.named, spellings(row.name))), None)
    if other is None:
        return None
    if any(_is_recorded(row, pane, world) for pane in other.panes):
        return other
    if row.pane.pid is not None and not _runs_in(other, profile, world):
        return None
    return Failure(
        Code.SESSION_REPLACED,
        f"could not tell whether {other.name} is {row.name}: tmux changes some letters in names",
        f"if it is the one you mean, record it: {command('adopt', row.name)}",
    )


def _runs_in(session: Session, profile: Profile | None, world: World) -> bool:
    return profile is not None and any(agent_in(pane, profile, world) for pane in session.panes)


def _recorded_session(row: Row, server: Server, world: World) -> Session | Failure | None:
    if row.tmux.session_id is None or row.tmux.session_created is None:
        return None
    same = world.sessions.get((server.socket, row.tmux.session_id, row.tmux.session_created))
    if row.pane.id is not None and not (same and same.holds(row.pane.id)):
        holders = [session for session in server.sessions if session.holds(row.pane.id)]
        if holders:
            return moved(row, holders[0])
    return same if same is not None and not _pane_was_ended(row, same) else None


def _has_agent(row: Row, session: Session, profile: Profile | None, world: World) -> bool:
    return any(
        pane.pid == row.pane.pid and agent_in(pane, profile, world) for pane in session.panes
    )


def moved(row: Row, holder: Session) -> Failure:
    """Its pane was put into another session (join-pane, move-window), or its session has another
    name."""
    return Failure(
        Code.SESSION_REPLACED,
        f"could not take {row.name} for the recorded session: its pane stands in the session"
        f" {holder.name} now",
        f"record that one: {command('adopt', holder.name)}, or move the pane back",
    )


def _on_another_server(
    row: Row, server: ServerLook, profile: Profile | None, world: World
) -> Failure | None:
    """A row that names its server only means another socket where TMUX_TMPDIR is another (cron,
    units): "there is none" says nothing there, as long as its process lives in a tmux of that
    name."""
    process = world.index.processes.get(row.pane.pid or 0)
    if row.tmux.known or row.status.ended or process is None:
        return None
    socket = (world.index.trace(process.pid).tmux or "").rpartition(",")[0]
    asked = world.paths[server.socket]
    if socket in ("", asked) or PurePosixPath(socket).name != PurePosixPath(asked).name:
        return None
    if profile is not None and not agent_among(tree(world.index, process.pid), profile, world):
        return None
    return Failure(
        Code.TMUX_UNREACHABLE,
        f"could not look at {row.name}: nothing of it is on {server.socket}, but its process"
        f" {process.pid} lives on {socket}",
        "set TMUX_TMPDIR as for that server, or record its path:"
        f" {command('adopt', row.name, '--server', socket)}",
    )


def _pane_was_ended(row: Row, session: Session) -> bool:
    """That the session lives on is as it should be."""
    return ended_as_pane(row) and all(pane.id != row.pane.id for pane in session.panes)


def ended_as_pane(row: Row) -> bool:
    """Only its pane was ended: what lives in the others, with its mark or without, is not its
    own."""
    return row.scope == PANE and row.status.ended


def pick_pane(
    row: Row, session: Session, profile: Profile | None, world: World
) -> Pane | Failure | None:
    """Which pane is the agent's, in the order of trust. None: its own is no more, and those left
    are at work of others, or cannot be told apart."""
    by_id = [pane for pane in session.panes if row.tmux.known and pane.id == row.pane.id]
    if len(by_id) == 1:
        return by_id[0]
    by_pid = [pane for pane in session.panes if _is_recorded(row, pane, world)]
    lost = row.tmux.known and row.pane.id is not None
    for found in (by_pid, () if lost else session.panes):
        if len(found) == 1:
            return found[0]
    running = [
        pane for pane in session.panes if profile is not None and agent_in(pane, profile, world)
    ]
    if len(running) == 1:
        return running[0]
    if lost and not running:
        idle = len(session.panes) == 1 and not is_busy(session.panes[0], world)
        return session.panes[0] if idle else None
    return Failure(
        Code.AMBIGUOUS_PANE,
        f"could not tell the agent's pane in {row.name}: it has"
        f" {listed(with_names(session.panes, world))}",
        f"record it with: {command('adopt', row.name)}, or end them all with --whole-session",
    )


def same_server(row: Row, server: ServerLook, world: World) -> bool:
    if not isinstance(server, Server):
        return False
    started = row.tmux.server_started in (None, server.started)
    return row.tmux.of_boot(world.boot_id) and started and row.tmux.server_pid == server.pid


def _replaced(row: Row, now: Session) -> Failure:
    return Failure(
        Code.SESSION_REPLACED,
        f"could not take {row.name} for the recorded session: the one of that name now is {now.id},"
        " made later or on another server",
        f"if it is the one you mean, record it: {command('adopt', row.name)}",
    )

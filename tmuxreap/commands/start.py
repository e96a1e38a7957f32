"""`start`: starts a session with an agent, checks that the agent is alive, and registers it."""

from __future__ import annotations

import os
import re
import shlex
import uuid
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.command_lines import launch_words, launched_with
from tmuxreap.commands.starting.launch import check_encodable, existing_folder, launch, make_way
from tmuxreap.commands.starting.row import CONFIRM_S, Launch, registered
from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.core.model import Live, Row, Terminal
from tmuxreap.core.results import Result
from tmuxreap.core.times import iso
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import START
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import Restart, parse_limit, parse_restart, wants_restart
from tmuxreap.registry.targets import PREFIXES, RESERVED, is_pattern
from tmuxreap.registry.transitions import RowEvent, Value
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.registries import note_registry
from tmuxreap.system.git import find_worktree

if TYPE_CHECKING:
    from tmuxreap.agents.profiles import Profile
    from tmuxreap.system.git import Worktree

_PLAIN = re.compile(r"[^\x00-\x1f\x7f.:\\$]+")


@frozen
class StartRequest:
    name: str
    agent: str | None = None
    cwd: str | None = None
    tags: tuple[str, ...] = ()
    task_id: str | None = None
    ttl: str | None = None
    server: str | None = None
    confirm_s: float = CONFIRM_S
    replace: bool = False
    command: tuple[str, ...] = ()
    dry_run: bool = False
    worktree: str | None = None
    restart: str | None = None
    restart_limit: str | None = None
    terminal: str | None = None  # tmux or none; None: that of its row


def run(context: Context, request: StartRequest) -> Result:
    check_name(request.name)
    context = context.with_registry_or_new()
    look = context.look_if_there()
    row = registered(look, request.name)
    _check_restart(request, row)
    if row is not None and not request.dry_run and _is_settled(context, row):
        look = context.registry.look()
        row = registered(look, request.name)
    server = context.servers.named(request.server)
    server = server or (row.tmux_server if row else context.default_server)
    if look is None:
        parent = None
    else:
        parent = context.caller.session()
    spec = _spec(context, request, row, server, parent)
    make_way(context, look, row, spec, replace=request.replace)
    context.warnings.extend(_folder_warnings(look, spec))
    if request.dry_run:
        if spec.worktree is None:
            worktree = {}
        else:
            worktree = {"worktree": spec.worktree.path}
        plan = {"plan": {"command": list(spec.words), **worktree}}
        return context.result("start", more=plan)
    if look is None:
        context.make_registry()
    if row is not None and wants_restart(row):
        context.restarts.cancel(row, "start", context.caller.facts)
    started = launch(context, spec)
    note_registry(context.settings, context.registry.resolved)
    return context.result(
        "start",
        [started],
        more={"registry_made": context.made_registry},
        remark=context.registry_elsewhere,
    )


def _is_settled(context: Context, row: Row) -> bool:
    """Settle a restart or an ending of this session that was cut off, and tell whether there was
    one: the start takes over its intent, and its reason would be lost."""
    intent = context.active.abandoned().get(row.name)
    if intent is None:
        return False
    from tmuxreap.commands.reconcile.reconcile import settle, settle_restarts  # few starts need it

    if row.status.ended:
        return settle_restarts(context, [row.name])
    if intent.verb == START or context.sights.of_row(row).live is not Live.GONE:
        return False  # nothing was ended, or it lives: then this start is refused
    settle(context, only=frozenset([row.name]))
    return True


def _check_restart(request: StartRequest, row: Row | None) -> None:
    """Reject unreadable restart options, or a limit without a restart, before creating anything."""
    if request.restart is None and request.restart_limit is None:
        return

    flag = "--restart"
    try:
        if request.restart is None:
            when = None
        else:
            when = parse_restart(request.restart)
        flag = "--restart-limit"
        if request.restart_limit is not None:
            parse_limit(request.restart_limit)
    except ValueError as error:
        example = "--restart on-failure --restart-limit 5/10m"
        raise Failure(Code.USAGE, f"could not read {flag}: {error}", f"as in: {example}") from None
    never = when is Restart.NEVER or (when is None and not (row and wants_restart(row)))
    if request.restart_limit is not None and never:
        reason = "--restart-limit limits no restart"
        raise could_not(
            "start", request.name, reason, "add --restart on-failure or --restart always"
        )


def _folder_warnings(look: RegistryLook | None, spec: Launch) -> list[str]:
    """Warn of agents already working in the same folder: they could undo each other's changes."""
    rows = look.usable if look is not None else ()
    others = [row for row in rows if row.name != spec.name and not row.status.ended]
    here = os.path.realpath(spec.cwd)
    names = []
    for row in others:
        if row.pane.cwd and os.path.realpath(row.pane.cwd) == here:
            names.append(row.name)
    if not names:
        return []
    work = "works" if len(names) == 1 else "work"
    return [
        f"folder_in_use: {', '.join(names)} {work} in {spec.cwd} too; give each agent a folder of"
        " its own with --cwd or --worktree"
    ]


def check_name(name: str) -> None:
    """Refuse names that tmux would change, or that tmux or tmuxreap reads as something else."""
    reason = None
    if name in RESERVED or name.startswith(PREFIXES):
        reason = "the name is reserved for commands"
    elif not name:
        reason = "it is empty"
    elif not _PLAIN.fullmatch(name) or not name.isprintable():
        reason = "tmux changes dots, colons, dollars, backslashes and invisible characters in names"
    elif name[0] in "$@%=+!{~-" or "#" in name or name != name.strip():
        reason = "tmux takes it for something else"
    elif is_pattern(name):
        reason = "it is a pattern"
    if reason is not None:
        raise could_not("start", repr(name), reason, "use letters, digits, dashes and underscores")


def spec_of(context: Context, row: Row) -> Launch:
    """Plan a new session with the command of this row."""
    return _spec(context, StartRequest(row.name), row, row.tmux_server, None)


def _spec(
    context: Context, request: StartRequest, row: Row | None, server: str | None, parent: str | None
) -> Launch:
    agent = request.agent or (context.agents.of(row) if row else None)
    agent = agent or context.profiles.by_name_suffix(request.name)
    agent = agent or context.profiles.by_command(request.command)
    if agent is None:
        hint = f"name one with --agent{_installed(context)}; all known ones: tmuxreap agents"
        raise could_not("start", request.name, "no agent was given", hint)
    context.profiles.check(agent)
    profile = context.profiles.of(agent)
    command, recorded = _command(request, row, agent, profile)
    worktree = _worktree(context, request)
    folder = request.cwd or (row.pane.cwd if row else None) or _here(context)
    conversation = str(uuid.uuid4())
    words = launch_words(profile, command, conversation)
    has_our_id = profile is not None and launched_with(profile, words, conversation)
    if worktree is None:
        cwd = _folder(request, folder)
    else:
        cwd = worktree.path
    return Launch(
        name=request.name,
        agent=agent,
        words=tuple(words),
        start_command=recorded,
        cwd=cwd,
        server=server,
        socket=context.servers.socket(server),
        event=RowEvent.STARTED,
        confirm_s=request.confirm_s,
        conversation=conversation if has_our_id else None,
        source="launch" if has_our_id else None,
        fields=_fields(context, request, row, worktree, parent),
        worktree=worktree,
        terminal=_terminal(request, row),
        replaces=row,
    )


def _terminal(request: StartRequest, row: Row | None) -> Terminal:
    """Return where to start it: as requested or as before. No other terminal can be started in."""
    terminals = {terminal.value: terminal for terminal in (Terminal.TMUX, Terminal.NONE)}
    if request.terminal is not None and request.terminal not in terminals:
        raise could_not(
            "start", request.name, f"--terminal is {request.terminal!r}", "say tmux or none"
        )
    wanted = request.terminal or (row.terminal.value if row else "")
    terminal = terminals.get(wanted, Terminal.TMUX)
    if terminal is Terminal.NONE and request.server is not None:
        reason = "--terminal none and --server cannot be combined"
        raise could_not("start", request.name, reason, "leave one of them out")
    return terminal


def _worktree(context: Context, request: StartRequest) -> Worktree | None:
    if request.worktree is None:
        return None

    repository = _folder(request, request.cwd or _here(context))
    check_encodable(request.name, request.worktree)
    return find_worktree(request.name, request.worktree, repository, context.settings.environ)


def _folder(request: StartRequest, folder: str) -> str:
    """Return the folder; a wrong one is a usage error if given, a failed start if recorded."""
    wrong = Code.USAGE if request.cwd else Code.START_FAILED
    return existing_folder(request.name, folder, wrong)


def _here(context: Context) -> str:
    if context.settings.cwd_deleted:
        return ""
    return str(context.settings.cwd)


def installed(context: Context) -> list[str]:
    """Return the agents whose command is on the PATH."""
    from shutil import which  # imported late: shutil loads the archive modules

    path = context.settings.environ.get("PATH")
    found: list[str] = []
    for name, profile in context.profiles.agents.items():
        if name != "demo" and profile.command and which(profile.command[0], path=path):
            found.append(name)
    return found


def _installed(context: Context) -> str:
    agents = installed(context)
    if agents:
        return f" (installed: {', '.join(agents)})"
    return " AGENT"


def _command(
    request: StartRequest, row: Row | None, agent: str, profile: Profile | None
) -> tuple[list[str], str]:
    """Return what to run and what to record: the given command, the row's, or the agent's own."""
    if request.command:
        return list(request.command), shlex.join(request.command)
    if row is not None and row.start_command is not None:
        return shell_words(row.start_command), row.start_command
    if profile is None or not profile.command:
        if profile is None:
            unknown = f"there is no agent {agent!r}"
        else:
            unknown = f"{agent} has no command"
        hint = (
            "see the known agents with: tmuxreap agents; or give a command after --,"
            " as in: tmuxreap start NAME --agent AGENT -- COMMAND"
        )
        raise could_not("start", request.name, unknown, hint)
    return list(profile.command), shlex.join(profile.command)


def shell_words(command: str) -> list[str]:
    """Split a recorded command; wrap it in `sh -c` unless it means the same without a shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or "=" in words[0] or re.search(r"[|&;<>()$`\\*?#~!\n{}\[\]]", command):
        return ["sh", "-c", command]
    return words


def _fields(
    context: Context,
    request: StartRequest,
    row: Row | None,
    tree: Worktree | None,
    parent: str | None,
) -> dict[str, Value]:
    fields: dict[str, Value] = {
        "parent": None if parent == request.name else parent,
        "tags": request.tags or None,
        "task_id": request.task_id,
        "ttl": request.ttl,
        "restart": request.restart,
        "restart_limit": request.restart_limit,
        "worktree": None if tree is None else tree.path,
        "created_at": iso(context.clock.now()) if row is None else None,
    }
    return {name: value for name, value in fields.items() if value is not None}

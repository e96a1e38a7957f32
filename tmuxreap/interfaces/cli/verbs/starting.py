"""Declares the verbs that start and register sessions, and that attach to them."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from tmuxreap.core.errors import Code, Exit, Failure, declined
from tmuxreap.core.results import Result, failure_in
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, confirm, heed_signals, seconds
from tmuxreap.interfaces.cli.commands import DryRun, Targets, Yes
from tmuxreap.sessions.context import Context

Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="X",
        help="Tag to record with the session (repeatable).",
        autocompletion=complete.tags,
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="L",
        help="tmux server by socket name, as for tmux -L. [the default one]",
        autocompletion=complete.servers,
    ),
]
STAY_UP = "How long the agent must stay up before the"


def do_start(
    call: Call,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of the tmux session and of its registry entry.",
            autocompletion=complete.names,
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="Command to run instead of the agent's default.",
            autocompletion=complete.files,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="A",
            help="Agent to run (see `tmuxreap agents`).",
            autocompletion=complete.agents,
        ),
    ] = None,
    cwd: Annotated[
        str | None,
        typer.Option(
            "--cwd",
            metavar="DIR",
            help="Working directory. [as before, or the current one]",
            autocompletion=complete.files,
        ),
    ] = None,
    tag: Tags = None,
    task_id: Annotated[
        str | None,
        typer.Option("--task-id", metavar="ID", help="Task ID to record with the session."),
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl",
            metavar="D",
            help="How long it may run before `reap --expired` finds it, as in 2h. [no limit]",
        ),
    ] = None,
    server: Server = None,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="S", help=f"{STAY_UP} start counts as successful. [1s]"),
    ] = None,
    replace_it: Annotated[
        bool, typer.Option("--replace", help="Stop a running session of the same name first.")
    ] = False,
    worktree: Annotated[
        str | None,
        typer.Option(
            "--worktree",
            metavar="DIR",
            help="Work in this git worktree; created on a branch NAME if missing.",
            autocompletion=complete.files,
        ),
    ] = None,
    terminal: Annotated[
        str | None,
        typer.Option(
            "--terminal",
            metavar="tmux|none",
            help="`tmux`, or `none` to run without tmux; its output goes to a log file."
            " [tmux, or as before]",
            autocompletion=complete.words("tmux", "none"),
        ),
    ] = None,
    restart: Annotated[
        str | None,
        typer.Option(
            "--restart",
            metavar="WHEN",
            help="When `watch` resumes it after a crash: never, on-failure or always. [never]",
            autocompletion=complete.words("never", "on-failure", "always"),
        ),
    ] = None,
    restart_limit: Annotated[
        str | None,
        typer.Option(
            "--restart-limit",
            metavar="N/D",
            help="How many restarts within what time, before it is given up. [5/10m]",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> Result:
    """Start an agent in its own tmux session and register it."""
    from tmuxreap.commands.start import StartRequest, run
    from tmuxreap.commands.starting.row import CONFIRM_S

    seconds(ttl, "--ttl")  # recorded as it is, and read by `reap`
    here = call.context.settings.cwd
    request = StartRequest(
        name=name,
        agent=agent,
        cwd=None if cwd is None else str(here / cwd),
        tags=tuple(tag or ()),
        task_id=task_id,
        ttl=ttl,
        server=server,
        confirm_s=seconds(confirm, "--confirm", CONFIRM_S),
        replace=replace_it,
        command=tuple(command or ()),
        dry_run=dry_run,
        restart=restart,
        restart_limit=restart_limit,
        terminal=terminal,
        worktree=None if worktree is None else str(here / worktree),
    )
    heed_signals()
    return run(call.context, request)


def do_adopt(
    call: Call,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Names of sessions.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Adopt every agent session that is not registered; asks on a terminal."
        ),
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="A",
            help="Agent that runs in it. [detected]",
            autocompletion=complete.agents,
        ),
    ] = None,
    server: Server = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Also a session of another registry; only that registry can end it."
        ),
    ] = False,
    pid: Annotated[
        int | None,
        typer.Option(
            "--pid", metavar="N", help="Agent outside of tmux: process N and its children."
        ),
    ] = None,
    pane: Annotated[
        str | None,
        typer.Option(
            "--pane",
            metavar="PANE",
            help="The pane, if there are several: %N; of another terminal: kitty:ID, wezterm:ID.",
        ),
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            "--background",
            metavar="AGENT:ID",
            help="A session that the agent's own daemon runs, as `list` names it.",
        ),
    ] = None,
) -> Result:
    """Register sessions that are already running."""
    from tmuxreap.commands.adopt import AdoptAllRequest, AdoptRequest, run, run_all

    tags = tuple(tag or ())
    ways = [way for way in (pid, pane, background) if way is not None]
    alone = bool(ways)
    if everything and not (names or agent or force or alone):
        ask = _ask if call.asks else None
        return run_all(call.context, AdoptAllRequest(server, tags, dry_run, yes, ask))
    if everything or not names:
        reason = "could not choose what to adopt: give names of sessions, or --all alone"
        raise Failure(Code.USAGE, reason, "tmuxreap adopt NAME..., or: tmuxreap adopt --all")
    if alone and len(names) > 1:
        reason = "could not adopt several: --pid, --pane and --background are of one"
        raise Failure(Code.USAGE, reason, "give one name")
    if background is not None and len(ways) > 1:
        reason = "could not read the command: --background goes with neither --pid nor --pane"
        raise Failure(Code.USAGE, reason, "leave out --pid and --pane")
    requests = []
    for name in dict.fromkeys(names):
        requests.append(
            AdoptRequest(name, agent, server, tags, dry_run, force, pid, pane, background)
        )
    return run(call.context, *requests)


def _ask(found: str) -> bool:
    print(f"not registered: {found}", file=sys.stderr)
    return confirm("register them?")


def do_resume(
    call: Call,
    targets: Targets = None,
    print_only: Annotated[
        bool, typer.Option("--print", help="Only print the command to run.")
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="S", help=f"{STAY_UP} resume counts as successful. [1s]"),
    ] = None,
    lost: Annotated[
        bool,
        typer.Option("--lost", help="Sessions that a crash or a reboot ended. [all of them]"),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="D",
            help="With --lost: only those of the last D. [since the boot, at least 24h]",
        ),
    ] = None,
    at_once: Annotated[
        int,
        typer.Option(
            "--at-once",
            metavar="N",
            help="With --lost: how many before each pause. [4]",
            show_default=False,
        ),
    ] = 4,
    pace: Annotated[
        str | None, typer.Option("--pace", metavar="S", help="With --lost: how long to pause. [2s]")
    ] = None,
    set_name: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="What one stop, kill or reap ended; `last`: the latest stop or kill.",
            autocompletion=complete.sets,
        ),
    ] = None,
    max_failures: Annotated[
        int,
        typer.Option(
            "--max-failures",
            metavar="N",
            help="Halt after N failed starts in a row (0: never). [3]",
            show_default=False,
        ),
    ] = 3,
    dry_run: DryRun = False,
) -> Result:
    """Resume the saved conversation of a stopped session."""
    from tmuxreap.commands.resume import Lost, ResumeRequest, run
    from tmuxreap.commands.starting.row import CONFIRM_S

    if at_once < 1:
        reason = f"could not read --at-once: {at_once} is less than 1"
        raise Failure(Code.USAGE, reason, "as in: --at-once 4")
    if max_failures < 0:
        reason = f"could not read --max-failures: {max_failures} is less than 0"
        raise Failure(Code.USAGE, reason, "as in: --max-failures 3")
    if lost and set_name is not None:
        reason = "could not read the command: --lost and --set cannot be combined"
        raise Failure(Code.USAGE, reason, "give one of them")
    pace_s = seconds(pace, "--pace", Lost().pace_s)
    among_lost = None
    if lost:
        among_lost = Lost(seconds(since, "--since"), at_once, pace_s)
    request = ResumeRequest(
        tuple(targets or ()),
        print_only,
        seconds(confirm, "--confirm", CONFIRM_S),
        dry_run=dry_run,
        lost=among_lost,
        set_name=set_name,
        max_failures=max_failures,
    )
    heed_signals()
    return run(call.context, request)


def do_attach(
    call: Call,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Session to attach to.", autocompletion=complete.names),
    ],
) -> Result:
    """Attach this terminal to a session, or switch the tmux client."""
    from tmuxreap.commands.attach import run

    context = call.context
    if not sys.stdin.isatty():
        reason = f"could not attach to {name}: standard input is not a terminal"
        raise Failure(Code.USAGE, reason, f"see its screen with: tmuxreap show {name}")
    words = _elsewhere(context, name) or run(
        context, name, (lambda: _resumed(context, name)) if call.asks else None
    )
    if words is not None:
        context.close()
        os.execvp(words[0], words)  # noqa: S606 - tmux takes over the terminal
    return Result("attach", context.registry_name, context.clock.now())


def _elsewhere(context: Context, name: str) -> tuple[str, ...] | None:
    if "@" not in name:
        return None
    from tmuxreap.interfaces.remote.near import attach_command

    return attach_command(context, name)


def _resumed(context: Context, name: str) -> bool:
    if not confirm(f"{name} has ended; resume it?"):
        raise declined("attach")
    from tmuxreap.commands.resume import ResumeRequest, run

    result = run(context, ResumeRequest((name,)))
    failure = next((failure_in(item) for item in result.results if item.error), result.failure)
    if failure is not None:
        raise failure
    return result.exit is Exit.OK

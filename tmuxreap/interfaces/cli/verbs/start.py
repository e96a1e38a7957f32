"""Declares the command line of `start`; `commands.start` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.interfaces.cli.boundary import answer, checked_duration, heed_signals, seconds
from tmuxreap.interfaces.cli.parameters import Argument, Option
from tmuxreap.interfaces.cli.verbs.options import DryRun, Json, Quiet, Registry, Server, Tags
from tmuxreap.sessions.context import Context


def command(
    name: Annotated[
        str,
        Argument(help="Name of the tmux session and of its registry entry.", metavar="NAME"),
    ],
    command: Annotated[
        list[str] | None,
        Argument(help="Command to run instead of the agent's default.", metavar="[-- COMMAND...]"),
    ] = None,
    agent: Annotated[
        str | None,
        Option("--agent", help="Agent to run (see `tmuxreap agents`).", metavar="A"),
    ] = None,
    cwd: Annotated[
        str | None,
        Option("--cwd", help="Working directory (default: current).", metavar="DIR"),
    ] = None,
    tag: Tags = None,
    task_id: Annotated[
        str | None,
        Option("--task-id", help="Task ID to record with the session.", metavar="ID"),
    ] = None,
    ttl: Annotated[
        str | None,
        Option(
            "--ttl",
            help=(
                "How long it may run before `reap --expired` finds it, e.g. 2h (default: no limit)."
            ),
            metavar="T",
        ),
    ] = None,
    server: Server = None,
    confirm: Annotated[
        str | None,
        Option(
            "--confirm",
            help="How long the agent must stay up before the start counts as successful. [1s]",
            metavar="S",
        ),
    ] = None,
    replace_it: Annotated[
        bool, Option("--replace", help="Stop a running session of the same name first.")
    ] = False,
    worktree: Annotated[
        str | None,
        Option(
            "--worktree",
            help="Work in this git worktree; created on a branch NAME if missing.",
            metavar="DIR",
        ),
    ] = None,
    terminal: Annotated[
        str | None,
        Option(
            "--terminal",
            help=(
                "`tmux`, or `none` to run without tmux; its output goes to a log file."
                " [tmux, or as before]"
            ),
            metavar="tmux|none",
        ),
    ] = None,
    restart: Annotated[
        str | None,
        Option(
            "--restart",
            help="When `watch` resumes it after a crash: never, on-failure or always. [never]",
            metavar="WHEN",
        ),
    ] = None,
    restart_limit: Annotated[
        str | None,
        Option(
            "--restart-limit",
            help="How many restarts within what time, before it is given up. [5/10m]",
            metavar="N/D",
        ),
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Start an agent in its own tmux session and register it."""

    def work(context: Context) -> Result:
        from tmuxreap.commands.start import StartRequest, run

        request = StartRequest(
            name=name,
            agent=agent,
            cwd=None if cwd is None else str(context.settings.cwd / cwd),
            tags=tuple(tag or ()),
            task_id=task_id,
            ttl=checked_duration(ttl),
            server=server,
            replace=replace_it,
            command=tuple(command or ()),
            dry_run=dry_run,
            restart=restart,
            restart_limit=restart_limit,
            terminal=terminal,
            worktree=None if worktree is None else str(context.settings.cwd / worktree),
        )
        confirm_s = seconds(confirm, "--confirm")
        heed_signals()
        return run(context, request if confirm_s is None else replace(request, confirm_s=confirm_s))

    answer("start", registry, json, quiet, work)

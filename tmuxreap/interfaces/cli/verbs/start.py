"""Declares the command line of `start`; `commands.start` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, heed_signals, seconds
from tmuxreap.interfaces.cli.parameters import Text, Words, argument, arguments, flag, text
from tmuxreap.interfaces.cli.verbs.options import DRY_RUN, SERVER, TAGS


def command(
    call: Call,
    name: str = argument("NAME", "Name of the tmux session and of its registry entry."),
    command: Words = arguments("[-- COMMAND...]", "Command to run instead of the agent's default."),
    agent: Text = text("--agent A", "Agent to run (see `tmuxreap agents`)."),
    cwd: Text = text("--cwd DIR", "Working directory (default: current)."),
    tag: Words = TAGS,
    task_id: Text = text("--task-id ID", "Task ID to record with the session."),
    ttl: Text = text(
        "--ttl T",
        "How long it may run before `reap --expired` finds it, e.g. 2h (default: no limit).",
    ),
    server: Text = SERVER,
    confirm: Text = text(
        "--confirm S",
        "How long the agent must stay up before the start counts as successful. [1s]",
    ),
    replace_it: bool = flag("--replace", "Stop a running session of the same name first."),
    worktree: Text = text(
        "--worktree DIR", "Work in this git worktree; created on a branch NAME if missing."
    ),
    terminal: Text = text(
        "--terminal tmux|none",
        "`tmux`, or `none` to run without tmux; its output goes to a log file."
        " [tmux, or as before]",
    ),
    restart: Text = text(
        "--restart WHEN",
        "When `watch` resumes it after a crash: never, on-failure or always. [never]",
    ),
    restart_limit: Text = text(
        "--restart-limit N/D",
        "How many restarts within what time, before it is given up. [5/10m]",
    ),
    dry_run: bool = DRY_RUN,
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

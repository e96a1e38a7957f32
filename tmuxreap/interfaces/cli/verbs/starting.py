"""Declares the verbs that start and register sessions, and that attach to them."""

from __future__ import annotations

import os
import sys

from tmuxreap.core.errors import Code, Exit, Failure, declined
from tmuxreap.core.results import Result, failure_in
from tmuxreap.interfaces.cli.boundary import Call, confirm, heed_signals, seconds
from tmuxreap.interfaces.cli.parameters import (
    DRY_RUN,
    TARGETS,
    YES,
    Number,
    Targets,
    Text,
    Words,
    argument,
    arguments,
    flag,
    number,
    text,
    words,
)
from tmuxreap.sessions.context import Context

TAGS = words("--tag X", "Tag to record with the session (repeatable).")
SERVER = text(
    "--server L", "tmux server by socket name, as for tmux -L (default: the default server)."
)
STAY_UP = "How long the agent must stay up before the"


def do_start(
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
    confirm: Text = text("--confirm S", f"{STAY_UP} start counts as successful. [1s]"),
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


def do_adopt(
    call: Call,
    names: Words = arguments("NAME...", "Names of sessions."),
    everything: bool = flag(
        "--all", "Adopt every agent session that is not registered; asks on a terminal."
    ),
    agent: Text = text("--agent A", "Agent that runs in it (default: detected)."),
    server: Text = SERVER,
    tag: Words = TAGS,
    dry_run: bool = DRY_RUN,
    yes: bool = YES,
    force: bool = flag(
        "--force", "Also a session that another registry has; only that one can end it."
    ),
    pid: Number = number("--pid N", "Agent outside of tmux: process N and its children."),
    pane: Text = text(
        "--pane PANE", "One of several panes: %N, or of another terminal: kitty:ID, wezterm:ID."
    ),
) -> Result:
    """Register sessions that are already running."""
    from tmuxreap.commands.adopt import AdoptAllRequest, AdoptRequest, run, run_all

    tags, alone = tuple(tag or ()), pid is not None or pane is not None
    if everything and not (names or agent or force or alone):
        ask = _ask if call.asks else None
        return run_all(call.context, AdoptAllRequest(server, tags, dry_run, yes, ask))
    if everything or not names:
        reason = "could not tell what to adopt: give names of sessions, or --all alone"
        raise Failure(Code.USAGE, reason, "tmuxreap adopt NAME..., or: tmuxreap adopt --all")
    if alone and len(names) > 1:
        reason = "could not adopt several: --pid and --pane are of one"
        raise Failure(Code.USAGE, reason, "give one name")
    requests = [
        AdoptRequest(name, agent, server, tags, dry_run, force, pid, pane)
        for name in dict.fromkeys(names)
    ]
    return run(call.context, *requests)


def _ask(found: str) -> bool:
    print(f"not registered: {found}", file=sys.stderr)
    return confirm("register them?")


def do_resume(
    call: Call,
    targets: Targets = TARGETS,
    print_only: bool = flag("--print", "Only print the command to run."),
    confirm: Text = text("--confirm S", f"{STAY_UP} resume counts as successful. [1s]"),
    lost: bool = flag("--lost", "Sessions that a crash or a reboot ended (default: all of them)."),
    since: Text = text(
        "--since D", "With --lost: only those of the last D. [since the boot, or 24h]"
    ),
    at_once: int = number("--at-once N", "With --lost: how many before each pause.", 4),
    pace: Text = text("--pace S", "With --lost: how long to pause. [2s]"),
    dry_run: bool = DRY_RUN,
) -> Result:
    """Resume the saved conversation of a stopped session."""
    from tmuxreap.commands.resume import Lost, ResumeRequest, run
    from tmuxreap.commands.starting.row import CONFIRM_S

    if at_once < 1:
        reason = f"could not read --at-once: {at_once} is less than 1"
        raise Failure(Code.USAGE, reason, "as in: --at-once 4")
    pace_s = seconds(pace, "--pace", Lost().pace_s)
    request = ResumeRequest(
        targets,
        print_only,
        seconds(confirm, "--confirm", CONFIRM_S),
        dry_run=dry_run,
        lost=Lost(seconds(since, "--since"), at_once, pace_s) if lost else None,
    )
    heed_signals()
    return run(call.context, request)


def do_attach(call: Call, name: str = argument("NAME", "Session to attach to.")) -> Result:
    """Attach this terminal to a session, or switch the tmux client."""
    from tmuxreap.commands.attach import run

    context = call.context
    if not sys.stdin.isatty():
        reason = f"could not attach to {name}: this is no terminal"
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

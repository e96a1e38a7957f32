"""The command line: declarations only. What a verb does is in its file under `commands`, imported when it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from tmuxreap import __version__
from tmuxreap.app import App
from tmuxreap.boundary import answer, checked_duration, end, scope_of, seconds, targets_of, task_status_of, voice_of
from tmuxreap.model import Verb
from tmuxreap.plan import Policy
from tmuxreap.report import report_line
from tmuxreap.results import Result

Registry = Annotated[str | None, typer.Option("--registry", help="The registry file.", metavar="PATH")]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but what went wrong.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Answer the question beforehand.")]
Targets = Annotated[
    list[str] | None,
    typer.Argument(help="NAME, 'PATTERN*', tag:X, agent:A, pid:N, all, or - for names on stdin.", metavar="TARGETS"),
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, as it is recorded.", metavar="R")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given again.", metavar="X")]
Server = Annotated[str | None, typer.Option("--server", help="The tmux server, as for tmux -L.", metavar="L")]


def start(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    command: Annotated[list[str] | None, typer.Argument(metavar="[-- COMMAND...]")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent it is.", metavar="A")] = None,
    cwd: Annotated[str | None, typer.Option("--cwd", help="The folder to work in.", metavar="DIR")] = None,
    tag: Tags = None,
    task_id: Annotated[str | None, typer.Option("--task-id", metavar="ID")] = None,
    ttl: Annotated[str | None, typer.Option("--ttl", help="How long it may run, as 2h.", metavar="T")] = None,
    server: Server = None,
    confirm: Annotated[str | None, typer.Option("--confirm", help="How long it has to live.", metavar="S")] = None,
    replace_it: Annotated[bool, typer.Option("--replace", help="End a living session of that name first.")] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Start an agent in a tmux session of its own, and register it."""

    def work(app: App) -> Result:
        from tmuxreap.commands.start import StartRequest, run

        request = StartRequest(
            name=name,
            agent=agent,
            cwd=None if cwd is None else str(app.settings.cwd / cwd),
            tags=tuple(tag or ()),
            task_id=task_id,
            ttl=checked_duration(ttl),
            server=server,
            replace=replace_it,
            command=tuple(command or ()),
            dry_run=dry_run,
        )
        confirm_s = seconds(confirm, "--confirm")
        return run(app, request if confirm_s is None else replace(request, confirm_s=confirm_s))

    answer("start", registry, json, quiet, work)


def adopt(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent it is.", metavar="A")] = None,
    server: Server = None,
    tag: Tags = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Register a tmux session that is there already."""

    def work(app: App) -> Result:
        from tmuxreap.commands.adopt import AdoptRequest, run

        return run(app, AdoptRequest(name, agent, server, tuple(tag or ())))

    answer("adopt", registry, json, quiet, work)


def list_(
    targets: Targets = None,
    status: Annotated[str | None, typer.Option("--status", help="Only rows of this status.", metavar="S")] = None,
    live: Annotated[bool, typer.Option("--live", help="Only rows whose session is there.")] = False,
    sort: Annotated[
        str | None, typer.Option("--sort", help="name, status, live, idle, memory ...", metavar="KEY")
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the registered sessions, each with a look at what is alive of it."""

    def work(app: App) -> Result:
        from tmuxreap.commands.list import ListRequest, run

        return run(app, ListRequest(targets_of(targets), status, live, sort))

    answer("list", registry, json, quiet, work)


def show(targets: Targets = None, registry: Registry = None, json: Json = False, quiet: Quiet = False) -> None:
    """Show all that is known of a session: processes and why they are its own, pane, conversation."""

    def work(app: App) -> Result:
        from tmuxreap.commands.show import run

        return run(app, targets_of(targets))

    answer("show", registry, json, quiet, work)


def stop(
    targets: Targets = None,
    reason: Reason = None,
    keys_timeout: Annotated[
        str | None, typer.Option("--keys-timeout", help="For the exit keys; 0 sends none.", metavar="S")
    ] = None,
    grace: Annotated[str | None, typer.Option("--grace", help="After hanging up (5).", metavar="S")] = None,
    no_force: Annotated[bool, typer.Option("--no-force", help="Never send SIGKILL.")] = False,
    purge: Annotated[bool, typer.Option("--purge-conversation", help="Delete its conversation for good.")] = False,
    whole_session: Annotated[bool, typer.Option("--whole-session", help="Foreign panes too.")] = False,
    pane_only: Annotated[bool, typer.Option("--pane-only", help="Only the agent's pane.")] = False,
    itself: Annotated[bool, typer.Option("--self", help="Also the session that this is called from.")] = False,
    cleanup: Annotated[bool, typer.Option("--cleanup", help="Remove its git worktree too, never by force.")] = False,
    force_no_yaml: Annotated[bool, typer.Option("--force-no-yaml", help="Also a session without a row.")] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Stop sessions properly: exit keys, hang up, kill; proven gone, captured, recorded."""

    def policy() -> Policy:
        return Policy(
            verb=Verb.STOP,
            reason=reason or "manual_stop",
            keys_timeout_s=seconds(keys_timeout, "--keys-timeout"),
            grace_s=seconds(grace, "--grace"),
            force=not no_force,
            scope=scope_of(whole_session, pane_only),
            itself=itself,
            purge=purge,
            cleanup=cleanup,
            unregistered=force_no_yaml,
        )

    end(Verb.STOP, policy, targets, registry, json=json, quiet=quiet, dry_run=dry_run, yes=yes)


def kill(
    targets: Targets = None,
    reason: Reason = None,
    grace: Annotated[
        str | None, typer.Option("--grace", help="After SIGTERM (2); 0 kills at once.", metavar="S")
    ] = None,
    no_force: Annotated[bool, typer.Option("--no-force", help="Never send SIGKILL.")] = False,
    purge: Annotated[bool, typer.Option("--purge-conversation", help="Delete its conversation for good.")] = False,
    whole_session: Annotated[bool, typer.Option("--whole-session", help="Foreign panes too.")] = False,
    pane_only: Annotated[bool, typer.Option("--pane-only", help="Only the agent's pane.")] = False,
    itself: Annotated[bool, typer.Option("--self", help="Also the session that this is called from.")] = False,
    task_status: Annotated[str, typer.Option("--task-status", help="Of its task: failed or ready.")] = "failed",
    cleanup: Annotated[bool, typer.Option("--cleanup", help="Remove its git worktree too, never by force.")] = False,
    force_no_yaml: Annotated[bool, typer.Option("--force-no-yaml", help="Also a session without a row.")] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Kill sessions: SIGTERM, then SIGKILL; the conversation is captured first."""

    def policy() -> Policy:
        return Policy(
            verb=Verb.KILL,
            reason=reason or "killed",
            grace_s=seconds(grace, "--grace"),
            force=not no_force,
            scope=scope_of(whole_session, pane_only),
            itself=itself,
            purge=purge,
            cleanup=cleanup,
            task_status=task_status_of(task_status),
            unregistered=force_no_yaml,
        )

    end(Verb.KILL, policy, targets, registry, json=json, quiet=quiet, dry_run=dry_run, yes=yes)


def resume(
    targets: Targets = None,
    print_only: Annotated[bool, typer.Option("--print", help="Only print the command.")] = False,
    confirm: Annotated[str | None, typer.Option("--confirm", help="How long it has to live.", metavar="S")] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take up the captured conversation of an ended session, in its folder."""

    def work(app: App) -> Result:
        from tmuxreap.commands.resume import ResumeRequest, run

        request = ResumeRequest(targets_of(targets), print_only)
        confirm_s = seconds(confirm, "--confirm")
        return run(app, request if confirm_s is None else replace(request, confirm_s=confirm_s))

    answer("resume", registry, json, quiet, work)


def forget(
    targets: Targets = None,
    history: Annotated[bool, typer.Option("--history", help="Its events too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also a row that is running.")] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
) -> None:
    """Drop the rows of ended sessions; conversations stay on disk."""

    def work(app: App) -> Result:
        from tmuxreap.commands.forget import ForgetRequest, run

        return run(app, ForgetRequest(targets_of(targets), history, force, dry_run))

    answer("forget", registry, json, quiet, work)


def events(
    targets: Targets = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    since: Annotated[str | None, typer.Option("--since", help="No older than this, as 2h.", metavar="D")] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tell what happened."""

    def work(app: App) -> Result:
        from tmuxreap.commands import events as verb

        request = verb.EventsRequest(targets_of(targets), seconds(since, "--since"))
        if not follow:
            return verb.run(app, request)
        for event in verb.follow(app, request):
            report_line(event, voice_of(app.settings, json, quiet))
        raise AssertionError("follow never ends by itself")

    answer("events", registry, json, quiet, work)


def reconcile(registry: Registry = None, json: Json = False, quiet: Quiet = False, dry_run: DryRun = False) -> None:
    """Bring registry, ledger and tmux into agreement; tell what only you can decide."""

    def work(app: App) -> Result:
        from tmuxreap.commands.reconcile import run

        return run(app, dry_run=dry_run)

    answer("reconcile", registry, json, quiet, work)


def watch(
    interval: Annotated[str | None, typer.Option("--interval", help="Between full looks (10).", metavar="S")] = None,
    execute: Annotated[
        str | None, typer.Option("--exec", help="Run with each event on stdin.", metavar="COMMAND")
    ] = None,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reconcile at the moment that something happens; a line an event."""

    def work(app: App) -> Result:
        from tmuxreap.commands.watch import WatchRequest, run

        interval_s = seconds(interval, "--interval")
        request = WatchRequest(command=execute) if interval_s is None else WatchRequest(interval_s, execute)
        voice = voice_of(app.settings, json, quiet)
        run(app, request, lambda event: report_line(event, voice))
        raise typer.Exit

    answer("watch", registry, json, quiet, work)


def agents(json: Json = False, quiet: Quiet = False) -> None:
    """List the known agents, and what can be done with each."""

    def work(app: App) -> Result:
        from tmuxreap.commands.agents import run

        return run(app)

    answer("agents", None, json, quiet, work)


def finish(registry: str, number: int, policy: str) -> None:
    """What --self hands over: not for people."""

    def work(app: App) -> Result:
        from tmuxreap.commands.finish import run

        return run(app, number, policy)

    answer("finish", registry, False, True, work)


VERBS: dict[str, Callable[..., None]] = {
    "start": start,
    "adopt": adopt,
    "list": list_,
    "show": show,
    "stop": stop,
    "kill": kill,
    "resume": resume,
    "forget": forget,
    "reconcile": reconcile,
    "watch": watch,
    "events": events,
    "agents": agents,
}
ALIASES = {"ls": "list"}
FINISH = "_finish"  # as `handover` calls it


def main(argv: Sequence[str]) -> int:
    """Only the verb that is called is built; without one that is known, all are, for the help."""
    called = next((word for word in argv if not word.startswith("-")), "")
    verb, known = ALIASES.get(called, called), {**VERBS, FINISH: finish}
    chosen = {called: known[verb]} if verb in known else {**VERBS, "ls": list_}
    program = typer.Typer(
        add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True
    )
    program.callback()(_program)
    for name, function in chosen.items():
        program.command(name, hidden=name in ALIASES and verb not in VERBS)(function)
    return int(program(list(argv), prog_name="tmuxreap", standalone_mode=False) or 0)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tmuxreap {__version__}")
        raise typer.Exit


def _program(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say it.")] = False,
) -> None:
    """End AI coding agents in tmux properly."""

"""Declares the verbs that end sessions or turns, give agents work, bring them back, and protect or
forget sessions."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tmuxreap.core.defaults import HANGUP_GRACE_S, TERM_GRACE_S
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.ending.policy import REASONS, TASK_STATUSES, EndingOptions, make_policy
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, confirm, heed_signals, seconds
from tmuxreap.interfaces.cli.commands import DryRun, Targets, Yes

StopReason = Annotated[
    str | None,
    typer.Option("--reason", metavar="R", help=f"Reason to record. [{REASONS[EndVerb.STOP]}]"),
]
KillReason = Annotated[
    str | None,
    typer.Option("--reason", metavar="R", help=f"Reason to record. [{REASONS[EndVerb.KILL]}]"),
]
Grace = Annotated[
    str | None,
    typer.Option(
        "--grace",
        metavar="S",
        help=f"How long to wait after SIGTERM before SIGKILL. [{HANGUP_GRACE_S:g}s]",
    ),
]
NoForce = Annotated[bool, typer.Option("--no-force", help="Never send SIGKILL.")]
Purge = Annotated[
    bool, typer.Option("--purge-conversation", help="Also delete its conversation for good.")
]
WholeSession = Annotated[
    bool, typer.Option("--whole-session", help="Also end other panes in the session.")
]
PaneOnly = Annotated[
    bool, typer.Option("--pane-only", help="End only the agent's pane, and leave the others.")
]
Itself = Annotated[bool, typer.Option("--self", help="Also the session that this command runs in.")]
Cleanup = Annotated[
    bool, typer.Option("--cleanup", help="Also remove its git worktree, unless it has changes.")
]
CleanupOrDefault = Annotated[
    bool | None,
    typer.Option("--cleanup", help="Also remove its git worktree, unless it has changes."),
]
Unregistered = Annotated[
    bool,
    typer.Option(
        "--unregistered",
        "--force-no-yaml",
        help="Also a tmux session that is not in the registry.",
    ),
]
SetName = Annotated[
    str | None,
    typer.Option(
        "--set",
        metavar="NAME",
        help="Name for the sessions it ends, for `resume --set NAME`. [a new ID]",
        autocompletion=complete.sets,
    ),
]
TaskStatus = Annotated[
    str,
    typer.Option(
        "--task-status",
        metavar="|".join(TASK_STATUSES),
        help=f"Status to set on the session's task. [{TASK_STATUSES[0]}]",
        show_default=False,
        autocompletion=complete.words(*TASK_STATUSES),
    ),
]


def do_stop(
    call: Call,
    targets: Targets = None,
    reason: StopReason = None,
    keys_timeout: Annotated[
        str | None,
        typer.Option(
            "--keys-timeout",
            metavar="S",
            help="How long to wait after the exit keys (0: skip them). [3s, or the agent's own]",
        ),
    ] = None,
    grace: Grace = None,
    after_turn: Annotated[
        str | None,
        typer.Option(
            "--after-turn",
            metavar="S",
            help="Let the agent finish its current turn first, up to this long.",
        ),
    ] = None,
    no_force: NoForce = False,
    purge: Purge = False,
    whole_session: WholeSession = False,
    pane_only: PaneOnly = False,
    itself: Itself = False,
    cleanup: Cleanup = False,
    set_name: SetName = None,
    force_no_yaml: Unregistered = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Stop sessions: exit keys, then SIGHUP/SIGTERM, then SIGKILL.

    \b
    tmuxreap stop acme                  ask it to exit, force it if it does not
    tmuxreap stop acme --reason night   and record the reason
    tmuxreap stop acme --dry-run        show what would happen
    tmuxreap stop 'acme-*' tag:nightly  many at the same time
    tmuxreap stop acme --self           the session you are in

    Continues until every process is gone, saves the conversation for `tmuxreap resume`,
    and records how it ended.
    """
    options = EndingOptions(
        reason=reason,
        keys_timeout=keys_timeout,
        grace=grace,
        after_turn=after_turn,
        no_force=no_force,
        whole_session=whole_session,
        pane_only=pane_only,
        itself=itself,
        purge=purge,
        cleanup=cleanup,
        unregistered=force_no_yaml,
        set_name=set_name,
    )
    return _end(call, EndVerb.STOP, options, targets, dry_run, yes)


def do_kill(
    call: Call,
    targets: Targets = None,
    reason: KillReason = None,
    grace: Annotated[
        str | None,
        typer.Option(
            "--grace",
            metavar="S",
            help=f"How long to wait after SIGTERM (0: SIGKILL at once). [{TERM_GRACE_S:g}s]",
        ),
    ] = None,
    no_force: NoForce = False,
    purge: Purge = False,
    whole_session: WholeSession = False,
    pane_only: PaneOnly = False,
    itself: Itself = False,
    task_status: TaskStatus = "failed",
    cleanup: Cleanup = False,
    set_name: SetName = None,
    force_no_yaml: Unregistered = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Kill sessions: SIGTERM, then SIGKILL.

    \b
    tmuxreap kill acme                 SIGTERM, and SIGKILL after 2 s
    tmuxreap kill acme --grace 0       SIGKILL at once
    tmuxreap kill pid:4711             the session this process belongs to

    Saves the conversation first; `tmuxreap resume` continues it.
    """
    options = EndingOptions(
        reason=reason,
        grace=grace,
        no_force=no_force,
        whole_session=whole_session,
        pane_only=pane_only,
        itself=itself,
        purge=purge,
        cleanup=cleanup,
        unregistered=force_no_yaml,
        task_status=task_status,
        set_name=set_name,
    )
    return _end(call, EndVerb.KILL, options, targets, dry_run, yes)


def _end(
    call: Call, verb: EndVerb, options: EndingOptions, targets: Targets, dry_run: bool, yes: bool
) -> Result:
    from tmuxreap.commands.stop import EndRequest, run

    policy = make_policy(verb, options, call.context.defaults)
    heed_signals()
    ask = call.question(purge=policy.purge)
    return run(call.context, EndRequest(tuple(targets or ()), policy, dry_run, yes, ask))


def do_reap(
    call: Call,
    stalled: Annotated[
        bool,
        typer.Option("--stalled", help="Agents that reported work and have been silent since."),
    ] = False,
    stalled_after: Annotated[
        str | None,
        typer.Option("--stalled-after", metavar="S", help="How long the silence may last. [120s]"),
    ] = None,
    idle: Annotated[
        bool, typer.Option("--idle", help="Agents with no output and no client attached.")
    ] = False,
    idle_after: Annotated[
        str | None,
        typer.Option("--idle-after", metavar="D", help="How long they may be idle. [2h]"),
    ] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Agents that have run longer than their --ttl.")
    ] = False,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="Processes that ended sessions left behind.")
    ] = False,
    grace: Grace = None,
    task_status: TaskStatus = "failed",
    cleanup: CleanupOrDefault = None,
    set_name: SetName = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Find sessions that are stalled, idle, expired or orphaned.

    Shows the evidence; ends them only with --yes.
    """
    from tmuxreap.commands.reap import reap, verdicts

    request = reap.request_of(
        call.context,
        verdicts.kinds_wanted(stalled, idle, expired, orphans),
        EndingOptions(
            call.why, grace=grace, cleanup=cleanup, task_status=task_status, set_name=set_name
        ),
        stalled_after=stalled_after,
        idle_after=idle_after,
        dry_run=dry_run,
        yes=yes,
    )
    heed_signals()
    return reap.run(call.context, request)


def do_interrupt(
    call: Call,
    targets: Targets = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """End the current turn of agents; their sessions keep running.

    \b
    tmuxreap interrupt acme          end its work; it waits for your next prompt
    tmuxreap interrupt tag:nightly   all sessions with this tag

    A dialog is closed, approving nothing; a queued prompt returns to the input.
    """
    from tmuxreap.commands.interrupt import InterruptRequest, run

    heed_signals()
    request = InterruptRequest(tuple(targets or ()), dry_run, yes, call.question())
    return run(call.context, request)


def do_forget(
    call: Call,
    targets: Targets = None,
    history: Annotated[
        bool, typer.Option("--history", help="Also delete its event history.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also remove entries that are still marked running.")
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="D",
            help="Only sessions that ended longer ago than this, as in 30d.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Remove ended sessions from the registry.

    Their conversations stay on disk.
    """
    from tmuxreap.commands.forget import ForgetRequest, run

    age_s = seconds(older_than, "--older-than")
    ask = (lambda words: confirm(plain(words))) if call.asks else None
    request = ForgetRequest(
        tuple(targets or ()), history, force, dry_run, call.why, age_s, yes, ask
    )
    return run(call.context, request)


def do_protect(
    call: Call,
    targets: Targets = None,
    dry_run: DryRun = False,
) -> Result:
    """Protect sessions: they can be ended only by name.

    stop, kill, reap and forget skip them for patterns, tags, trees and `all`.
    """
    return _protect(call, targets, keep=True, dry_run=dry_run)


def do_unprotect(
    call: Call,
    targets: Targets = None,
    dry_run: DryRun = False,
) -> Result:
    """Remove the protection from sessions.

    Patterns, tags, trees and `all` include them again.
    """
    return _protect(call, targets, keep=False, dry_run=dry_run)


def _protect(call: Call, targets: Targets, *, keep: bool, dry_run: bool) -> Result:
    from tmuxreap.commands.protect import ProtectRequest, run

    return run(call.context, ProtectRequest(tuple(targets or ()), keep=keep, dry_run=dry_run))


def do_send(
    call: Call,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Session.", autocompletion=complete.targets)
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt; - reads it from stdin.")],
    when_idle: Annotated[
        str | None,
        typer.Option(
            "--when-idle",
            metavar="D",
            help="Wait up to this long for it to become idle, as in 10m.",
        ),
    ] = None,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="S", help="How long the agent may take to begin. [3s]"),
    ] = None,
    dry_run: DryRun = False,
) -> Result:
    """Give an idle agent one prompt.

    \b
    tmuxreap send acme 'Run the tests, and fix what fails.'
    tmuxreap send acme 'Go on with the next one.' --when-idle 10m

    Types only into an idle, empty input, and presses Enter only if the input then
    holds this text alone. Never types it twice.
    """
    from tmuxreap.commands.send import CONFIRM_S, MOST_BYTES, SendRequest, run

    heed_signals()
    if text == "-":
        read = sys.stdin.buffer.read(MOST_BYTES + 1)
        text = read.decode("utf-8", "surrogateescape")
    when_idle_s = seconds(when_idle, "--when-idle", 0.0)
    confirm_s = seconds(confirm, "--confirm", CONFIRM_S)
    return run(call.context, SendRequest(name, text, when_idle_s, confirm_s, dry_run))


def do_restart(
    call: Call,
    targets: Targets = None,
    when_idle: Annotated[
        str | None,
        typer.Option(
            "--when-idle",
            metavar="D",
            help="Wait up to this long for each to become idle, as in 30m; idle ones go first.",
        ),
    ] = None,
    at_once: Annotated[
        int,
        typer.Option(
            "--at-once", metavar="N", help="How many at the same time. [1]", show_default=False
        ),
    ] = 1,
    confirm: Annotated[
        str | None,
        typer.Option(
            "--confirm",
            metavar="S",
            help="How long the agent must stay up for the restart to count. [1s]",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Restart agents in place, for a new version or new settings.

    \b
    tmuxreap restart acme                  same pane, conversation and flags
    tmuxreap restart all --when-idle 30m   in turn, each once it is idle

    Stops the agent like `stop`, and runs it again in its pane: window and layout stay.
    A half-typed prompt is put back into the input.
    """
    from tmuxreap.commands.restart import RestartRequest, run
    from tmuxreap.commands.starting.row import CONFIRM_S

    heed_signals()
    request = RestartRequest(
        tuple(targets or ()),
        seconds(when_idle, "--when-idle"),
        at_once,
        seconds(confirm, "--confirm", CONFIRM_S),
        dry_run,
        yes,
        call.question(),
    )
    return run(call.context, request)

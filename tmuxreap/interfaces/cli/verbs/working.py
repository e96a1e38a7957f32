"""Declares the verbs that give agents work, and bring them back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, heed_signals, seconds
from tmuxreap.interfaces.cli.commands import DryRun, Targets, Yes


def do_send(
    call: Call,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Session.", autocompletion=complete.targets)
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt; - reads it from stdin.")],
    when_idle: Annotated[
        str | None,
        typer.Option(
            "--when-idle", metavar="D", help="Wait up to this long until it is idle, as in 10m."
        ),
    ] = None,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="S", help="How long it may take to begin. [3s]"),
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
            help="Wait up to this long until each is idle, as in 30m; the idle ones go first.",
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
            "--confirm", metavar="S", help="How long the agent must stay up to count. [1s]"
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Restart agents in their own panes: a new version, or settings.

    \b
    tmuxreap restart acme                  same pane, conversation and flags
    tmuxreap restart all --when-idle 30m   in turn, each once it is idle

    Stops the agent like `stop`, and runs it again in its pane: window and layout stay.
    What was half-typed is in the input again.
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

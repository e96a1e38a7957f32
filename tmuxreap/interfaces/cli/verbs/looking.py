"""Declares the verbs that look at sessions, wait for them, and keep the registry true."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmuxreap.core.answers import Freed, Reported
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.text import plain
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, Done, one_of, seconds
from tmuxreap.interfaces.cli.commands import DryRun, Targets
from tmuxreap.interfaces.text.report import report_line

if TYPE_CHECKING:
    from tmuxreap.commands.reap.verdicts import Kind


def do_list(
    call: Call,
    targets: Targets = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="S",
            help="Only running, stopped or terminated sessions.",
            autocompletion=complete.words("running", "stopped", "terminated"),
        ),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="S",
            help="Only sessions in this state: working, waiting, limited, idle or unknown.",
            autocompletion=complete.words("working", "waiting", "limited", "idle", "unknown"),
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Only sessions whose agent is alive.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            metavar="KEY",
            help="By name, status, live, agent, state, idle, memory or server. [as in the file]",
            autocompletion=complete.words(
                "name", "status", "live", "agent", "state", "idle", "memory", "server"
            ),
        ),
    ] = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="Show each session below the one that started it.")
    ] = False,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Sessions of all your registries, with their projects."),
    ] = False,
) -> Result:
    """List sessions and whether they are alive."""
    from tmuxreap.commands.list import ListRequest, run, states_of

    states = states_of(state or ())
    request = ListRequest(tuple(targets or ()), status, live, sort, tree, everywhere, states)
    return run(call.context, request)


def do_show(
    call: Call,
    targets: Targets = None,
) -> Result:
    """Show all that is known about a session.

    Its processes and why each belongs to it, its pane, conversation and screen.
    """
    from tmuxreap.commands.show import run

    return run(call.context, tuple(targets or ()))


def do_events(
    call: Call,
    targets: Targets = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new events.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="D", help="Only events of the last D, as in 2h."),
    ] = None,
) -> Result:
    """Show the event history."""
    from tmuxreap.commands import events as verb

    request = verb.EventsRequest(tuple(targets or ()), seconds(since, "--since"))
    if not follow:
        return verb.run(call.context, request)
    for event in verb.follow(call.context, request):
        report_line(event, call.style)
    raise AssertionError("follow never ends by itself")


def do_wait(
    call: Call,
    targets: Targets = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="idle|waiting|working|limited|gone|ended",
            help="State to wait for.",
            autocompletion=complete.words("idle", "waiting", "working", "limited", "gone", "ended"),
        ),
    ] = None,
    anyone: Annotated[
        bool,
        typer.Option("--any", help="Return as soon as one of them is in that state. [all of them]"),
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="D", help="Give up after this long. [never]"),
    ] = None,
) -> Result:
    """Wait until sessions reach a state, end or are gone.

    \b
    tmuxreap wait acme --until idle --timeout 10m
    tmuxreap wait tag:nightly --until gone
    """
    from tmuxreap.commands.wait import Until, WaitRequest, run

    known = [state.value for state in Until]
    if not until:
        reason = "could not wait: no state was given"
        raise Failure(Code.USAGE, reason, f"add --until with one of: {', '.join(known)}")
    wanted = Until(one_of(known, until, "--until"))
    request = WaitRequest(tuple(targets or ()), wanted, anyone, seconds(timeout, "--timeout"))
    return run(call.context, request)


def do_watch(
    call: Call,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval",
            metavar="S",
            help="How often to check everything, in addition to events. [10s]",
        ),
    ] = None,
    execute: Annotated[
        str | None,
        typer.Option(
            "--exec", metavar="COMMAND", help="Run COMMAND for each event (JSON on stdin)."
        ),
    ] = None,
    reap: Annotated[
        str | None,
        typer.Option(
            "--reap",
            metavar="stalled,idle,expired",
            help="Also end sessions found stalled, idle or expired.",
        ),
    ] = None,
    notify: Annotated[
        bool,
        typer.Option(
            "--notify", help="Also show each event to the tmux clients attached to that session."
        ),
    ] = False,
) -> Result:
    """Reconcile whenever an agent or a tmux server exits.

    Keeps the registry up to date until interrupted.
    """
    from tmuxreap.commands.watch import telling
    from tmuxreap.commands.watch.watch import INTERVAL_S, LEAST_INTERVAL_S, WatchRequest, run
    from tmuxreap.interfaces.text.watching import EventWriter, greeting

    context = call.context
    style = call.style
    interval_s = seconds(interval, "--interval", INTERVAL_S)
    if interval_s < LEAST_INTERVAL_S:
        reason = f"could not read --interval: {interval} is too short"
        hint = f"give {LEAST_INTERVAL_S:g} or more: what happens is seen at once anyway"
        raise Failure(Code.USAGE, reason, hint)
    kinds = () if reap is None else kinds_of(reap, "--reap")
    request = WatchRequest(interval_s, execute, kinds, notify=notify)
    if execute is not None:
        telling.check(execute)
    if not (style.json or style.quiet):
        print(f"tmuxreap: {plain(greeting(context))}", file=sys.stderr, flush=True)
    tell = EventWriter(style, lambda count: telling.dropped(context.clock.now(), count))
    run(context, request, tell)
    tell.close()
    raise Done


def kinds_of(words: str, flag: str) -> tuple[Kind, ...]:
    """Read the kinds for unattended reaping: not orphans, which the user should see first."""
    from tmuxreap.commands.reap.verdicts import RULES, Kind

    known = [kind.value for kind in RULES]
    wanted = []
    for word in words.split(","):
        wanted.append(one_of(known, word.strip(), flag, "stalled,idle"))
    return tuple(Kind(word) for word in dict.fromkeys(wanted))


def do_reconcile(
    call: Call,
    dry_run: DryRun = False,
) -> Result:
    """Compare the registry with what runs and fix what is certain.

    For the rest, print the command to run.
    """
    from tmuxreap.commands.reconcile.reconcile import run

    return run(call.context, dry_run=dry_run)


def do_report(
    call: Call,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="D", help="How far back, as in 8h or 7d. [24h]"),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Also write it to FILE, as one page with a bar for each session.",
            autocompletion=complete.files,
        ),
    ] = None,
) -> Result:
    """Report what was ended and freed, and what each session did.

    \b
    tmuxreap report
    tmuxreap report --since 7d --html week.html

    The times come from hooks and `watch`; where neither ran, they are unknown.
    """
    from tmuxreap.commands.report import DAY_S, ReportRequest, run

    result = run(call.context, ReportRequest(seconds(since, "--since", DAY_S)))
    if html is not None:
        _write_page(call.context.settings.cwd / html, result)
    return result


def _write_page(path: Path, result: Result) -> None:
    from tmuxreap.interfaces.text.page import page

    sessions = [item for item in result.results if isinstance(item, Reported)]
    freed = result.more["freed"]
    assert isinstance(freed, Freed)  # noqa: S101 - by `report`
    try:
        path.write_text(page(sessions, freed, result.registry or ""), encoding="utf-8")
    except OSError as error:
        reason = f"could not write the report to {path}: {error.strerror}"
        raise Failure(Code.USAGE, reason, "name another file with --html") from None

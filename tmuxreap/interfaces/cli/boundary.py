"""Owns the boundary between the command line and the verbs: words become requests, failures become
answers, and answers are printed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

from tmuxreap.app import real_app
from tmuxreap.core import faults
from tmuxreap.core.errors import Code, Failure, interrupted
from tmuxreap.core.model import Scope, Verb
from tmuxreap.core.ports import Progress
from tmuxreap.core.results import Result
from tmuxreap.core.text import Voice, pad, plain, width
from tmuxreap.core.times import parse_duration
from tmuxreap.interfaces.cli.parameters import Done
from tmuxreap.interfaces.text.report import lines, print_failure, report, terminal_columns
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

if TYPE_CHECKING:
    from tmuxreap.commands.reap.verdicts import Kind
    from tmuxreap.ending.plan import Policy

# the last one gets results instead of the terminal, with the tool that is recorded for its endings
_listeners: list[tuple[Callable[[Result], None], str]] = []
LENIENT = ("stop", "kill", "finish")  # a broken settings file is only a warning for these
UNCONFIGURED = ("hook", "heartbeat")  # agents call these all the time, and they have no defaults
TOOLS = {"watch": "watch", "restart": "watch", "reap": "reap"}  # the default is the command line
TASK_STATUSES = ("failed", "ready", "cancelled")


def answer(
    command: str,
    registry: str | None,
    json: bool,
    quiet: bool,
    work: Callable[[Context], Result],
    progress: Progress | None = None,
) -> None:
    """Run a verb and report its result; a failure becomes a result too."""
    settings = Settings.from_environment()
    voice = voice_of(settings, json, quiet)
    faults.arm(settings.fault)
    tool = _listeners[-1][1] if _listeners else "cli"
    context = real_app(settings, registry, TOOLS.get(command, tool), progress=progress)
    result = run_work(command, context, work)
    if _listeners:
        _listeners[-1][0](result)
    else:
        report(result, voice)
    raise Done(int(result.exit))


def captured_result(call: Callable[[], None], tool: str) -> Result:
    """Run a verb for another host: return its result instead of printing it."""
    answers: list[Result] = []
    _listeners.append((answers.append, tool))
    try:
        call()
    except Done:
        pass
    finally:
        _listeners.pop()
    return answers[-1]


def run_work(command: str, context: Context, work: Callable[[Context], Result]) -> Result:
    try:
        if command not in UNCONFIGURED:
            context.configure(lenient=command in LENIENT)
        return work(context)
    except Failure as failure:
        shown = (
            _first_run(command, context, failure)
            if failure.code is Code.REGISTRY_NOT_FOUND
            else failure
        )
        return Result(
            command, context.registry_name, context.clock.now(), (), tuple(context.warnings), shown
        )
    except KeyboardInterrupt:  # here the registry is still known; the parser would swallow it
        return Result(
            command,
            context.registry_name,
            context.clock.now(),
            (),
            tuple(context.warnings),
            interrupted(),
        )
    finally:
        context.close()


def _first_run(verb: str, context: Context, failure: Failure) -> Failure:
    """Add unregistered agents, and how to register them, to the error of a missing registry."""
    if verb in ("start", "adopt") or context.given_registry or context.settings.cwd_deleted:
        return failure
    from tmuxreap.sessions.newcomers import all_newcomers, describe

    try:
        newcomers = all_newcomers(
            context, (), (), context.servers.default_sockets(context.default_server)
        )
    except Failure:
        return failure
    if not newcomers:
        return failure
    are = "agent runs" if len(newcomers) == 1 else "agents run"
    flag = " --registry PATH" if context.settings.at_home else ""
    hint = (
        f"{len(newcomers)} {are} in tmux: {describe(newcomers)}; register all with: tmuxreap adopt"
        f" --all{flag}, some with:"
    )
    return Failure(failure.code, failure.message, f"{hint} tmuxreap adopt NAME...{flag}")


def end(
    verb: Verb,
    policy: Callable[[Context], Policy],
    targets: list[str] | None,
    registry: str | None,
    *,
    json: bool,
    quiet: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    def work(context: Context) -> Result:
        from tmuxreap.commands.stop import EndRequest, run

        heed_signals()
        chosen_policy = policy(context)
        ask = (
            question(voice_of(context.settings, json, quiet), purge=chosen_policy.purge)
            if on_terminal()
            else None
        )
        return run(context, EndRequest(targets_of(targets), chosen_policy, dry_run, yes, ask))

    answer(verb.value, registry, json, quiet, work, _progress(shown=not (json or quiet or dry_run)))


def _progress(*, shown: bool) -> Progress | None:
    if not shown:
        return None
    from tmuxreap.interfaces.text import progress  # not needed by scripts

    return progress.Progress(sys.stderr, monotonic, live=sys.stderr.isatty())


def heed_signals() -> None:
    """Handle SIGTERM and SIGHUP as a Ctrl-C, so that an interrupted verb restores the panes and
    reports; a signal that `nohup` ignores stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def scope_of(whole_session: bool, pane_only: bool) -> Scope:
    if whole_session and pane_only:
        reason = "could not read the command: --whole-session and --pane-only cannot be combined"
        raise Failure(Code.USAGE, reason, "give one of them")
    if whole_session:
        return Scope.SESSION
    return Scope.PANE if pane_only else Scope.AGENT


def task_status_of(word: str) -> str:
    if word not in TASK_STATUSES:
        reason = f"could not read --task-status: {word!r} is not one of {', '.join(TASK_STATUSES)}"
        raise Failure(Code.USAGE, reason, "as in: --task-status cancelled")
    return word


def one_of(known: Sequence[str], word: str, flag: str) -> str:
    if word not in known:
        reason = f"could not read {flag}: {word!r} is not one of {', '.join(known)}"
        raise Failure(Code.USAGE, reason, f"as in: {flag} {known[0]}")
    return word


def kinds_of(words: str, flag: str) -> tuple[Kind, ...]:
    """Read the kinds for unattended reaping: not orphans, which the user should see first."""
    from tmuxreap.commands.reap.verdicts import Kind

    known = {kind.value: kind for kind in (Kind.STALLED, Kind.IDLE, Kind.EXPIRED)}
    wanted = [word.strip() for word in words.split(",")]
    unknown = next((word for word in wanted if word not in known), None)
    if unknown is not None:
        reason = f"could not read {flag}: {unknown!r} is not one of {', '.join(known)}"
        raise Failure(Code.USAGE, reason, f"as in: {flag} stalled,idle")
    return tuple(known[word] for word in dict.fromkeys(wanted))


def question(voice: Voice, *, purge: bool) -> Callable[[Result], bool]:
    suffix = ", and delete their conversations for good" if purge else ""

    def ask(plan: Result) -> bool:
        for line in _plan_lines(plan, voice):
            print(line, file=sys.stderr)
        for problem in (item.error for item in plan.results if item.error):
            print_failure(problem, voice, sys.stderr)
        if not plan.results:
            return True
        return confirm(f"{plan.command} {_counted(plan)}{suffix}?")

    return ask


def _plan_lines(plan: Result, voice: Voice) -> Iterator[str]:
    """Show a plan before the question: in full for one session, in a line each for several."""
    planned = [
        entry for item in plan.results if (entry := item.as_json()).get("outcome") == "planned"
    ]
    if len(planned) < 2:
        yield from lines(plan, voice)
        return
    yield f"{plan.command} {len(planned)} sessions:"
    cells = max(width(plain(str(entry["name"]))) for entry in planned)
    for entry in planned:
        yield f"  {pad(plain(str(entry['name'])), cells)}  {plain(str(entry.get('agent') or '-'))}"
    yield "each step of it: the same command with --dry-run"


def _counted(plan: Result) -> str:
    count = sum(item.as_json().get("outcome") == "planned" for item in plan.results)
    return f"{count} sessions" if count > 1 else "them"


def confirm(asked: str) -> bool:
    print(f"{asked} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def on_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def voice_of(settings: Settings, json: bool, quiet: bool) -> Voice:
    terminal = sys.stdout.isatty()
    color = terminal and not settings.no_color
    return Voice(json, quiet, color, terminal_columns() if terminal else None)


def targets_of(targets: list[str] | None) -> tuple[str, ...]:
    """Return the targets; `-` stands for the names on stdin, one per line."""
    names: list[str] = []
    for target in targets or []:
        names += [line.strip() for line in sys.stdin if line.strip()] if target == "-" else [target]
    return tuple(names)


def seconds(text: str | None, flag: str) -> float | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise Failure(Code.USAGE, f"could not read {flag}: {error}", f"as in: {flag} 90s") from None


def checked_duration(text: str | None) -> str | None:
    seconds(text, "--ttl")
    return text

"""Owns the boundary between the command line and the verbs: words become requests, failures become
answers, and answers are printed."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from types import FrameType
from typing import overload

from tmuxreap.app import real_app
from tmuxreap.core import faults
from tmuxreap.core.errors import Code, Failure, interrupted
from tmuxreap.core.model import AgentState, Outcome
from tmuxreap.core.ports import Progress
from tmuxreap.core.results import AGENT_GONE, Item, Result, local
from tmuxreap.core.text import Style, pad, plain, width
from tmuxreap.core.times import seconds_of
from tmuxreap.core.values import frozen
from tmuxreap.core.verbs import VERBS
from tmuxreap.interfaces.text.report import lines, print_failure, report, terminal_columns
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings


class Done(Exception):  # noqa: N818 - not an error
    """The command is done, and the program exits with this status."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


@frozen
class Call:
    """What a verb works with, how its answer is printed, and whether a person can be asked."""

    context: Context
    style: Style
    asks: bool = False
    why: str | None = None  # a tool's reason where the command line has no flag for one

    def question(self, *, purge: bool = False) -> Callable[[Result], bool] | None:
        """Return how to ask about a plan; None if nobody can be asked."""
        if self.asks:
            return question(self.style, purge=purge)
        return None


Work = Callable[[Call], Result]


def answer(
    verb: str,
    work: Work,
    registry: str | None,
    *,
    json: bool = False,
    quiet: bool = False,
    progress: bool = False,
) -> None:
    """Run a verb and print its result; a failure becomes a result too."""
    settings = Settings.from_environment()
    style = style_of(settings, json, quiet)
    result = result_of(
        verb, work, registry, style, progress=_progress(settings) if progress else None
    )
    report(result, style)
    raise Done(int(result.exit))


def result_of(
    verb: str,
    work: Work,
    registry: str | None,
    style: Style,
    tool: str = "cli",
    progress: Progress | None = None,
) -> Result:
    """Run a verb. `tool` is recorded for its endings."""
    settings = Settings.from_environment()
    faults.arm(settings.fault)
    context = real_app(settings, registry, VERBS[verb].tool or tool, progress=progress)
    return run_work(verb, context, lambda context: work(Call(context, style, on_terminal())))


def run_work(command: str, context: Context, work: Callable[[Context], Result]) -> Result:
    try:
        if VERBS[command].has_settings:
            context.configure(lenient=VERBS[command].ignores_bad_settings)
        return work(context)
    except Failure as failure:
        found_none = failure.code is Code.REGISTRY_NOT_FOUND
        if found_none:
            shown = _first_run(command, context, failure)
        else:
            shown = failure
    except KeyboardInterrupt:  # here the registry is still known; the parser would swallow it
        shown = interrupted()
    finally:
        context.close()
    warnings = tuple(context.warnings)
    return Result(command, context.registry_name, context.clock.now(), (), warnings, shown)


def _first_run(verb: str, context: Context, failure: Failure) -> Failure:
    """Add unregistered agents, and how to register them, to the error of a missing registry."""
    if verb in ("start", "adopt") or context.given_registry or context.settings.cwd_deleted:
        return failure
    from tmuxreap.sessions.elsewhere import describe

    try:
        newcomers = context.newcomers.of((), (), context.default_sockets)
    except Failure:
        return failure
    if not newcomers:
        return _with_projects(context, failure)
    are = "agent runs" if len(newcomers) == 1 else "agents run"
    if context.settings.shared_by:
        flag = " --registry PATH"
    else:
        flag = ""
    hint = (
        f"{len(newcomers)} {are} here: {describe(newcomers)}; register all with: tmuxreap adopt"
        f" --all{flag}, some with:"
    )
    return Failure(failure.code, failure.message, f"{hint} tmuxreap adopt NAME...{flag}")


def _with_projects(context: Context, failure: Failure) -> Failure:
    """Add how to see all projects, to who has others."""
    others = len(context.known_registries)
    if not others:
        return failure
    if others == 1:
        has = "another project has one"
    else:
        has = f"{others} other projects have one"
    hint = f"{failure.hint}; {has}, see: tmuxreap list --everywhere"
    return Failure(failure.code, failure.message, hint)


def _progress(settings: Settings) -> Progress:
    from tmuxreap.interfaces.text import progress  # not needed by scripts

    live = sys.stderr.isatty() and not settings.is_dumb
    return progress.ProgressText(sys.stderr, monotonic, live=live)


def heed_signals() -> None:
    """Handle SIGTERM and SIGHUP as a Ctrl-C, so that an interrupted verb restores the panes and
    reports; a signal that `nohup` ignores stays ignored."""
    with contextlib.suppress(ValueError):  # only the main thread can, and a tool runs in another
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def one_of(known: Sequence[str], word: str, flag: str, example: str | None = None) -> str:
    if word not in known:
        reason = f"could not read {flag}: {word!r} is not one of {', '.join(known)}"
        raise Failure(Code.USAGE, reason, f"as in: {flag} {example or known[0]}")
    return word


WORDS = {AgentState.WAITING.value: "waiting for an answer"}  # other states as `list` has them
DRAFT = "draft"  # what the screen of an idle agent may show


def question(style: Style, *, purge: bool) -> Callable[[Result], bool]:
    def ask(plan: Result) -> bool:
        found = [local(item) for item in plan.results]
        planned = []
        for one in found:
            if getattr(one, "outcome", None) == Outcome.PLANNED:
                planned.append(one)
        several = len(planned) > 1
        told = lines(plan, style)
        if several:
            told = _briefly(plan.command, planned)
        for line in told:
            print(line, file=sys.stderr)
        for problem in (item.error for item in plan.results if item.error):
            print_failure(problem, style)
        for warning in plan.warnings:
            if warning.startswith("protected: "):  # who is asked has to know who is meant
                print(warning.partition("; ")[0], file=sys.stderr)
        if not plan.results:
            return True
        return confirm(_asked(plan.command, planned or found, purge=purge))

    return ask


def _asked(verb: str, planned: Sequence[Item], *, purge: bool) -> str:
    """Return the question about what is planned, which names a single session."""
    several = len(planned) != 1
    if several:
        them = f"{len(planned)} sessions"
    else:
        them = plain(planned[0].name)
    if several:
        its = "their conversations"
    else:
        its = "its conversation"
    if purge and all(map(_is_over, planned)):
        return f"delete the conversation{'s' * several} of {them} for good?"
    if purge:
        return f"{verb} {them}, and delete {its} for good?"
    return f"{verb} {them}?"


def _is_over(one: Item) -> bool:
    """Tell whether nothing of it is left to be ended."""
    plan = getattr(one, "plan", None) or {}
    return bool(plan) and plan.get("session") is None and not plan.get("processes")


def _briefly(verb: str, planned: Sequence[Item]) -> Iterator[str]:
    """Show the plan for several sessions in a line each."""
    yield f"{verb} {len(planned)} sessions:"
    names = [plain(one.name) for one in planned]
    agents = [plain(getattr(one, "agent", None) or "-") for one in planned]
    name_cells = max(map(width, names))
    agent_cells = max(map(width, agents))
    for one, name, agent in zip(planned, names, agents, strict=True):
        plan = getattr(one, "plan", None) or {}
        doing = str(plan.get("doing") or "")
        if doing == AgentState.IDLE.value and plan.get("state") == DRAFT:
            doing = "has a draft"
        doing = WORDS.get(doing, doing)
        if any(step.get("skipped") == AGENT_GONE for step in plan.get("rungs", ())):
            doing = "its agent is gone"
        yield f"  {pad(name, name_cells)}  {pad(agent, agent_cells)}  {doing}".rstrip()
    yield "to see every step, add --dry-run"


def confirm(asked: str) -> bool:
    """Ask the user; only y or yes means yes. An interrupt is a failure: nothing was begun yet."""
    try:  # the question can be interrupted as soon as it stands there
        print(f"{asked} [y/N] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=sys.stderr)
        reason = "nothing was started: the question was interrupted"
        raise Failure(Code.INTERRUPTED, reason) from None
    if not answer.endswith("\n"):  # the end of the input is no end of the line
        print(file=sys.stderr)
    return answer.strip().lower() in ("y", "yes")


def on_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def style_of(settings: Settings, json: bool, quiet: bool) -> Style:
    terminal = sys.stdout.isatty()
    color = terminal and not settings.no_color
    columns = terminal_columns() if terminal else None
    return Style(json, quiet, color, columns, plain_errors=not sys.stderr.isatty())


def targets_of(targets: list[str] | None) -> tuple[str, ...]:
    """Return the targets; `-` stands for the names on stdin, one per line."""
    names: list[str] = []
    for target in targets or []:
        if target == "-":
            names += [line.strip() for line in sys.stdin if line.strip()]
        else:
            names += [target]
    return tuple(names)


@overload
def seconds(text: str | None, flag: str, default: float) -> float: ...
@overload
def seconds(text: str | None, flag: str, default: float | None = None) -> float | None: ...
def seconds(text: str | None, flag: str, default: float | None = None) -> float | None:
    return default if text is None else seconds_of(text, flag)

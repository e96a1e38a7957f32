"""Owns the MCP tools as data: the arguments, annotations and verb of each. A tool that loses
something needs a reason; a start runs the command of a profile or of a row, never one from the
caller. Never speaks the protocol, and never decides what a verb does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from tmuxreap.commands import send, stop, wait
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.core.answers import Listed
from tmuxreap.core.defaults import IDLE_AFTER_S, STALLED_AFTER_S
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.core.results import Result, fields_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.core.verbs import VERBS
from tmuxreap.interfaces.mcp.arguments import (
    Arguments,
    DryRun,
    Names,
    Reason,
    SameTargets,
    Seconds,
    SetName,
    Targets,
    TaskWord,
    Yes,
    with_host,
)
from tmuxreap.registry.targets import selects_many
from tmuxreap.sessions.context import Context

PURGE = "Delete its conversation for good. Needs confirm_purge."
ITSELF = "Your own session too, if a pattern matches it."


class _End(Arguments):
    """The arguments that `stop_session` and `kill_session` share."""

    targets: SameTargets
    reason: Reason
    grace: Seconds | None = Field(None, description="Seconds before SIGKILL.")
    no_force: bool = Field(False, description="Never SIGKILL.")
    whole_session: bool = Field(False, description="Also its other busy panes.")
    pane_only: bool = Field(False, description="Only the agent's pane.")
    itself: bool = Field(False, alias="self", description=ITSELF)
    cleanup: bool = Field(False, description="Remove its clean git worktree.")
    set_name: SetName = None
    purge: bool = Field(False, alias="purge_conversation", description=PURGE)
    confirm_purge: str | None = Field(None, description="The one target, repeated.")
    yes: Yes = False
    dry_run: DryRun = False

    @property
    def also_self(self) -> bool:
        return self.itself or not any(selects_many(target) for target in self.targets)

    def run(self, context: Context) -> Result:
        if self.purge and not self.dry_run:
            self._check_named()
            if not isinstance(context.registry.look().named(str(self.confirm_purge)), Row):
                raise self._not_named()
        return super().run(context)

    def words(self) -> dict[str, object]:
        """Check only that one name is repeated: another host looks for its row itself."""
        if self.purge and not self.dry_run:
            self._check_named()
        options = super().words()
        return {**options, "itself": self.also_self, "yes": self.yes or self.purge}

    def _check_named(self) -> None:
        """Require the exact name of one session, given twice."""
        named = self.targets == [self.confirm_purge] and len(getattr(self, "host", [])) < 2
        if not named or any(selects_many(target) for target in self.targets):
            raise self._not_named()

    def _not_named(self) -> Failure:
        reason = "that deletes a conversation for good, and confirm_purge does not name it"
        hint = "name one session of the registry in targets, and the same name in confirm_purge"
        return Failure(Code.USAGE, f"could not {self.verb} and purge: {reason}", hint)


class StopSession(_End):
    """Stop sessions properly: exit keys, then hangup, SIGTERM, SIGKILL, until every process is
    proven gone. The conversation is kept for resume_session."""

    verb = "stop"
    after_turn: Seconds | None = Field(
        None, description="Let its turn end first: at most this many seconds."
    )
    keys_timeout: Seconds | None = Field(None, description="Seconds for exit keys; 0: none.")


class KillSession(_End):
    """Kill sessions that hang: SIGTERM, then SIGKILL. The conversation is kept. Prefer
    stop_session."""

    verb = "kill"
    task_status: TaskWord = "failed"


class InterruptSession(Arguments):
    """End the agents' current turn with their own key; the sessions keep running. A dialog is
    closed, never approved."""

    verb = "interrupt"
    targets: SameTargets
    yes: Yes = False
    dry_run: DryRun = False


class SendPrompt(Arguments):
    """Give an idle agent one prompt. not_idle: nothing was typed. unconfirmed: look with
    show_session, do not send again."""

    verb = "send"
    name: str = Field(description="Session.")
    text: str = Field(description="The prompt.")
    when_idle: Seconds = Field(0.0, description="Wait up to this many seconds, at most 15.")
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        """Answer before a client gives up: who called again would have it typed twice."""
        when_idle_s = min(self.when_idle, LONGEST_IDLE_S)
        request = send.SendRequest(self.name, self.text, when_idle_s, dry_run=self.dry_run)
        with wait.event_waiter(context, InterruptibleWaiter) as waiter:
            return send.run(context, request, waiter)


class Reap(Arguments):
    """End sessions that are stalled, idle or past their ttl, and what ended ones left behind.
    Without `yes` only the plan is returned: read it first."""

    verb = "reap"
    reason: Reason
    stalled: bool = Field(False, description="Worked, then silent. None of the four: all.")
    stalled_after: Seconds = Field(STALLED_AFTER_S, description="Seconds.")
    idle: bool = Field(False, description="No output, no client attached, not busy.")
    idle_after: Seconds = Field(IDLE_AFTER_S, description="Seconds.")
    expired: bool = Field(False, description="Past their ttl.")
    orphans: bool = Field(False, description="Processes of ended sessions.")
    grace: Seconds | None = Field(None, description="Seconds before SIGKILL.")
    cleanup: bool | None = Field(None, description="Remove their clean git worktrees.")
    set_name: SetName = None
    task_status: TaskWord = "failed"
    yes: bool = Field(False, description="Do it.")
    dry_run: DryRun = False


class RemoveSession(Arguments):
    """Remove ended sessions from the registry. Ends nothing; conversations stay."""

    verb = "forget"
    targets: SameTargets
    reason: Reason
    history: bool = Field(False, description="Their events too.")
    force: bool = Field(False, description="Also rows that say running.")
    yes: Yes = False
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        many = any(selects_many(target) for target in self.targets)
        if many and not (self.yes or self.dry_run) and stop.is_inside(context):
            reason = "an agent that drops more than named rows has to say so"
            message = f"could not forget {' '.join(self.targets)}: {reason}"
            raise Failure(Code.USAGE, message, "look at the plan with dry_run, then add yes")
        return super().run(context)


LONGEST_IDLE_S = 15.0  # and then some seconds until it has begun
LONGEST_S = 25.0  # of a wait: clients give up on a call after a minute
EXIT_CHECK_S = 0.5  # how soon a waiting call notices that the server has to exit
MOST = 1000
SHOWN = frozenset(fields_of(Listed)) - {"name"}
Limit = Annotated[int, Field(ge=1, le=MOST, description="At most this many.")]
StatusWord = Literal["running", "stopped", "terminated", "all"]
UntilWord = Literal["idle", "waiting", "working", "limited", "gone", "ended"]
StateWord = Literal["working", "waiting", "limited", "idle", "unknown"]
SortWord = Literal["name", "status", "live", "agent", "state", "idle", "memory", "server"]


class ListSessions(Arguments):
    """List sessions: state, idle time, conversation. Only running ones, unless
    targets or status say otherwise."""

    verb = "list"
    targets: Names = Field([], description="As in show_session. None: all.")
    status: StatusWord | None = Field(None, description="Only with this status.")
    state: list[StateWord] = Field([], description="Only in these states.")
    live: bool = Field(False, description="Only with a living agent.")
    sort: SortWord | None = Field(None, description="Sort by this.")
    limit: Limit = 50
    fields: list[str] = Field([], description="Such as [state, cwd].")

    def words(self) -> dict[str, object]:
        unknown = next((name for name in self.fields if name not in SHOWN | {"name"}), None)
        if unknown is not None:
            reason = f"could not list: there is no field {unknown!r}"
            raise Failure(Code.USAGE, reason, f"there are: {', '.join(sorted(SHOWN))}")
        status = self.status or ("all" if self.targets else "running")
        return {**super().words(), "status": None if status == "all" else status}

    def trimmed(self, answer: dict[str, Any]) -> dict[str, Any]:
        kept = _limited(answer, self.limit, "sessions")
        if self.fields:
            wanted = {"name", "error", "host", "target", *self.fields}
            kept["results"] = [
                {key: entry[key] for key in entry if key in wanted} for entry in kept["results"]
            ]
        return kept


def _limited(
    answer: Mapping[str, Any], limit: int, what: str, *, last: bool = False
) -> dict[str, Any]:
    results = answer["results"]
    if len(results) <= limit:
        return dict(answer)
    warning = f"{limit} of {len(results)} {what} are shown: raise limit, or ask for fewer"
    kept = results[-limit:] if last else results[:limit]
    return {**answer, "warnings": [*answer["warnings"], warning], "results": kept}


class ShowSession(Arguments):
    """Show everything known about sessions: processes, screen, conversation."""

    verb = "show"
    targets: Targets


class Events(Arguments):
    """Show what happened: starts, ends with reasons, drafts that were kept. Newest last."""

    verb = "events"
    targets: Names = Field([], description="Names. None: of all.")
    since: Seconds | None = Field(None, description="Only the last N seconds.")
    limit: Limit = 50

    def trimmed(self, answer: dict[str, Any]) -> dict[str, Any]:
        return _limited(answer, self.limit, "events", last=True)


class Doctor(Arguments):
    """Check the setup: tmux, registry, ledger, agents, hooks. Each problem with its fix."""

    verb = "doctor"


class WaitSession(Arguments):
    """Wait until all (or any) of the sessions reach a state, end, or are gone. Answers within 25 s;
    if timed_out, call again."""

    verb = "wait"
    targets: SameTargets
    until: UntilWord = Field(description="waiting: for a person; gone: no process left.")
    anyone: bool = Field(False, alias="any", description="One session is enough.")
    timeout: Seconds = Field(LONGEST_S, description="Seconds, at most 25.")

    def run(self, context: Context) -> Result:
        request = wait.WaitRequest(
            tuple(self.targets), wait.Until(self.until), self.anyone, self._timeout_s
        )
        with wait.event_waiter(context, InterruptibleWaiter) as waiter:
            return wait.run(context, request, waiter)

    def words(self) -> dict[str, object]:
        return {**super().words(), "timeout": f"{self._timeout_s:g}"}

    @property
    def _timeout_s(self) -> float:
        return min(self.timeout, LONGEST_S)


class InterruptibleWaiter(Waiter):
    """A waiter that notices when the server has to exit."""

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        awaited = frozenset(processes)
        left_s = timeout_s
        while True:
            self._processes.wait((), 0.0)  # raises if the server has to exit
            woken = super().wait(awaited, min(left_s, EXIT_CHECK_S))
            left_s -= EXIT_CHECK_S
            if woken.gone or woken.changed or left_s <= 0:
                return woken


class StartSession(Arguments):
    """Start an agent in a new tmux session and register it. Runs the agent's own
    command, or its row's."""

    verb = "start"
    name: str = Field(description="Name of the new session.")
    agent: str | None = Field(
        None, description="claude, codex, gemini, opencode, qwen, copilot, agy, ..."
    )
    cwd: str | None = Field(None, description="Folder. Default: the server's.")
    tag: Names = Field([], alias="tags", description="Tags.")
    task_id: str | None = Field(None, description="Task ID.")
    ttl: str | None = Field(None, description="Such as 2h, for reap.")
    server: str | None = Field(None, description="tmux server, as tmux -L.")
    worktree: str | None = Field(None, description="Git worktree, created if missing.")
    restart: str | None = Field(
        None, description="never, on-failure or always: watch restarts it when lost."
    )
    restart_limit: str | None = Field(None, description="Such as 5/10m.")
    terminal: str | None = Field(None, description="tmux or none.")
    dry_run: DryRun = False


class AdoptSession(Arguments):
    """Register agents that already run in tmux sessions: by name, or all of them."""

    verb = "adopt"
    names: Names = Field([], description="Names of tmux sessions.")
    everything: bool = Field(False, alias="all", description="All, instead of names.")
    agent: str | None = Field(None, description="Default: detected.")
    server: str | None = Field(None, description="tmux server, as tmux -L.")
    tag: Names = Field([], alias="tags", description="Tags.")
    force: bool = Field(False, description="Also sessions of another registry.")
    pane: str | None = Field(None, description="Such as %3, if several.")
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        if self.everything == bool(self.names):
            reason = "could not choose what to adopt: give names, or all alone"
            raise Failure(Code.USAGE, reason, "with dry_run and all the answer lists what is there")
        if not self.everything:
            return super().run(context)
        of_one = {"agent": None, "force": False, "pane": None}
        return Arguments.run(self.model_copy(update=of_one), context)


class Reconcile(Arguments):
    """Bring registry, ledger and tmux into agreement: dead sessions are recorded as ended, an
    interrupted stop is finished. What needs your decision is reported."""

    verb = "reconcile"
    dry_run: DryRun = False


class ResumeSession(Arguments):
    """Continue the conversation of an ended session in a new tmux session of the same name."""

    verb = "resume"
    targets: Names = Field([], description="As in stop_session.")
    set_name: str | None = Field(None, alias="set", description="All of this set; or last.")
    print_only: bool = Field(False, alias="print", description="Only the command.")


@frozen
class Tool:
    name: str
    title: str
    arguments: type[Arguments]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def verb(self) -> str:
        return self.arguments.verb


ENDS: dict[str, bool] = {"destructive": True, "idempotent": True}
ALL = (
    Tool("list_sessions", "List sessions", ListSessions, read_only=True),
    Tool("show_session", "Show sessions", ShowSession, read_only=True),
    Tool("events", "Show the event history", Events, read_only=True),
    Tool("wait_session", "Wait for sessions", WaitSession, read_only=True),
    Tool("doctor", "Check the setup", Doctor, read_only=True),
    Tool("start_session", "Start a session", StartSession),
    Tool("adopt_session", "Register running sessions", AdoptSession, idempotent=True),
    Tool("resume_session", "Resume sessions", ResumeSession),
    Tool("send_prompt", "Send a prompt", SendPrompt),
    Tool("interrupt_session", "Interrupt turns", InterruptSession, idempotent=True),
    Tool("stop_session", "Stop sessions", StopSession, **ENDS),
    Tool("kill_session", "Kill sessions", KillSession, **ENDS),
    Tool("reap", "End stalled, idle and expired sessions", Reap, **ENDS),
    Tool("remove_session", "Forget ended sessions", RemoveSession, **ENDS),
    Tool("reconcile", "Reconcile the registry", Reconcile, idempotent=True),
)
TOOLS = {tool.name: tool for tool in ALL}


def tools(*, hosts: bool) -> dict[str, Tool]:
    """Return the tools, with or without the argument `host`."""
    if not hosts:
        return TOOLS
    found = dict(TOOLS)
    for name, tool in TOOLS.items():
        if VERBS[tool.verb].on_hosts:
            found[name] = replace(tool, arguments=with_host(tool.arguments))
    return found

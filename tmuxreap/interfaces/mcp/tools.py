"""The tools of the MCP server as data: what each takes, what it promises, and the request that it
becomes.

The arguments have the names of the command line's flags, so that every hint of an answer holds here
too. Nothing here speaks the protocol or decides what a verb does."""

from __future__ import annotations

import unicodedata
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from tmuxreap.commands import forget, interrupt, resume, show, stop
from tmuxreap.commands import list as listing
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import IDLE_AFTER_S, STALLED_AFTER_S, Kind, Limits
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row, Verb
from tmuxreap.core.results import Result
from tmuxreap.core.times import LONGEST_S, parse_duration
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.plan import Policy
from tmuxreap.interfaces.cli.boundary import scope_of
from tmuxreap.registry.targets import is_sweeping
from tmuxreap.sessions.context import Context

LONGEST_REASON = 1000
TaskStatus = Literal["failed", "ready", "cancelled"]


def _alone(given: object) -> object:
    """One name may stand without its brackets."""
    return [given] if isinstance(given, str) else given


def _span(given: object) -> object:
    return parse_duration(given) if isinstance(given, str) else given


def _plain(text: str) -> str:
    """It will stand in files and on terminals."""
    if any(unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in text):
        raise ValueError("there is a control character in it")
    return text


MEANT = "Sessions by name; also 'PATTERN*', tag:X, agent:A, task:ID, tree:NAME, pid:N, or all."
Targets = Annotated[list[str], BeforeValidator(_alone), Field(min_length=1, description=MEANT)]
Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON),
    AfterValidator(_plain),
    Field(description="Why, in a few words: recorded with what is done."),
]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False), BeforeValidator(_span)]
StatusWord = Literal["running", "stopped", "terminated"]
SortWord = Literal["name", "status", "live", "agent", "idle", "memory", "server"]
DryRun = Annotated[bool, Field(description="Answer with the plan, and do nothing.")]
Yes = Annotated[
    bool,
    Field(
        description=(
            "Needed inside a registered session for more than names: patterns, tag:, agent:, task:,"
            " all."
        )
    ),
]


class Arguments(BaseModel):
    """What a tool takes. Its docstring is what the tool says of itself."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, given: object) -> object:
        """A tool for a session is called with its `name` by who did not read what it takes."""
        if (
            not isinstance(given, dict)
            or "targets" not in cls.model_fields
            or {"name", "targets"} <= given.keys()
        ):
            return given
        return {"targets" if key == "name" else key: value for key, value in given.items()}

    def run(self, context: Context) -> Result:
        raise NotImplementedError


class ListSessions(Arguments):
    """List the registered sessions: agent, status, whether it is alive, idle time, memory,
    conversation, tags."""

    targets: Annotated[
        list[str], BeforeValidator(_alone), Field(description=f"{MEANT} None: all.")
    ] = []
    status: Annotated[StatusWord | None, Field(description="Only rows of this status.")] = None
    live: Annotated[bool, Field(description="Only those whose agent is alive.")] = False
    sort: Annotated[
        SortWord | None, Field(description="The order of the answer; else as in the registry.")
    ] = None

    def run(self, context: Context) -> Result:
        return listing.run(
            context, listing.ListRequest(tuple(self.targets), self.status, self.live, self.sort)
        )


class ShowSession(Arguments):
    """Show all that is known of a session: its processes and why they are its own, its pane's state
    and screen, its conversation."""

    targets: Targets

    def run(self, context: Context) -> Result:
        return show.run(context, self.targets)


class _End(Arguments):
    """What `stop_session` and `kill_session` both take."""

    verb: ClassVar[Verb]
    targets: Targets
    reason: Reason
    grace: Annotated[Seconds | None, Field(description="Seconds between asking and SIGKILL.")] = (
        None
    )
    no_force: Annotated[bool, Field(description="Never send SIGKILL.")] = False
    whole_session: Annotated[
        bool, Field(description="Other panes of the session that are at work too.")
    ] = False
    pane_only: Annotated[bool, Field(description="Only the agent's own pane.")] = False
    itself: Annotated[
        bool,
        Field(
            alias="self",
            description=(
                "Also the session that you run in, when a pattern, a tag or all reaches it. Named"
                " outright it needs no flag. It is answered first (handed_over) and ended some"
                " seconds later."
            ),
        ),
    ] = False
    cleanup: Annotated[
        bool, Field(description="Remove its git worktree afterwards, never by force.")
    ] = False
    purge_conversation: Annotated[
        bool,
        Field(
            description=(
                "Delete its conversation from the agent's store for good. Needs confirm_purge."
            )
        ),
    ] = False
    confirm_purge: Annotated[
        str | None, Field(description="The name of the one session whose conversation is deleted.")
    ] = None
    yes: Yes = False
    dry_run: DryRun = False

    def policy(self) -> Policy:
        return Policy(
            verb=self.verb,
            reason=self.reason,
            grace_s=self.grace,
            force=not self.no_force,
            scope=scope_of(self.whole_session, self.pane_only),
            itself=self.also_self,
            purge=self.purge_conversation,
            cleanup=self.cleanup,
        )

    @property
    def also_self(self) -> bool:
        return self.itself or not any(is_sweeping(target) for target in self.targets)

    def run(self, context: Context) -> Result:
        if self.purge_conversation and not self.dry_run:
            self._check_purge(context)
        sure = self.yes or self.purge_conversation
        policy = self.policy()
        if self.grace is None:
            policy = replace(policy, grace_s=context.default_seconds("grace"))
        return stop.run(context, stop.EndRequest(tuple(self.targets), policy, self.dry_run, sure))

    def _check_purge(self, context: Context) -> None:
        """One session, by its very name, said twice."""
        named = self.confirm_purge is not None and self.targets == [self.confirm_purge]
        if not named or not isinstance(context.registry.look().named(str(self.confirm_purge)), Row):
            verb = self.verb.value
            raise Failure(
                Code.USAGE,
                f"could not {verb} and purge: that deletes a conversation for good, and"
                " confirm_purge does not name it",
                "name one session of the registry in targets, and the same name in confirm_purge",
            )


class StopSession(_End):
    """Stop sessions properly: the agent leaves by its own exit keys or is made to (hang up,
    SIGTERM, SIGKILL), is proven gone, its conversation is captured for a later resume, and the
    registry says so. Stopping one that has ended is fine."""

    verb = Verb.STOP
    after_turn: Annotated[
        Seconds | None,
        Field(description="First let the agent end its turn, for at most so many seconds."),
    ] = None
    keys_timeout: Annotated[
        Seconds | None, Field(description="Seconds for the exit keys; 0 sends none.")
    ] = None

    def policy(self) -> Policy:
        return replace(
            super().policy(), after_turn_s=self.after_turn, keys_timeout_s=self.keys_timeout
        )


class KillSession(_End):
    """Kill sessions that hang or must go at once: SIGTERM, then SIGKILL, without exit keys. The
    conversation is captured first. Prefer stop_session."""

    verb = Verb.KILL
    task_status: Annotated[TaskStatus, Field(description="What becomes of its task.")] = "failed"

    def policy(self) -> Policy:
        return replace(super().policy(), task_status=self.task_status)


class InterruptSession(Arguments):
    """End the turn that agents are in, by their own key; the sessions go on. A dialog is closed and
    approves nothing, a queued prompt comes back into the input."""

    targets: Targets
    yes: Yes = False
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        return interrupt.run(
            context, interrupt.InterruptRequest(tuple(self.targets), self.dry_run, self.yes)
        )


class Reap(Arguments):
    """End what the evidence says is stalled, idle, past its ttl, or left behind by ended sessions.
    Each verdict quotes its evidence; what cannot be told is kept. Without `yes` the plan is
    answered and nothing is done: read it first."""

    reason: Reason
    stalled: Annotated[
        bool, Field(description="Said that they work, and nothing since. None of the four: all.")
    ] = False
    stalled_after: Annotated[Seconds, Field(description="Seconds that this may last.")] = (
        STALLED_AFTER_S
    )
    idle: Annotated[
        bool, Field(description="No output, not attached, not busy, waiting for nobody.")
    ] = False
    idle_after: Annotated[Seconds, Field(description="Seconds that this may last.")] = IDLE_AFTER_S
    expired: Annotated[bool, Field(description="Running longer than their ttl.")] = False
    orphans: Annotated[bool, Field(description="Processes that ended sessions left behind.")] = (
        False
    )
    grace: Annotated[Seconds | None, Field(description="Seconds between asking and SIGKILL.")] = (
        None
    )
    cleanup: Annotated[
        bool, Field(description="Remove their git worktrees afterwards, never by force.")
    ] = False
    task_status: Annotated[TaskStatus, Field(description="What becomes of their tasks.")] = "failed"
    yes: Annotated[bool, Field(description="Do it; else only the plan is answered.")] = False
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        asked = {
            Kind.STALLED: self.stalled,
            Kind.IDLE: self.idle,
            Kind.EXPIRED: self.expired,
            Kind.ORPHAN: self.orphans,
        }
        usual = reap.usual(context, tuple(kind for kind, wanted in asked.items() if wanted))
        given = self.model_fields_set
        request = replace(
            usual,
            limits=Limits(
                self.stalled_after if "stalled_after" in given else usual.limits.stalled_after_s,
                self.idle_after if "idle_after" in given else usual.limits.idle_after_s,
            ),
            grace_s=usual.grace_s if self.grace is None else self.grace,
            cleanup=self.cleanup if "cleanup" in given else usual.cleanup,
            task_status=self.task_status,
            dry_run=self.dry_run,
            yes=self.yes,
            why=self.reason,
        )
        return reap.run(context, request)


class Reconcile(Arguments):
    """Bring registry, ledger and tmux into agreement: what is found dead is recorded as ended, a
    stop that was asked for and interrupted is finished. What only you can decide is told with its
    way out."""

    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        return reconcile.run(context, dry_run=self.dry_run)


class ResumeSession(Arguments):
    """Take up the captured conversation of an ended session: same conversation, folder and flags,
    in a new tmux session of the same name."""

    targets: Targets
    print_only: Annotated[
        bool, Field(alias="print", description="Only answer with the command.")
    ] = False

    def run(self, context: Context) -> Result:
        return resume.run(context, resume.ResumeRequest(tuple(self.targets), self.print_only))


class RemoveSession(Arguments):
    """Drop the rows of ended sessions from the registry. Nothing is ended, conversations stay on
    disk."""

    targets: Targets
    reason: Reason
    history: Annotated[bool, Field(description="Their recorded events too.")] = False
    force: Annotated[
        bool, Field(description="Also a row that says running; its session is not ended.")
    ] = False
    yes: Yes = False
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        many = any(is_sweeping(target) for target in self.targets)
        if many and not (self.yes or self.dry_run) and stop.is_inside(context):
            raise Failure(
                Code.USAGE,
                f"could not forget {' '.join(self.targets)}: an agent that drops more than named"
                " rows has to say so",
                "look at the plan with dry_run, then add yes",
            )
        request = forget.ForgetRequest(
            tuple(self.targets), self.history, self.force, self.dry_run, self.reason
        )
        return forget.run(context, request)


@frozen
class Tool:
    name: str
    title: str
    verb: str  # as the command line and the envelope name it
    arguments: type[Arguments]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("list_sessions", "List agent sessions", "list", ListSessions, read_only=True),
        Tool("show_session", "Show an agent session", "show", ShowSession, read_only=True),
        Tool(
            "stop_session",
            "Stop agent sessions",
            "stop",
            StopSession,
            destructive=True,
            idempotent=True,
        ),
        Tool(
            "interrupt_session",
            "End turns of agents",
            "interrupt",
            InterruptSession,
            idempotent=True,
        ),
        Tool(
            "kill_session",
            "Kill agent sessions",
            "kill",
            KillSession,
            destructive=True,
            idempotent=True,
        ),
        Tool(
            "reap",
            "End what is stalled, idle, expired or left over",
            "reap",
            Reap,
            destructive=True,
            idempotent=True,
        ),
        Tool("reconcile", "Reconcile registry and tmux", "reconcile", Reconcile, idempotent=True),
        Tool("resume_session", "Resume agent sessions", "resume", ResumeSession),
        Tool(
            "remove_session",
            "Forget ended sessions",
            "forget",
            RemoveSession,
            destructive=True,
            idempotent=True,
        ),
    )
}

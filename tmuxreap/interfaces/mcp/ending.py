"""Owns the tools that end: stop, kill, interrupt, reap, and remove, which drops ended sessions.

Each needs a reason where something is lost, and inside a session a `yes` for more than names."""

from __future__ import annotations

from pydantic import Field

from tmuxreap.commands import stop
from tmuxreap.commands.reap.verdicts import IDLE_AFTER_S, STALLED_AFTER_S
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row
from tmuxreap.core.results import Result
from tmuxreap.interfaces.mcp.arguments import (
    Arguments,
    DryRun,
    Reason,
    Seconds,
    Targets,
    TaskWord,
    Yes,
)
from tmuxreap.registry.targets import selects_many
from tmuxreap.sessions.context import Context

PURGE = "Delete its conversation for good. Needs confirm_purge."
ITSELF = "Also your own session, where a pattern or all reaches it. Not for names."


class _End(Arguments):
    """The arguments that `stop_session` and `kill_session` share."""

    targets: Targets
    reason: Reason
    grace: Seconds | None = Field(None, description="Seconds before SIGKILL.")
    no_force: bool = Field(False, description="Never SIGKILL.")
    whole_session: bool = Field(False, description="Its other busy panes too.")
    pane_only: bool = Field(False, description="Only the agent's pane.")
    itself: bool = Field(False, alias="self", description=ITSELF)
    cleanup: bool = Field(False, description="Remove its git worktree, not by force.")
    purge: bool = Field(False, alias="purge_conversation", description=PURGE)
    confirm_purge: str | None = Field(None, description="That session's name, the one target.")
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
    proven gone. The conversation is kept for resume_session. Safe for an ended session."""

    verb = "stop"
    after_turn: Seconds | None = Field(
        None, description="Let it end its turn first, for at most so many seconds."
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
    targets: Targets
    yes: Yes = False
    dry_run: DryRun = False


class Reap(Arguments):
    """End what evidence shows to be stalled, idle, past its ttl, or left over by ended sessions.
    Without `yes` only the plan is returned: read it first."""

    verb = "reap"
    reason: Reason
    stalled: bool = Field(False, description="Said to work, then silent. None of the four: all.")
    stalled_after: Seconds = Field(STALLED_AFTER_S, description="Seconds.")
    idle: bool = Field(False, description="No output, nobody attached, not busy.")
    idle_after: Seconds = Field(IDLE_AFTER_S, description="Seconds.")
    expired: bool = Field(False, description="Past their ttl.")
    orphans: bool = Field(False, description="Processes of ended sessions.")
    grace: Seconds | None = Field(None, description="Seconds before SIGKILL.")
    cleanup: bool = Field(False, description="Remove their git worktrees, not by force.")
    task_status: TaskWord = "failed"
    yes: bool = Field(False, description="Do it.")
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        if "cleanup" in self.model_fields_set:  # a false one overrides the user's default, too
            context.defaults = {**context.defaults, "cleanup": self.cleanup}
        return super().run(context)


class RemoveSession(Arguments):
    """Forget ended sessions: drop their rows. Ends nothing; conversations stay."""

    verb = "forget"
    targets: Targets
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

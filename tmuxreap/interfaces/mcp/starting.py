"""Owns the tools that begin: start, adopt, resume; and reconcile.

A start runs the command of the agent's profile or of its row, never one from the caller."""

from __future__ import annotations

from pydantic import Field

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.mcp.arguments import Arguments, DryRun, Names, Targets
from tmuxreap.sessions.context import Context


class StartSession(Arguments):
    """Start an agent in a new tmux session and register it. It runs its own command, or its
    row's."""

    verb = "start"
    name: str = Field(description="Of the session, a new one.")
    agent: str | None = Field(
        None, description="claude, codex, gemini, opencode, qwen, copilot, agy, ..."
    )
    cwd: str | None = Field(None, description="Folder; else the server's.")
    tag: Names = Field([], alias="tags", description="Recorded.")
    task_id: str | None = Field(None, description="Recorded.")
    ttl: str | None = Field(None, description="As 2h: then reap finds it.")
    server: str | None = Field(None, description="tmux server, as tmux -L.")
    worktree: str | None = Field(None, description="Work in this git worktree; made if missing.")
    restart: str | None = Field(
        None, description="never, on-failure, always: by watch, when it is lost."
    )
    restart_limit: str | None = Field(None, description="As 5/10m.")
    terminal: str | None = Field(None, description="tmux, or none.")
    dry_run: DryRun = False


class AdoptSession(Arguments):
    """Register agents that already run in tmux sessions: by name, or all of them."""

    verb = "adopt"
    names: Names = Field([], description="Names of tmux sessions.")
    everything: bool = Field(False, alias="all", description="Instead of names.")
    agent: str | None = Field(None, description="Which agent; else recognised.")
    server: str | None = Field(None, description="tmux server, as tmux -L.")
    tag: Names = Field([], alias="tags", description="Recorded.")
    force: bool = Field(False, description="Also what another registry has.")
    pane: str | None = Field(None, description="As %3: of several agents in one session.")
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        if self.everything == bool(self.names):
            reason = "could not tell what to adopt: give names, or all alone"
            raise Failure(Code.USAGE, reason, "with dry_run and all the answer tells who is there")
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
    targets: Targets
    print_only: bool = Field(False, alias="print", description="Only answer with the command.")

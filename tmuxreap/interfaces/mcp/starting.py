"""Owns the tools that begin: start, adopt, resume; and reconcile.

A start runs the command of the agent's profile or of its row, never one from the caller."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tmuxreap.commands import adopt
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.mcp.arguments import Arguments, DryRun, Names, Targets
from tmuxreap.sessions.context import Context


class StartSession(Arguments):
    """Start an agent in a new tmux session and register it. It runs its own command, or its
    row's."""

    verb = "start"
    name: Annotated[str, Field(description="Of the session, a new one.")]
    agent: Annotated[
        str | None, Field(description="claude, codex, gemini, opencode, qwen, copilot, agy, ...")
    ] = None
    cwd: Annotated[str | None, Field(description="Folder; else the server's.")] = None
    tag: Names = Field([], alias="tags", description="Recorded.")
    task_id: Annotated[str | None, Field(description="Recorded.")] = None
    ttl: Annotated[str | None, Field(description="As 2h: then reap finds it.")] = None
    server: Annotated[str | None, Field(description="tmux server, as tmux -L.")] = None
    worktree: Annotated[
        str | None, Field(description="Work in this git worktree; made if missing.")
    ] = None
    restart: Annotated[
        str | None, Field(description="never, on-failure, always: by watch, when it is lost.")
    ] = None
    restart_limit: Annotated[str | None, Field(description="As 5/10m.")] = None
    terminal: Annotated[str | None, Field(description="tmux, or none.")] = None
    dry_run: DryRun = False


class AdoptSession(Arguments):
    """Register agents that already run in tmux sessions: by name, or all of them."""

    verb = "adopt"
    names: Names = Field([], description="Names of tmux sessions.")
    everything: Annotated[bool, Field(alias="all", description="Instead of names.")] = False
    agent: Annotated[str | None, Field(description="Which agent; else recognised.")] = None
    server: Annotated[str | None, Field(description="tmux server, as tmux -L.")] = None
    tag: Names = Field([], alias="tags", description="Recorded.")
    force: Annotated[bool, Field(description="Also what another registry has.")] = False
    dry_run: DryRun = False

    def run(self, context: Context) -> Result:
        if self.everything == bool(self.names):
            reason = "could not tell what to adopt: give names, or all alone"
            raise Failure(Code.USAGE, reason, "with dry_run and all the answer tells who is there")
        tags = tuple(self.tag)
        if self.everything:
            return adopt.run_all(context, adopt.AdoptAllRequest(self.server, tags, self.dry_run))
        requests = [
            adopt.AdoptRequest(name, self.agent, self.server, tags, self.dry_run, self.force)
            for name in dict.fromkeys(self.names)
        ]
        return adopt.run(context, *requests)


class Reconcile(Arguments):
    """Bring registry, ledger and tmux into agreement: dead sessions are recorded as ended, an
    interrupted stop is finished. What needs your decision is reported."""

    verb = "reconcile"
    dry_run: DryRun = False


class ResumeSession(Arguments):
    """Continue the conversation of an ended session in a new tmux session of the same name."""

    verb = "resume"
    targets: Targets
    print_only: Annotated[
        bool, Field(alias="print", description="Only answer with the command.")
    ] = False

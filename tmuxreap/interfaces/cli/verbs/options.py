"""Options and arguments that several verbs have, said once; and those of `stop`, which has many."""

from __future__ import annotations

from typing import Annotated

import typer

Registry = Annotated[str | None, typer.Option("--registry", help="The registry file.", metavar="PATH")]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but what went wrong.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Answer the question beforehand.")]
Targets = Annotated[
    list[str] | None,
    typer.Argument(
        help="NAME, 'PATTERN*', tag:X, agent:A, task:ID, tree:NAME, pid:N, all, or - for names on stdin.",
        metavar="TARGETS",
    ),
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, as it is recorded.", metavar="R")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given again.", metavar="X")]
Server = Annotated[str | None, typer.Option("--server", help="The tmux server, as for tmux -L.", metavar="L")]
AfterTurn = Annotated[
    str | None, typer.Option("--after-turn", help="First let it end its turn, at most so long.", metavar="S")
]
NoForce = Annotated[bool, typer.Option("--no-force", help="Never send SIGKILL.")]
Purge = Annotated[bool, typer.Option("--purge-conversation", help="Delete its conversation for good.")]
WholeSession = Annotated[bool, typer.Option("--whole-session", help="Foreign panes too.")]
PaneOnly = Annotated[bool, typer.Option("--pane-only", help="Only the agent's pane.")]
Itself = Annotated[bool, typer.Option("--self", help="Also the session that this is called from.")]
Cleanup = Annotated[bool, typer.Option("--cleanup", help="Remove its git worktree too, never by force.")]
ForceNoYaml = Annotated[bool, typer.Option("--unregistered", "--force-no-yaml", help="Also a session without a row.")]
TaskStatus = Annotated[
    str, typer.Option("--task-status", help="What becomes of its task.", metavar="failed|ready|cancelled")
]

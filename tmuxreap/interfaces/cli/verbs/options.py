"""Options and arguments shared by several verbs, and those of `stop`."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.interfaces.cli.parameters import Argument, Option

Registry = Annotated[
    str | None,
    Option(
        "--registry",
        help="Registry file (default: the nearest one above the current directory).",
        metavar="PATH",
    ),
]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Only print errors.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show what would happen without doing it.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")]
Targets = Annotated[
    list[str] | None,
    Argument(
        help=(
            "NAME, 'PATTERN*', tag:X, agent:A, task:ID, tree:NAME, pid:N, all, or - for names on"
            " stdin."
        ),
        metavar="TARGETS",
    ),
]
Reason = Annotated[
    str | None,
    Option("--reason", help="Reason to record. [stop: manual_stop, kill: killed]", metavar="R"),
]
Tags = Annotated[
    list[str] | None,
    Option("--tag", help="Tag to record with the session (repeatable).", metavar="X"),
]
Server = Annotated[
    str | None,
    Option(
        "--server",
        help="tmux server by socket name, as for tmux -L (default: the default server).",
        metavar="L",
    ),
]
AfterTurn = Annotated[
    str | None,
    Option(
        "--after-turn",
        help="Let the agent finish its current turn first, up to this long.",
        metavar="S",
    ),
]
NoForce = Annotated[bool, Option("--no-force", help="Never send SIGKILL.")]
Purge = Annotated[
    bool, Option("--purge-conversation", help="Also delete its conversation for good.")
]
WholeSession = Annotated[
    bool, Option("--whole-session", help="Also end other panes in the session.")
]
PaneOnly = Annotated[
    bool, Option("--pane-only", help="End only the agent's pane, and leave the others.")
]
Itself = Annotated[bool, Option("--self", help="Allow stopping the session this command runs in.")]
Cleanup = Annotated[
    bool, Option("--cleanup", help="Also remove its git worktree, unless it has changes.")
]
ForceNoYaml = Annotated[
    bool,
    Option(
        "--unregistered",
        "--force-no-yaml",
        help="Also stop a tmux session that is not in the registry.",
    ),
]
TaskStatus = Annotated[
    str,
    Option("--task-status", help="Status to set on its task.", metavar="failed|ready|cancelled"),
]

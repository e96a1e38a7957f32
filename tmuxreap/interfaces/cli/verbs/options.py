"""Options, arguments and hints that several verbs share."""

from __future__ import annotations

from tmuxreap.interfaces.cli.parameters import arguments, flag, number, text, words

REGISTRY = text(
    "--registry PATH", "Registry file (default: the nearest one above the current directory)."
)
JSON = flag("--json", "Print the result as JSON.")
QUIET = flag("--quiet -q", "Only print errors.")
DRY_RUN = flag("--dry-run", "Show what would happen without doing it.")
YES = flag("--yes -y", "Do not ask for confirmation.")
TARGETS = arguments(
    "TARGETS",
    "NAME, 'PATTERN*', tag:X, agent:A, task:ID, tree:NAME, pid:N, all, or - for names on stdin.",
)
REASON = text("--reason R", "Reason to record. [stop: manual_stop, kill: killed]")
TAGS = words("--tag X", "Tag to record with the session (repeatable).")
SERVER = text(
    "--server L", "tmux server by socket name, as for tmux -L (default: the default server)."
)
NO_FORCE = flag("--no-force", "Never send SIGKILL.")
PURGE = flag("--purge-conversation", "Also delete its conversation for good.")
WHOLE_SESSION = flag("--whole-session", "Also end other panes in the session.")
PANE_ONLY = flag("--pane-only", "End only the agent's pane, and leave the others.")
ITSELF = flag("--self", "Allow stopping the session this command runs in.")
CLEANUP = flag("--cleanup", "Also remove its git worktree, unless it has changes.")
UNREGISTERED = flag(
    "--unregistered --force-no-yaml", "Also stop a tmux session that is not in the registry."
)
TASK_STATUS = text("--task-status failed|ready|cancelled", "Status to set on its task.", "failed")
HOST = words("--host H", "Run on other hosts: names, @tag, all, or local.")
HOSTS_AT_ONCE = number("--hosts-at-once N", "Hosts to ask at the same time. [32]", min=1, max=1000)
INSTALL = "install it with all extras, in the checkout: pipx install --force '.[all]'"

"""Words of the command line, as `scripts/vocabulary` wrote them: never edit this.

The completion reads them here: to build the command line takes longer than a key press may."""

from __future__ import annotations

Flag = tuple[str, str]  # what follows it, what it is for
Words = tuple[str, str, str, dict[str, Flag]]

# fmt: off
# what several verbs have
FLAGS: dict[str, Flag] = {
    "--task-status": ("failed|ready|cancelled", "Status to set on its task."),
    "--force-no-yaml": ("", "Also stop a tmux session that is not in the registry."),
    "--unregistered": ("", "Also stop a tmux session that is not in the registry."),
    "--self": ("", "Allow stopping the session this command runs in."),
    "--pane-only": ("", "End only the agent's pane, and leave the others."),
    "--whole-session": ("", "Also end other panes in the session."),
    "--purge-conversation": ("", "Also delete its conversation for good."),
    "--no-force": ("", "Never send SIGKILL."),
    "--grace": ("S", "How long to wait after SIGTERM before SIGKILL. [5s]"),
    "--reason": ("R", "Reason to record. [stop: manual_stop, kill: killed]"),
    "--tree": ("", "Show each session below the one that started it."),
    "--live": ("", "Only sessions whose agent is alive."),
    "--server": ("L", "tmux server by socket name, as for tmux -L (default: the default server)."),
    "--tag": ("X", "Tag to record with the session (repeatable)."),
    "--cleanup": ("", "Also remove its git worktree, unless it has changes."),
    "--yes": ("", "Do not ask for confirmation."),
    "--dry-run": ("", "Show what would happen without doing it."),
    "--hosts-at-once": ("N", "Hosts to ask at the same time. [32]"),
    "--host": ("H", "Run on other hosts: names, @tag, all, or local."),
    "--registry": ("PATH", "Registry file (default: the nearest one above the current directory)."),
    "--quiet": ("", "Only print errors."),
    "--json": ("", "Print the result as JSON."),
    "--help": ("", "Show this message and exit."),
}
# verb: what it does, its arguments, its flags in order, and those that are its own
VERBS: dict[str, Words] = {
    "start": (
        "Start an agent in its own tmux session and register it.",
        "NAME COMMAND...",
        "--agent --cwd --tag --task-id --ttl --server --confirm --replace --worktree --terminal "
        "--restart --restart-limit --registry --json --quiet --dry-run --host --hosts-at-once "
        "--yes --help",
        {
            "--agent": ("A", "Agent to run (see `tmuxreap agents`)."),
            "--cwd": ("DIR", "Working directory (default: current)."),
            "--task-id": ("ID", "Task ID to record with the session."),
            "--ttl": (
                "T",
                "How long it may run before `reap --expired` finds it, e.g. 2h (default: no "
                "limit).",
            ),
            "--confirm": (
                "S",
                "How long the agent must stay up before the start counts as successful. [1s]",
            ),
            "--replace": ("", "Stop a running session of the same name first."),
            "--worktree": (
                "DIR",
                "Work in this git worktree; created on a branch NAME if missing.",
            ),
            "--terminal": (
                "tmux|none",
                "`tmux`, or `none` to run without tmux; its output goes to a log file. [tmux, or "
                "as before]",
            ),
            "--restart": (
                "WHEN",
                "When `watch` resumes it after a crash: never, on-failure or always. [never]",
            ),
            "--restart-limit": (
                "N/D",
                "How many restarts within what time, before it is given up. [5/10m]",
            ),
        },
    ),
    "adopt": (
        "Register sessions that are already running.",
        "NAME...",
        "--all --agent --server --tag --registry --json --quiet --dry-run --yes --force --pid "
        "--pane --host --hosts-at-once --help",
        {
            "--all": ("", "Adopt every agent session that is not registered; asks on a terminal."),
            "--agent": ("A", "Agent that runs in it (default: detected)."),
            "--force": ("", "Also a session that another registry has; only that one can end it."),
            "--pid": ("N", "Agent outside of tmux: process N and its children."),
            "--pane": ("PANE", "Pane of another terminal: kitty:ID, wezterm:ID."),
        },
    ),
    "list": (
        "List sessions and whether they are alive.",
        "TARGETS",
        "--status --live --sort --tree --registry --json --quiet --host --hosts-at-once --help",
        {
            "--status": (
                "running|stopped|terminated|archived",
                "Only running, stopped or terminated sessions.",
            ),
            "--sort": (
                "name|status|live|agent|idle|memory|server",
                "By name, status, live, agent, idle, memory, server.",
            ),
        },
    ),
    "show": (
        "Show all that is known about a session.",
        "TARGETS",
        "--registry --json --quiet --host --hosts-at-once --help",
        {},
    ),
    "attach": (
        "Attach this terminal to a session, or switch the tmux client.",
        "NAME",
        "--registry --help",
        {},
    ),
    "stop": (
        "Stop sessions: exit keys, then SIGHUP/SIGTERM, then SIGKILL.",
        "TARGETS",
        "--reason --keys-timeout --grace --after-turn --no-force --purge-conversation "
        "--whole-session --pane-only --self --cleanup --unregistered --force-no-yaml --registry "
        "--json --quiet --dry-run --yes --host --hosts-at-once --help",
        {
            "--keys-timeout": (
                "S",
                "How long to wait after the exit keys (0: skip them). [3s, or the agent's own]",
            ),
            "--after-turn": ("S", "Let the agent finish its current turn first, up to this long."),
        },
    ),
    "kill": (
        "Kill sessions: SIGTERM, then SIGKILL.",
        "TARGETS",
        "--reason --grace --no-force --purge-conversation --whole-session --pane-only --self "
        "--task-status --cleanup --unregistered --force-no-yaml --registry --json --quiet "
        "--dry-run --yes --host --hosts-at-once --help",
        {
            "--grace": ("S", "How long to wait after SIGTERM (0: SIGKILL at once). [2s]"),
        },
    ),
    "reap": (
        "Find sessions that are stalled, idle, expired or orphaned.",
        "",
        "--stalled --stalled-after --idle --idle-after --expired --orphans --grace --task-status "
        "--cleanup --registry --json --quiet --dry-run --yes --host --hosts-at-once --help",
        {
            "--stalled": ("", "Agents that reported work and have been silent since."),
            "--stalled-after": ("S", "How long the silence may last. [120s]"),
            "--idle": ("", "Agents with no output and nobody attached."),
            "--idle-after": ("D", "How long they may be idle. [2h]"),
            "--expired": ("", "Agents that run longer than their --ttl."),
            "--orphans": ("", "Processes that ended sessions left behind."),
        },
    ),
    "resume": (
        "Resume the saved conversation of a stopped session.",
        "TARGETS",
        "--print --confirm --lost --since --at-once --pace --registry --json --quiet --dry-run "
        "--host --hosts-at-once --yes --help",
        {
            "--print": ("", "Only print the command to run."),
            "--confirm": (
                "S",
                "How long the agent must stay up before the resume counts as successful. [1s]",
            ),
            "--lost": ("", "Sessions that a crash or a reboot ended (default: all of them)."),
            "--since": ("D", "With --lost: only those of the last D. [since the boot, or 24h]"),
            "--at-once": ("N", "With --lost: how many before each pause."),
            "--pace": ("S", "With --lost: how long to pause. [2s]"),
        },
    ),
    "forget": (
        "Remove ended sessions from the registry.",
        "TARGETS",
        "--history --force --older-than --registry --json --quiet --dry-run --yes --host "
        "--hosts-at-once --help",
        {
            "--history": ("", "Also delete its event history."),
            "--force": ("", "Also remove entries that are still marked running."),
            "--older-than": ("D", "Only sessions that ended longer ago than this, e.g. 30d."),
        },
    ),
    "protect": (
        "Protect sessions: only naming them ends them.",
        "TARGETS",
        "--registry --json --quiet --dry-run --host --hosts-at-once --yes --help",
        {},
    ),
    "unprotect": (
        "Remove the protection from sessions.",
        "TARGETS",
        "--registry --json --quiet --dry-run --host --hosts-at-once --yes --help",
        {},
    ),
    "reconcile": (
        "Compare the registry with what runs and fix what is certain.",
        "",
        "--registry --json --quiet --dry-run --host --hosts-at-once --yes --help",
        {},
    ),
    "watch": (
        "Reconcile whenever an agent or a tmux server exits.",
        "",
        "--interval --exec --reap --notify --registry --json --quiet --host --hosts-at-once "
        "--help",
        {
            "--interval": ("S", "How often to check everything, besides on events. [10s]"),
            "--exec": ("COMMAND", "Run COMMAND for each event (JSON on stdin)."),
            "--reap": ("stalled,idle,expired", "Also end sessions found stalled, idle or expired."),
            "--notify": ("", "Also show each event to the tmux clients attached to that session."),
        },
    ),
    "events": (
        "Show the event history.",
        "TARGETS",
        "--follow --since --registry --json --quiet --host --hosts-at-once --help",
        {
            "--follow": ("", "Keep printing new events."),
            "--since": ("D", "Only events from the last D, e.g. 2h."),
        },
    ),
    "wait": (
        "Wait until sessions reach a state, end or are gone.",
        "TARGETS",
        "--until --any --timeout --registry --json --quiet --host --hosts-at-once --help",
        {
            "--until": ("idle|waiting|working|limited|gone|ended", "State to wait for."),
            "--any": ("", "Return as soon as one of them is there (default: all)."),
            "--timeout": ("D", "Give up after this long (default: never)."),
        },
    ),
    "interrupt": (
        "End the turn of agents; the sessions go on.",
        "TARGETS",
        "--registry --json --quiet --dry-run --yes --host --hosts-at-once --help",
        {},
    ),
    "heartbeat": (
        "Record that a session is alive and what it is doing.",
        "",
        "--state --registry --json --quiet --help",
        {
            "--state": (
                "STATE",
                "What the agent is doing: working, waiting (for a person) or idle.",
            ),
        },
    ),
    "hook": (
        "Internal: called by the agent's hooks.",
        "AGENT EVENT",
        "--help",
        {},
    ),
    "hooks": (
        "Install or remove hooks that report an agent's state.",
        "install|remove AGENT",
        "--registry --json --quiet --dry-run --help",
        {},
    ),
    "agents": (
        "List the known agents and what can be done with each.",
        "",
        "--json --quiet --help",
        {},
    ),
    "doctor": (
        "Check the setup and print the command that fixes each problem.",
        "",
        "--registry --json --quiet --host --hosts-at-once --help",
        {},
    ),
    "mcp": (
        "Run the MCP server: these commands as tools for agents.",
        "",
        "--hosts --registry --json --quiet --help",
        {
            "--hosts": ("", "Give the tools an argument `host`: other machines."),
        },
    ),
    "popup": (
        "Show the sessions live, and stop or resume them by key.",
        "",
        "--client --socket --registry --help",
        {
            "--client": ("C", "tmux client to switch on Enter."),
            "--socket": ("PATH", "Socket of the tmux server of that client."),
        },
    ),
    "hosts": (
        "List the hosts in hosts.yaml and whether each answers.",
        "check H...",
        "--json --quiet --help",
        {},
    ),
    "skills": (
        "Copy the skills and scripts into a project.",
        "install",
        "--dest --json --quiet --dry-run --yes --help",
        {
            "--dest": (
                "DIR",
                "Target directory (default: .agents/skills, and .claude/skills if .claude "
                "exists).",
            ),
        },
    ),
    "completion": (
        "Print the shell completion script.",
        "bash|zsh|fish",
        "--json --quiet --help",
        {},
    ),
    "schema": (
        "Print the JSON Schema of a verb's --json output.",
        "",
        "--help",
        {},
    ),
    "config": (
        "Show the defaults and where each one is set.",
        "",
        "--json --quiet --help",
        {},
    ),
    "ls": (
        "List sessions and whether they are alive.",
        "TARGETS",
        "--status --live --sort --tree --registry --json --quiet --host --hosts-at-once --help",
        {
            "--status": ("S", "Only running, stopped or terminated sessions."),
            "--sort": ("KEY", "By name, status, live, agent, idle, memory, server."),
        },
    ),
}
AGENTS = {
    "demo": "the built-in agent of the demo, the docs and the tests",
    "claude": "Claude Code",
    "codex": "OpenAI Codex CLI",
    "gemini": "Gemini CLI",
    "agy":
        "Antigravity; C-c twice ends it in any state, as its maker documents; its screens are not "
        "known",
    "opencode": "opencode",
    "kilo": "Kilo Code CLI",
    "qwen": "Qwen Code",
    "copilot": "GitHub Copilot CLI",
    "cursor-agent": "Cursor CLI; its /exit needs a second Enter",
    "droid": "Factory Droid",
    "pi": "pi; it asks before no tool",
    "hermes": "Hermes Agent",
    "goose": "goose",
    "crush": "Crush; its conversations are in .crush/crush.db of each project",
    "aider": "Aider; one history for each folder, and a resume brings back all of it",
    "cline": "Cline CLI",
    "grok": "Grok CLI of its community (@vibe-kit/grok-cli); it keeps no conversation",
    "cn": "Continue CLI; a resume goes on with a copy of the conversation",
}

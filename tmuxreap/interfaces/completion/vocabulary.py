"""The words of the command line, as `scripts/vocabulary` wrote them down: never edit this, run that.

The completion reads them here, because building the command line takes longer than a key press may."""

from __future__ import annotations

Words = tuple[str, tuple[str, ...], dict[str, tuple[str, str]]]

# fmt: off
# verb: what it does, what its arguments are, and for each flag: what follows it, what it is for
VERBS: dict[str, Words] = {
    "start": (
        "Start an agent in a tmux session of its own, and register it.",
        ("NAME", "COMMAND..."), {
        "--agent": ("A", "Which agent it is."),
        "--cwd": ("DIR", "The folder to work in."),
        "--tag": ("X", "A tag; may be given again."),
        "--task-id": ("ID", "Of its task in the ledger."),
        "--ttl": ("T", "How long it may run, as 2h."),
        "--server": ("L", "The tmux server, as for tmux -L."),
        "--confirm": ("S", "How long it has to live."),
        "--replace": ("", "End a living session of that name first."),
        "--worktree": ("DIR", "Work in this git worktree; made, on a branch NAME, if missing."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "adopt": (
        "Register sessions that are there already.",
        ("NAME...",), {
        "--all": ("", "Every agent's session that is not registered; asks on a terminal."),
        "--agent": ("A", "Which agent it is."),
        "--server": ("L", "The tmux server, as for tmux -L."),
        "--tag": ("X", "A tag; may be given again."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--yes": ("", "Answer the question beforehand."),
        "--force": ("", "Also a session that another registry has; it stays that one's to end."),
        "--pid": ("N", "A session without tmux: this process, and those below it."),
        "--pane": ("PANE", "A pane of another terminal: kitty:ID, wezterm:ID."),
        "--help": ("", "Show this message and exit."),
    }),
    "list": (
        "List the sessions, each with a look at what is alive of it.",
        ("TARGETS",), {
        "--status": ("running|stopped|terminated|archived", "running, stopped or terminated."),
        "--live": ("", "Only sessions whose agent is alive."),
        "--sort": ("name|status|live|agent|idle|memory|server", "name, status, live, agent, idle, memory or server."),
        "--tree": ("", "Each session below the one that started it."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "show": (
        "Show all that is known of a session.",
        ("TARGETS",), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "stop": (
        "Stop sessions: exit keys, hang up, kill; proven gone.",
        ("TARGETS",), {
        "--reason": ("R", "Why, as it is recorded."),
        "--keys-timeout": ("S", "For the exit keys; 0 sends none."),
        "--grace": ("S", "After hanging up (5)."),
        "--after-turn": ("S", "First let it end its turn, at most so long."),
        "--no-force": ("", "Never send SIGKILL."),
        "--purge-conversation": ("", "Delete its conversation for good."),
        "--whole-session": ("", "Foreign panes too."),
        "--pane-only": ("", "Only the agent's pane."),
        "--self": ("", "Also the session that this is called from."),
        "--cleanup": ("", "Remove its git worktree too, never by force."),
        "--unregistered": ("", "Also a session without a row."),
        "--force-no-yaml": ("", "Also a session without a row."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--yes": ("", "Answer the question beforehand."),
        "--help": ("", "Show this message and exit."),
    }),
    "kill": (
        "Kill sessions: SIGTERM, then SIGKILL.",
        ("TARGETS",), {
        "--reason": ("R", "Why, as it is recorded."),
        "--grace": ("S", "After SIGTERM (2); 0 kills at once."),
        "--no-force": ("", "Never send SIGKILL."),
        "--purge-conversation": ("", "Delete its conversation for good."),
        "--whole-session": ("", "Foreign panes too."),
        "--pane-only": ("", "Only the agent's pane."),
        "--self": ("", "Also the session that this is called from."),
        "--task-status": ("failed|ready|cancelled", "What becomes of its task."),
        "--cleanup": ("", "Remove its git worktree too, never by force."),
        "--unregistered": ("", "Also a session without a row."),
        "--force-no-yaml": ("", "Also a session without a row."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--yes": ("", "Answer the question beforehand."),
        "--help": ("", "Show this message and exit."),
    }),
    "reap": (
        "End what is stalled, idle, expired or left over.",
        (), {
        "--stalled": ("", "That said they work, and nothing since."),
        "--stalled-after": ("S", "How long that may be (120)."),
        "--idle": ("", "That show nothing, and are waited for by nobody."),
        "--idle-after": ("D", "How long that may be (2h)."),
        "--expired": ("", "That run longer than their ttl."),
        "--orphans": ("", "Processes that ended sessions left behind."),
        "--grace": ("S", "After the hangup (5)."),
        "--task-status": ("failed|ready|cancelled", "What becomes of its task."),
        "--cleanup": ("", "Remove its git worktree too, never by force."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--yes": ("", "Answer the question beforehand."),
        "--help": ("", "Show this message and exit."),
    }),
    "resume": (
        "Take up the conversation of an ended session, in its folder.",
        ("TARGETS",), {
        "--print": ("", "Only print the command."),
        "--confirm": ("S", "How long it has to live."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "forget": (
        "Drop the rows of ended sessions; conversations stay on disk.",
        ("TARGETS",), {
        "--history": ("", "Its events too."),
        "--force": ("", "Also a row that is running."),
        "--older-than": ("D", "Only those that ended longer ago, as 30d."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "protect": (
        "Protect sessions: only their names end them.",
        ("TARGETS",), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "unprotect": (
        "Take the protection of sessions away.",
        ("TARGETS",), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "reconcile": (
        "Bring registry, ledger and tmux into agreement.",
        (), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "watch": (
        "Reconcile at the moment that something happens.",
        (), {
        "--interval": ("S", "Between full looks (10)."),
        "--exec": ("COMMAND", "Run with each event on stdin."),
        "--reap": ("stalled,idle,expired", "End what is so, too."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "events": (
        "Tell what happened.",
        ("TARGETS",), {
        "--follow": ("", "Go on with what comes."),
        "--since": ("D", "No older than this, as 2h."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "wait": (
        "Wait until sessions reach a state, end or are gone.",
        ("TARGETS",), {
        "--until": ("idle|waiting|working|limited|gone|ended", "What to wait for."),
        "--any": ("", "Until one of them is; else all of them."),
        "--timeout": ("D", "Give up after this time (never)."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "heartbeat": (
        "Note that a session is alive, and what it is at.",
        ("",), {
        "--state": ("STATE", "working, waiting (for a person) or idle."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "hook": (
        "Note what an agent is at: called by its own hooks.",
        ("AGENT", "EVENT"), {
        "--help": ("", "Show this message and exit."),
    }),
    "hooks": (
        "Have an agent tell what it is at, by hooks in its settings.",
        ("install|remove", "AGENT"), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--help": ("", "Show this message and exit."),
    }),
    "agents": (
        "List the known agents, and what can be done with each.",
        (), {
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "doctor": (
        "Tell what is wrong, and the command that mends it.",
        (), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "mcp": (
        "Serve these verbs to agents as tools, by MCP.",
        (), {
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "popup": (
        "See the sessions live, and end them by a key.",
        (), {
        "--client": ("C", "The tmux client that jumps."),
        "--socket": ("PATH", "The server of that client."),
        "--registry": ("PATH", "The registry file."),
        "--help": ("", "Show this message and exit."),
    }),
    "skills": (
        "Copy our skills and scripts into a project.",
        ("install",), {
        "--dest": ("DIR", "Where to; else .agents/skills, and .claude/skills where .claude is."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--dry-run": ("", "Show what would be done, and do nothing."),
        "--yes": ("", "Answer the question beforehand."),
        "--help": ("", "Show this message and exit."),
    }),
    "completion": (
        "Print what a shell needs to complete our words.",
        ("bash|zsh|fish",), {
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
    "schema": (
        "Print the JSON Schema of what a verb answers with --json.",
        ("",), {
        "--help": ("", "Show this message and exit."),
    }),
    "ls": (
        "List the sessions, each with a look at what is alive of it.",
        ("TARGETS",), {
        "--status": ("S", "running, stopped or terminated."),
        "--live": ("", "Only sessions whose agent is alive."),
        "--sort": ("KEY", "name, status, live, agent, idle, memory or server."),
        "--tree": ("", "Each session below the one that started it."),
        "--registry": ("PATH", "The registry file."),
        "--json": ("", "Answer with one JSON document."),
        "--quiet": ("", "Say nothing but what went wrong."),
        "--help": ("", "Show this message and exit."),
    }),
}
AGENTS = {
    "demo": "the built-in agent of the demo, the docs and the tests",
    "claude": "Claude Code",
    "codex": "OpenAI Codex CLI",
    "gemini": "Gemini CLI",
    "agy": "Antigravity; C-c twice ends it in any state, as its maker documents; its screens are not known",
    "opencode": "opencode",
    "qwen": "Qwen Code",
    "copilot": "GitHub Copilot CLI",
    "cursor-agent": "Cursor CLI; its /exit needs a second Enter",
    "droid": "Factory Droid",
    "goose": "goose",
    "crush": "Crush; its conversations are in .crush/crush.db of each project",
    "aider": "Aider; its conversations have no IDs",
}

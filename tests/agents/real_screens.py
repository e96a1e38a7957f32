"""Screens of the real agents as recorded when they ran, shortened to what the patterns match."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

RULE, ABOVE, BELOW = "─" * 40, "▄" * 40, "▀" * 40
CLAUDE = (
    "❯ please remember\n\n● The mock has read it.\n\n{above}"
    + RULE
    + "\n❯\xa0{prompt}\n"
    + RULE
    + "\n  {footer}"
)
CODEX = (
    "› please remember\n\n• The mock has read it.\n\n  Worked for <1s • 14:20\n\n{above}›"
    " {prompt}\n\n  mock · /shop\n  ? {footer}"
)
GEMINI = (
    f"{ABOVE}\n > please remember\n{BELOW}\n✦ The mock has read it.\n\n{{above}}{RULE}\n Shift+Tab"
    f" to accept edits\n{ABOVE}\n > {{prompt}}\n{BELOW}\n{{footer}} workspace\n /shop      no"
    " sandbox"
)
QWEN = (
    f"  > please remember\n\n  ✦ The mock has read it.\n\n{{above}}{RULE}\n> {{prompt}}\n{RULE}\n "
    " {footer}"
)
OPENCODE = (
    "  ┃\n  ┃  please remember\n  ┃\n\n     The mock has read it.\n\n     ▣  Build · Mock ·"
    f" 1.8s\n\n{{above}}  ┃\n  ┃  {{prompt}}\n  ┃\n  ┃  Build · Mock Mock\n  ╹{BELOW}\n  "
    " {footer}  tab agents  ctrl+p commands"
)
COPILOT_IN_USE = """\
╭──────────────────────────────────────────────────╮
│ Session in use                                   │
│ ──────────────────────────────────────────────── │
│ This session was last active just now and appears│
│ to be in use by another CLI or application.      │
│                                                  │
│ ❯ 1. Resume anyway                               │
│   2. Go back (Esc)                               │
│                                                  │
│ ↑/↓ to navigate · enter to select · esc to cancel│
╰──────────────────────────────────────────────────╯
"""
COPILOT = (
    f" ❯ please remember      14:23\n\n ● The mock has read it.\n\n{{above}} /shop\n{RULE}\n❯"
    f" {{prompt}}\n{RULE}\n {{footer}}"
)
PLACEHOLDER = "  Type your message or @path/to/file"
CLAUDE_QUEUE = (
    "❯ BE_SLOW please\n\n❯ run it\n\n❯ and a second\n  ⎿  Queued · ctrl+x ctrl+s to send now\n\n✻"
    " Channeling…\n\n"
)
CLAUDE_KEY = (
    "  Detected a custom API key in your environment\n\n  Do you want to use this API key?\n\n   "
    " Yes\n  ❯ No (recommended)\n\n  Enter to confirm · Esc to cancel"
)
CLAUDE_TRUST = (
    " Accessing workspace:\n\n /shop\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to"
    " confirm · Esc to cancel"
)
CODEX_QUEUE = (
    "• Working (4s • esc to interrupt)\n\n• Queued follow-up inputs\n  ↳ run it\n  ↳ and a second\n"
    "    shift+← edit last queued message\n\n"
)
QWEN_QUEUE = (
    "  .. One moment (5s · esc to cancel)\n\n  run it\n  and a second\n  Ctrl+Q to queue · ↑ to"
    " edit queued messages\n"
)
COPILOT_QUEUE = " ❯ slowly      14:23\n\n ❯ run it\n   and a second\n   └ [pending · ↑ recall]\n\n"
GEMINI_QUEUE = (
    "\n  Queued (press ↑ to edit):\n    run it\n    and a second\n\n ⠼ Thinking... (esc to cancel,"
    " 5s)\n"
)
HOME = (
    '      ┃\n      ┃  Ask anything… "Fix it"\n      ┃\n      ┃  Build · Mock Mock\n     '
    f" ╹{BELOW}\n  /shop   1.18.33"
)


CLAUDE_AUTO = (
    "● I will run it.\n\n"
    + "─" * 80
    + """
  Auto mode can't check actions in this session

  You can stay in auto mode and approve each action that needs the check yourself.

  Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel"""
)


def shown(screen: str, prompt: str = "", above: str = "", footer: str = "") -> str:
    """Return the screen as tmux prints it: without trailing spaces, except no-break ones."""
    text = screen.format(prompt=prompt, above=above, footer=footer)
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))


def sign(screen: str, prompt: str, to: str) -> str:
    """Replace the prompt sign before typed text."""
    before, _, after = screen.rpartition(f"\n{prompt}")
    return f"{before}\n{to}{after}"


WORDS = " ".join(f"word{number}" for number in range(40))
LOW = "\n".join(f"{{}}tall line {number}" for number in range(48, 60))

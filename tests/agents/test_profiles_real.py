"""The profiles of the real agents: their processes, and their screens as recorded when they ran."""

# ruff: noqa: RUF001 - the screens as they are

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from textwrap import wrap

import pytest

from tmuxreap.agents.conversations.find import with_path
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import Screen, State, read_screen

AGENTS = load_profiles(None).agents


def test_a_daemon_that_all_panes_share_is_no_agent_although_it_has_its_name() -> None:
    codex = AGENTS["codex"]
    program = "/home/a/.codex/packages/codex"
    assert codex.recognises([program], "codex", program)
    assert codex.recognises([program, "resume", "0199"], "codex", program)
    assert not codex.recognises(
        [program, "app-server", "--listen", "unix://", "--managed-daemon"], "codex", program
    )
    assert not codex.recognises(
        [program, "app-server", "daemon", "pid-update-loop"], "codex", program
    )


@pytest.mark.parametrize(
    "command",
    [
        "/home/a/node_modules/claude-code/bin/claude.exe daemon run --origin transient",
        "/home/a/.local/share/claude/versions/2.1.326 daemon run --origin transient",
        "claude bg-pty-host --bg-pty-host /tmp/cc-daemon-0/x/spare/1.pty.sock 200 50",
        "claude bg-spare --bg-spare /tmp/cc-daemon-0/x/spare/1.claim.sock",
    ],
)
def test_the_daemon_that_has_the_background_sessions_of_all_is_no_claude(command: str) -> None:
    claude, argv = AGENTS["claude"], command.split()
    assert claude.shares(argv, "claude.exe", None)
    assert not claude.recognises(argv, "claude", None)


@pytest.mark.parametrize(
    "command", ["claude", "claude daemon", "claude daemon run the tests", "grep claude daemon run"]
)
def test_a_claude_that_speaks_of_a_daemon_is_none(command: str) -> None:
    assert not AGENTS["claude"].shares(command.split(), "claude", None)


def test_a_script_with_a_name_of_many_is_known_by_its_package() -> None:
    script = "/home/a/lib/node_modules/@qwen-code/qwen-code/cli.js"
    assert AGENTS["qwen"].recognises(
        ["/usr/bin/node", "--expose-gc", script], "node", "/usr/bin/node"
    )
    other = "/home/a/node_modules/@qwen-code/qwen-code/node_modules/server/cli.js"
    assert not AGENTS["qwen"].recognises(["/usr/bin/node", other], "node", "/usr/bin/node")
    assert AGENTS["qwen"].recognises(
        ["node", "/home/a/node_modules/.bin/qwen"], "node", "/usr/bin/node"
    )


# Conversations in a file or database without their name.

ONE, OTHER = "c72fe1a5-f9b3-4c76-8ac6-e64d0e424075", "c72fe1a5-0000-4c76-8ac6-e64d0e424075"
CONTEXT = '{"text":"<session_context>\\nMy \\"system\\" is: linux</session_context>"}'


def test_a_file_that_is_named_by_the_beginning_of_an_id_holds_the_whole_id(tmp_path: Path) -> None:
    gemini, chats = AGENTS["gemini"], tmp_path / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    chat = chats / "session-2026-11-18T14-39-c72fe1a5.jsonl"
    message = '{"id":"d0","type":"user","content":[{"text":"hello"}]}\n'
    chat.write_text(f'{{"sessionId":"{ONE}"}}\n{message}')
    assert with_path(gemini, tmp_path, ONE, None).path == str(chat)
    assert not with_path(gemini, tmp_path, OTHER, None).exists


@pytest.mark.parametrize(
    ("content", "there"), [(CONTEXT, False), (f'{CONTEXT},{{"text":"hello"}}', True)]
)
def test_text_that_gemini_adds_itself_is_no_message(
    tmp_path: Path, content: str, there: bool
) -> None:
    chats = tmp_path / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    line = f'{{"id":"d0","type":"user","content":[{content}]}}\n'
    (chats / "session-1-c72fe1a5.jsonl").write_text(f'{{"sessionId":"{ONE}"}}\n{line}')
    assert with_path(AGENTS["gemini"], tmp_path, ONE, None).exists is there


@pytest.mark.parametrize(
    ("content", "there"),
    [
        ('"<command-name>/clear</command-name>"', False),
        ('"<local-command-caveat>The command below</local-command-caveat>"', False),
        ('"hello"', True),
        ('[{"type":"text","text":"hello"}]', True),
    ],
)
def test_a_command_of_claude_s_own_is_no_message(tmp_path: Path, content: str, there: bool) -> None:
    (tmp_path / "projects" / "-w").mkdir(parents=True)
    line = f'{{"type":"user","message":{{"role":"user","content":{content}}},"cwd":"/w"}}\n'
    (tmp_path / "projects" / "-w" / f"{ONE}.jsonl").write_text(line)
    assert with_path(AGENTS["claude"], tmp_path, ONE, None).exists is there


def test_a_conversation_is_found_in_a_database(tmp_path: Path) -> None:
    opencode, path = AGENTS["opencode"], tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table message (id text, session_id text)")
        database.execute("insert into message values ('msg_1', 'ses_1')")
        database.commit()
    before = path.read_bytes()
    assert with_path(opencode, tmp_path, "ses_1", "exit-banner").path == str(path)
    assert not with_path(opencode, tmp_path, "ses_2", "exit-banner").exists
    assert path.read_bytes() == before
    path.write_text("no database")
    assert not with_path(opencode, tmp_path, "ses_1", "exit-banner").exists


# Their recorded screens, shortened to what the patterns match.

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

SCREENS = [
    ("claude", shown(CLAUDE, footer="⏸ manual mode on · ? for shortcuts"), Screen(State.IDLE)),
    ("claude", shown(CLAUDE, "half a thought"), Screen(State.DRAFT, "half a thought")),
    # the list that it shows after Left, where `/exit` leaves it as well
    (
        "claude",
        shown(
            CLAUDE, "describe a task for a new session", footer="enter to return · space to reply"
        ),
        Screen(State.IDLE),
    ),
    ("claude", shown(CLAUDE, "first\n\n  third"), Screen(State.DRAFT, "first\n\nthird")),
    ("claude", shown(CLAUDE, "\n  second"), Screen(State.DRAFT, "\nsecond")),
    (
        "claude",
        shown(CLAUDE, "/exit", above="  ❯ /exit    Exit the CLI\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    ("claude", shown(CLAUDE, footer="⏸ manual mode on · esc to interrupt"), Screen(State.BUSY)),
    (
        "claude",
        shown(CLAUDE, "next", footer="⏸ manual mode on · esc to interrupt"),
        Screen(State.BUSY, "next"),
    ),
    ("claude", shown(CLAUDE, above="✽ Baking… (esc to interrupt)\n\n"), Screen(State.BUSY)),
    (
        "claude",
        shown(
            CLAUDE,
            "Press up to edit queued messages",
            above=CLAUDE_QUEUE,
            footer="esc to interrupt",
        ),
        Screen(State.BUSY, queued="BE_SLOW please\n\nrun it\n\nand a second"),
    ),
    (
        "claude",
        shown(CLAUDE, "half", above=CLAUDE_QUEUE),
        Screen(State.DRAFT, "half", "BE_SLOW please\n\nrun it\n\nand a second"),
    ),
    (
        "claude",
        f"{RULE}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend",
        Screen(State.DIALOG),
    ),
    (
        "claude",
        f"{RULE}\n  Make auto mode your default?\n\n  ❯ Yes, set it\n    No, keep it",
        Screen(State.UNKNOWN),
    ),
    (
        "claude",
        sign(shown(CLAUDE, "echo half", footer="! for shell mode"), "❯", "!"),
        Screen(State.DRAFT, "!echo half"),
    ),
    (
        "claude",
        shown(CLAUDE, "[Pasted text #1 +29 lines]"),
        Screen(State.DRAFT, "[Pasted text #1 +29 lines]", partial=True),
    ),
    (
        "claude",
        sign(shown(CLAUDE, LOW.format(*["  "] * 12)), "❯\xa0", ""),
        Screen(State.DRAFT, LOW.format(*[""] * 12), partial=True),
    ),
    (
        "claude",
        f"─── ↑ 48 more {RULE}\n{LOW.format(*['  '] * 12)}\n\n{RULE}\n  ⏸ manual mode on",
        Screen(State.DRAFT, LOW.format(*[""] * 12) + "\n", partial=True),
    ),
    (
        "claude",
        f"{RULE}\n❯\xa0tall line 0\n  tall line 1\n─── ↓ 58 more {RULE}\n  ⏸ manual mode on",
        Screen(State.DRAFT, "tall line 0\ntall line 1", partial=True),
    ),
    ("claude", shown(CLAUDE, "\n  ".join(wrap(WORDS, 37))), Screen(State.DRAFT, WORDS)),
    (
        "claude",
        shown(CLAUDE, above="      /rc · draft stashed\n"),
        Screen(State.IDLE, stashed=True),
    ),
    ("claude", shown(CLAUDE, above="● The draft stashed\n\n"), Screen(State.IDLE)),
    ("claude", CLAUDE_AUTO, Screen(State.DIALOG)),
    ("claude", CLAUDE_KEY, Screen(State.DIALOG, setup=True)),
    ("claude", CLAUDE_TRUST, Screen(State.DIALOG, setup=True)),
    # it starts
    ("codex", "  >_ OpenAI Codex\n\n› Ask Codex to do anything", Screen(State.UNKNOWN)),
    ("codex", shown(CODEX, "Ask Codex to do anything"), Screen(State.IDLE)),
    ("codex", sign(shown(CODEX, "echo half"), "›", "!"), Screen(State.DRAFT, "!echo half")),
    (
        "codex",
        "• The mock has read it.\n\n› tall line 58\n  tall line 59",
        Screen(State.DRAFT, "tall line 58\ntall line 59", partial=True),
    ),
    (
        "codex",
        shown(CODEX, "[Pasted Content 1200 chars]"),
        Screen(State.DRAFT, "[Pasted Content 1200 chars]", partial=True),
    ),
    (
        "codex",
        shown(CODEX, "Ask Codex to do anything", above=CODEX_QUEUE),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    ("codex", shown(CODEX), Screen(State.IDLE)),
    (
        "codex",
        shown(CODEX, "first line\n  second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "codex",
        shown(CODEX, "first line\n\n  third line"),
        Screen(State.DRAFT, "first line\n\nthird line"),
    ),
    ("codex", shown(CODEX, "/exit", above="› /exit  exit Codex\n\n"), Screen(State.DRAFT, "/exit")),
    (
        "codex",
        shown(CODEX, "next", above="• Working (2s • esc to interrupt)\n\n"),
        Screen(State.BUSY, "next"),
    ),
    (
        "codex",
        "  $ touch x\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n"
        "  Press enter to confirm or esc to cancel",
        Screen(State.DIALOG),
    ),
    ("gemini", shown(GEMINI, PLACEHOLDER), Screen(State.IDLE)),
    (
        "gemini",
        shown(GEMINI, "first line\n   second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "gemini",
        shown(GEMINI, "/exit", footer=" quit    Exit the cli\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    (
        "gemini",
        shown(GEMINI, PLACEHOLDER, above=" ⠴ Thinking... (esc to cancel, 2s)\n"),
        Screen(State.BUSY),
    ),
    (
        "gemini",
        shown(GEMINI, PLACEHOLDER, above=" ⠋ Executing Hooks: tmuxreap hook gemini || :, tmuxreap"),
        Screen(State.BUSY),
    ),
    ("gemini", sign(shown(GEMINI, "echo half"), " >", " !"), Screen(State.DRAFT, "!echo half")),
    (
        "gemini",
        shown(GEMINI, "[Pasted Text: 30 lines]"),
        Screen(State.DRAFT, "[Pasted Text: 30 lines]", partial=True),
    ),
    (
        "gemini",
        shown(GEMINI, LOW.format("", *["   "] * 11)),
        Screen(State.DRAFT, LOW.format(*[""] * 12), partial=True),
    ),
    ("gemini", shown(GEMINI, "/quit"), Screen(State.UNKNOWN)),  # its own message while it exits
    (
        "gemini",
        shown(GEMINI, PLACEHOLDER, above=GEMINI_QUEUE),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    ("gemini", shown(GEMINI, PLACEHOLDER).replace("\n > ", "\n * "), Screen(State.IDLE)),
    ("gemini", shown(GEMINI, "half").replace("\n > ", "\n * "), Screen(State.DRAFT, "half")),
    (
        "gemini",
        "│ Allow execution of [Shell]?\n│\n│ ● 1. Allow once    │\n│   3. No (esc)      │",
        Screen(State.DIALOG),
    ),
    ("qwen", shown(QWEN, PLACEHOLDER, footer="? for shortcuts"), Screen(State.IDLE)),
    (
        "qwen",
        shown(QWEN, "first line\n  second line \u200b"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    ("qwen", shown(QWEN, PLACEHOLDER).replace("\n> ", "\n* "), Screen(State.IDLE)),
    ("qwen", shown(QWEN, "half").replace("\n> ", "\n* "), Screen(State.DRAFT, "half")),
    ("qwen", sign(shown(QWEN, "echo half \u200b"), ">", "!"), Screen(State.DRAFT, "!echo half")),
    (
        "qwen",
        shown(QWEN, "[Pasted Content 619 chars] \u200b"),
        Screen(State.DRAFT, "[Pasted Content 619 chars]", partial=True),
    ),
    (
        "qwen",
        shown(QWEN, PLACEHOLDER, above=QWEN_QUEUE),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    (
        "qwen",
        "│ Do you trust this folder?\n│\n│ › 1. Trust folder (project)\n│   3. Don't trust (esc)",
        Screen(State.DIALOG, setup=True),
    ),
    (
        "gemini",
        "│ Do you trust the files in this folder?  │\n│\n│ ● 1. Trust folder (project)  │",
        Screen(State.DIALOG, setup=True),
    ),
    ("qwen", shown(QWEN, "/exit \u200b"), Screen(State.DRAFT, "/exit")),
    (
        "qwen",
        shown(QWEN, PLACEHOLDER, above="  .. Thinking (0s · esc to cancel)\n"),
        Screen(State.BUSY),
    ),
    ("opencode", shown(OPENCODE), Screen(State.IDLE)),
    ("opencode", HOME, Screen(State.IDLE)),
    (
        "opencode",
        shown(OPENCODE, "echo half").replace("Build · Mock Mock", "Shell"),
        Screen(State.DRAFT, "!echo half"),
    ),
    (
        "opencode",
        shown(OPENCODE, "[Pasted ~30 lines]"),
        Screen(State.DRAFT, "[Pasted ~30 lines]", partial=True),
    ),
    (
        "opencode",
        shown(OPENCODE, LOW.format("", *["  ┃  "] * 11)),
        Screen(State.DRAFT, LOW.format(*[""] * 12), partial=True),
    ),
    (
        "opencode",
        shown(OPENCODE, "first line\n  ┃  second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "opencode",
        shown(OPENCODE, "/exit", above="  ┃ /exit   Exit the app\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    ("opencode", shown(OPENCODE, footer="⬝⬝⬝⬝  esc interrupt"), Screen(State.BUSY)),
    (
        "opencode",
        "  ┃  △ Permission required\n  ┃   Allow once   Reject    ⇆ select  enter confirm",
        Screen(State.DIALOG),
    ),
    ("copilot", COPILOT_IN_USE, Screen(State.DIALOG, setup=True)),
    ("copilot", COPILOT_IN_USE.replace(" │\n", "\n │\n"), Screen(State.DIALOG, setup=True)),
    ("copilot", shown(COPILOT, footer="← open sidebar · Interactive"), Screen(State.IDLE)),
    (
        "copilot",
        shown(COPILOT, "first line\n  second line"),
        Screen(State.DRAFT, "first line\nsecond line"),
    ),
    (
        "copilot",
        shown(COPILOT, "/exit [print]", above="  ❯ /exit\n    /exit print\n"),
        Screen(State.DRAFT, "/exit"),
    ),
    ("copilot", shown(COPILOT, footer="◎ Working esc esc edit prompt"), Screen(State.BUSY)),
    ("copilot", shown(COPILOT, footer="◉ Working esc again to edit prompt"), Screen(State.BUSY)),
    ("copilot", sign(shown(COPILOT, "echo half"), "❯", "!"), Screen(State.DRAFT, "!echo half")),
    (
        "copilot",
        shown(COPILOT, "[Paste #1 - 30 lines]"),
        Screen(State.DRAFT, "[Paste #1 - 30 lines]", partial=True),
    ),
    (
        "copilot",
        shown(COPILOT, above=COPILOT_QUEUE, footer="◎ Working esc esc interrupt"),
        Screen(State.BUSY, queued="run it\nand a second"),
    ),
    (
        "copilot",
        "│ Do you want to run this command?  │\n│ ❯ 1. Yes        │\n│   3. No          │",
        Screen(State.DIALOG),
    ),
]


# With styles: only these tell what an agent shows in its empty input from typed text.

CODEX_SIGN = "\x1b[1m›\x1b[0m\x1b[39m\x1b[49m "
QWEN_SIGN = "\x1b[38;2;2;2;247m> \x1b[4m"  # and the cursor
STYLED = [
    (
        "claude",
        f'\x1b[38;5;244m{RULE}\n\x1b[39m❯\xa0\x1b[7mT\x1b[0;2m\x1b[39m\x1b[49mry "how do I log an'
        f' error?"\n\x1b[0m\x1b[38;5;244m\x1b[49m{RULE}\n\x1b[39m  \x1b[38;5;246m? for shortcuts',
        Screen(State.IDLE),
    ),
    (
        "claude",
        f"{RULE}\n❯\xa0/mo\x1b[7md\x1b[0;2m\x1b[39mel\n\x1b[0m{RULE}\n  ? for shortcuts",
        Screen(State.DRAFT, "/model"),
    ),
    (
        "claude",
        f"{RULE}\n❯\xa0\x1b[7mT\x1b[0mry it\n{RULE}\n  ? for shortcuts",
        Screen(State.DRAFT, "Try it"),
    ),
    (
        "codex",
        f"{CODEX_SIGN}\x1b[2mAsk a follow-up question\n\x1b[0m\n  \x1b[38;5;2mmock",
        Screen(State.IDLE),
    ),
    (
        "codex",
        f"{CODEX_SIGN}Ask a follow-up question\n\n  \x1b[38;5;2mmock",
        Screen(State.DRAFT, "Ask a follow-up question"),
    ),
    (
        "qwen",
        f"\x1b[38;2;1;1;250m{RULE}\n{QWEN_SIGN}\x1b[39mr\x1b[0m\x1b[38;2;3;3;134m\x1b[49mun"
        f" the tests\n\x1b[38;2;1;1;250m{RULE}\n\x1b[39m  \x1b[38;2;3;3;134m⏸ Ask permissions",
        Screen(State.IDLE),
    ),
    (
        "qwen",  # the cursor at its beginning
        f"{RULE}\n{QWEN_SIGN}\x1b[39mr\x1b[0m\x1b[39m\x1b[49mun the tests\n{RULE}\n  ⏸ Ask",
        Screen(State.DRAFT, "run the tests"),
    ),
    (
        "qwen",  # a command is colored
        f"{RULE}\n{QWEN_SIGN}/\x1b[0m\x1b[38;2;2;2;247m\x1b[49mhelp\n{RULE}\n  ⏸ Ask",
        Screen(State.DRAFT, "/help"),
    ),
]


EMPTY_SHELLS = [
    ("gemini", shown(GEMINI, "  Type your shell command").replace("\n >   Type", "\n !   Type")),
    ("qwen", sign(shown(QWEN, PLACEHOLDER), ">", "!")),
    ("qwen", sign(shown(QWEN, "  Press 'i' for INSERT mode and 'Esc' for NORMAL mode."), ">", "!")),
    ("copilot", sign(shown(COPILOT, "Execute shell command"), "❯", "!")),
]


@pytest.mark.parametrize(("agent", "text"), EMPTY_SHELLS)
def test_an_empty_shell_mode_is_no_empty_prompt_and_has_no_draft(agent: str, text: str) -> None:
    profile = AGENTS[agent]
    seen = read_screen(text, profile.screens, profile.marks, profile.tall)
    assert seen == Screen(State.DRAFT)


@pytest.mark.parametrize(("agent", "screen"), [("qwen", QWEN), ("gemini", GEMINI)])
def test_the_placeholder_of_a_vim_mode_is_no_draft(agent: str, screen: str) -> None:
    profile = AGENTS[agent]
    text = shown(screen, "  Press 'i' for INSERT mode and 'Esc' for NORMAL mode.")
    assert read_screen(text, profile.screens, profile.marks, profile.tall) == Screen(State.IDLE)


@pytest.mark.parametrize(("agent", "text", "screen"), STYLED)
def test_a_suggestion_is_distinguished_from_a_draft(agent: str, text: str, screen: Screen) -> None:
    profile = AGENTS[agent]
    assert read_screen(text, profile.screens, profile.marks, profile.tall) == screen


# Screens of agents at a limit of their provider; the time is in the agent's own words.

CLAUDE_LIMIT = (
    "❯ MEET_A_LIMIT please\n  ⎿ \xa0You've hit your {kind}limit · resets 5:02am (UTC)\n\n● Usage"
    " limit reached · continuing automatically at 5:02am · esc to cancel\n\n"
)
CLAUDE_GOES_ON = (
    "⚠ Usage limit reached · limit resets 5:02am\n    Continuing automatically at 5:02am · Esc to"
    " cancel\n  ⏸ manual mode on"
)
CLAUDE_429 = (
    "❯ MEET_A_LIMIT please\n\n● API Error: Request rejected (429) · This request would exceed your"
    " account's rate limit. Please try again\n  later.\n\n"
)
CODEX_LIMIT = (
    "› MEET_A_LIMIT please\n\n■ You’ve hit your usage limit. Upgrade to Pro, visit"
    " https://chatgpt.com/settings/\nusage to purchase more credits or try again at {time}.\n\n"
)
GEMINI_LIMIT = (
    f"✦ The mock has read it.\n{ABOVE}\n > MEET_A_LIMIT please\n{BELOW}\n\n╭{RULE}╮\n│  │\n│ Usage"
    " limit reached for all Pro models. │\n{resets}│ /stats model for usage details │\n│ /model to"
    f" switch models. │\n│  │\n│ ● 1. Keep trying │\n│   2. Stop │\n╰{RULE}╯"
)
OPENCODE_LIMIT = (
    "⬝■■■■■■⬝ You exceeded your current quota, please check your plan and billing details."
    " [retrying in 2h 59m attempt #1]"
)
COPILOT_LIMIT = (
    " ❯ MEET_A_LIMIT please   02:04\n\n ✗ 429 You exceeded your current quota, please check your"
    " plan and billing details.\n\n"
)
LIMITS = [
    ("claude", shown(CLAUDE, above=CLAUDE_LIMIT.format(kind="session "), footer=CLAUDE_GOES_ON)),
    ("claude", shown(CLAUDE, above=CLAUDE_LIMIT.format(kind=""), footer="⏸ manual mode on")),
    ("claude", shown(CLAUDE, "half", above=CLAUDE_LIMIT.format(kind="weekly "))),
    ("claude", shown(CLAUDE, above=CLAUDE_429)),
    ("codex", shown(CODEX, "Ask Codex to do anything", above=CODEX_LIMIT.format(time="5:00 AM"))),
    ("codex", shown(CODEX, above=CODEX_LIMIT.format(time="5:00 AM")).replace("› \n", "›\n")),
    ("codex", shown(CODEX, "half", above=CODEX_LIMIT.format(time="Nov 21st, 2026 5:00 AM"))),
    ("gemini", GEMINI_LIMIT.format(resets="")),
    ("gemini", GEMINI_LIMIT.format(resets="│ Access resets at 5:00 AM UTC. │\n")),
    ("opencode", shown(OPENCODE, footer=OPENCODE_LIMIT)),
    ("copilot", shown(COPILOT, above=COPILOT_LIMIT)),
]
AGAIN_AT = [
    "5:02am",
    "5:02am",
    "5:02am",
    "",
    "5:00 AM",
    "5:00 AM",
    "Nov 21st, 2026 5:00 AM",
    "",
    "5:00 AM UTC",
    "in 2h 59m",
    "",
]
STATES = [
    State.BUSY,
    State.IDLE,
    State.DRAFT,
    State.IDLE,
    State.IDLE,
    State.IDLE,
    State.DRAFT,
    State.DIALOG,
    State.DIALOG,
    State.BUSY,
    State.IDLE,
]


@pytest.mark.parametrize(
    ("limit", "until", "state"), list(zip(LIMITS, AGAIN_AT, STATES, strict=True))
)
def test_a_usage_limit_is_shown_with_its_end(
    limit: tuple[str, str], until: str, state: State
) -> None:
    agent, text = limit
    screen = read_screen(text, AGENTS[agent].screens, AGENTS[agent].marks, AGENTS[agent].tall)
    assert (screen.limit, screen.state) == (until, state)
    assert screen.draft == ("half" if state is State.DRAFT else "")  # a sent prompt is no draft


LATER = {
    "claude": "❯ and now\n\n● The mock has read it.\n\n✻ Worked for 0s · done 2:00 AM\n\n",
    "codex": "› and now\n\n• The mock has read it.\n\n  Worked for <1s • 02:00\n\n",
    "copilot": " ❯ and now   02:05\n\n ● The mock has read it.\n\n",
}


@pytest.mark.parametrize(
    ("agent", "screen"),
    [
        ("claude", shown(CLAUDE, above=CLAUDE_LIMIT.format(kind="") + LATER["claude"])),
        ("claude", shown(CLAUDE, above=CLAUDE_429 + LATER["claude"])),
        ("claude", shown(CLAUDE, "You've hit your limit · resets 5:02am")),
        ("codex", shown(CODEX, above=CODEX_LIMIT.format(time="5:00 AM") + LATER["codex"])),
        ("copilot", shown(COPILOT, above=COPILOT_LIMIT + LATER["copilot"])),
        ("opencode", shown(OPENCODE, footer="⬝⬝⬝⬝  esc interrupt")),
        ("gemini", shown(GEMINI, PLACEHOLDER, above="│ Usage limit reached for all\n")),
    ],
)
def test_a_limit_that_is_past_is_none(agent: str, screen: str) -> None:
    assert read_screen(screen, AGENTS[agent].screens, AGENTS[agent].marks).limit is None


@pytest.mark.parametrize(("agent", "text", "screen"), SCREENS)
def test_the_screens_of_the_real_agents(agent: str, text: str, screen: Screen) -> None:
    assert (
        read_screen(text, AGENTS[agent].screens, AGENTS[agent].marks, AGENTS[agent].tall) == screen
    )


@pytest.mark.parametrize("agent", sorted({agent for agent, _, _ in SCREENS}))
def test_the_screen_of_a_shell_or_another_program_is_no_agent_s(agent: str) -> None:
    for text in ("$ ls\na  b\n$", "~\n~\n-- INSERT --", "", "❯ ls", "> ", "! ls"):
        assert read_screen(text, AGENTS[agent].screens).state is State.UNKNOWN


def test_copilot_tells_that_it_has_heard_the_first_of_two_keys() -> None:
    profile = AGENTS["copilot"]
    for footer, armed in (("esc again to edit prompt", True), ("esc esc edit prompt", False)):
        text = shown(COPILOT, footer=f"◉ Working {footer}")
        screen = read_screen(text, profile.screens, profile.marks, profile.tall)
        assert (screen.state, screen.armed) == (State.BUSY, armed)

"""The profiles of the real agents: their processes and their conversations."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tmuxreap.agents.conversations.find import with_path
from tmuxreap.agents.load import load_profiles

AGENTS = load_profiles(None).agents


def test_a_shared_daemon_with_an_agents_name_is_no_agent() -> None:
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
def test_a_daemon_of_background_sessions_is_not_taken_for_claude(command: str) -> None:
    claude, argv = AGENTS["claude"], command.split()
    assert claude.shares(argv, "claude.exe", None)
    assert not claude.recognises(argv, "claude", None)


@pytest.mark.parametrize(
    "command", ["claude", "claude daemon", "claude daemon run the tests", "grep claude daemon run"]
)
def test_a_claude_that_mentions_a_daemon_is_not_taken_for_one(command: str) -> None:
    assert not AGENTS["claude"].shares(command.split(), "claude", None)


def test_a_script_with_a_common_name_is_recognised_by_its_package() -> None:
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
def test_a_built_in_command_of_claude_is_no_message(
    tmp_path: Path, content: str, there: bool
) -> None:
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


def test_the_service_of_opencode_2_belongs_to_no_pane() -> None:
    for name in ("opencode", "opencode2"):
        argv = [name, "serve", "--service"]
        spare = next(it for it in AGENTS["opencode"].spare if it.matches([name], " ".join(argv)))
        assert not spare.private
        assert not AGENTS["opencode"].recognises(argv, name, None)


def test_a_server_of_opencode_is_no_agent_and_its_clients_are() -> None:
    opencode = AGENTS["opencode"]
    for line in ("opencode serve", "opencode serve --port 0", "/usr/bin/opencode web"):
        assert not opencode.recognises(line.split(), "opencode", None)
    for line in ("opencode", "opencode attach http://127.0.0.1:4096", "opencode --prompt serve"):
        assert opencode.recognises(line.split(), "opencode", None)

"""The command lines that start and resume an agent."""

from __future__ import annotations

import sys

import pytest

from tmuxreap.agents.conversations.command_lines import (
    Repeated,
    launch_words,
    launched_with,
    repeatable,
    resume_line,
    resume_words,
)
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Flags, Profile

ID = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"
OLD = "ffffffff-6d0c-4f63-9b53-1d5f0c6f2a11"
FLAGS = Profile(
    "one",
    process=("one",),
    command=("one",),
    launch=("--session-id", "{id}"),
    resume=("--resume", "{id}"),
)
EQUALS = Profile(
    "two", process=("two",), command=("two", "-q"), launch=("--id={id}",), resume=("--resume={id}",)
)
VERB = Profile("three", process=("three",), command=("three",), resume=("resume", "{id}"))


@pytest.mark.parametrize(
    ("profile", "command", "words"),
    [
        (FLAGS, ["one", "--model", "x"], ["one", "--model", "x", "--session-id", ID]),
        (EQUALS, ["two"], ["two", f"--id={ID}"]),
        (FLAGS, ["one", "--resume", OLD], ["one", "--resume", OLD]),
        (FLAGS, ["one", f"--session-id={OLD}"], ["one", f"--session-id={OLD}"]),
        (VERB, ["three"], ["three"]),
        (FLAGS, ["my-script"], ["my-script"]),
        (FLAGS, ["sh", "-c", "one; date"], ["sh", "-c", "one; date"]),
        (None, ["one"], ["one"]),
    ],
)
def test_an_id_is_given_to_agents_that_take_one(
    profile: Profile | None, command: list[str], words: list[str]
) -> None:
    assert launch_words(profile, command, ID) == words


@pytest.mark.parametrize(
    ("profile", "command", "words"),
    [
        (FLAGS, "one --model x", ["one", "--model", "x", "--resume", ID]),
        (FLAGS, f"one --session-id {OLD} -v", ["one", "-v", "--resume", ID]),
        (FLAGS, f"one --resume={OLD}", ["one", "--resume", ID]),
        (EQUALS, f"two --id={OLD} --x 'a b'", ["two", "--x", "a b", f"--resume={ID}"]),
        (VERB, f"three resume {OLD} -m x", ["three", "-m", "x", "resume", ID]),
        (FLAGS, "cd /x && one", ["one", "--resume", ID]),
        (FLAGS, "one -s 'Be brief (or not)!'", ["one", "-s", "Be brief (or not)!", "--resume", ID]),
        (FLAGS, 'one -s "a; b"', ["one", "-s", "a; b", "--resume", ID]),
        (FLAGS, 'one -s "$HOME"', ["one", "--resume", ID]),
        (FLAGS, """one -s "'$HOME'\"""", ["one", "--resume", ID]),
        (FLAGS, "one 'unclosed", ["one", "--resume", ID]),
        (FLAGS, "run-it one", ["one", "--resume", ID]),
        (EQUALS, None, ["two", "-q", f"--resume={ID}"]),
    ],
)
def test_a_conversation_is_resumed_with_the_flags_of_the_start(
    profile: Profile, command: str | None, words: list[str]
) -> None:
    assert resume_words(profile, command, ID) == words


ASKED = Profile(
    "one",
    process=("one",),
    command=("one",),
    resume=("--resume", "{id}"),
    flags=Flags(alone=("--yolo",), many=("--tools",), prompt=("-i", "--prompt")),
)


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("one 'delete the tests'", []),
        ("one --yolo 'delete the tests'", ["--yolo"]),
        ("one --model x 'delete the tests'", ["--model", "x"]),
        ("one --model=x delete the tests", ["--model=x"]),
        ("one 'delete the tests' --model x", ["--model", "x"]),
        ("one --tools a b -v c d", ["--tools", "a", "b", "-v", "c"]),
        ("one -i 'delete the tests' --yolo", ["--yolo"]),
        ("one --prompt='delete the tests' -m x", ["-m", "x"]),
        ("one --yolo -- 'delete the tests' --model x", ["--yolo"]),
        ("one - -m x", ["-m", "x"]),
    ],
)
def test_the_start_prompt_is_not_repeated_by_a_resume(command: str, flags: list[str]) -> None:
    assert resume_words(ASKED, command, ID) == ["one", *flags, "--resume", ID]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "claude --dangerously-skip-permissions 'fix it'",
            ["claude", "--dangerously-skip-permissions"],
        ),
        ("npx claude --model opus 'fix it'", ["npx", "claude", "--model", "opus"]),
        ("node /usr/bin/gemini -y -i 'fix it'", ["node", "/usr/bin/gemini", "-y"]),
        ("codex --full-auto 'fix it'", ["codex", "--full-auto"]),
        ("copilot --allow-all-tools -p 'fix it'", ["copilot", "--allow-all-tools"]),
        ("opencode --prompt 'fix it' -m x/y", ["opencode", "-m", "x/y"]),
    ],
)
def test_no_known_agent_repeats_the_start_prompt_on_resume(command: str, words: list[str]) -> None:
    profiles = load_profiles(None)
    name = next(one for one in profiles.agents if one in command)
    profile = profiles.of(name)
    assert profile is not None
    resumed = resume_words(profile, command, ID)
    assert resumed[: len(words)] == words
    assert "fix it" not in resumed


def repeated(agent: str, *argv: str) -> Repeated | None:
    profile = load_profiles(None).of(agent)
    assert profile is not None
    return repeatable(profile, argv)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            "claude --permission-mode plan --disallowedTools WebFetch Bash --model opus",
            "claude --permission-mode plan --disallowedTools WebFetch Bash --model opus",
        ),
        (f"claude --verbose fix --resume {OLD}", "claude --verbose"),
        ("claude -c --debug fix it", "claude --debug"),
        (f"claude -r {OLD} --fork-session --model x", "claude --model x"),
        ("claude -p fix --worktree name --model x", "claude --model x"),
        (f"codex -a never resume {OLD}", "codex -a never"),
        ("codex -i shot.png --search fix", "codex --search"),
        (f"opencode --session {OLD} --agent plan", "opencode --agent plan"),
        (
            "node /usr/bin/gemini --approval-mode plan -i fix",
            "node /usr/bin/gemini --approval-mode plan",
        ),
        ("qwen --exclude-tools edit -c", "qwen --exclude-tools edit"),
        ("copilot --deny-tool shell --continue", "copilot --deny-tool shell"),
    ],
)
def test_only_the_flags_of_a_running_agent_are_repeated(argv: str, words: str) -> None:
    agent = next(name for name in load_profiles(None).agents if name in argv)
    found = repeated(agent, *argv.split())
    assert found is not None
    assert (" ".join(found.words), found.secret) == (words, ())


def test_a_flag_with_a_secret_is_left_out_and_named() -> None:
    key = "sk-ant-" + "a1B2" * 12
    mcp = '{"mcpServers": {"x": {"env": {"GITHUB_TOKEN": "ghp_' + "a1" * 18 + '"}}}}'
    found = repeated("claude", "claude", "--mcp-config", mcp, "--model", "x", f"--settings={key}")
    assert found == Repeated(("claude", "--model", "x"), ("--mcp-config", "--settings"))
    assert repeated("qwen", "qwen", "--openai-api-key", "abcdef0123456789abcdef") == Repeated(
        ("qwen",), ("--openai-api-key",)
    )


def test_flags_of_an_unknown_agent_are_not_repeated() -> None:
    assert repeated("pi", "pi", "--x", "fix it") == Repeated(("pi",), unknown=True)
    assert repeated("pi", "pi") == Repeated(("pi",))
    assert repeated("claude", "vim", "notes") is None


def test_only_an_id_given_by_tmuxreap_counts_as_launched() -> None:
    assert launched_with(FLAGS, launch_words(FLAGS, ["one"], ID), ID)
    assert not launched_with(FLAGS, ["one", "--session-id", OLD], ID)
    assert not launched_with(VERB, ["three"], ID)


def test_the_line_can_be_typed_into_a_shell() -> None:
    assert (
        resume_line([sys.executable, "a b"], {"HOME_OF_IT": "/x y"})
        == f"HOME_OF_IT='/x y' {sys.executable} 'a b'"
    )


@pytest.mark.parametrize("shell", ["sh -c", "/bin/dash -c", "bash -lc", "sh -e -c"])
def test_no_word_is_added_to_the_line_of_a_shell(shell: str) -> None:
    """It would be a parameter of the shell, and the agent would begin another conversation."""
    line = [*shell.split(), "one"]
    assert launch_words(FLAGS, line, ID) == line
    assert resume_words(FLAGS, " ".join(line), ID) == ["one", "--resume", ID]
    assert repeatable(FLAGS, line) is None


def test_a_script_that_a_shell_runs_takes_further_words() -> None:
    line = ["sh", "/usr/bin/one"]
    assert launch_words(FLAGS, line, ID) == [*line, "--session-id", ID]

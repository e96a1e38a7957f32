"""What of a screen may stand in a registry: the last lines, plain, without secrets."""

from __future__ import annotations

import pytest

from tmuxreap.mask import kept_screen, mask_secrets

SECRETS = {
    "openai": ("key sk-proj-abcdefgh12345678 end", "sk-proj-abcdefgh12345678"),
    "anthropic": ("sk-ant-api03-AbC_dEf-123456", "sk-ant-api03-AbC_dEf-123456"),
    "github": ("ghp_0123456789abcdefABCDEF", "ghp_0123456789abcdefABCDEF"),
    "github server": ("(ghs_0123456789abcdef)", "ghs_0123456789abcdef"),
    "github fine": ("github_pat_11ABCDEFG_abcdefgh", "github_pat_11ABCDEFG_abcdefgh"),
    "aws": ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    "slack": ("token xoxb-1234-5678-abcdef", "xoxb-1234-5678-abcdef"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "eyJzdWIiOiIxMjM0In0"),
    "bearer": ("Authorization: Bearer abc.def-123", "abc.def-123"),
    "bearer lower": ("authorization: bearer abcdef123", "abcdef123"),
    "key": ("export OPENAI_API_KEY=hunter2", "hunter2"),
    "key quoted": ('API_KEY="two words"', "two words"),
    "key single": ("API_KEY='two words'", "two words"),
    "key cut off": ('API_KEY="hunter2-begins', "hunter2-begins"),
    "escaped quote": (r'API_KEY="hun\"ter2 and more"', "ter2"),
    "quote inside": ("password=hun'ter2", "ter2"),
    "token": ("GITLAB_TOKEN: glpat1234", "glpat1234"),
    "secret": ("AWS_SECRET=wJalr", "wJalr"),
    "password": ("password=hunter2", "hunter2"),
    "db password": ("DB_PASSWORD = hunter2", "hunter2"),
    "json": ('{"my_token": "hunter2", "n": 1}', "hunter2"),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_masked(kind: str) -> None:
    text, secret = SECRETS[kind]
    assert secret in text
    assert secret not in mask_secrets(text)
    assert "***" in mask_secrets(text)


def test_the_name_of_a_secret_stays() -> None:
    assert mask_secrets("export OPENAI_API_KEY=hunter2 next") == "export OPENAI_API_KEY=*** next"
    assert mask_secrets('{"my_token": "hunter2", "n": 1}') == '{"my_token": ***, "n": 1}'


def test_a_value_ends_with_its_line() -> None:
    assert mask_secrets("API_KEY=\nall is well") == "API_KEY=\nall is well"
    assert mask_secrets('API_KEY="open\nsay "hi"') == 'API_KEY=***\nsay "hi"'


@pytest.mark.parametrize(
    "text",
    ["a task-force", "keyboard=us", "ask-me", "12 tokens: 5 left", "the sk-ill", "AKIA", "monkey_keys", "ghost_story"],
)
def test_plain_words_stay(text: str) -> None:
    assert mask_secrets(text) == text


def test_the_last_forty_lines() -> None:
    screen = "\n".join(f"line {n}" for n in range(100))
    assert kept_screen(screen).splitlines() == [f"line {n}" for n in range(60, 100)]
    assert kept_screen(screen + "\n\n\n").splitlines()[-1] == "line 99"


def test_escapes_and_controls_go() -> None:
    screen = "\x1b[1;31mred\x1b[0m\x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ "
    screen += "\x1b(Bend\x07\x00\r\n\tx\x9b\x1b="
    assert kept_screen(screen) == "red link end\n\tx"


def test_a_secret_that_is_painted_in_parts() -> None:
    assert kept_screen("sk-ant-\x1b[1mabcdefgh\x1b[0mijkl") == "***"


def test_blank_ends_and_gaps_are_folded() -> None:
    assert kept_screen("\n\na  \n\n\n\n\nb\n \n") == "a\n\nb"
    assert kept_screen("") == ""

"""What is stored of a screen: the last lines, plain, without secrets."""

from __future__ import annotations

import pytest

from tmuxreap.core.masking import kept_screen, mask_secrets

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
    "google": ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    "stripe": ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyj"),
    "stripe restricted": ("rk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyj"),
    "gitlab": ("glpat-x9yZ_abcDEF123456789", "x9yZ_abc"),
    "npm": ("//registry/:_authToken=npm_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8", "a1b2c3d4"),
    "hugging face": ("hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh", "AbCdEfGh"),
    "groq": ("gsk_AbCdEf0123456789AbCdEf0123456789AbCdEf0123456789abcd", "AbCdEf01"),
    "xai": ("xai-AbCdEf0123456789AbCdEf0123456789", "AbCdEf01"),
    "pypi": ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw", "AgEIcHlw"),
    "digitalocean": ("dop_v1_0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    "sendgrid": (
        "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",
        "TwL2iGAB",
    ),
    "telegram": ("bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "AAHdqTcv"),
    "telegram url": (
        "https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe",
        "AAHdqTcv",
    ),
    "slack webhook": (
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXabcdXXXX",
        "XXXXabcd",
    ),
    "discord webhook": (
        "https://discord.com/api/webhooks/123456789012345678/AbC-dEf_123",
        "AbC-dEf",
    ),
    "url": ("git clone https://me:hunter2@example.com/x.git", "hunter2"),
    "url with a token": (
        "https://0123456789abcdef0123456789abcdef01234567@example.com/x",
        "0123456789abcdef",
    ),
    "database": ("postgres://me:hun@ter2@db:5432/app", "ter2"),
    "parameter": ("GET /v1?alt=json&key=abcdef0123456789", "abcdef0123456789"),
    "azure": ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=Zm9vYmFy+/x==;", "Zm9vYmFy"),
    "azure shared access": ("SharedAccessKey=Zm9vYmFy+/x==", "Zm9vYmFy"),
    "sql server": ("Server=db;Uid=me;Pwd=hunter2;", "hunter2"),
    "camel case": ('{"apiKey": "hunter2", "n": 1}', "hunter2"),
    "camel case in a string": (r'"{\"clientSecret\": \"hunter two\", \"n\": 1}"', "hunter two"),
    "yaml": ("accessToken: hunter2", "hunter2"),
    "json token": ('{"token": "hunter2"}', "hunter2"),
    "header": ("x-api-key: hunter2", "hunter2"),
    "basic": ('curl -H "Authorization: Basic aHVudGVyOjI="', "aHVudGVyOjI"),
    "authorization in json": ('"Authorization": "Bearer abcdef"', "abcdef"),
    "aws secret": ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtn"),
    "aws temporary": ("ASIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
    "option": ("tool --api-key hunter2 --verbose", "hunter2"),
    "PASSWORD": ("PASSWORD=hunter2", "hunter2"),
    "vault": ("hvs.CAESIJ0123456789abcdefghij", "CAESIJ01"),
}
LINES = ["MIIEpAIBAAKCAQEA" + "x" * 48, "/Yz+0123456789AB" + "y" * 48, "abc=="]
BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"


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


PLAIN = (
    "a task-force",
    "keyboard=us",
    "ask-me",
    "12 tokens: 5 left",
    "the sk-ill",
    "AKIA",
    "monkey_keys",
    "ghost_story",
    "git checkout task-refactor-the-login-page",
    "commit a9d12393bae5494f0e6b1c2d3e4f5a6b7c8d9e0f",
    "claude --resume 0b7e5e0e-6a3b-4f7e-9c1d-2f3a4b5c6d7e",
    "/home/me/.claude/projects/-home-me-x/0b7e5e0e.jsonl",
    "codex resume 019a9f3c-1b2d-7e4f-8a9b-0c1d2e3f4a5b",
    "ses_5f2c9d1e0ffeAbCdEfGhIjKlMn",
    "sha256:9f86d081884c7d65",
    "pid 1234567:0b7e5e0e-6a3b-4f7e-9c1d-2f3a4b5c6d7e",
    "http://localhost:4873/@scope/package",
    "git@github.com:me/x.git",
    "ssh://git@example.com:22/x.git",
    "https://example.com:8443/a?b=c",
    "npm_config_registry",
    "hf_transfer",
    "Basic usage",
    "the bearer of bad news",
    "Bearer token expected",
    "PWD=/home/me",
    "--token-file /run/x",
    "Invalid API key",
    "pip install pypi-simple",
    "the private key is missing",
    "SG.hello",
    "tab:Aa",
    "eyJust.look",
    "xai-grok",
    "session_id: 42",
)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_words_stay(text: str) -> None:
    assert mask_secrets(text) == text


def test_a_key_of_many_lines_is_masked_as_a_whole() -> None:
    key = "\n".join((BEGIN, *LINES, END))
    assert mask_secrets(f"before\n{key}\nafter") == "before\n***\nafter"
    assert mask_secrets("before\n" + "\n".join((BEGIN, *LINES))) == "before\n***"


def test_a_key_with_header_lines_is_masked() -> None:
    key = "\n".join((BEGIN, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,00", "", *LINES, END))
    assert mask_secrets(f"{key}\nafter") == "***\nafter"
    assert mask_secrets('"' + key.replace("\n", "\\n") + '", 1') == '"***", 1'


def test_a_key_whose_head_is_out_of_sight_is_masked() -> None:
    assert mask_secrets("\n".join((*LINES, END, "after"))) == "***\nafter"
    before = [f"line {n}" for n in range(50)]
    cut = kept_screen("\n".join((*before, BEGIN, *LINES * 15, END)))
    assert cut.endswith("line 49\n***")
    assert "x" * 48 not in cut


def test_the_words_around_a_password_in_an_address_stay() -> None:
    assert mask_secrets("postgres://me:hunter2@db/app") == "postgres://me:***@db/app"


def test_the_last_forty_lines_of_a_screen_are_kept() -> None:
    screen = "\n".join(f"line {n}" for n in range(100))
    assert kept_screen(screen).splitlines() == [f"line {n}" for n in range(60, 100)]
    assert kept_screen(screen + "\n\n\n").splitlines()[-1] == "line 99"


def test_escapes_and_controls_go() -> None:
    screen = "\x1b[1;31mred\x1b[0m\x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ "
    screen += "\x1b(Bend\x07\x00\r\n\tx\x9b\x1b="
    assert kept_screen(screen) == "red link end\n\tx"


def test_a_secret_with_styles_inside_is_masked() -> None:
    assert kept_screen("sk-ant-\x1b[1mabcdefgh\x1b[0mijkl") == "***"


def test_blank_ends_and_gaps_are_folded() -> None:
    assert kept_screen("\n\na  \n\n\n\n\nb\n \n") == "a\n\nb"
    assert kept_screen("") == ""

"""The patterns of secrets: rarely tried, compiled late, and never slow, whatever the screen."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest

from tests.cpu import cpu_limit
from tmuxreap.core.masking import KINDS, PREFIXES, SecretKind, mask_secrets

LENGTH = 100_000
CPU_S = 1.0  # linear patterns need hundredths; a quadratic one needs far more
FILLINGS = ("a", "0", "-", " ", "/", '"', "\\", "\n", "a.", "aA0", "=a ", '="')


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_rule_is_found_by_its_words_alone(kind: SecretKind) -> None:
    assert kind.words
    assert all(word == word.lower() for word in kind.words)
    assert set(re.compile(kind.pattern).groupindex) <= {"keep"}


SHAPES = KINDS[: -len(PREFIXES) + 2]  # the same pattern for every prefix


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.name)
def test_no_masking_rule_is_slow(kind: SecretKind) -> None:
    word = kind.words[0]
    heads = {word, word.upper(), f"{word}:", f'"{word}": "', *HEADS.get(kind.name, ())}
    pattern = re.compile(kind.pattern)
    for head in heads:
        for filling in FILLINGS:
            with cpu_limit(CPU_S / 4):  # half the length, and a quarter for a quadratic one
                pattern.sub("", head + filling * (LENGTH // 2 // len(filling)))
                pattern.sub("", (head + filling) * (LENGTH // 2 // len(head + filling)))


HEADS = {
    "private key": ("-----BEGIN PRIVATE KEY-----", "-----BEGIN "),
    "private key whose first line is not shown": ("a" * 76 + "\n", "-----END PRIVATE KEY-----"),
    "Authorization header": ("Authorization: Basic ", "authorization=bearer "),
    "bearer": ('Bearer "', "bearer "),
    "named value": ("api_key=", 'apikey="', "_TOKEN: '", '_key=\\"'),
    "named value in JSON": ('"token": "', '"token":'),
    "password in a URL": ("://a:", "://"),
    "token as user of a URL": ("://" + "a" * 20 + ":",),
    "parameter of a URL": ("?key=", "&sig="),
    "SendGrid": ("SG." + "a" * 20 + ".",),
    "JSON Web Token": ("eyJ", "eyJaaaaaa.", "-eyJ", ".eyJ"),
    "Telegram bot": ("123456:", "1"),
}


def test_no_mixture_of_secrets_is_masked_slowly() -> None:
    chance = random.Random(7)
    parts = [word for kind in KINDS for word in kind.words]
    parts += [head for heads in HEADS.values() for head in heads] + list(FILLINGS)
    with cpu_limit(CPU_S):
        for _ in range(5):
            mask_secrets("".join(chance.choices(parts, k=LENGTH // 16)))


def test_masked_text_is_masked_no_further() -> None:
    chance = random.Random(11)
    parts = [
        "hello ",
        "\n",
        '"',
        ": ",
        "= ",
        *(word for kind in KINDS for word in kind.words if len(word) > 3),
    ]
    for _ in range(300):
        once = mask_secrets("".join(chance.choices(parts, k=12)))
        assert len(mask_secrets(once)) <= len(once) + 3


def test_nothing_is_compiled_before_a_screen_needs_it() -> None:
    program = (
        "from tmuxreap.core import masking as mask; mask.mask_secrets('all is well ' * 100);"
        " print(mask._pattern.cache_info().currsize)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "0"

"""The names inside the files: a test's name is a sentence, and a class name means one class."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.test_names import FILES, PACKAGE, TESTS

# Words of names that read like a translation: say reported, again, in progress; name the subject.
# A question (what, how, why) does not say what the test holds.
STILTED = re.compile(
    r"_(?:told|anew|under_way|whom)(?:_|\b)"
    r"|\btest_(?:who|whose|whoever|nobody|one_that|one_who|one_whose|those)_"
    r"|\btest_(?:what|how|why|which|whether|also|by|over)_"
    # An apostrophe is left out, not spelled out: agents, not agent_s.
    r"|_s(?:_|\b)"
    # A pronoun without its noun, or an object before its subject.
    r"|\btest_(?:it|its|they|their|of|nor|not)_"
    r"|\btest_(?:one|each|all|many|several)_(?:is|are|has|have|says?|goes|go|comes?)_"
    # Say that it does not count, is ignored, is refused.
    r"|_(?:is|are)_none(?:_|\b)|_is_no(?:thing|body)(?:_|\b)"
    # One or two words are a title: a sentence has a subject and a verb.
    r"|\btest_[a-z0-9]+(?:_[a-z0-9]+)?\b"
)


def test_the_name_of_a_test_is_a_plain_sentence() -> None:
    names = [
        (path.name, name)
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(
            r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    ]
    assert len(names) > 2000
    assert [(file, name) for file, name in names if STILTED.search(name)] == []


@pytest.mark.parametrize(
    ("name", "is_stilted"),
    [
        ("test_what_is_recorded", True),
        ("test_how_it_ends", True),
        ("test_the_agent_s_word_counts", True),
        ("test_a_stranger_s", True),
        ("test_it_is_removed_again", True),
        ("test_its_row_settles", True),
        ("test_of_two_rows_the_first_counts", True),
        ("test_each_is_stopped", True),
        ("test_one_is_removed", True),
        ("test_a_broken_value_is_none", True),
        ("test_open_doors", True),
        ("test_agents_own_words_count", False),
        ("test_one_key_ends_a_turn", False),
        ("test_each_row_is_listed", False),
        ("test_a_stop_says_what_it_did", False),
        ("test_whatever_ends_is_named", False),
    ],
)
def test_a_stilted_name_is_seen(name: str, is_stilted: bool) -> None:
    assert bool(STILTED.search(name)) is is_stilted


# Class names that two classes have: the answer has the name that users know.
TWICE = {
    "Process": "the answer of `show`, and a process of the system",
    "Session": "the answer, and the same with methods in the Python interface",
}


def class_names(sources: Iterable[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for source in sources:
        nodes = ast.walk(ast.parse(source))
        found.update(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return found


def test_a_class_name_means_one_class() -> None:
    names = class_names((PACKAGE / path).read_text(encoding="utf-8") for path in FILES)
    assert {name for name, times in names.items() if times > 1} == set(TWICE)


def test_a_name_of_two_classes_is_seen() -> None:
    assert class_names(["class A: ...", "class A: ..."])["A"] == 2

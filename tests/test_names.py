"""Each file has a test of its name: tests/<room>/test_<file>.py for tmuxreap/<room>/<file>.py."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import tmuxreap

PACKAGE, TESTS = Path(tmuxreap.__file__).parent, Path(__file__).parent

# Files without a test of their name (shell patterns), and why they need none.
WITHOUT = {
    "__init__.py": "names only",
    "*/__init__.py": "a docstring only",
    "__main__.py": "tests/interfaces/cli/test_main.py begins there",
    "app.py": "puts real things together: everything in tests/live runs through it",
    "demo_agent.py": "tests/live/test_demo_agent.py runs it in a terminal",
    "core/ports.py": "types only; tests/contract holds the real ones and the fakes to them",
    "hosts/engines.py": "tests/hosts/test_ssh.py and test_verbs.py reach hosts by them",
    "hosts/talk.py": "tests/hosts/test_faults.py breaks it in every way",
    "interfaces/remote/*.py": "the far end of the same: tests/hosts/test_verbs.py",
    "interfaces/cli/commands.py": "tests/interfaces/cli/test_help.py reads every command by it",
    "interfaces/cli/options.py": "the same",
    "ending/ladder/daemons.py": "tests/live/test_background.py ends sessions by it",
    "ending/own_ends.py": "the same",
    "proof/seats.py": "tests/live/test_background.py looks by it",
    "sessions/seats.py": "the same",
    "ledger/requests.py": "tests/hosts/test_faults.py asks twice for one thing",
    "interfaces/cli/verbs/*": "declarations only; tests/interfaces/cli/test_help.py reads them",
    "interfaces/popup/drawing.py": "the same, and tests/hosts/test_popup.py",
    "interfaces/python/api.py": "names only; tests/interfaces/python/test_reference.py reads them",
    "interfaces/python/calls.py": "tests/interfaces/python/test_registry.py calls through it",
    "interfaces/python/libtmux_objects.py": "test_registry.py holds it against libtmux itself",
    "interfaces/python/stopping.py": "test_registry.py and test_options.py stop by it",
}


def needs_none(path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in WITHOUT)


def named_test(path: str) -> Path:
    folder, _, name = path.rpartition("/")
    return TESTS / folder / f"test_{name}"


FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def test_a_file_has_a_test_of_its_name() -> None:
    missing = [
        f"write {named_test(path).relative_to(TESTS)}, or say in WITHOUT why {path} needs none"
        for path in FILES
        if not needs_none(path) and not named_test(path).is_file()
    ]
    assert missing == []


def test_every_exemption_matches_a_file() -> None:
    gone = [pattern for pattern in WITHOUT if not any(fnmatchcase(path, pattern) for path in FILES)]
    assert gone == []


def test_an_exempt_file_has_no_test() -> None:
    assert [path for path in FILES if needs_none(path) and named_test(path).is_file()] == []


def test_a_new_file_is_seen() -> None:
    assert not needs_none("commands/new.py")
    assert named_test("commands/watch/new.py") == TESTS / "commands" / "watch" / "test_new.py"


# Words of names that read like a translation: say reported, again, in progress; name the subject.
STILTED = re.compile(
    r"_(?:told|anew|under_way|whom)(?:_|\b)"
    r"|\btest_(?:who|whose|whoever|nobody|one_that|one_who|one_whose|those)_"
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

"""Each file has a test of its name: tests/<room>/test_<file>.py for tmuxreap/<room>/<file>.py."""

from __future__ import annotations

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
    "ending/own_ends.py": "tests/live/test_background.py ends sessions by it",
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

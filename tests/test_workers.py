"""The workers lose no failure: neither of a test that ends its process, nor of one that hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = """
import os, signal, threading
import pytest

@pytest.mark.parametrize("number", range(8))
def test_a_worker_may_end(number, tmp_path):
    print("said by", number)
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 2:
        os._exit(0)
    assert number != 3

def test_a_test_waits_for_nothing():
    threading.Event().wait()
"""


def played(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run these tests by the project's own settings."""
    (folder / "test_these.py").write_text(tests)
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    plugins = ["-p", "tests.conftest", "--basetemp", str(folder / "b"), "-n", "2"]
    outside = ("PYTEST_XDIST", "PYTEST_CURRENT")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *settings, *plugins, *options, "test_these.py"],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    folder = tmp_path_factory.mktemp("played")
    return played(folder, TESTS, "-o", "faulthandler_timeout=10")


def test_a_test_that_fails_or_ends_its_worker_has_failed_and_no_other(
    done: subprocess.CompletedProcess[str],
) -> None:
    assert (done.returncode, "4 failed, 5 passed" in done.stdout) == (1, True), done.stdout
    assert "crashed while running 'test_these.py::test_a_worker_may_end[1]'" in done.stdout
    assert "crashed while running 'test_these.py::test_a_worker_may_end[2]'" in done.stdout
    assert "said by 3\n" in done.stdout
    assert "said by 4\n" not in done.stdout


def test_a_test_that_does_not_end_is_named_with_the_line_where_it_was(
    done: subprocess.CompletedProcess[str],
) -> None:
    assert "crashed while running 'test_these.py::test_a_test_waits_for_nothing'" in done.stdout
    assert "in test_a_test_waits_for_nothing\n" in done.stderr

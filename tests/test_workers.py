"""The workers lose no failure: neither of a test, nor of a process that ends in one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(8))
def test_one(number, tmp_path):
    print("said by", number)
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 2:
        os._exit(0)
    assert number != 3
"""


def played(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_these.py").write_text(tests)
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *plugins, "-p", "no:xdist.looponfail", "-n", "4"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, "--basetemp", str(folder / "b"), "test_these.py"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_that_fails_or_ends_its_worker_has_failed_and_no_other(tmp_path: Path) -> None:
    done = played(tmp_path, TESTS)
    assert (done.returncode, "3 failed, 5 passed" in done.stdout) == (1, True), done.stdout
    assert "test_one[1] - the process that ran it ended: SIGKILL" in done.stdout
    assert "test_one[2] - the process that ran it ended: exit status 0" in done.stdout
    assert "said by 3\n" in done.stdout
    assert "said by 4\n" not in done.stdout


NEVER_ENDS = """
import threading
from tests import workers

workers.LIMIT_S = 8.0

def test_that_waits_for_nothing():
    threading.Event().wait()

def test_that_passes():
    pass
"""


def test_a_test_that_does_not_end_is_named_with_the_line_where_it_was(tmp_path: Path) -> None:
    done = played(tmp_path, NEVER_ENDS)
    assert (done.returncode, "1 failed, 1 passed" in done.stdout) == (1, True), done.stdout
    assert "test_that_waits_for_nothing - it did not end within 8 s" in done.stdout
    assert "in test_that_waits_for_nothing\n" in done.stdout

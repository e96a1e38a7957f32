"""A really full disk: real kernel errors, on a small private file system."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import Real, alive, answer
from tmuxreap.commands import stop as ending
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import Policy

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system"),
]


@pytest.fixture
def small(real: Real, tmp_path: Path) -> Iterator[Real]:
    """The registry on 1 MB, and an agent that runs elsewhere."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True, timeout=60
    )
    try:
        small = Real(real.socket, disk)
        small.start(cwd=str(tmp_path))
        small.say("hello")
        yield small
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True, timeout=60)


def fill(real: Real) -> Path:
    filler = real.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return filler
    raise AssertionError("it is never full")


def code(result: Result) -> Code | None:
    (item,) = result.results
    return Code.of(item.error.code) if item.error else None


def test_a_stop_on_a_full_disk_ends_nothing_and_loses_no_reason(small: Real) -> None:
    before, pid = small.registry.read_bytes(), small.pid()
    filler = fill(small)
    refused = small.fails(lambda: small.stop(reason="night"))
    assert (refused.code, int(refused.code.exit)) == (Code.REGISTRY_UNWRITABLE, 6)
    assert "No space left" in refused.message
    assert (alive(pid), small.registry.read_bytes()) == (True, before)
    filler.unlink()
    assert answer(small.stop(reason="night"))["outcome"] == "stopped"
    assert small.row()["stop_reason"] == "night"


def test_a_kill_on_a_full_disk_says_how_to_record_its_reason(small: Real) -> None:
    before, pid = small.registry.read_bytes(), small.pid()
    filler = fill(small)
    result = small.kill(reason="runs away")
    assert (code(result), int(result.exit)) == (Code.REGISTRY_UNWRITABLE, 6)
    told = answer(result)
    assert (told["status"], alive(pid)) == ("running", False)
    assert told["error"]["hint"] == "when that is fixed: tmuxreap kill acme --reason 'runs away'"
    assert small.registry.read_bytes() == before
    filler.unlink()
    assert small.kill(reason="runs away").exit == 0
    assert (small.row()["status"], small.row()["stop_reason"]) == ("stopped", "runs away")


def test_a_disk_that_fills_during_a_stop_loses_no_request(small: Real) -> None:
    """The intent was recorded before the first key: the request is known."""
    reason = "night"
    with small.app() as app:
        meanwhile = app.processes.wait

        def filling(processes: object, timeout_s: float) -> object:
            if not (small.folder / "filler").exists():
                fill(small)
            return meanwhile(processes, timeout_s)  # type: ignore[arg-type]

        app.processes.wait = filling  # type: ignore[method-assign,assignment]
        result = ending.run(app, ending.EndRequest(("acme",), Policy(EndVerb.STOP, reason)))
    assert code(result) is Code.REGISTRY_UNWRITABLE
    (small.folder / "filler").unlink()
    with small.app() as app:
        reconcile.run(app)
    row = small.row()
    assert (row["status"], row["termination_mode"], row["stop_reason"]) == (
        "stopped",
        "graceful",
        reason,
    )


def test_a_readonly_disk_refuses_a_stop_and_lets_a_kill_end(small: Real) -> None:
    before, pid = small.registry.read_bytes(), small.pid()
    remount(small, "ro")
    try:
        refused = small.fails(small.stop)
        assert (refused.code, alive(pid)) == (Code.REGISTRY_UNWRITABLE, True)
        result = small.kill(reason="runs away")
        assert (code(result), answer(result)["status"], alive(pid)) == (
            Code.REGISTRY_UNWRITABLE,
            "running",
            False,
        )
    finally:
        remount(small, "rw")
    assert small.registry.read_bytes() == before


def remount(real: Real, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(real.folder)], check=True, timeout=60)


@pytest.mark.parametrize("blocks", [0, 8])
def test_a_limit_of_the_caller_ends_nothing(real: Real, blocks: int) -> None:
    """Not the disk, but this process may write nothing, or too little."""
    real.start()
    before, pid = real.registry.read_bytes(), real.pid()
    words = [sys.executable, "-m", "tmuxreap", "stop", "acme", "--registry", str(real.registry)]
    for more in ([], ["--dry-run"]):
        limited = ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *words, *more]
        done = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, "File too large" in done.stderr) == (6, True), done
        assert (alive(pid), real.registry.read_bytes()) == (True, before)
    assert real.screen().count("/exit") == 0
    assert answer(real.stop())["outcome"] == "stopped"

"""Which process holds a lock file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tmuxreap.system import files
from tmuxreap.system.files import holder_name, holders, soft_owner


def test_the_kernel_names_the_holder_of_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as held:
        assert holder_name(lock) == "another program"
        fcntl.flock(held, fcntl.LOCK_EX)
        assert holders(lock.stat().st_ino) == {os.getpid()}
        assert holder_name(lock).endswith(f"(pid {os.getpid()})")
    assert holders(lock.stat().st_ino) == set()


def test_a_waiting_process_is_no_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = tmp_path / "locks"
    locks.write_text(
        "1: FLOCK  ADVISORY  WRITE 70 08:01:5 0 EOF\n"
        "1: -> FLOCK  ADVISORY  WRITE 71 08:01:5 0 EOF\n"
        "2: POSIX  ADVISORY  WRITE 72 08:01:5 0 EOF\n"
    )
    monkeypatch.setattr(files, "LOCKS", locks)
    assert (holders(5), holders(55)) == ({70}, set())


@pytest.mark.parametrize(
    ("text", "pid"),
    [("", None), ("17\nhere\n", 17), ("17", None), ("pid\nhere\n", None), ("\xff", None)],
)
def test_a_soft_lock_says_whose_it_is(tmp_path: Path, text: str, pid: int | None) -> None:
    lock = tmp_path / "lock"
    lock.write_bytes(text.encode("latin-1"))
    assert soft_owner(lock) == pid

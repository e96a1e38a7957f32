"""Files that may not be read, written or locked: the contract's code, a hint, nothing written."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest
from filelock import FileLock

from tests.command_line import Answer, Child, command, without_powers
from tests.command_line import tmuxreap as run
from tests.interfaces.cli.test_bad_input import ROW, VERBS, everything, refused
from tmuxreap.__main__ import main
from tmuxreap.system import lock as registry_lock

pytestmark = pytest.mark.usefixtures("apart")
NOBODY = 65534


@pytest.mark.parametrize("verb", VERBS)
def test_an_unreadable_file_is_refused(
    verb: str, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.write_text(ROW)
    opened = os.open

    def denied(path: str | Path, *args: int, **more: int | None) -> int:
        if Path(path) == registry:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *args, **more)

    monkeypatch.setattr(os, "open", denied)
    refused(run(*VERBS[verb]), 5, "permission_denied", "permission denied")
    monkeypatch.undo()
    assert registry.read_text() == ROW


@pytest.mark.parametrize(
    "words", [("stop", "a"), ("kill", "a"), ("forget", "b")], ids=lambda words: words[0]
)
@pytest.mark.parametrize("fault", ["EROFS", "ENOSPC", "EIO", "EDQUOT"])
def test_a_full_disk_is_reported_and_keeps_the_registry(
    fault: str, words: tuple[str, ...], registry: Path, tmp_path: Path
) -> None:
    registry.write_text(ROW)
    answer = run(*words, "--json", env={"TMUXREAP_FAULT": f"temp_created={fault}"})
    refused(answer, 6, "registry_unwritable", os.strerror(getattr(errno, fault)))
    assert registry.read_text() == ROW
    assert [path.name for path in registry.parent.glob(".*.tmp")] == []


def plainly(*words: str) -> Answer:
    """Run the command as a user who is bound by file modes."""

    def work() -> int:
        without_powers()
        return main(list(words))

    return Child(work).answer()


@pytest.mark.parametrize(
    "words", [("stop", "a"), ("kill", "a"), ("forget", "b")], ids=lambda words: words[0]
)
@pytest.mark.parametrize(
    ("part", "mode", "exit_code", "code"),
    [
        ("agent-sessions.yaml", 0o000, 5, "permission_denied"),
        ("agent-sessions.yaml", 0o444, 6, "registry_unwritable"),
        (".", 0o555, 6, "registry_unwritable"),
    ],
)
def test_file_modes_are_obeyed(
    part: str, mode: int, exit_code: int, code: str, words: tuple[str, ...], registry: Path
) -> None:
    registry.write_text(ROW)
    target = registry.parent / part
    before = target.stat().st_mode
    target.chmod(mode)
    try:
        refused(plainly(*words, "--json"), exit_code, code)
    finally:
        target.chmod(before)
    assert registry.read_text() == ROW
    assert plainly(*words, "--json").exit == 0


def test_nothing_is_started_that_could_not_be_registered(registry: Path) -> None:
    registry.write_text(ROW)
    registry.chmod(0o444)
    refused(
        plainly("start", "x", "--agent", "demo", "--json"),
        6,
        "registry_unwritable",
        "write-protected",
    )
    assert list(Path(os.environ["TMUX_TMPDIR"]).glob("tmux-*/*")) == []
    assert registry.read_text() == ROW


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("part", [".", ".hermes", ".hermes/agent-sessions.yaml"])
def test_another_users_file_is_taken_when_it_is_named_only(
    part: str, registry: Path, tmp_path: Path
) -> None:
    registry.write_text(ROW)
    os.chown(tmp_path / part, NOBODY, NOBODY)
    refused(run("stop", "a", "--json"), 6, "registry_untrusted", str(NOBODY))
    assert registry.read_text() == ROW
    assert run("list", "--json", "--registry", str(registry)).exit == 0
    assert run("list", "--json", env={"TMUXREAP_REGISTRY": str(registry)}).exit == 0


# A lock held by another process


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_lock, "WAIT_S", 0.05)


@pytest.mark.parametrize("holder", ["filelock", "flock"])
@pytest.mark.parametrize(
    "words", [("stop", "a"), ("kill", "a"), ("forget", "b")], ids=lambda words: words[0]
)
@pytest.mark.usefixtures("impatient")
def test_a_lock_held_by_another_refuses_writing_verbs(
    holder: str, words: tuple[str, ...], registry: Path, tmp_path: Path
) -> None:
    registry.write_text(ROW)
    lock = f"{registry}.lock"
    before = everything(tmp_path)
    if holder == "filelock":
        with FileLock(lock):
            answer = run(*words, "--json")
    else:
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            answer = run(*words, "--json")
    refused(answer, 6, "lock_timeout", f"(pid {os.getpid()}) held it")
    assert everything(tmp_path) == before
    assert run(*words, "--json").exit == 0


def test_reading_takes_no_lock(registry: Path) -> None:
    registry.write_text(ROW)
    with FileLock(f"{registry}.lock"):
        assert run("list", "--json").exit == 0
        assert run("show", "a", "--json").exit == 0
        assert run("stop", "b", "--json").json["results"][0]["outcome"] == "already_stopped"


def test_a_lock_is_taken_when_it_is_released(registry: Path) -> None:
    registry.write_text(ROW)
    with FileLock(f"{registry}.lock"):
        waiting = command("forget", "b", "--json")
        assert os.waitpid(waiting.pid, os.WNOHANG) == (0, 0)
    assert waiting.answer().exit == 0
    assert "name: b" not in registry.read_text()

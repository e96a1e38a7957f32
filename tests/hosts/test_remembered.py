"""The remote sessions that completion offers: at most a minute old, and plain names only."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.conftest import Fleet
from tmuxreap.hosts.file import FILE, KEPT_S, remember, remembered


def kept(folder: Path, now: float) -> list[tuple[str, str]]:
    return list(remembered(folder / FILE, now))


def row(name: object, status: object = "running") -> dict[str, object]:
    return {"name": name, "status": status}


def test_an_answer_is_offered_for_a_minute(tmp_path: Path) -> None:
    remember(tmp_path, {"a": [row("web")]}, 100.0)
    remember(tmp_path, {"b": [row("db", "stopped")]}, 130.0)
    assert kept(tmp_path, 130.0) == [("web@a", "running"), ("db@b", "stopped")]
    assert kept(tmp_path, 100.0 + KEPT_S + 1) == [("db@b", "stopped")]
    assert kept(tmp_path, 99.0) == []  # after the clock was set back nothing is known
    remember(tmp_path, {"a": []}, 140.0)
    assert kept(tmp_path, 140.0) == [("db@b", "stopped")]


def test_only_plain_names_are_kept(tmp_path: Path) -> None:
    odd = ["$(reboot)", "a b", "-rf", "\x1b[2J", "a\nb", "x" * 101, "", None, 3, ["x"]]
    remember(tmp_path, {"a": [row("ok"), *map(row, odd), row("live", "melted")]}, 1.0)
    assert kept(tmp_path, 1.0) == [("ok@a", "running")]


def test_an_odd_or_foreign_file_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / FILE
    odd = ("", "[]", "{", '{"a": 3}', '{"a": {"at": "x"}}', '{"a": {"at": 1, "sessions": 3}}')
    for text in odd:
        path.write_text(text)
        assert kept(tmp_path, 1.0) == []
    path.write_text(json.dumps({"a": {"at": 1, "sessions": [row("web")]}}))
    assert kept(tmp_path, 1.0) == [("web@a", "running")]
    path.chmod(0o666)
    assert kept(tmp_path, 1.0) == []
    remember(None, {"a": [row("web")]}, 1.0)  # without a private folder nothing is cached


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A short path: sockets are created there, too."""
    with tempfile.TemporaryDirectory(prefix="trr", dir="/tmp") as folder:
        yield Path(folder)


def test_a_shell_is_offered_the_sessions_of_the_last_list(fleet: Fleet, runtime: Path) -> None:
    fleet.environ["XDG_RUNTIME_DIR"] = str(runtime)

    def offered(*words: str) -> list[str]:
        asked = {
            "_TMUXREAP_COMPLETE": "complete_fish",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_ARGS": " ".join(("tmuxreap", *words)),
        }
        fleet.environ.update(asked)
        answer = fleet.run()
        for name in asked:
            del fleet.environ[name]
        return [line.split("\t")[0] for line in answer.out.splitlines() if line]

    assert offered("stop", "web@") == []
    assert fleet.run("list", "--host", "all", "--json").exit == 0
    assert offered("stop", "web@") == ["web@a", "web@b"]
    assert offered("stop", "web@a", "web@") == ["web@b"]
    assert offered("resume", "web@") == []  # they are running
    assert offered("attach", "web@") == []  # has no further host
    assert (runtime / "tmuxreap" / FILE).stat().st_mode & 0o077 in (0, 0o044)

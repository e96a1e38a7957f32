"""`hooks install` and `remove` on real files: which settings, what is refused, and dry runs."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tmuxreap.app import real_app
from tmuxreap.commands.hooks import HooksAction, HooksRequest, run
from tmuxreap.core.errors import Code, Failure
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

INSTALL, REMOVE = (
    HooksRequest(HooksAction.INSTALL, "claude"),
    HooksRequest(HooksAction.REMOVE, "claude"),
)


def app(home: Path, **more: str) -> Context:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", **more}
    return real_app(Settings(environ, home, os.getuid(), os.getpid(), sys.platform), None)


def action(app: Context, request: HooksRequest) -> object:
    (item,) = run(app, request).results
    return item.as_json()["action"]


def test_hooks_are_installed_in_the_agents_settings_and_removed_again(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    assert action(app(tmp_path), INSTALL) == "installed"
    assert "PreToolUse" in json.loads(file.read_text())["hooks"]
    assert action(app(tmp_path), INSTALL) == "unchanged"
    assert action(app(tmp_path), REMOVE) == "removed"
    assert file.read_text() == "{}\n"
    assert action(app(tmp_path), REMOVE) == "unchanged"


def test_removing_hooks_creates_no_file(tmp_path: Path) -> None:
    assert action(app(tmp_path), REMOVE) == "unchanged"
    assert list(tmp_path.iterdir()) == []


def test_the_folder_that_the_agent_is_asked_to_use_counts(tmp_path: Path) -> None:
    run(app(tmp_path / "home", CLAUDE_CONFIG_DIR=str(tmp_path / "other")), INSTALL)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_dry_run_shows_the_difference_and_writes_nothing(tmp_path: Path) -> None:
    (item,) = run(app(tmp_path), HooksRequest(HooksAction.INSTALL, "claude", dry_run=True)).results
    facts = item.as_json()
    assert facts["action"] == "planned"
    assert isinstance(facts["diff"], list)
    assert '+    "PreToolUse": [' in facts["diff"]
    assert list(tmp_path.iterdir()) == []


def test_mode_and_link_stay_and_nothing_lies_around(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"model": "opus"}')
    real.chmod(0o640)
    (tmp_path / ".claude").mkdir()
    link = tmp_path / ".claude" / "settings.json"
    link.symlink_to(real)
    run(app(tmp_path), INSTALL)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert json.loads(real.read_text())["model"] == "opus"
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        ".claude",
        "dotfiles.json",
        "settings.json",
    ]


DEEP = b'{"a": ' + b"[" * 700 + b"]" * 700 + b"}"


@pytest.mark.parametrize(
    "data", [b'{"a": 1,}', b"// mine\n{}", b"\xff\xfe{}", b'{"hooks": []}', b"\xef\xbb\xbf{}", DEEP]
)
def test_settings_that_are_not_plain_json_are_an_error_and_stay(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / ".claude").mkdir()
    file = tmp_path / ".claude" / "settings.json"
    file.write_bytes(data)
    with pytest.raises(
        Failure, match=r"could not install hooks of claude in .*settings.json: it is not plain"
    ) as found:
        run(app(tmp_path), INSTALL)
    assert found.value.code is Code.USAGE
    assert file.read_bytes() == data


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file")
    with pytest.raises(Failure, match="could not install hooks of claude") as found:
        run(app(tmp_path), INSTALL)
    assert found.value.code is Code.PERMISSION_DENIED


@pytest.mark.parametrize(
    ("agent", "reason"), [("nobody", "not a known agent"), ("aider", "none are known for it")]
)
def test_an_agent_without_hooks_is_reported(tmp_path: Path, agent: str, reason: str) -> None:
    with pytest.raises(Failure, match=reason) as found:
        run(app(tmp_path), HooksRequest(HooksAction.INSTALL, agent))
    assert found.value.code is Code.USAGE


def test_hooks_that_are_switched_off_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    (warning,) = run(app(tmp_path), INSTALL).warnings
    assert warning.startswith("hooks_switched_off:")

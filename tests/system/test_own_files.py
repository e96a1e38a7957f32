"""The user's small files: what is read, what is not used, and what is remembered."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from tmuxreap.system import own_files
from tmuxreap.system.own_files import Fault, NotUsed, read_own, recall, remember


def not_used(path: Path) -> NotUsed:
    with pytest.raises(NotUsed) as caught:
        read_own(path, path.parent.stat().st_uid)
    return caught.value


def test_a_file_is_read_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text("a: \u00e4\r\n", newline="")
    assert read_own(file, os.getuid()) == "a: \u00e4\r\n"


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    pipe, device, folder = (tmp_path / name for name in ("pipe", "device", "folder"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    folder.mkdir()
    for path in (pipe, device, folder):
        assert not_used(path).reason == "it is no regular file"
    assert "No such file" in not_used(tmp_path / "none").reason


def test_no_more_than_a_megabyte_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as large:
        large.truncate(5_000_000_000)
    assert "larger than 1000 kB" in not_used(file).reason


def test_the_text_of_a_file_that_is_not_used_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_bytes(b"spare: \xff")
    assert not_used(file).text.startswith("spare: ")
    file.write_text("spare: []")
    file.chmod(0o666)
    shared = not_used(file)
    assert (shared.text, shared.hint) == ("spare: []", f"chmod go-w {file}")


def test_a_private_group_contains_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    import grp

    user = pwd.struct_passwd(("ann", "x", 1234, 1234, "", "/home/ann", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    groups = {1234: ("ann", "x", 1234, []), 50: ("staff", "x", 50, [])}
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(groups[gid]))
    assert own_files.is_private_group(1234, 1234)
    assert not own_files.is_private_group(50, 1234)
    assert not own_files.is_private_group(1234, 0)
    groups[1234] = ("ann", "x", 1234, ["bob"])
    assert not own_files.is_private_group(1234, 1234)


def test_the_last_good_reading_is_kept_for_each_file(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "agents.yaml", tmp_path / "b" / "agents.yaml"
    remember(one, tmp_path, {"x": [1]})
    assert recall(one, tmp_path, os.getuid()) == {"x": [1]}
    assert recall(other, tmp_path, os.getuid()) is None
    (memory,) = (tmp_path / "tmuxreap").iterdir()
    assert memory.stat().st_mode & 0o777 == 0o600
    memory.write_text("[")
    assert recall(one, tmp_path, os.getuid()) is None


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "tmuxreap").write_text("in the way")
    remember(tmp_path / "agents.yaml", tmp_path, {})
    remember(tmp_path / "agents.yaml", None, {})
    assert recall(tmp_path / "agents.yaml", None, 0) is None


def test_a_setting_is_lost_where_its_key_stands_and_nothing_is_remembered() -> None:
    fault = Fault("common", "could not read it", "correct it", "spare: [x]")
    assert fault.loses("spare")
    assert not fault.loses("secrets")
    assert not Fault("", "", "", "spared: x").loses("spare")
    assert not Fault("", "", "", "spare: x", remembered=True).loses("spare")

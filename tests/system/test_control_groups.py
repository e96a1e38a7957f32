"""Leaving our own control group, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tmuxreap.system import machine
from tmuxreap.system.machine import escape_prefix, group_of, is_alone

UNIT = "/user.slice/watch.service"


def groups(monkeypatch: pytest.MonkeyPatch, ours: str | None, init: str | None) -> None:
    known = {"self": ours, 1: init}
    monkeypatch.setattr(machine, "group_of", lambda pid: known[pid])


def test_the_kernel_names_our_group_and_none_of_a_gone_process() -> None:
    assert (group_of("self") is None) == (not Path("/proc/self/cgroup").exists())
    assert group_of(2**22 + 1) is None


@pytest.mark.parametrize(
    ("ours", "init", "alone"),
    [
        (UNIT, "/init.scope", True),
        ("/", "/", False),
        ("/docker/1", "/docker/1", False),
        (None, None, False),
    ],
)
def test_a_group_that_is_everybodys_is_not_ours_alone(
    monkeypatch: pytest.MonkeyPatch, ours: str | None, init: str | None, alone: bool
) -> None:
    groups(monkeypatch, ours, init)
    assert is_alone() is alone
    assert (escape_prefix(1000, {}) == ()) is not alone


def test_systemd_leads_out_where_it_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    groups(monkeypatch, UNIT, "/init.scope")
    monkeypatch.setattr(machine, "SYSTEM_BUS", str(tmp_path / "none"))
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert escape_prefix(1000, runtime) is None
    assert escape_prefix(0, runtime) is None
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd" / "private").touch()
    words = escape_prefix(1000, runtime)
    assert words is not None
    assert words[:3] == ("env", f"XDG_RUNTIME_DIR={tmp_path}", "systemd-run")
    assert ("--user" in words, "--scope" in words, words[-1]) == (True, True, "--")
    monkeypatch.setattr(machine, "SYSTEM_BUS", str(tmp_path))
    assert escape_prefix(0, {}) == ("systemd-run", "--scope", "--quiet", "--collect", "--")

"""`config`: each default, its value and its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import tmuxreap as run
from tmuxreap.core.defaults import BUILT_IN


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tmuxreap").mkdir()
    return tmp_path / "tmuxreap" / "config.yaml"


def test_every_key_is_reported_with_its_source(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.write_text("reason: night\nreap:\n  idle_after: 4h\nsecrets: [acme]\n")
    monkeypatch.setenv("TMUXREAP_GRACE", "9")
    answer = run("config", "--json")
    assert (answer.exit, answer.json["registry"], answer.json["file"]) == (0, None, str(mine))
    told = {one["name"]: one for one in answer.json["results"]}
    assert list(told) == list(BUILT_IN)
    assert {name: (one["value"], one["source"]) for name, one in told.items()} == {
        "server": ("default", "built-in"),
        "reason": ("night", "file"),
        "grace": (9.0, "environment"),
        "reap.stalled_after": (120.0, "built-in"),
        "reap.idle_after": (14400.0, "file"),
        "reap.grace": (5.0, "built-in"),
        "cleanup": (False, "built-in"),
        "retention": (90 * 86400.0, "built-in"),
        "secrets": (["acme"], "file"),
    }
    assert told["reap.idle_after"]["place"] == f"{mine}, line 3"


def test_people_read_a_line_for_each(mine: Path) -> None:
    mine.write_text("grace: 90s\n")
    lines = run("config").out.splitlines()
    assert len(lines) == len(BUILT_IN)
    assert f"grace               1m 30s  file ({mine}, line 1)" in lines
    assert "reason              manual_stop  built-in; of kill: killed" in lines
    assert "cleanup             false  built-in" in lines


def test_config_needs_neither_file_nor_registry(mine: Path) -> None:
    answer = run("config", "--json")
    assert answer.exit == 0
    assert {one["source"] for one in answer.json["results"]} == {"built-in"}

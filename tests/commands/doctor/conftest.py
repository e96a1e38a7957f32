"""A place for `doctor`: a folder without a registry, a PATH without an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor_answers import BIN, REGISTRY


@pytest.fixture
def place(tmux_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a registry, and a PATH without an agent."""
    monkeypatch.chdir(tmp_path)
    for name in ("TMUXREAP_REGISTRY", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", BIN)
    return tmp_path


@pytest.fixture
def registry(place: Path) -> Path:
    path = place / ".hermes" / "agent-sessions.yaml"
    path.parent.mkdir()
    path.write_text(REGISTRY)
    path.chmod(0o600)
    return path

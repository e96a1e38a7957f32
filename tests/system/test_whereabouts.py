"""Where a process runs: the same answer for the command line and for an agent's hook."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tmuxreap.core.errors import Failure
from tmuxreap.interfaces.hook.speaker import registry_here
from tmuxreap.ledger.database import ledger_path
from tmuxreap.system.environment import Settings, registry_path
from tmuxreap.system.whereabouts import ledger_beside, nearest_registry, tmux_server_of

STRANGER = 54321
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")


def searched(folder: Path) -> str | None:
    """Search as the command line does."""
    settings = Settings({}, folder, os.getuid(), os.getpid(), "linux")
    try:
        return str(registry_path(settings, None))
    except Failure:
        return None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry, and two folders below it."""
    monkeypatch.delenv("TMUXREAP_REGISTRY", raising=False)
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "agent-sessions.yaml").write_text("tmux_sessions: []\n")
    inner = tmp_path / "one" / "two"
    inner.mkdir(parents=True)
    return inner


def test_the_nearest_registry_upwards_is_found(project: Path) -> None:
    registry = str(project.parents[1] / ".hermes" / "agent-sessions.yaml")
    assert nearest_registry(str(project), os.getuid()) == (registry, frozenset())
    assert searched(project) == registry_here(str(project)) == registry


@as_root
@pytest.mark.parametrize("place", [".", ".hermes"])
def test_both_searches_end_at_what_a_stranger_has_put_in_the_way(project: Path, place: str) -> None:
    """Another user's folder may hold a registry that we cannot even see."""
    (project / ".hermes").mkdir()
    os.chown(project / place, STRANGER, STRANGER)
    assert nearest_registry(str(project), os.getuid()) == (None, frozenset())
    assert searched(project) is None
    assert registry_here(str(project)) is None


@as_root
def test_a_strangers_registry_is_named_and_not_taken(project: Path) -> None:
    registry = project.parents[1] / ".hermes" / "agent-sessions.yaml"
    os.chown(registry, STRANGER, STRANGER)
    assert nearest_registry(str(project), os.getuid()) == (str(registry), {STRANGER})
    assert searched(project) is None
    assert registry_here(str(project)) is None


@pytest.mark.parametrize(
    ("registry", "ledger"),
    [("/a/agents.yaml", "/a/agents.db"), ("/a/agents", "/a/agents.db"), ("/a/x.db", "/a/x.db.db")],
)
def test_a_ledger_is_never_the_registry_itself(registry: str, ledger: str) -> None:
    assert ledger_beside(registry) == str(ledger_path(Path(registry))) == ledger


def test_the_path_of_a_socket_may_hold_commas() -> None:
    environ = {"TMUX": "/tmp/a,b/default,4242,0", "TMUX_PANE": "%7"}
    assert tmux_server_of(environ) == ("/tmp/a,b/default", "4242")
    settings = Settings(environ, Path("/"), 0, 1, "linux")
    assert (settings.tmux_socket, settings.pane) == ("/tmp/a,b/default", "4242:%7")
    assert tmux_server_of({}) == ("", "")

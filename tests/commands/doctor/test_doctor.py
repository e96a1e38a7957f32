"""`doctor` finds what is wrong, with the command that fixes it, and changes nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.doctor_answers import BIN, contents, doctor, of, the_only
from tests.real import Real, alive, until

# Without problems


def test_without_a_registry_doctor_names_the_next_step_and_finds_no_fault(place: Path) -> None:
    answer = doctor()
    assert (answer.exit, answer.json["error"]) == (0, None)
    assert "tmuxreap start NAME" in the_only(answer, "registry", "note")["hint"]
    assert contents(place) == {}


def test_a_named_registry_must_exist(place: Path) -> None:
    answer = doctor("--registry", "other.yaml")
    assert answer.exit == 1
    assert the_only(answer, "registry")["message"].startswith("could not find the registry")


def test_healthy_checks_are_listed_too(registry: Path) -> None:
    answer = doctor()
    assert answer.exit == 0
    assert {one["name"] for one in answer.json["results"] if one["level"] == "ok"} >= {
        "tmux",
        "registry",
        "ledger",
    }


# The registry, its lock and its ledger


def test_doctor_continues_where_no_file_can_be_created(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(*_: object, **__: object) -> object:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", nowhere)
    answer = doctor()
    assert "no usable temporary directory" in the_only(answer, "place")["message"]
    assert of(answer, "registry", "ok")


# tmux


# Sessions


@pytest.mark.live
def test_a_session_that_is_dead_is_found_and_not_written(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", BIN)
    real.start()
    pid = real.pid()
    assert doctor("--registry", str(real.registry)).exit == 0
    os.kill(pid, 9)
    until("it is dead", lambda: not alive(pid) and "acme" not in real.sessions())
    before = real.registry.read_bytes()
    answer = doctor("--registry", str(real.registry))
    found = the_only(answer, "sessions")
    assert (answer.exit, found["hint"]) == (1, "tmuxreap reconcile")
    assert found["message"].startswith("acme: dead: ")
    assert real.registry.read_bytes() == before


# Agents


def test_broken_user_blocks_stop_no_check(registry: Path) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap" / "agents.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("agents: [")
    answer = doctor()
    assert answer.exit == 1
    assert str(own) in the_only(answer, "profiles")["message"]
    assert of(answer, "registry", "ok")


# Output


def test_a_check_that_fails_is_a_finding(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tmuxreap.commands.doctor import machine

    def broken(*_: object) -> object:
        raise RuntimeError("no luck")

    monkeypatch.setattr(machine, "lost_servers", broken)
    answer = doctor()
    assert "RuntimeError: no luck" in the_only(answer, "sockets")["message"]
    assert of(answer, "ledger", "ok")

"""Versions of agents' programs: asked in a temporary environment, with a timeout, and only if
tried."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.doctor_answers import BIN, TRIED, contents, doctor, of, program, the_only
from tests.real import alive, until
from tmuxreap.commands.doctor import machine


def test_a_program_that_was_never_tried_is_not_run(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(place / "bin", "droid", f"touch {place}/ran; echo 1.2.3")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    found = the_only(doctor(), "agents", "note")
    assert "never tested" in found["message"]
    assert not (place / "ran").exists()


def test_a_version_is_asked_for_in_a_world_of_its_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f'[ "$1" = --version ] && echo "$HOME {TRIED} (Claude Code)"'
    program(place / "bin", "claude", f'touch "$HOME/seen" ./here; {said}')
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    before, home = contents(place), contents(Path(os.environ["HOME"]))
    found = the_only(doctor(), "agents", "ok")
    assert found["message"].startswith(f"claude {TRIED}, ")
    assert contents(place) == before
    assert contents(Path(os.environ["HOME"])) == home


def test_an_untested_version_is_a_note(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(place / "bin", "claude", "echo 9.9.9")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    answer = doctor()
    assert answer.exit == 0
    assert "its profile was tested with 2.1" in the_only(answer, "agents", "note")["message"]


def test_a_program_that_does_not_answer_is_ended_with_all_that_it_began(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(place / "bin", "claude", f"sleep 600 & echo $! > {place}/child; wait")
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    monkeypatch.setattr(machine, "TIMEOUT_S", 1.5)
    assert "no answer in 1.5 s" in the_only(doctor(), "agents", "note")["message"]
    child = int((place / "child").read_text())
    until("its child is gone", lambda: not alive(child))


def test_processes_that_a_program_leaves_behind_end_with_the_question(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(
        place / "bin",
        "claude",
        f"sleep 600 >/dev/null 2>&1 & echo $! > {place}/child; echo {TRIED}",
    )
    monkeypatch.setenv("PATH", f"{place}/bin:{BIN}")
    assert of(doctor(), "agents", "ok")
    child = int((place / "child").read_text())
    until("its child is gone", lambda: not alive(child))

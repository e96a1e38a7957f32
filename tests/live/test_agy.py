"""Antigravity as its vendor documents it, on a stand-in: C-c twice ends it, a purge takes only its
conversation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.real import CONFIRM_S, Real
from tmuxreap.commands import start, stop
from tmuxreap.core.model import EndVerb
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import Policy

pytestmark = pytest.mark.live

ONE = "11111111-6d0c-4f63-9b53-1d5f0c6f2a11"
TWO = "22222222-6d0c-4f63-9b53-1d5f0c6f2a11"
STAND_IN = """#!/bin/sh
heard=0
trap 'heard=$((heard + 1)); echo "Press Ctrl+C again to exit"' INT
echo "agy stand-in"
while [ $heard -lt 2 ]; do sleep 0.05; done
"""
KEPT = (f"conversations/{TWO}.db", f"brain/{TWO}/plan.md", "history.jsonl")


@pytest.fixture
def store() -> Path:
    folder = Path(os.environ["HOME"]) / ".gemini" / "antigravity-cli"
    own = (f"conversations/{ONE}.db", f"conversations/{ONE}.db-wal", f"conversations/{ONE}.db-shm")
    for name in (*own, f"conversations/{ONE}.pb", f"brain/{ONE}/plan.md", *KEPT):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    return folder


@pytest.fixture
def begun(real: Real, store: Path) -> Real:
    program = real.folder / "bin" / "agy"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    words = [str(program), f"--conversation={ONE}"]
    request = start.StartRequest(
        "acme", "agy", str(real.folder), server=real.socket, confirm_s=CONFIRM_S
    )
    with real.app() as app:
        start.run(app, replace(request, command=tuple(words)))
    real.shows("acme", "agy stand-in")
    return real


def test_agy_exits_by_two_interrupts(begun: Real) -> None:
    (told,) = [one.as_json() for one in begun.stop().results]
    assert (told["outcome"], told["stopped_by"]) == ("stopped", "exit_keys")
    assert begun.row()["agy_conversation_id_own"] == ONE
    assert told["conversation"]["path"].endswith(f"conversations/{ONE}.db")


def test_a_purge_deletes_one_conversation_of_agy_only(begun: Real, store: Path) -> None:
    policy = Policy(EndVerb.STOP, "manual_stop", purge=True)
    with begun.app() as app:
        (told,) = [
            one.as_json()
            for one in stop.run(app, stop.EndRequest(("acme",), policy, yes=True)).results
        ]
    assert told["outcome"] == "terminated"
    left = {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}
    assert left == set(KEPT)
    assert not (store / "brain" / ONE).exists()
    assert begun.row()["status"] == "terminated"


def test_the_older_form_of_a_conversation_is_known(begun: Real, store: Path) -> None:
    for end in ("db", "db-wal", "db-shm"):
        (store / "conversations" / f"{ONE}.{end}").unlink()
    (told,) = [one.as_json() for one in begun.stop().results]
    assert told["conversation"]["path"].endswith(f"{ONE}.pb")
    assert told["resumable"] is True

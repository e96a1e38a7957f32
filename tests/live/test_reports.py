"""Reports of the agent in a row of another tool: recorded at once, placed by the first look, and
from then on under the row's name when they come."""

from __future__ import annotations

import contextlib
import shlex
import sqlite3
import sys

import pytest

from tests.real import Real, until
from tmuxreap.ledger.database import ledger_path

pytestmark = pytest.mark.live
HOOK = '{"hook_event_name": "Stop"}'


def speaks(real: Real) -> None:
    """Let the agent call its hook once more, and wait until that is recorded."""
    before = len(reports(real))
    real.keys("hand", "x", "Enter")
    until("the report in the ledger", lambda: len(reports(real)) == before + 1)


def reports(real: Real) -> list[str]:
    """Return the names under which reports are recorded, as another tool reads them."""
    return [str(name) for (name,) in asked(real, "SELECT name FROM heartbeats ORDER BY id")]


def last_heartbeat(real: Real) -> object:
    ((at,),) = asked(real, "SELECT last_heartbeat FROM agent_lifecycle WHERE agent_id = 'hand'")
    return at


def asked(real: Real, question: str) -> list[tuple[object, ...]]:
    path = ledger_path(real.registry)
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as db:
        return db.execute(question).fetchall()


def test_the_first_look_places_a_report_and_later_ones_are_placed_when_they_come(
    real: Real,
) -> None:
    hook = shlex.join([sys.executable, "-m", "tmuxreap", "hook", "claude", HOOK])
    agent = f"export TMUXREAP_REGISTRY={real.registry}; while read go; do {hook}; done"
    pid = real.bystander("hand", "sh", "-c", agent)
    real.registry.write_text(
        f"tmux_sessions:\n- name: hand\n  status: running\n  tmux_server: {real.socket}\n"
        f"  tmux_session_name: hand\n  pane: {{pid: {pid}}}\n"
    )
    with real.app() as app:  # mirrored by a command that looked at no session
        app.books.follow(app.registry.look())
    speaks(real)
    assert reports(real)[0].startswith("\x01")
    assert last_heartbeat(real) is None
    assert [one["name"] for one in real.list()] == ["hand"]
    assert reports(real) == ["hand"]
    assert last_heartbeat(real) is not None
    speaks(real)
    assert reports(real) == ["hand", "hand"]


def test_a_report_of_an_adopted_pane_is_placed_as_it_comes_once_a_look_saw_its_program(
    real: Real,
) -> None:
    hook = shlex.join([sys.executable, "-m", "tmuxreap", "hook", "claude", HOOK])
    agent = f"export TMUXREAP_REGISTRY={real.registry}; while read go; do {hook}; done"
    real.bystander("hand", "sh", "-c", agent)
    real.adopt("hand", "claude")
    real.list()
    speaks(real)
    assert reports(real) == ["hand"]
    assert last_heartbeat(real) is not None
    real.tmux("respawn-pane", "-k", "-t", "=hand:", "sh", "-c", agent)
    speaks(real)
    assert reports(real)[1].startswith("\x01")
    real.list()
    assert reports(real) == ["hand", "hand"]

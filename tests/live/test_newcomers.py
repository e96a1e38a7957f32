"""A user works in the session while it is being ended, on real tmux: panes that appear after the
plan are kept."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from signal import SIGKILL
from typing import Any

import pytest

from tests.real import Real, alive, answer, until
from tmuxreap.core.model import Scope
from tmuxreap.core.results import Result
from tmuxreap.ledger.database import ledger_path

pytestmark = pytest.mark.live

STAYS = [
    "--exit-delay",
    "600",
]  # until ended: panes may come late
WAITS_S = 120.0


def under_way(real: Real) -> bool:
    with closing(sqlite3.connect(ledger_path(real.registry))) as db:
        return bool(
            db.execute(
                "SELECT 1 FROM intents WHERE outcome IS NULL AND verb IN ('stop', 'kill')"
            ).fetchall()
        )


def meanwhile(
    real: Real, end: Callable[[], Result], deed: Callable[[], object]
) -> dict[str, object]:
    """Run the action once the ending has started."""
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(end)
        until("its intent", lambda: under_way(real))
        deed()
        return answer(ended.result())


def work_in(real: Real, *words: str) -> int:
    """Start a program in a new pane."""
    return int(real.tmux(*words, "-P", "-F", "#{pane_pid}", "sleep", "600"))


DEEDS: dict[str, Callable[[Real], int]] = {
    "split-window": lambda real: work_in(real, "split-window", "-d", "-t", "=acme:"),
    "new-window": lambda real: work_in(real, "new-window", "-d", "-t", "=acme:"),
    "join-pane": lambda real: moved(real, "join-pane", "-d", "-s", "=theirs:0.0", "-t", "=acme:0"),
    "move-window": lambda real: moved(
        real, "move-window", "-d", "-s", "=theirs:0", "-t", "=acme:7"
    ),
    "respawn-pane": lambda real: respawned(real),
}


def moved(real: Real, *words: str) -> int:
    theirs = real.pid("theirs")
    real.tmux(*words)
    return theirs


def respawned(real: Real) -> int:
    real.tmux("respawn-pane", "-k", "-t", "=acme:0.1", "sleep", "600")
    return int(real.tmux("list-panes", "-t", "=acme:0", "-F", "#{pane_pid}").split()[-1])


@pytest.mark.parametrize("deed", list(DEEDS))
@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.SESSION])
def test_a_process_that_came_meanwhile_lives(real: Real, deed: str, scope: Scope) -> None:
    real.start("acme", *STAYS)
    real.bystander("theirs")
    agent, came = real.pid("acme"), list[int]()
    real.tmux("split-window", "-d", "-t", "=acme:0", "env", "sh")
    until("an idle shell", lambda: answer(real.stop(dry_run=True))["outcome"] == "planned")

    def come() -> None:
        came.append(DEEDS[deed](real))
        os.kill(agent, SIGKILL)

    end = lambda: real.stop(scope=scope, keys_timeout_s=WAITS_S)  # noqa: E731
    result: Any = meanwhile(real, end, come)
    assert (result["outcome"], real.row()["scope"]) == ("stopped", "pane")
    assert [str(one).partition(":")[0] for one in result["warnings"]] == ["foreign_panes"]
    assert (alive(agent), alive(came[0])) == (False, True)
    assert "acme" in real.sessions()


def test_the_agent_that_was_swapped_away_is_not_followed(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term", "--exit-delay", "600")
    theirs = real.bystander("theirs")
    agent = real.pid("acme")
    swap = lambda: real.tmux("swap-pane", "-d", "-s", "=acme:0.0", "-t", "=theirs:0.0")  # noqa: E731
    result: Any = meanwhile(real, lambda: real.kill(grace_s=3.0), swap)
    assert result["error"]["code"] == "session_replaced"
    assert (alive(agent), alive(theirs)) == (True, True)
    assert real.row()["status"] == "running"
    os.kill(agent, SIGKILL)

"""How a session is, by real tmux: every door that tells it says the same, in each situation that a
session can be in."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.background import Daemon
from tests.real import Real, agents_of, alive, answer, freeze, until
from tmuxreap.commands import adopt, show, wait
from tmuxreap.commands import list as listing
from tmuxreap.commands import report as reporting
from tmuxreap.commands.list import ListRequest
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.wait import Until, WaitRequest
from tmuxreap.commands.watch.watch import Segment
from tmuxreap.core.answers import Session
from tmuxreap.interfaces.mcp.tools import ListSessions, ShowSession
from tmuxreap.interfaces.popup import view
from tmuxreap.interfaces.python.registry import Registry

pytestmark = pytest.mark.live

Health = tuple[str | None, str | None, str | None]  # live, state, drift
Bring = Callable[[Real], None]
FACTS = ("live", "state", "drift")


def idle(real: Real) -> None:
    real.start()


def busy(real: Real) -> None:
    real.start("acme", "--state", "busy")


def dialog(real: Real) -> None:
    real.start("acme", "--state", "dialog")


def draft(real: Real) -> None:
    real.start()
    real.say("half a prompt")
    real.shows("acme", "half a prompt")


def frozen(real: Real) -> None:
    line = shlex.join(real.program)
    real.start(command=["sh", "-c", f"{line}; exit $?"])  # tmux lets go on what it started itself
    freeze(agent_of(real))


def shell_left(real: Real) -> None:
    real.start(command=["sh", "-c", f"{shlex.join(real.program)}; exec sh"])
    agent = agent_of(real)
    os.kill(agent, signal.SIGKILL)
    until("its end", lambda: not alive(agent))


def dead_pane(real: Real) -> None:
    real.start()
    real.tmux("set-option", "-w", "-t", "=acme:", "remain-on-exit", "on")
    os.kill(real.pid(), signal.SIGKILL)
    until("its dead pane", lambda: real.ask("acme", "#{pane_dead}") == "1")


def gone(real: Real) -> None:
    real.start()
    real.bystander()
    agent = agent_of(real)
    real.tmux("kill-session", "-t", "=acme")
    until("its end", lambda: not alive(agent))


def renamed(real: Real) -> None:
    real.start()
    real.tmux("rename-session", "-t", "=acme", "mine")


def another_of_the_name(real: Real) -> None:
    gone(real)
    real.tmux("new-session", "-d", "-s", "acme", *real.program)


def survivor(real: Real) -> None:
    real.start("acme", "--ignore", "hup,term")
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")


def survivor_and_another(real: Real) -> None:
    survivor(real)
    real.tmux("new-session", "-d", "-s", "acme", *real.program)


def foreign_row(real: Real) -> None:
    real.tmux("new-session", "-d", "-s", "acme", *real.program)
    real.shows("acme", "demo agent · conversation")
    written_by_hand(real)


def foreign_survivor(real: Real) -> None:
    real.tmux("new-session", "-d", "-s", "acme", *real.program, "--ignore", "hup,term")
    real.shows("acme", "demo agent · conversation")
    written_by_hand(real)
    real.bystander()
    real.tmux("kill-session", "-t", "=acme")


def foreign_renamed(real: Real) -> None:
    foreign_row(real)
    real.tmux("rename-session", "-t", "=acme", "mine")


def ended(real: Real) -> None:
    real.start()
    assert answer(real.stop())["outcome"] == "stopped"


def revived(real: Real) -> None:
    ended(real)
    real.bystander()
    real.tmux("new-session", "-d", "-s", "acme", *real.program)
    real.shows("acme", "demo agent · conversation")


def written_by_hand(real: Real) -> None:
    pane = {"pid": real.pid(), "cmd": "python3", "cwd": str(real.folder)}
    row = {"name": "acme", "status": "running", "agent": "demo", "tmux_server": real.socket}
    real.registry.write_text(json.dumps({"tmux_sessions": [{**row, "pane": pane}]}))


def agent_of(real: Real) -> int:
    """Return the agent's process: it writes a file of its pid."""
    (file,) = (real.store / "sessions").glob("*.json")
    return int(file.stem)


OUTLIVING = (survivor, survivor_and_another, foreign_survivor)
SITUATIONS: dict[str, tuple[Bring, Health]] = {
    "idle": (idle, ("alive", "idle", None)),
    "busy": (busy, ("alive", "working", None)),
    "a dialog": (dialog, ("alive", "waiting", None)),
    "a draft": (draft, ("alive", "idle", None)),
    "frozen": (frozen, ("alive", "unknown", None)),
    "a shell is left": (shell_left, ("agent_gone", None, "agent_gone")),
    "a dead pane": (dead_pane, ("agent_gone", None, "agent_gone")),
    "gone": (gone, ("gone", None, "dead")),
    "renamed": (renamed, ("alive", "idle", None)),
    "another of the name": (another_of_the_name, ("replaced", None, "replaced")),
    "a survivor": (survivor, ("gone", None, "survivors")),
    "a survivor, and another of the name": (
        survivor_and_another,
        ("replaced", None, "replaced"),
    ),
    "another tool's row": (foreign_row, ("alive", "idle", None)),
    "another tool's survivor": (foreign_survivor, ("gone", None, "survivors")),
    "another tool's row, renamed": (foreign_renamed, ("replaced", None, "replaced")),
    "ended": (ended, ("gone", None, None)),
    "ended, and there again": (revived, ("replaced", None, "revived")),
}


# Nothing of it is left, whatever has its name now.
GONE = (gone, another_of_the_name)


def health(facts: dict[str, Any]) -> Health:
    live, state, drift = (facts[name] for name in FACTS)
    return live, state, drift


def of_sessions(real: Real) -> Iterator[tuple[str, Health]]:
    """Yield what the doors say that answer with sessions."""
    with real.app() as app:
        yield "list", health(answer(listing.run(app, ListRequest())))
        yield "list --tree", health(answer(listing.run(app, ListRequest(tree=True))))
        yield "show", health(answer(show.run(app, ("acme",))))
        yield "MCP list", health(answer(ListSessions(targets=["acme"]).run(app)))
        yield "MCP show", health(answer(ShowSession(targets=["acme"]).run(app)))
    (one,) = Registry(real.registry).sessions()
    yield "Python", (one.live, one.state, one.drift)


def expect(real: Real, told: Health, *, is_gone: bool = False) -> None:
    """Assert that every door says this. `is_gone`: nothing of it lives."""
    live, state, drift = told
    assert dict(of_sessions(real)) == dict.fromkeys(dict(of_sessions(real)), told)
    with real.app() as app:
        (row,) = app.registry.look().usable
        (session,) = listing.run(app, ListRequest()).results
        assert isinstance(session, Session)
        word = drift or (row.status.value if row.status.ended else state or live) or ""
        assert str(view.state(session)) == word.replace("_", " ")
        shown = Segment(app).show([(row, *app.sights.of([row]))], again=True)
        seen = shown["acme"].state if "acme" in shown else None
        assert (seen.value if seen is not None else None) == state
        plan: Any = reconcile.run(app, dry_run=True).as_json()
        drifts = [one["drift"] for one in plan["drifts"] if one["name"] == "acme"]
        assert set(drifts) - {"id_changed"} == {drift} - {None}
        if not row.status.ended:
            waited = answer(wait.run(app, WaitRequest(("acme",), Until.GONE, timeout_s=0.0)))
            assert (waited["state"], waited["reached"]) == (state, is_gone)
            waited = answer(wait.run(app, WaitRequest(("acme",), Until.IDLE, timeout_s=0.0)))
            assert waited["reached"] == (state == "idle")
        reported = reporting.run(app, reporting.ReportRequest()).results
        statuses = {one.as_json()["status"] for one in reported if one.name == "acme"}
        assert statuses <= {row.status.value}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_door_says_the_same_of_a_session(real: Real, situation: str) -> None:
    bring, told = SITUATIONS[situation]
    bring(real)
    until("what it should say", lambda: health(real.list()[0]) == told)
    try:
        expect(real, told, is_gone=bring in GONE)
    finally:
        end(real, bring)


def test_every_door_says_the_same_of_a_background_session(real: Real) -> None:
    daemon = Daemon(real)
    try:
        daemon.begin(status="waiting", asks="may I?")
        with real.app() as app:
            adopt.run(app, adopt.AdoptRequest("acme", background="demo:w1"))
        expect(real, ("alive", "waiting", None))
    finally:
        daemon.close()


def end(real: Real, bring: Bring) -> None:
    """Let go on what was stopped, and end what outlives its server."""
    for pid in agents_of(real.store):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
            if bring in OUTLIVING:
                os.kill(pid, signal.SIGKILL)

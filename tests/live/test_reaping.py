"""`reap` on real sessions: what is ended by evidence, and what lives on."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.command_line import tmuxreap
from tests.ledger_records import Ledger
from tests.real import DEMO, PATIENCE_S, Real, alive, until
from tmuxreap.commands import start
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.reap import ReapRequest
from tmuxreap.commands.reap.verdicts import Kind, Limits
from tmuxreap.core.results import Result
from tmuxreap.ledger.database import ledger_path
from tmuxreap.ledger.records import Heartbeat, Survivor
from tmuxreap.system.processes.linux import LinuxProcesses, boot_id

pytestmark = pytest.mark.live

SOON = Limits(stalled_after_s=0.05, idle_after_s=1.0)
HELPER = "nohup setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > helper; exec "


def reaped(real: Real, *kinds: Kind, yes: bool = True, limits: Limits = SOON) -> Result:
    with real.app() as app:
        return reap.run(app, ReapRequest(kinds, limits, yes=yes))


def told(result: Result) -> dict[str, tuple[object, object]]:
    facts = [item.as_json() for item in result.results]
    return {str(one["name"]): (one["verdict"], one["outcome"]) for one in facts}


def kept(result: Result) -> dict[str, str]:
    found: Any = result.as_json()["kept"]
    return {one["name"]: one["why"] for one in found}


@contextlib.contextmanager
def ledger(real: Real) -> Iterator[Ledger]:
    with Ledger.open(ledger_path(real.registry), now=time.time()) as one:
        yield one


def says(real: Real, kind: str, state: str, *names: str) -> None:
    with ledger(real) as books:
        for name in names:
            books.record_heartbeat(Heartbeat(name, time.time(), state, kind, None, {}))


def tool_of(real: Real, name: str) -> int:
    """Return the child of the working demo agent."""
    real.shows(name, "esc to interrupt")
    children = Path(f"/proc/{real.pid(name)}/task/{real.pid(name)}/children")
    until("its tool", lambda: children.read_text().split())
    return int(children.read_text().split()[0])


def quiet_for(real: Real, seconds: float, *names: str) -> None:
    def ages() -> list[float]:
        with real.app() as app:
            look = app.tmux.look(real.socket)
            return [time.time() - s.activity for s in look.sessions if s.name in names]  # type: ignore[union-attr]

    until("quiet", lambda: min(ages()) > seconds)


def test_a_healthy_tool_call_lives_and_a_hung_one_is_ended(real: Real) -> None:
    for name in ("healthy", "hung"):
        real.start(name)
        says(real, "tool_before", "working", name)
        real.submit("/work 600", name)
    tool, dead = tool_of(real, "healthy"), tool_of(real, "hung")
    os.kill(dead, 9)  # its agent does not notice and waits forever
    until("the end of the tool", lambda: not alive(dead))
    result = reaped(real, Kind.STALLED)
    assert told(result) == {"hung": ("stalled", "stopped")}
    assert kept(result)["healthy"] == f"not stalled: a child of it is working: sleep ({tool}, tool)"
    assert alive(tool)
    assert real.sessions() == {"healthy"}
    assert real.row("hung")["stop_reason"] == "stalled"
    assert real.row("healthy")["status"] == "running"


def test_an_orchestrator_lives_as_long_as_the_agent_that_it_started(real: Real) -> None:
    real.start("boss")
    environ = dict(
        pair.split("=", 1)
        for pair in Path(f"/proc/{real.pid('boss')}/environ").read_text().split("\0")[:-1]
    )
    request = start.StartRequest(
        "worker",
        "demo",
        cwd=str(real.folder),
        server=real.socket,
        confirm_s=0.02,
        command=tuple(DEMO),
    )
    with real.app() as app:
        app.settings.environ["TMUXREAP_ID"] = environ["TMUXREAP_ID"]  # type: ignore[index]
        start.run(app, request)
    says(real, "tool_before", "working", "boss")
    says(real, "turn_end", "idle", "worker")
    time.sleep(0.1)  # the threshold
    assert "sub-agents of it live: worker" in kept(reaped(real, Kind.STALLED))["boss"]
    assert real.sessions() == {"boss", "worker"}
    real.kill("worker")
    assert told(reaped(real, Kind.STALLED)) == {"boss": ("stalled", "stopped")}


def test_reap_ends_only_the_idle_among_quiet_agents(real: Real) -> None:
    for name in ("idle", "asks", "watched", "parent", "works"):
        background = (
            "sh -c 'sleep 600; true' & exec "
            if name == "parent"
            else "sleep 600 | cat & exec "  # neither ever runs: tail wakes each second
        )
        real.start(name, command=["sh", "-c", background + " ".join(DEMO)])
    real.submit("/ask", "asks")
    real.submit("/work 600", "works")
    real.shows("works", "esc to interrupt")
    watcher = subprocess.Popen(
        ["tmux", "-C", "-S", real.socket, "attach", "-t", "=watched"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        until("the client", lambda: real.ask("watched", "#{session_attached}") == "1")
        quiet_for(real, 2.0, "idle", "asks", "works", "parent")
        result = reaped(real, Kind.IDLE)
    finally:
        watcher.kill()
        watcher.communicate()
    assert told(result) == {"idle": ("idle", "stopped")}, kept(result)
    assert "a child of it is working: sh (" in kept(result)["parent"]
    assert "it waits for a person" in kept(result)["asks"]
    assert kept(result)["watched"] == "a client is attached to it"
    assert "it is busy" in kept(result)["works"]
    assert ("tool", "approved") not in real.said()
    assert real.sessions() == {"asks", "watched", "parent", "works"}


def left_behind(real: Real, name: str = "acme") -> int:
    """A session closed from outside, with a surviving helper."""
    real.start(name, command=["sh", "-c", HELPER + " ".join(DEMO)])
    note = real.folder / "helper"
    until("its helper", lambda: note.exists() and note.read_text().endswith("\n"))
    agent, helper = real.pid(name), int(note.read_text())
    real.bystander()
    real.tmux("kill-session", "-t", f"={name}:")
    until("the end of the agent", lambda: not alive(agent))
    assert alive(helper)
    return helper


def test_an_orphan_is_ended_with_its_row_and_without(real: Real) -> None:
    helper = left_behind(real)
    plan = reaped(real, Kind.ORPHAN, yes=False)
    assert told(plan) == {"acme": ("orphan", "planned")}
    assert alive(helper)
    real.registry.write_text("tmux_sessions: []\n")  # its row is gone: only the mark is left
    result = reaped(real, Kind.ORPHAN)
    assert told(result) == {"acme": ("orphan", "stopped")}
    evidence: Any = result.results[0].as_json()["evidence"]
    assert [process["pid"] for process in evidence["processes"]] == [helper]
    assert evidence["memory_mb"] > 0
    assert not alive(helper)
    assert real.sessions() == {"quiet"}


def test_an_orphan_of_a_running_row_is_ended_and_the_row_says_so(real: Real) -> None:
    helper = left_behind(real)
    assert told(reaped(real, Kind.ORPHAN)) == {"acme": ("orphan", "stopped")}
    assert not alive(helper)
    assert (real.row()["status"], real.row()["stop_reason"]) == ("stopped", "orphan")


def test_an_orphan_without_a_mark_is_known_by_the_ledger(real: Real) -> None:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("TMUX")}
    stray = subprocess.Popen(["sleep", "600"], env=bare, start_new_session=True)
    other = subprocess.Popen(["sleep", "600"], env=bare, start_new_session=True)
    try:
        identity = LinuxProcesses().identify(stray.pid)
        assert identity is not None
        with ledger(real) as books:
            books.remember_survivors(
                "old", [Survivor(identity, boot_id(), "sleep")], now=time.time()
            )
        assert told(reaped(real, Kind.ORPHAN)) == {"old": ("orphan", "stopped")}
        assert stray.wait(5) != 0
        assert alive(other.pid)
    finally:
        other.kill()
        other.wait()


def test_peoples_own_agents_live(real: Real) -> None:
    helper = left_behind(real)
    ours = dict(
        pair.split("=", 1) for pair in Path(f"/proc/{helper}/environ").read_text().split("\0")[:-1]
    )
    marks = {name: ours[name] for name in ("TMUXREAP_ID", "TMUXREAP_REGISTRY")}
    other = f"{real.socket}2"  # a server that a user started inside the agent's session
    plain = {**os.environ, **marks, "TMUX": ours["TMUX"], "TMUX_PANE": ours["TMUX_PANE"]}
    tmux = ["tmux", "-f", "/dev/null", "-S", other]
    agent = (
        "nohup setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > daemon; exec "
        + " ".join(DEMO)
    )
    subprocess.run(
        [*tmux, "new-session", "-d", "-s", "mine", "-c", str(real.folder), agent],
        env=plain,
        check=True,
    )
    elsewhere = subprocess.Popen(
        ["sleep", "600"],
        env={**os.environ, **marks, "TMUXREAP_REGISTRY": "/else.yaml"},
        start_new_session=True,
    )
    try:
        until(
            "its daemon",
            lambda: (
                (real.folder / "daemon").is_file() and (real.folder / "daemon").read_text().strip()
            ),
        )
        daemon = int((real.folder / "daemon").read_text())
        person = int(
            real.tmux("display-message", "-p", "-t", "=mine:", "#{pane_pid}", socket=other)
        )
        assert told(reaped(real)) == {"acme": ("orphan", "stopped")}
        assert not alive(helper)
        assert [alive(pid) for pid in (person, daemon, elsewhere.pid)] == [True, True, True]
        os.kill(daemon, 9)
    finally:
        elsewhere.kill()
        elsewhere.wait()
        subprocess.run([*tmux, "kill-server"], check=True)


def test_reap_expired_ends_only_sessions_beyond_their_ttl(real: Real) -> None:
    real.start("short", ttl="1")
    real.start("long", ttl="1h")
    real.start("free")
    until("the time", lambda: "short" in told(reaped(real, Kind.EXPIRED, yes=False)))
    assert told(reaped(real, Kind.EXPIRED)) == {"short": ("expired", "stopped")}
    assert real.sessions() == {"long", "free"}


def test_watch_reaps_the_kinds_that_were_chosen(real: Real) -> None:
    for name in ("short", "stays"):
        real.start(name, ttl="1" if name == "short" else None)
    words = [
        "watch",
        "--json",
        "--interval",
        "0.2",
        "--reap",
        "expired",
        "--registry",
        str(real.registry),
    ]
    watch = subprocess.Popen([warm.program(), *words], stdout=subprocess.PIPE, text=True)
    try:
        assert watch.stdout is not None
        assert select.select([watch.stdout], [], [], PATIENCE_S)[0], "no event came"
        event = json.loads(watch.stdout.readline())
    finally:
        watch.terminate()
        watch.communicate()
    facts = {
        key: event[key] for key in ("event", "name", "verdict", "outcome", "stop_reason", "error")
    }
    assert facts == {
        "event": "reaped",
        "name": "short",
        "verdict": "expired",
        "outcome": "stopped",
        "stop_reason": "expired",
        "error": None,
    }
    assert event["evidence"]["ttl"] == "1"
    assert real.sessions() == {"stays"}
    assert real.row("stays")["status"] == "running"


def test_a_watch_rejects_unknown_kinds_to_reap(real: Real) -> None:
    answer = tmuxreap("watch", "--reap", "idle,orphan", "--registry", str(real.registry))
    assert answer.exit == 2
    assert "could not read --reap: 'orphan' is not one of stalled, idle, expired" in answer.err

"""Histories of many concurrent commands on one registry: in any order, with crashes in between,
what is written is true, and one reconcile completes everything.

Each command runs in its own thread and only while it holds the baton; it returns the baton when it
waits. So hypothesis generates, and shrinks, every interleaving of events during waits as a list of
rules."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.histories import ENDINGS, SERVER_PID, Actor, World
from tmuxreap.commands import adopt, forget, start
from tmuxreap.commands import stop as ending
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.stop import EndRequest
from tmuxreap.core import faults
from tmuxreap.core.faults import Step
from tmuxreap.core.model import EndVerb, ProcessId
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.database import Database, ledger_path
from tmuxreap.ledger.records import Heartbeat
from tmuxreap.sessions.context import Context

NAMES = ("a", "b")
BUSY = 6  # commands at once


class Histories(RuleBasedStateMachine):
    @initialize(
        leaves=st.booleans(),
        delay=st.sampled_from([0.0, 0.5, 4.0]),
        shell=st.booleans(),
        stubborn=st.booleans(),
        kills=st.booleans(),
        ledger_fails=st.sampled_from([False, False, False, True]),
        children=st.lists(
            st.tuples(st.sampled_from(NAMES), st.booleans(), st.booleans()), max_size=3
        ),
    )
    def begin(
        self,
        leaves: bool,
        delay: float,
        shell: bool,
        stubborn: bool,
        kills: bool,
        ledger_fails: bool,
        children: list[tuple[str, bool, bool]],
    ) -> None:
        self.kills, self.ledger_fails = kills, ledger_fails
        self.folder = Path(tempfile.mkdtemp(prefix="tr"))
        self.world = World(self.folder, self.intended)
        self.unarmed, faults.at = faults.at, self.world.at
        self.used, world = Database.use, self.world

        def use(ledger: Database, warning: str, work: Any) -> Any:
            if world.locked and world.current is not None:
                ledger.warnings.append(f"{warning}: it is locked")
                return None
            return self.used(ledger, warning, work)

        Database.use = use  # type: ignore[method-assign]
        story = self.story = self.world.story
        story.add_row({"name": "flow", "status": "stopped", "note": 0})
        story.agent("a", leaves=leaves, exit_delay_s=delay, shell=shell)
        story.agent("b", leaves=not stubborn, ignores={SIGHUP, SIGTERM} if stubborn else set())
        self.bystander = story.tmux.open(story.SOCKET, "quiet", "sleep", "600").panes[0].process
        with story.ledger() as ledger:
            for name in NAMES:
                ledger.remember_mark(name, f"mark-of-{name}", story.clock.now())
        self.family = {
            story.agents[name].pane.process.pid: {story.agents[name].process} for name in NAMES
        }
        for name, daemon, deaf in children:
            self.bear(name, daemon, deaf)
        self.actors: list[Actor] = []
        self.pids = iter(range(90_000, 99_000))
        self.note = 0
        self.before = self.world.rows()
        self.ended: list[int] = []
        self.killed: set[str] = set()
        self.taken: set[int] = set()

    def intended(self, actor: Actor) -> None:
        """Hear of a command that has recorded what it is going to end."""

    # Actions of users and programs

    def act(
        self, verb: str, name: str, work: Callable[[Context], Result], *, server: bool = False
    ) -> Actor | None:
        if len(self.actors) >= BUSY:
            return None
        actor = Actor(self.world, SERVER_PID if server else next(self.pids), verb, name, work)
        self.actors.append(actor)
        return actor

    @rule(
        name=st.sampled_from(NAMES),
        verb=st.sampled_from([EndVerb.STOP, EndVerb.KILL]),
        force=st.booleans(),
        server=st.booleans(),
    )
    def end(self, name: str, verb: EndVerb, force: bool, server: bool) -> None:
        verb = verb if self.kills else EndVerb.STOP
        policy = Policy(verb, f"{verb.value} it", grace_s=1.0, force=force)
        if verb is EndVerb.KILL:
            self.killed.add(name)
        self.act(
            verb.value,
            name,
            lambda app: ending.run(app, EndRequest((name,), policy, False)),
            server=server,
        )

    @rule(name=st.sampled_from(NAMES), verb=st.sampled_from(["adopt", "forget", "reap"]))
    def keep_books(self, name: str, verb: str) -> None:
        if verb == "reap":
            self.reap_orphans()
        elif verb == "adopt":
            self.adopt(name)
        else:
            self.forget(name)

    def reap_orphans(self) -> None:
        self.act("reap", "", lambda app: reap.run(app, reap.ReapRequest((Kind.ORPHAN,), yes=True)))

    @rule(name=st.sampled_from(NAMES), daemon=st.booleans(), deaf=st.booleans())
    def bear(self, name: str, daemon: bool, deaf: bool) -> None:
        """Add a child of the agent: detached from the terminal like a daemon, or ignoring
        signals."""
        agent = self.story.agents[name]
        if (
            self.story.processes.alive(agent.process)
            and len(self.family[agent.pane.process.pid]) < 5
        ):
            ignored = {SIGHUP, SIGTERM} if deaf else {SIGHUP}
            child = self.story.processes.add(
                "node", parent=agent.process, new_session=daemon, ignores=ignored
            )
            self.family[agent.pane.process.pid].add(child)

    def set_the_clock(self, hours: int) -> None:
        self.story.clock._booted += hours * 3600

    @precondition(lambda self: self.ledger_fails)
    @rule(locked=st.booleans())
    def lock_ledger(self, locked: bool) -> None:
        self.world.locked = locked
        self.world.blind = self.world.blind or locked

    @rule(name=st.sampled_from(NAMES))
    def start(self, name: str) -> None:
        request = start.StartRequest(name, "demo", cwd="/", confirm_s=0.5)
        self.act("start", name, lambda app: start.run(app, request))

    def adopt(self, name: str) -> None:
        self.act("adopt", name, lambda app: adopt.run(app, adopt.AdoptRequest(name, "demo")))

    @rule()
    def reconcile(self) -> None:
        self.act("reconcile", "", reconcile.run)

    def forget(self, name: str) -> None:
        self.act("forget", name, lambda app: forget.run(app, forget.ForgetRequest((name,))))

    @rule(name=st.sampled_from(NAMES), what=st.sampled_from(["beat", "write", "clock"]))
    def meanwhile(self, name: str, what: str) -> None:
        """Run a rare disturbance: a single rule, so that the others are chosen more often."""
        if what == "beat":
            self.beat(name)
        elif what == "write":
            self.write_by_another()
        else:
            self.set_the_clock(1 if self.note % 2 else -5)

    def beat(self, name: str) -> None:
        with self.story.ledger() as ledger:
            ledger.record_heartbeat(
                Heartbeat(name, self.story.clock.now(), "working", "prompt", None, {})
            )

    def write_by_another(self) -> None:
        """Write like an unaware tool: in place, without the lock."""
        old, self.note = f'"note": {self.note}', self.note + 1
        text = self.story.path.read_text()
        assert old in text
        self.story.path.write_text(text.replace(old, f'"note": {self.note}') + "# seen\n")

    @rule(name=st.sampled_from(NAMES))
    def die(self, name: str) -> None:
        session = self.session(name)
        if session is not None and session.panes:
            self.story.processes.die(session.panes[0].process)

    # Time

    @precondition(lambda self: self.actors)
    @rule(number=st.integers(0, BUSY - 1))
    def go_on(self, number: int) -> None:
        actor = self.actors[number % len(self.actors)]
        if actor.ready:
            self.let(actor)

    @precondition(lambda self: self.actors)
    @rule(number=st.integers(0, BUSY - 1), step=st.sampled_from([None, *Step]))
    def crash(self, number: int, step: Step | None) -> None:
        """Crash a command where it waits, or later at that step."""
        actor = self.actors[number % len(self.actors)]
        if step is not None:
            actor.doomed_at = step if actor.pid != SERVER_PID else None
        elif actor.awaited is not None and actor.pid != SERVER_PID:
            actor.crashed = True
            self.let(actor)

    @rule(seconds=st.sampled_from([0.01, 0.3, 2.0, 10.0]))
    def pass_time(self, seconds: float) -> None:
        self.world._wait((), seconds)

    @precondition(lambda self: self.actors)
    @rule(seconds=st.sampled_from([0.0, 0.5, 2.0]))
    def all_go_on(self, seconds: float) -> None:
        self.world._wait((), seconds)
        for actor in [actor for actor in self.actors if actor.ready]:
            self.let(actor)
            self.what_is_written_is_true()

    def let(self, actor: Actor) -> None:
        actor.go_on()
        if actor.done:
            self.actors.remove(actor)
            self.answered(actor)

    def answered(self, actor: Actor) -> None:
        items = (
            [item.as_json() for item in actor.result.results] if actor.result is not None else []
        )
        for item in items:
            if item.get("outcome") == "taken_over":
                assert item["name"] in self.killed or self.world.blind, (
                    f"taken over, and nobody killed: {item}"
                )
            if item.get("outcome") in ("stopped", "killed") and item.get("pid"):
                assert self.story.processes.identify(item["pid"]) is None, (
                    f"told as ended, and alive: {item}"
                )
                assert not self.left(item["pid"]), f"told as ended, and its children live: {item}"
                if not item["joined"] and not self.world.blind:
                    assert item["pid"] not in self.ended, f"ended twice: {item}"
                    self.ended.append(item["pid"])

    def left(self, pid: int) -> set[ProcessId]:
        return {one for one in self.family.get(pid, ()) if self.story.processes.alive(one)}

    # Invariants

    @invariant()
    def what_is_written_is_true(self) -> None:
        rows = self.world.rows()
        assert rows["flow"] == {"name": "flow", "status": "stopped", "note": self.note}
        for name, row in rows.items():
            old = self.before.get(name)
            if row["status"] != "running" and old is not None and old["status"] == "running":
                process = ProcessId(old["pane"]["pid"], old["pane"]["start_ticks"])
                assert not self.story.processes.alive(process), (
                    f"{name} is alive and written as {row['status']}"
                )
                assert not self.left(process.pid) or self.world.blind, (
                    f"{row['status']}, and children of {name} live"
                )
        self.before = rows

    @invariant()
    def only_a_kill_takes_over_from_the_living(self) -> None:
        if self.world.blind:
            return
        working = {
            (one.pid, one.name) for one in self.actors if one.verb in ENDINGS and not one.crashed
        }
        with contextlib.closing(sqlite3.connect(ledger_path(self.story.path))) as db:
            taken = (
                "SELECT owner_pid, name, id FROM intents WHERE outcome = 'taken_over' AND result"
                " LIKE '%\"stop\"%'"
            )
            found = {number: (pid, name) for pid, name, number in db.execute(taken)}
        fresh = {found[number] for number in found.keys() - self.taken}
        self.taken.update(found)
        assert not fresh & working, f"a stop took over from the living: {fresh}"

    @invariant()
    def neighbours_live(self) -> None:
        assert self.story.processes.alive(self.bystander)
        assert self.story.signals_to(self.bystander) == []

    def unsettled(self, actions: Any) -> list[object]:
        return list(actions)

    def agrees(self, name: str, *, running: bool) -> bool:
        return running is (self.session(name) is not None)

    def session(self, name: str) -> Any:
        server = self.story.tmux.servers[self.story.SOCKET]
        return next((session for session in server.sessions if session.name == name), None)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            self.to_the_end()
        finally:
            faults.at, Database.use = self.unarmed, self.used  # type: ignore[method-assign]
            shutil.rmtree(self.folder)

    def to_the_end(self) -> None:
        """Finish all; then one reconcile settles everything, and a second finds nothing to do."""
        for _ in range(2_000):
            if not self.actors:
                break
            ready = [actor for actor in self.actors if actor.ready]
            for actor in ready:
                self.let(actor)
                self.what_is_written_is_true()
            if not ready:
                self.world._wait((), 0.05)
        assert not self.actors, (
            f"never ends: {[(actor.verb, actor.name, actor.awaited) for actor in self.actors]}"
        )
        self.world._wait((), 20.0)
        self.world.locked = False
        if self.world.blind and (server := self.story.processes.identify(SERVER_PID)):
            self.story.processes.die(server)  # else it owns what it could not undo while it lives
        apps = [self.story.app() for _ in range(2)]
        reconcile.run(apps[0])
        self.what_is_written_is_true()
        second = reconcile.run(apps[1])
        assert self.unsettled(second.as_json()["actions"]) == []
        told = {item.name for item in second.results}
        for name in NAMES:
            row, session = self.world.rows().get(name), self.session(name)
            running = row is not None and row["status"] == "running"
            assert self.agrees(name, running=running) or name in told, (name, row, session, told)
            if session is not None and not self.world.blind:
                assert session.panes[0].options == {}, (
                    name,
                    row,
                    self.story.ledger().events({name}),
                )
        assert apps[1].books.open_intents().keys() <= told
        for app in self.story.apps:
            app.close()


@pytest.mark.long
def test_random_histories_break_no_promise() -> None:
    tell(Histories, 15)


def tell(histories: type[Histories], examples: int) -> None:
    run_state_machine_as_test(
        histories,
        settings=settings(
            max_examples=int(os.environ.get("HISTORIES", str(examples))),
            stateful_step_count=40,
            deadline=None,
            derandomize="HISTORIES" not in os.environ,  # reproducible for the same tree
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            phases=[Phase.generate] if "HISTORIES_QUICK" in os.environ else list(Phase),
        ),
    )

"""Judges what commands wrote and answered, by the world's own truth. Never asks the program."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from typing import Any

import yaml

from tests.simulation.actors import Actor
from tests.simulation.lives import Life
from tests.simulation.world import GIVEN, World
from tmuxreap.agents.conversations.find import GUESS
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.database import ledger_path
from tmuxreap.registry.transitions import END_FIELDS

Row = Mapping[str, Any]
ID_FIELD = "_conversation_id_own"
BEGINNINGS = ("start", "resume", "restart")
ENDINGS = ("stop", "kill", "reap")
INVALID = ("row_invalid", "registry_invalid")
LOOKS = ("list", "reconcile")
ENDED = ("stopped", "killed", "already_stopped", "terminated")
SETTLED = frozenset({"status", "conversation_source", "store", "worktree", *END_FIELDS})


class Judge:
    """What was written so far, and what must hold of every change."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.text = self.read()
        self.rows = world.rows()
        self.ids: dict[str, set[str]] = {}  # by row, those that it ever had

    def read(self) -> str:
        return self.world.story.path.read_text()

    def others_wrote(self) -> None:
        """Take what other programs have written as it is."""
        self.text, self.rows = self.read(), self.world.rows()

    def went_on(self, actor: Actor) -> None:
        text = self.read()
        if text == self.text:
            return
        check = self.world.check
        try:
            rows = self.world.rows()
        except (yaml.YAMLError, KeyError, TypeError) as error:
            check(False, 5, f"{actor} left a registry that cannot be read: {error}")
            return
        before, self.text, self.rows = self.rows, text, rows
        for comment in self.world.comments:
            check(comment in text, 3, f"{actor} wrote away the comment {comment!r}")
        check(rows["flow"]["note"] == self.world.note, 3, f"{actor} lost what another tool wrote")
        for name in before.keys() - rows.keys():
            check(name in actor.names and actor.verb == "forget", 3, f"{actor} dropped {name}")
        for name, row in rows.items():
            if before.get(name) != row and name != "flow":
                self.changed(actor, name, before.get(name, {}), row)

    def changed(self, actor: Actor, name: str, old: Row, row: Row) -> None:
        world, told = self.world, f"{actor} wrote {name}"
        keys = {key for key in {*old, *row} if old.get(key) != row.get(key)}
        if actor.names and name not in actor.names:
            life = world.life_of(dict(old))
            twins = [world.life_of(dict(self.rows[one])) for one in actor.names if one in self.rows]
            right = life is not None and life in twins
            world.check(right, 3, f"{told}, which nobody named: {keys}")
        if actor.verb in ENDINGS and not world.copies:  # an old copy may be written back
            strange = {key for key in keys if key not in SETTLED and not key.endswith(ID_FIELD)}
            world.check(not strange, 3, f"{told}: {strange}")
        if actor.verb in BEGINNINGS and old.get("status") == "running":
            life = world.life_of(dict(old))
            same = life is world.life_of(dict(row))
            agent = life.agent.process if life is not None and life.agent is not None else None
            lives = life is not None and (
                agent in self.known(life, old) or world.daemon.goes_on(life, old)
            )
            world.check(same or not lives, 1, f"{told} over {life}, which lives")
        if old.get("status") == "running" and row["status"] != "running":
            self.ended(actor, name, old, row)
        if old.get("terminal") != "background" == row.get("terminal"):
            self.moved(old)
        self.conversation(told, name, old, row)

    def moved(self, old: Row) -> None:
        """Take it that a row knows no more of a pane once it has followed its agent to the daemon
        than it did before."""
        life = self.world.life_of(dict(old))
        if life is not None:
            tied = {*self.known(life, old), *self.world.daemon.processes_of(life)}
            life.untied |= {*self.world.alive(life)} - tied

    def ended(self, actor: Actor, name: str, old: Row, row: Row) -> None:
        life = self.world.life_of(dict(old))
        told = f"{actor} wrote {name} as {row['status']} ({row.get('termination_mode')})"
        if life is None:
            return
        self.is_over(life, told, old, pane_only=row.get("scope") == "pane")
        # Where an old copy was put back, the newest end is written over an older life.
        written = self.world.life_of(dict(row)) or life
        lost = row.get("termination_mode") == "lost"
        undone = {
            one for one in written.killers if one.verb in ("stop", "kill") and self.is_open(one)
        }
        blind = self.world.blind or any(one.broken for one in undone)
        self.world.check(not (lost and undone) or blind, 5, f"{told}: it was ended by {undone}")
        forgotten = lost and written.ended and not self.world.blind
        self.world.check(not forgotten, 5, f"{told}, although {written.ended}")

    def is_open(self, actor: Actor) -> bool:
        """Tell whether it never came to an answer."""
        return actor.crashed or not actor.done

    def is_over(self, life: Life, told: str, row: Row, *, pane_only: bool = False) -> None:
        world = self.world
        left = self.known(life, row)
        if pane_only:
            left = [
                one for one in left if world.processes.table[one.pid].now.sid == life.leader.pid
            ]
        names = [world.processes.table[one.pid].argv for one in left]
        world.check(not left, 1, f"{told}, and {names} {left} of {life} live")
        world.check(pane_only or not world.stands(life), 1, f"{told}, and its session stands")
        goes_on = world.daemon.goes_on(life, row)
        world.check(pane_only or not goes_on, 1, f"{told}, and its agent's own daemon runs it")

    def known(self, life: Life, row: Row) -> list[ProcessId]:
        """Return what lives of it. Another tool's row ties to it only its own kernel session, and
        what was seen before."""
        alive, table = self.world.alive(life), self.world.processes.table
        if not self.world.daemon.is_tied(life, row):
            alive = [one for one in alive if one not in self.world.daemon.processes_of(life)]
        elif row.get("terminal") == "background":
            return [one for one in alive if one not in life.untied]
        if (row.get("tmux") or {}).get("session_id"):
            return alive
        return [
            one for one in alive if one in life.seen or table[one.pid].now.sid == life.leader.pid
        ]

    def is_there(self, life: Life, row: Row) -> bool:
        world = self.world
        return bool(self.known(life, row)) or world.stands(life) or world.daemon.goes_on(life, row)

    def conversation(self, told: str, name: str, old: Row, row: Row) -> None:
        world = self.world
        known = self.ids.setdefault(name, set())
        known |= {value for key, value in old.items() if key.endswith(ID_FIELD) and value}
        ids = {value for key, value in row.items() if key.endswith(ID_FIELD) and value}
        own = {life.conversation for life in world.lives if life.name == name}
        for fresh in ids - known - own:
            life = world.life_of(dict(row))
            meant = [it for it in world.lives if it is life or world.may_be(dict(row), it)]
            guessed = row.get("conversation_source") == GUESS
            theirs = guessed or fresh in [it.conversation for it in meant]
            world.check(theirs, 3, f"{told}: it was given another one's conversation {fresh}")
        if row.get("resumable") is True:
            kept = [one for one in ids if world.on_disk(one)]
            world.check(bool(kept), 7, f"{told} as resumable, and nothing is on disk of {ids}")

    # Answers

    def answered(self, actor: Actor) -> None:
        world = self.world
        if actor.result is None:
            return
        self.saw(actor)
        for item in actor.result.results:
            name = item.name
            told = f"{actor} answered {name}"
            if actor.verb in ENDINGS and getattr(item, "outcome", None) in ENDED:
                row = self.rows.get(name, {})
                outcome = item.outcome  # type: ignore[attr-defined]
                life = actor.facts.get("lives", {}).get(name)
                if life is not None and life is self.bound(name):
                    self.is_over(
                        life, f"{told}: {outcome}", row, pane_only=row.get("scope") == "pane"
                    )
                    if row.get("status") == "stopped" and not actor.broken:
                        life.ended = f"{told}: {outcome}"
            if actor.verb in ("list", "show") and getattr(item, "live", None) == "gone":
                read = self.row_told(actor, item)
                life = world.life_of(dict(read))
                alive = life is not None and self.is_there(life, read)
                named = getattr(item, "drift", None) == "survivors"
                running = read.get("status") == "running"
                world.check(named or not (alive and running), 1, f"{told}: gone")
            if actor.verb in ("list", "show") and getattr(item, "drift", None) == "reverted":
                self.went_back(actor, item, told)
            code = item.error.code if item.error is not None else ""
            world.check(code not in INVALID or actor.broken, 3, f"{told}: {code}")
            if actor.verb in ("list", "show") and getattr(item, "live", None) == "alive":
                self.is_alive(actor, name, told)
            if actor.verb == "send":
                self.sent(actor, told, item)
            if actor.verb in ENDINGS and getattr(item, "outcome", None) in ENDED:
                self.keeps_drafts(actor, told)

    def row_told(self, actor: Actor, item: Any) -> Row:
        """Return the row that an answer tells of. Where a look takes time, as at a server that
        answers late, a start may have written the row anew since that was read."""
        now = self.rows.get(item.name, {})  # empty: it was forgotten meanwhile
        before = actor.facts.get("rows", {}).get(item.name, now)

        def is_told(row: Row) -> bool:
            pane = (row.get("pane") or {}).get("id")
            said = pane, row.get("status"), row.get("tmux_server")
            return said == (item.pane_id, item.status, item.tmux_server)

        return before if is_told(before) and not is_told(now) else now

    def went_back(self, actor: Actor, item: Any, told: str) -> None:
        """Check that the registry still shows the row that is told to be an old one. With an old
        copy of it, a row may have gone back, and be mended while the look goes on."""
        shown = self.row_told(actor, item) is self.rows.get(item.name)
        right = shown or item.name not in self.rows or bool(self.world.copies)
        self.world.check(right, 5, f"{told}: reverted, and it was only written anew")

    def is_alive(self, actor: Actor, name: str, told: str) -> None:
        life, world = self.bound(name), self.world
        if life is None or life.agent is None or life.kind == "mystery" or world.moved(life):
            return
        if actor.paused or world.daemon.goes_on(life, self.rows[name]):
            return  # what it saw may be over by now
        gone = not world.processes.alive(life.agent.process)
        left = [world.processes.table[one.pid].argv[0] for one in world.alive(life)]
        shells = set(left) <= {"sh", "bash"}
        alone = life.session is not None and len(life.session.panes) == 1
        wrong = gone and bool(left) and shells and alone
        world.check(not wrong, 1, f"{told}: alive, and only {left} are left")

    def saw(self, actor: Actor) -> None:
        """Take it that a full look has seen what lives of each running row."""
        if actor.verb not in LOOKS or actor.broken or self.world.blind or self.world.tmux.hung:
            return
        for name in self.rows:
            life = self.bound(name)
            if life is not None and self.world.stands(life):
                life.seen |= set(self.world.alive(life))

    def is_misnamed(self, life: Life) -> bool:
        """Tell whether a person has recorded it as an agent without a profile: nobody knows where
        that shows a draft."""
        rows = [row for row in self.rows.values() if self.world.life_of(dict(row)) is life]
        named = {row.get("agent") for row in rows}
        return bool(named) and named.isdisjoint((None, life.kind))

    def keeps_drafts(self, actor: Actor, told: str) -> None:
        """Check that what was half-typed when it began is in the ledger."""
        world = self.world
        taken = [
            draft
            for life, draft in actor.facts.get("taken", {}).items()
            if life.agent is not None
            and not world.processes.alive(life.agent.process)
            and not self.is_misnamed(life)
        ]
        if not taken or actor.broken or world.blind or world.tmux.hung:
            return
        with world.story.ledger() as ledger:
            kept = str([event.data for event in ledger.events() if event.kind == "draft"])
        for draft in taken:
            world.check(draft in kept, 6, f"{told}: the draft {draft!r} was lost")

    def sent(self, actor: Actor, told: str, item: Any) -> None:
        given = [
            life
            for life in self.world.lives
            if life.agent and actor.facts["text"] in life.agent.submitted
        ]
        if item.outcome == "sent":
            self.world.check(len(given) == 1, 6, f"{told}: sent, and {given} got it")
        elif item.outcome == "refused":
            self.world.check(not given, 6, f"{told}: refused, and {given} got it")

    def bound(self, name: str) -> Life | None:
        row = self.rows.get(name)
        return self.world.life_of(dict(row)) if row is not None else None

    # The end

    def settled(self, second: Actor) -> None:
        """Judge what stands after everything has ended and two reconciles have been."""
        world = self.world
        result = second.result
        if result is None:
            world.check(second.failure is not None, 5, "the last reconcile never ended")
            world.check(False, 5, f"the last reconcile failed: {second.failure}")
            return
        answer = result.as_json()
        told = {item.name for item in result.results}
        drifts = [one for one in answer["actions"] if "other panes" not in one["action"]]  # type: ignore[attr-defined, index]
        world.check(not drifts, 5, f"a second reconcile had something to do: {drifts}")
        for name, row in self.rows.items():
            life = self.bound(name)
            if life is None or name in told:
                continue
            alive = self.is_there(life, row)
            running = row["status"] == "running"
            pane_only = row.get("scope") == "pane"
            # Of an agent that nobody knows, the shell that is left may be all that there was.
            shell = life.kind == "mystery" and running and world.processes.alive(life.leader)
            right = running is alive or shell or pane_only or world.stands(life, GIVEN)
            newest = world.newest(name)
            if running and newest is not life and newest is not None and world.stands(newest):
                continue
            world.check(right, 1, f"{name} is {row['status']} for good, {life}: alive is {alive}")
        self.no_intents(told)
        for server in world.tmux.servers.values():
            for session in server.sessions:
                for pane in session.panes:
                    left = {key: it for key, it in pane.options.items() if key != "remain-on-exit"}
                    world.check(not left or world.blind, 3, f"{session.name}: {left} is left")
        world.check(not world.tmux.buffers, 3, f"buffers are left: {world.tmux.buffers}")

    def no_intents(self, told: set[str]) -> None:
        if self.world.blind:
            return
        path = ledger_path(self.world.story.path)
        if not path.exists():
            return
        with contextlib.closing(sqlite3.connect(path)) as db:
            found = db.execute("SELECT name FROM intents WHERE outcome IS NULL").fetchall()
        left = {name for (name,) in found} - told
        self.world.check(not left, 5, f"intents of {left} are open for ever")

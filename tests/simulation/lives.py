"""The lives of simulated agents, and what each of them is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fakes import DEMO, FakeAgent, FakePane, FakeSession, Story
from tests.simulation.actors import Actor
from tmuxreap.core.model import ProcessId

if TYPE_CHECKING:
    from tests.simulation.world import World

SOCKETS = (Story.SOCKET, f"/tmp/tmux-{Story.UID}/other")
STORE = ".tmuxreap-demo"
PROFILES = """agents:
  plain:
    about: an agent of which nothing but its process is known
    process: [plain]
    command: [plain]
"""
KINDS = {"demo": DEMO, "plain": ("plain", "--go"), "mystery": ("mystery",)}
BANNER = "demo agent ended\nresume with: tmuxreap-demo --resume {}"


class Wrong(AssertionError):
    """A promise that was broken."""


@dataclass(eq=False)
class Life:
    """One life of one agent: from its start until its last process is gone."""

    name: str
    kind: str
    socket: str | None
    leader: ProcessId
    session: FakeSession | None
    pane: FakePane | None
    conversation: str
    mark: str | None = None
    agent: SimAgent | None = None
    said: bool = False  # something, to its agent: the conversation is on disk
    struck: set[Actor] = field(default_factory=set)
    killers: set[Actor] = field(default_factory=set)  # whose strike was the last
    ended: str = ""  # who said so, once it was recorded
    seen: set[ProcessId] = field(default_factory=set)  # what a command that ended well saw of it
    untied: set[ProcessId] = field(default_factory=set)  # its row moved, and had never known them

    def __repr__(self) -> str:
        return f"{self.name} ({self.kind}, {self.leader.pid})"


class SimAgent(FakeAgent):
    """An agent that says who pressed which key, writes its conversation, and says goodbye."""

    world: World
    life: Life
    returns: bool = False  # below a wrapper: a shell follows it

    def press(self, key: str) -> None:
        actor = self.world.current
        held, draft = (self.approved, len(self.submitted)), self.draft
        busy = self.state == "busy"
        super().press(key)
        if actor is None:
            self._write()
            return
        told = f"{actor} pressed {key!r} in {self.life}"
        self.world.check(not self.approved or held[0], 6, f"{told}: a dialog was approved")
        if len(self.submitted) > held[1]:
            self._submitted(actor, told)
        if draft and draft != "/exit" and self.draft == "" and draft not in self.submitted:
            self._cleared(actor, draft, told)
        if busy and self.state == "busy" and key == "Escape":
            self.state = "idle"
        self._write()

    def _submitted(self, actor: Actor, told: str) -> None:
        text = self.submitted[-1]
        wanted = actor.verb == "send" and text == actor.facts.get("text")
        self.world.check(wanted, 6, f"{told}: {text!r} was submitted")
        once = self.submitted.count(text) == 1
        self.world.check(once, 6, f"{told}: {text!r} was submitted twice")

    def _cleared(self, actor: Actor, draft: str, told: str) -> None:
        if actor.verb == "send" or self.world.blind:
            return
        with self.world.story.ledger() as ledger:
            kept = [event.data for event in ledger.events() if event.kind == "draft"]
        self.world.check(draft in str(kept), 6, f"{told}: the draft {draft!r} was lost")

    def _write(self) -> None:
        if self.submitted and not self.life.said:
            self.world.say(self.life)

    def _gone(self) -> None:
        super()._gone()
        self.world.left(self.life)

"""The histories, with a user in the same tmux: splitting, joining, swapping, breaking, moving,
respawning and renaming while sessions are ended loses nothing, and what is written stays true."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tests.fakes import FakePane
from tests.histories import Actor
from tests.test_histories import NAMES, Histories, tell
from tmuxreap.commands import stop as ending
from tmuxreap.commands.stop import EndRequest
from tmuxreap.core.model import EndVerb, ProcessId, Scope
from tmuxreap.ending.policy import Policy

DEEDS = (
    "split",
    "window",
    "shell",
    "work",
    "join",
    "swap",
    "break",
    "move",
    "leave",
    "respawn",
    "rename",
    "quit",
)


class WithPeople(Histories):
    def __init__(self) -> None:
        super().__init__()
        self.panes: list[FakePane] = []
        self.theirs: set[ProcessId] = set()
        self.daemons: list[tuple[ProcessId, FakePane]] = []  # with the pane they come from
        self.whole: set[Actor] = set()  # endings of whole sessions

    @rule(name=st.sampled_from(NAMES), deed=st.sampled_from(DEEDS), number=st.integers(0, 3))
    def person(self, name: str, deed: str, number: int) -> None:
        session = self.session(name)
        if session is not None and self.story.SOCKET in self.story.tmux.servers:
            getattr(self, f"do_{deed}")(session, number)

    @rule(name=st.sampled_from(NAMES), scope=st.sampled_from([Scope.SESSION, Scope.AGENT]))
    def end_after_turn(self, name: str, scope: Scope) -> None:
        policy = Policy(EndVerb.STOP, "stop it", grace_s=1.0, scope=scope, after_turn_s=5.0)
        work = EndRequest((name,), policy, False)
        actor = self.act("stop", name, lambda app: ending.run(app, work))
        if actor is not None and scope is Scope.SESSION:
            self.whole.add(actor)

    def intended(self, actor: Actor) -> None:
        """Give up what a whole session held when its ending was planned: its panes, and daemons of
        panes that are gone, for they carry its mark."""
        session = self.session(actor.name)
        if actor not in self.whole or session is None:
            return
        elsewhere = [
            pane
            for other in self.story.tmux.servers[self.story.SOCKET].sessions
            for pane in other.panes
            if other is not session
        ]
        self.theirs -= {pane.process for pane in session.panes}
        self.theirs -= {daemon for daemon, pane in self.daemons if pane not in elsewhere}

    def do_split(self, session: Any, number: int) -> None:
        self.new_pane(session, "vim")

    def do_window(self, session: Any, number: int) -> None:
        self.new_pane(session, "vim", window=True)

    def do_shell(self, session: Any, number: int) -> None:
        self.story.tmux.split(self.story.SOCKET, session, "bash")

    def do_work(self, session: Any, number: int) -> None:
        """Start a job in an idle shell: it is the user's while nothing in that pane was
        signalled."""
        for pane in session.panes:
            shell = self.story.processes.table.get(pane.process.pid)
            if shell is not None and shell.argv == ("bash",) and pane not in self.agents_panes():
                self.story.processes.add("make", parent=pane.process, foreground=True)
                return

    def do_join(self, session: Any, number: int) -> None:
        """Join a pane from any session, even a neighbor's."""
        if (pane := self.one_of_theirs(number)) is not None and pane not in session.panes:
            self.story.tmux.join(pane, session)

    def do_swap(self, session: Any, number: int) -> None:
        pane, agent = self.one_of_theirs(number), self.agents_pane(session)
        if pane is not None and agent is not None:
            self.story.tmux.swap(agent, pane)

    def do_break(self, session: Any, number: int) -> None:
        pane = session.panes[number % len(session.panes)]
        self.story.tmux.change(pane, window_id=f"@{900 + int(pane.now.id[1:])}")

    def do_move(self, session: Any, number: int) -> None:
        """Move the agent's pane into a neighbor's session."""
        quiet, agent = self.session("quiet"), self.agents_pane(session)
        if quiet is not None and agent is not None:
            self.story.tmux.join(agent, quiet)

    def do_leave(self, session: Any, number: int) -> None:
        """Move a pane of the user to the neighbor."""
        quiet, pane = self.session("quiet"), self.one_of_theirs(number)
        if quiet is not None and pane is not None and pane not in quiet.panes:
            self.story.tmux.join(pane, quiet)

    def do_respawn(self, session: Any, number: int) -> None:
        """Respawn a pane of the user with other work."""
        pane = self.one_of_theirs(number)
        if pane is not None and pane.process in self.theirs:
            self.theirs.discard(pane.process)
            self.theirs.add(self.story.tmux.respawn(pane, "vim"))

    def do_rename(self, session: Any, number: int) -> None:
        session.name = f"{session.name}~"

    def do_quit(self, session: Any, number: int) -> None:
        pane = self.one_of_theirs(number)
        if pane is not None and pane.process in self.theirs:
            self.theirs.discard(pane.process)
            self.story.processes.die(pane.process)

    def new_pane(self, session: Any, comm: str, *, window: bool = False) -> None:
        pane = self.story.tmux.split(self.story.SOCKET, session, comm, window=window)
        self.panes.append(pane)
        daemon = self.story.processes.add("node", parent=pane.process, new_session=True)
        self.theirs |= {pane.process, daemon}
        self.daemons.append((daemon, pane))

    # Overrides of the other rules

    def adopt(self, name: str) -> None:
        """Adopt a session, naming its agent."""

    def die(self, name: str) -> None:
        session = self.session(name)
        pane = self.agents_pane(session) if session is not None else None
        if pane is not None:
            self.story.processes.die(pane.process)

    def one_of_theirs(self, number: int) -> FakePane | None:
        server = self.story.tmux.servers.get(self.story.SOCKET)
        every = [pane for session in server.sessions for pane in session.panes] if server else []
        mine = [pane for pane in every if pane in self.panes or pane.process == self.bystander]
        return mine[number % len(mine)] if mine else None

    def agents_panes(self) -> list[FakePane]:
        return [agent.pane for agent in self.story.agents.values()]

    def agents_pane(self, session: Any) -> FakePane | None:
        theirs = (
            pane
            for pane in session.panes
            if pane not in self.panes and pane.process != self.bystander
        )
        return next(theirs, None)

    def session(self, name: str) -> Any:
        server = self.story.tmux.servers.get(self.story.SOCKET)
        return (
            next((one for one in server.sessions if one.name.rstrip("~") == name), None)
            if server
            else None
        )

    def unsettled(self, actions: Any) -> list[object]:
        """Return unexpected actions; a killed stop blocked by a user's pane is reported until the
        user decides."""
        return [one for one in actions if "other panes of the session" not in one["action"]]

    def agrees(self, name: str, *, running: bool) -> bool:
        """The session may be the user's by now; and panes moved elsewhere keep running."""
        session = self.session(name)
        if session is not None and self.agents_pane(session) is not None:
            return True
        return not running

    # Invariants

    @invariant()
    def people_lose_nothing(self) -> None:
        for process in self.theirs:
            assert self.story.processes.alive(process), f"a person's {process} was ended"
            assert self.story.signals_to(process) == []

    def answered(self, actor: Actor) -> None:
        super().answered(actor)
        self.people_lose_nothing()


@pytest.mark.long
def test_histories_with_people_break_no_promise() -> None:
    tell(WithPeople, 15)

"""Real agents as guests of a day with demo agents: each with a model and a tmux server of its own,
and with the HOME and the registry of that day."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.real_agents.bench import AGAIN, MESSAGE, Bench
from tests.real_agents.mock_model import ANSWER
from tests.real_agents.setups import SETUPS, program_of
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State

AGENTS = ("claude", "codex", "gemini")


class Guest(Bench):
    """Begun with a prompt, which must never be said again."""

    def __init__(self, agent: str, folder: Path, registry: Path) -> None:
        profile = load_profiles(None).agents[agent]
        home = Path(os.environ["HOME"])  # as the watch has it, which looks for conversations
        super().__init__(agent, SETUPS[agent], profile, program_of(folder, agent), home=home)
        self.name, self.registry = agent, registry

    def begin(self) -> None:
        limit = ("--restart", "on-failure", "--restart-limit", "900/1s")
        self.start(*self.prompted, flags=limit)
        self.until("the answer", lambda: ANSWER in self.screen() and self._is_idle())
        self.settle(3.0)
        assert self.model.prompted(MESSAGE) == 1, f"{self.agent} never said its prompt"

    def resume(self) -> bool:
        """As its person does, with his own environment."""
        (item,) = self.answer("resume", self.name)["results"]
        return item.get("error") is None

    def is_there(self) -> bool:
        return self.name in self.tmux("list-sessions", "-F", "#{session_name}").split()

    def holds(self, *, wanted: bool) -> None:
        """After the day: nothing was said twice, and the conversation is the same."""
        if wanted:
            self.resize()
            self.until("the empty prompt", self._is_idle)
            self.settle(3.0)
            self.say(AGAIN)
            self.until("the next word", lambda: self.model.prompted(AGAIN))
            assert MESSAGE in self.model.asked[-1], f"{self.agent}: another conversation"
        assert self.model.prompted(MESSAGE) == 1, f"{self.agent} said its prompt again"

    def _is_idle(self) -> bool:
        return self.seen().state is State.IDLE


@contextlib.contextmanager
def guests(folder: Path | None, registry: Path) -> Iterator[dict[str, Guest]]:
    """None: nobody came."""
    with contextlib.ExitStack() as stack:
        found = {}
        for agent in AGENTS if folder else ():
            assert folder is not None
            found[agent] = stack.enter_context(Guest(agent, folder, registry))
        yield found

"""The matrix: each real agent, from each state, by each verb, and taken up again afterwards.

python -m tests.real_agents.matrix FOLDER [AGENT[:STATE]...]   FOLDER/AGENT/node_modules/.bin holds
the programs. Exit 0 when every cell is as it must be, 1 when one is not."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench
from tests.real_agents.mock_model import ANSWER
from tests.real_agents.setups import SETUPS
from tests.real_agents.states import QUEUED, SITUATIONS, Situation
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State


@dataclass(frozen=True, slots=True)
class Cell:
    agent: str
    state: str
    verb: str
    seconds: float | None = None
    stopped_by: str | None = None
    conversation: str | None = None  # which locator told it
    resumed: bool | None = None
    lost: bool = False  # a part of a draft, and it was said
    fault: str | None = None

    @property
    def word(self) -> str:
        return (
            f"**{self.fault.splitlines()[0]}**"
            if self.fault
            else f"{self.seconds:.2f} s"
            + ("" if self.resumed else ", nothing to resume")
            + (", draft_lost" if self.lost else "")
        )


def cells(folder: Path, wanted: list[str]) -> Iterator[Cell]:
    profiles = load_profiles(None).agents
    for agent in SETUPS:
        states = (
            [one.partition(":")[2] for one in wanted if one.partition(":")[0] == agent]
            if wanted
            else [""]
        )
        for state in SITUATIONS:
            if state in states or "" in states:
                yield run(agent, state, "stop", profiles[agent], folder)
        for state, situation in SITUATIONS.items():
            if situation.killed and ("kill" in states or "" in states):
                yield run(agent, state, "kill", profiles[agent], folder)


def run(agent: str, state: str, verb: str, profile: Profile, folder: Path) -> Cell:
    setup = SETUPS[agent]
    program = folder / agent / "node_modules" / ".bin" / setup.program
    with Bench(agent, setup, profile, program, allowed=SITUATIONS[state].allowed) as bench:
        try:
            return _played(bench, state, verb)
        except AssertionError as fault:
            return Cell(agent, state, verb, fault=str(fault))


def _played(bench: Bench, state: str, verb: str) -> Cell:
    """One message, brought into the state, ended, held against what must be, taken up again."""
    situation = SITUATIONS[state]
    if situation.below_shell:
        bench.start("sh", "-c", f"{' '.join((str(bench.program), *bench.options))}; exec sh")
    else:
        bench.start()
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    if not situation.silent:
        bench.say(MESSAGE)
        bench.until(
            "the answer", lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE
        )
        bench.settle()
    situation.bring(bench)
    if situation.becomes:
        bench.until(f"the state {state}", lambda: bench.pane_state() == situation.becomes.value)
    else:
        time.sleep(1.0)
    asked = len(bench.model.asked)
    spared = {pid for pid, words in bench.left().items() if _shared(bench.profile, words)}
    item = bench.reap(verb, NAME)
    time.sleep(situation.watched_s)
    _hold(bench, state, verb, item, asked, spared)
    return Cell(
        bench.agent,
        state,
        verb,
        item["duration_ms"] / 1000,
        item["stopped_by"],
        item["conversation"]["source"],
        resumed=_resumed(bench) if item["resumable"] else None,
        lost=_lost(item),
    )


def _shared(profile: Profile, command: str) -> bool:
    return any(spare.matches([spare.program], command) for spare in profile.spare)


def _hold(
    bench: Bench, state: str, verb: str, item: dict[str, Any], asked: int, spared: set[int]
) -> None:
    left = {pid: words for pid, words in bench.left().items() if not words.startswith("tmux ")}
    later = "".join(bench.model.asked[asked:])
    situation, said = SITUATIONS[state], "\n".join(bench.drafts())
    due = not situation.silent
    more = _asked_more(bench, situation, asked)
    must: list[tuple[str, Callable[[], bool]]] = [
        (
            f"it is {item['outcome']}",
            lambda: item["outcome"] == ("stopped" if verb == "stop" else "killed"),
        ),
        (f"stopped by {item['stopped_by']}", lambda: item["stopped_by"] in _due(verb)),
        (f"left behind: {left}", lambda: set(left) <= spared),
        (f"a shared daemon was ended: {spared}", lambda: spared <= set(left)),
        ("the tool was approved", lambda: not bench.proof.exists()),
        (
            "the draft was sent",
            lambda: not any(one in later for one in situation.typed) and "/exit" not in later,
        ),
        (f"the model was asked to go on {more} times", lambda: not more),
        (
            f"of the draft was kept: {said!r}",
            lambda: _lost(item) or _kept(bench, state, item, said),
        ),
        (
            f"a draft was lost that there was not: {item['warnings']}",
            lambda: not _lost(item) or bool(situation.typed),
        ),
        (f"the conversation is {item['conversation']}", lambda: _holds(item, MESSAGE) or not due),
        (f"resumable: {item['resumable']}", lambda: item["resumable"] is due),
        (
            f"an idle one took {item['duration_ms']} ms",
            lambda: state != "idle" or item["duration_ms"] < bench.setup.fast_s * 1000,
        ),
    ]
    for what, holds in must:
        assert holds(), what


def _kept(bench: Bench, state: str, item: dict[str, Any], said: str) -> bool:
    if state == "queued" and bench.setup.keeps_queue:
        return _holds(item, QUEUED)
    return all(one in said for one in SITUATIONS[state].typed)


def _lost(item: dict[str, Any]) -> bool:
    return any(warning.startswith("draft_lost") for warning in item["warnings"])


def _asked_more(bench: Bench, situation: Situation, asked: int) -> int:
    """An agent may ask for a title of its own; a turn is asked for with the tools that it may
    use."""
    turns = [
        one
        for one in bench.model.asked[asked:]
        if '"tools"' in one and bench.setup.aside not in one
    ]
    return len(turns) if situation.watched_s else 0


def _due(verb: str) -> tuple[str, ...]:
    return ("exit_keys",) if verb == "stop" else ("sigterm", "sigkill")


def _holds(item: dict[str, Any], words: str) -> bool:
    """The very conversation: what was said stands in it."""
    path = item["conversation"]["path"]
    if not path:
        return False
    files = Path(path).parent.glob(
        Path(path).name + "*"
    )  # a database has a log of what is new beside it
    return any(words.encode() in file.read_bytes() for file in files)


def _resumed(bench: Bench) -> bool:
    """The model hears again what was said before."""
    bench.reap("resume", NAME)
    bench.tmux("resize-window", "-t", f"={NAME}:", "-x", "120", "-y", "40")
    bench.until("the empty prompt, after the resume", lambda: _idle(bench))
    bench.settle()
    asked = len(bench.model.asked)
    bench.say(AGAIN)
    bench.until("both messages, after the resume", lambda: _told(bench.model.asked[asked:]))
    bench.reap("kill", NAME)
    return True


def _idle(bench: Bench) -> bool:
    """A turn that was killed with its pane may go on: as a person would, it is told to stop."""
    state = bench.seen().state
    if state in (State.BUSY, State.DIALOG):
        bench.keys("Escape")
        time.sleep(1.0)
    return state is State.IDLE


def _told(requests: list[str]) -> bool:
    return any(MESSAGE in request and AGAIN in request for request in requests)


def table(found: list[Cell], versions: dict[str, str]) -> str:
    agents = list(dict.fromkeys(cell.agent for cell in found))
    rows = list(dict.fromkeys((cell.verb, cell.state) for cell in found))
    head = "| | " + " | ".join(f"{agent} {versions[agent]}" for agent in agents) + " |"
    lines = [head, "|---" * (len(agents) + 1) + "|"]
    for verb, state in rows:
        of = {cell.agent: cell.word for cell in found if (cell.verb, cell.state) == (verb, state)}
        lines.append(
            f"| {verb}, {state} | " + " | ".join(of.get(agent, "") for agent in agents) + " |"
        )
    lines.append("| told by | " + " | ".join(_sources(found, agent) for agent in agents) + " |")
    return "\n".join(lines)


def _sources(found: list[Cell], agent: str) -> str:
    return ", ".join(
        dict.fromkeys(
            cell.conversation for cell in found if cell.agent == agent and cell.conversation
        )
    )


def version(folder: Path, agent: str) -> str:
    package = folder / agent / "node_modules" / SETUPS[agent].package / "package.json"
    return str(json.loads(package.read_text())["version"])


def main(folder: Path, wanted: list[str]) -> int:
    found: list[Cell] = []
    for cell in cells(folder, wanted):
        found.append(cell)
        print(cell.agent, cell.state, cell.verb, cell.fault or cell, file=sys.stderr, flush=True)
    print(table(found, {cell.agent: version(folder, cell.agent) for cell in found}))
    return 1 if any(cell.fault for cell in found) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

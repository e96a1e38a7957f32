"""Each real agent ended from each state, by each verb, and taken up again afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench
from tests.real_agents.chance import PLAIN
from tests.real_agents.jobs import Job
from tests.real_agents.mock_model import ANSWER
from tests.real_agents.setups import SETUPS
from tests.real_agents.states import QUEUED, SITUATIONS
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State
from tmuxreap.ending.ending_state import UNREAD

LATE_S = 30.0  # a dialog that was open opens again, where the agent has kept it


def jobs() -> Iterator[Job]:
    for verb, (state, situation), agent in product(("stop", "kill"), SITUATIONS.items(), SETUPS):
        # Else it differs in nothing.
        shown = SETUPS[agent].whole or (situation.editor and not situation.handed_over)
        if shown and (verb == "stop" or situation.killed):
            play = partial(_played, state=state, verb=verb)
            yield Job(agent, f"{verb}, {state}", play, situation.allowed, varies=True)


def brought(bench: Bench, state: str) -> None:
    """One message, and into the state."""
    situation = SITUATIONS[state]
    if not situation.editor:
        del bench.environ["EDITOR"]
    if situation.below_shell:
        bench.start("sh", "-c", f"{bench.line}; exec sh")
    elif situation.behind:
        bench.start(*situation.behind, bench.line, "/dev/null")
    else:
        bench.start()
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    if not situation.silent:
        bench.say(bench.conditions.worded(MESSAGE))
        bench.until(
            "the answer", lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE
        )
        bench.settle()
    situation.bring(bench)
    if situation.becomes:
        bench.becomes(situation.becomes, f"the state {state}")
    else:
        time.sleep(1.0)
    if bench.conditions != PLAIN and situation.becomes:
        bench.one_state()


def _played(bench: Bench, *, state: str, verb: str) -> str:
    """Ended, held against what must be, taken up again."""
    brought(bench, state)
    asked = len(bench.model.asked)
    spared = {pid for pid, words in bench.left().items() if _shared(bench.profile, words)}
    with bench.frozen():
        item = bench.reap(verb, NAME)
    time.sleep(SITUATIONS[state].watched_s)
    _hold(bench, state, verb, item, asked, spared)
    if item["resumable"]:
        resumed(bench)
    told = [f"{item['duration_ms'] / 1000:.2f} s", *(["draft_lost"] if lost(item) else [])]
    return ", ".join(told if item["resumable"] else [*told, "nothing to resume"])


def _shared(profile: Profile, command: str) -> bool:
    return any(spare.matches([spare.program], command) for spare in profile.spare)


def _hold(
    bench: Bench, state: str, verb: str, item: dict[str, Any], asked: int, spared: set[int]
) -> None:
    left = {pid: words for pid, words in bench.left().items() if not words.startswith("tmux ")}
    later = "".join(bench.model.asked[asked:])
    situation, said = SITUATIONS[state], "\n".join(bench.drafts())
    due = bench.setup.remembers and not situation.silent
    more = len(bench.turns(asked)) if situation.watched_s else 0
    # A frozen agent opens no editor for us: what it showed is kept, and told to be a part.
    hands_over = state in bench.setup.whole and not bench.conditions.frozen_s
    # And nobody can tell what stood on a screen that it was drawing.
    half_drawn = bench.conditions.frozen_s and any(UNREAD in it for it in item["warnings"])
    must: list[tuple[str, Callable[[], bool]]] = [
        (
            f"it is {item['outcome']}",
            lambda: item["outcome"] == ("stopped" if verb == "stop" else "killed"),
        ),
        (
            f"stopped by {item['stopped_by']}",
            lambda: item["stopped_by"] in _due(bench, state, verb),
        ),
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
            lambda: lost(item) or _kept(bench, state, item, said),
        ),
        (
            f"of the draft was handed over: {said!r}",
            lambda: not hands_over or _kept(bench, state, item, said),
        ),
        (
            f"a draft was lost that there was not: {item['warnings']}",
            lambda: not lost(item) or bool(situation.typed) or half_drawn,
        ),
        (
            f"the conversation is {item['conversation']}",
            lambda: conversation_holds(item, MESSAGE) or not due,
        ),
        (f"resumable: {item['resumable']}", lambda: item["resumable"] is due),
        (
            f"an idle one took {item['duration_ms']} ms",
            lambda: state != "idle" or item["duration_ms"] < _limit_ms(bench),
        ),
    ]
    for what, holds in must:
        assert holds(), what


def _kept(bench: Bench, state: str, item: dict[str, Any], said: str) -> bool:
    if state == "queued" and bench.setup.keeps_queue:
        return conversation_holds(item, QUEUED)
    return all(one in said for one in (*SITUATIONS[state].typed, *bench.typed))


def lost(item: dict[str, Any]) -> bool:
    return any(warning.startswith("draft_lost") for warning in item["warnings"])


def _due(bench: Bench, state: str, verb: str) -> tuple[str, ...]:
    if verb == "kill":
        return ("sigterm", "sigkill")
    if bench.conditions.frozen_s:  # it hears no key in time
        return ("exit_keys", "hangup", "sigkill")
    return (bench.setup.queue_by if state == "queued" else "exit_keys",)


def _limit_ms(bench: Bench) -> float:
    """A frozen one leaves by the slow way."""
    slow_s = 15.0 if bench.conditions.frozen_s else 0.0
    return (bench.setup.fast_s + slow_s) * 1000 * _load()


def _load() -> float:
    """How many wait for each core: so much longer takes all that is done."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def conversation_holds(item: dict[str, Any], words: str) -> bool:
    """The very conversation: what was said stands in it."""
    path = item["conversation"]["path"]
    if not path:
        return False
    files = Path(path).parent.glob(
        Path(path).name + "*"
    )  # a database has a log of what is new beside it
    return any(words.encode() in file.read_bytes() for file in files)


def resumed(bench: Bench) -> None:
    """The model hears again what was said before."""
    warnings = bench.answer("resume", NAME)["warnings"]
    if any(one.startswith("dialog_open") for one in warnings):
        bench.soon(lambda: bench.seen().state is State.DIALOG, LATE_S)
    bench.resize()
    for still_s in (3.0, 1.0):  # a dialog that was open may open again late
        bench.until("the empty prompt, after the resume", lambda: _idle(bench))
        bench.settle(still_s)
    asked = len(bench.model.asked)
    bench.say(AGAIN)
    bench.until("both messages, after the resume", lambda: told(bench.model.asked[asked:]))


def _idle(bench: Bench) -> bool:
    """A turn that was killed with its pane may go on: as a person would, it is told to stop."""
    seen = bench.seen()
    time.sleep(0.3)  # nothing is pressed on a screen that is being drawn
    if seen.state in (State.BUSY, State.DIALOG) and bench.seen() == seen:
        bench.keys("Enter" if seen.setup else "Escape")  # whether to take it up: yes
        time.sleep(1.0)
    return seen.state is State.IDLE


def told(requests: list[str]) -> bool:
    return any(MESSAGE in request and AGAIN in request for request in requests)

"""The states that an agent is brought into before it is ended, and what must be true of each
afterwards: data for the matrix."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.real_agents.bench import BURST_S, NAME, Bench
from tests.real_agents.mock_model import SLOW, STREAM, TOOL
from tmuxreap.agents.profiles import Key, Pause
from tmuxreap.agents.screens import State

DRAFT = "half a thought"
LINES = ("first half of it", "second half of it")
WHOLE_THOUGHT = f"{DRAFT} and the rest"
COMMAND = "echo half"
WORDS = " ".join(f"word{number}" for number in range(60))
PASTED = tuple(f"pasted line {number}" for number in range(30))
TALL = tuple(f"tall line {number}" for number in range(60))
QUEUED = f"{TOOL} of the queue"


def nothing(bench: Bench) -> None:
    """It is idle as it is."""


@dataclass(frozen=True, slots=True)
class Situation:
    bring: Callable[[Bench], None] = nothing
    becomes: State | None = None  # as the program tells it
    typed: tuple[
        str, ...
    ] = ()  # all of it stands in the ledger, or the answer says that it does not
    allowed: bool = False  # it may run its tools without asking
    silent: bool = False  # no message was sent before
    below_shell: bool = False
    watched_s: float = 0.0  # how long after the answer nothing may begin
    killed: bool = False  # a cell of its own for `kill`
    editor: bool = True  # of the person, named in the agent's environment
    handed_over: bool = False  # only agents that hand their draft over to one have it
    behind: tuple[str, ...] = ()  # a program that carries the agent's terminal


def _draft(bench: Bench) -> None:
    bench.type(bench.conditions.worded(DRAFT, 2))


def _lines(bench: Bench) -> None:
    bench.type(bench.conditions.worded(LINES[0]))
    bench.keys(bench.setup.newline)
    time.sleep(0.2)
    bench.type(LINES[1])


def _asked(bench: Bench, word: str) -> None:
    """The turn has begun when the model was asked, not when the screen says so."""
    before = len(bench.model.asked)
    bench.say(f"{word} please")
    bench.until("its request", lambda: any(word in one for one in bench.turns(before)))


def _streaming(bench: Bench) -> None:
    _asked(bench, STREAM)
    time.sleep(1.5)


def _queued(bench: Bench) -> None:
    _asked(bench, SLOW)
    time.sleep(1.5)
    bench.type(QUEUED)
    bench.keys(bench.setup.queue)
    time.sleep(1)


def _shell_mode(bench: Bench) -> None:
    bench.type("!")
    bench.type(COMMAND)


def _paste(bench: Bench) -> None:
    bench.tmux("set-buffer", "-b", "pasted", "\n".join(PASTED))
    bench.tmux("paste-buffer", "-p", "-d", "-b", "pasted", "-t", f"={NAME}:")
    time.sleep(BURST_S)


def _tall(bench: Bench) -> None:
    for line in TALL:
        _line(bench, line)
        bench.keys(bench.setup.newline)
        time.sleep(0.05)


def _in_an_editor(bench: Bench) -> None:
    """A person has opened the draft in an editor, went on there, and did not save."""
    bench.type(DRAFT)
    for step in bench.profile.editor_keys:
        if isinstance(step, Key):
            bench.keys(step.name)
        elif isinstance(step, Pause):
            time.sleep(step.seconds)
    bench.until(
        "the editor", lambda: any(words.startswith("vi ") for words in bench.left().values())
    )
    bench.settle()
    bench.keys("A", " and the rest", "Escape")
    bench.until("its words", lambda: WHOLE_THOUGHT in bench.screen())


def _line(bench: Bench, line: str) -> None:
    bench.tmux("send-keys", "-l", "-t", f"={NAME}:", line)
    bench.soon(partial(_is_shown, bench, line))  # what comes in one burst is taken for a paste


def _tall_as_shown(bench: Bench) -> None:
    """Up to the first line with which the screen does not tell any more whether it shows all."""
    for line in TALL:
        _line(bench, line)
        bench.typed = (*bench.typed, line)
        if bench.soon(lambda: bench.seen().partial, 0.5):
            break
        bench.keys(bench.setup.newline)
        time.sleep(0.05)


def _tall_above(bench: Bench) -> None:
    """The cursor is in its first line."""
    _tall(bench)
    for _ in TALL:
        bench.keys("Up")
        time.sleep(0.05)
    bench.settle()


def _is_shown(bench: Bench, line: str) -> bool:
    return line in bench.screen()


def _tiny(bench: Bench) -> None:
    bench.type(DRAFT)
    bench.tmux("resize-window", "-t", f"={NAME}:", "-x", "20", "-y", "5")
    time.sleep(1)


WATCHED_S = 15.0

SITUATIONS: dict[str, Situation] = {
    "idle": Situation(becomes=State.IDLE, killed=True),
    "draft": Situation(_draft, State.DRAFT, (DRAFT,), killed=True),
    "lines": Situation(_lines, State.DRAFT, LINES),
    "busy": Situation(lambda bench: _asked(bench, SLOW), State.BUSY, killed=True),
    "dialog": Situation(lambda bench: bench.say(f"{TOOL} please"), State.DIALOG, killed=True),
    "menu": Situation(lambda bench: bench.type("/")),
    "copy-mode": Situation(lambda bench: bench.copy_mode()),
    "shell": Situation(below_shell=True),
    "silent": Situation(silent=True),
    "streaming": Situation(_streaming, State.BUSY, allowed=True, watched_s=WATCHED_S),
    "queued": Situation(_queued, typed=(QUEUED,), allowed=True, watched_s=WATCHED_S),
    "yolo": Situation(lambda bench: bench.type(DRAFT), State.DRAFT, (DRAFT,), allowed=True),
    "shell mode": Situation(_shell_mode, typed=(f"!{COMMAND}",)),
    "paste": Situation(_paste, typed=PASTED),
    "paste, no editor": Situation(_paste, typed=PASTED, editor=False),
    "tall": Situation(_tall, typed=TALL),
    "tall, above": Situation(_tall_above, typed=TALL),
    "tall, as shown": Situation(_tall_as_shown, typed=TALL[:1]),
    "in an editor": Situation(_in_an_editor, typed=(WHOLE_THOUGHT,), handed_over=True),
    "behind script": Situation(_draft, State.DRAFT, (DRAFT,), behind=("script", "-qfc")),
    "wrapped": Situation(lambda bench: bench.type(WORDS), State.DRAFT, (WORDS,)),
    "tiny": Situation(_tiny, typed=(DRAFT,)),
}

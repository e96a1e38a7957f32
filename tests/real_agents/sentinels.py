"""Sentinels: small truths about an agent that a release could change, in scenes that share a start.

Each is true of every agent that has its scene, by its profile. A scene that cannot be brought about
fails all of its sentinels: the first says why."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.real_agents.bench import MESSAGE, NAME, Bench
from tests.real_agents.mock_model import ANSWER
from tests.real_agents.states import COMMAND, DRAFT, LINES, QUEUED, SITUATIONS, WORDS
from tests.real_agents.stops import lost, resumed
from tmuxreap.agents.profiles import Key, KeyStep, Pause
from tmuxreap.agents.screens import State

SOON_S = 10.0
DRAWN_S = 1.0
FOOTER = "see (esc to interrupt) and (esc to cancel)"
WIDE = "茶壶是蓝色的"
NUMBERED = "2. then the second thing"
LEAVES_S = 30.0


@dataclass(frozen=True, slots=True)
class Sentinel:
    name: str
    holds: Callable[[Bench], object]  # an AssertionError, or a false answer, says that it does not
    has: Callable[[Bench], object] = bool  # whether its profile says anything about it


@dataclass(frozen=True, slots=True)
class Scene:
    bring: Callable[[Bench], None]
    sentinels: tuple[Sentinel, ...]
    state: str = ""  # of SITUATIONS, for agents that lack it
    allowed: bool = False


def faults(bench: Bench, scenes: tuple[Scene, ...] | None = None) -> Iterator[str]:
    """Play all, and yield what does not hold."""
    for scene in SCENES if scenes is None else scenes:
        if scene.state in bench.setup.lacks:
            continue
        try:
            begin(bench, allowed=scene.allowed)
            scene.bring(bench)
        except AssertionError as error:
            names = ", ".join(one.name for one in scene.sentinels)
            yield f"{names}: {_first(error)}"
            continue
        for one in scene.sentinels:
            if not one.has(bench):
                continue
            try:
                if not one.holds(bench):
                    yield f"{one.name}: its screen is read as {bench.seen()}"
            except AssertionError as error:
                yield f"{one.name}: {_first(error)}"


def begin(bench: Bench, *command: str, allowed: bool = False) -> None:
    """Start it anew, and have one message answered."""
    if bench.registry.exists():
        bench.answer("kill", NAME)
    bench.allow(allowed)
    bench.start(*command)
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE, LEAVES_S)
    bench.settle()
    bench.say(MESSAGE)
    bench.until("the answer", lambda: ANSWER in bench.screen(), LEAVES_S)
    bench.settle()


def _first(error: AssertionError) -> str:
    return str(error).partition("\n")[0]


def _is(state: State, bench: Bench) -> bool:
    return bench.soon(lambda: bench.seen().state is state, SOON_S)


def _at(width: int, state: State, bench: Bench) -> bool:
    """In a terminal of that width."""
    bench.tmux("resize-window", "-t", f"={NAME}:", "-x", str(width), "-y", "40")
    time.sleep(DRAWN_S)  # who works draws all the time
    held = _is(state, bench)
    bench.resize()
    time.sleep(DRAWN_S)
    return held


def _drafted(text: str, bench: Bench) -> bool:
    """Typed into the empty input it is read as the draft, and nothing else."""
    _emptied(bench)
    bench.type(text)
    return bench.soon(lambda: bench.seen().state is State.DRAFT and text in bench.seen().draft)


def _emptied(bench: Bench) -> None:
    """As a person empties it: Ctrl-C ends no agent while words are in its input."""
    if bench.seen().state is not State.IDLE:
        bench.keys("C-c")
        bench.soon(lambda: bench.seen().state is State.IDLE)
    time.sleep(1.5)  # several exit at a second one that comes soon


def _lines(bench: Bench) -> bool:
    _emptied(bench)
    SITUATIONS["lines"].bring(bench)
    return bench.soon(lambda: all(line in bench.seen().draft for line in LINES))


def _in_shell_mode(bench: Bench) -> bool:
    _emptied(bench)
    SITUATIONS["shell mode"].bring(bench)
    return bench.soon(lambda: bench.seen().draft == f"!{COMMAND}")


def _exit_typed(bench: Bench) -> bool:
    """With the menu that it opens."""
    _emptied(bench)
    typed = next(
        step.text for step in bench.profile.idle_keys if not isinstance(step, (Key, Pause))
    )
    bench.type(typed)
    return bench.soon(lambda: bench.seen().draft.strip() == typed)


def _types_its_exit(bench: Bench) -> bool:
    return any(not isinstance(step, (Key, Pause)) for step in bench.profile.idle_keys)


def _empties(bench: Bench) -> bool:
    _drafted(DRAFT, bench)
    press(bench, bench.profile.empty_keys)
    return _is(State.IDLE, bench)


def _pasted(bench: Bench) -> bool:
    """Either whole, or known to be a part."""
    _emptied(bench)
    SITUATIONS["paste"].bring(bench)
    return bench.soon(lambda: bench.seen().partial or "pasted line 29" in bench.seen().draft)


def _tall(bench: Bench) -> bool:
    _emptied(bench)
    SITUATIONS["tall"].bring(bench)
    return bench.soon(lambda: bench.seen().partial or "tall line 0" in bench.seen().draft)


def _opens_its_editor(bench: Bench) -> bool:
    press(bench, bench.profile.editor_keys)
    held = bench.soon(lambda: any(it.startswith("vi ") for it in bench.left().values()), SOON_S)
    bench.settle()
    bench.keys("Escape", ":q!", "Enter")
    return held and bench.soon(lambda: bench.seen().state is not State.UNKNOWN, SOON_S)


def press(bench: Bench, steps: tuple[KeyStep, ...]) -> None:
    for step in steps:
        if isinstance(step, Key):
            bench.keys(step.name)
        elif isinstance(step, Pause):
            time.sleep(step.seconds)


def _doors_agree(bench: Bench) -> bool:
    return bool(bench.one_state())


def _is_recognised(bench: Bench) -> bool:
    found = bench.reap("show", NAME)
    return (found["agent"], found["live"]) == (bench.agent, "alive")


def _has_a_conversation(bench: Bench) -> bool:
    return bool(bench.reap("show", NAME)["conversation_id"]) or not bench.profile.launch


def _ends_its_turn(bench: Bench) -> bool:
    press(bench, bench.profile.turn_keys)
    return bench.soon(lambda: bench.seen().state in (State.IDLE, State.DRAFT), SOON_S)


def _has_a_draft_in_a_turn(bench: Bench) -> bool:
    """Several show no sign of their turn beside a draft: it is known by their own record."""
    bench.type(DRAFT)
    return bench.soon(lambda: bench.seen().draft == DRAFT) and _at_work(bench)


def _at_work(bench: Bench) -> bool:
    return bench.soon(lambda: bench.pane_state() == State.BUSY.value, SOON_S)


def _shows_its_queue(bench: Bench) -> bool:
    return bench.soon(lambda: QUEUED in bench.seen().queued)


def _takes_its_queue_back(bench: Bench) -> bool:
    press(bench, bench.profile.unqueue_keys)
    return bench.soon(lambda: QUEUED in bench.seen().draft and not bench.seen().queued)


def _asks_in_words(bench: Bench) -> bool:
    return bool(bench.seen().asks)


def _denies(bench: Bench) -> bool:
    press(bench, bench.profile.turn_keys_in(State.DIALOG))
    ended = bench.soon(lambda: bench.seen().state is not State.DIALOG, SOON_S)
    return ended and not bench.proof.exists()


def _leaves_by_its_keys(bench: Bench) -> bool:
    bench.ended = bench.reap("stop", NAME)
    return bench.ended["stopped_by"] == "exit_keys"


def _says_its_conversation(bench: Bench) -> bool:
    return bool(bench.ended["conversation"]["id"]) or not bench.setup.remembers


def _is_on_disk(bench: Bench) -> bool:
    path = bench.ended["conversation"]["path"]
    return bool(path) and Path(path).exists()


def _leaves_nothing(bench: Bench) -> bool:
    left = bench.left().values()
    spares = bench.profile.spare
    return all(
        words.startswith("tmux ") or any(it.matches([it.program], words) for it in spares)
        for words in left
    )


def _comes_back(bench: Bench) -> bool:
    resumed(bench)
    return True


def _keeps_a_draft(bench: Bench) -> bool:
    bench.type(DRAFT)
    bench.soon(lambda: bench.seen().draft == DRAFT)
    item = bench.reap("stop", NAME)
    return item["stopped_by"] == "exit_keys" and DRAFT in bench.drafts() and not lost(item)


def _knows_its_flags(bench: Bench) -> bool:
    """The words of `launch` and `resume` are in its help, or in that of the command it begins."""
    words = [*bench.profile.launch, *bench.profile.resume]
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    done = subprocess.run(
        [str(bench.program), "--help"],
        env=bench.environ,
        cwd=bench.place.project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return all(flag in done.stdout + done.stderr for flag in flags)


def _named(text: str) -> Callable[[Bench], bool]:
    return partial(_drafted, text)


def _wide(width: int, state: State) -> Callable[[Bench], bool]:
    return partial(_at, width, state)


def _emptied_again(bench: Bench) -> bool:
    _emptied(bench)
    return bench.seen().state is State.IDLE


def _shows_drafts_in_a_turn(bench: Bench) -> bool:
    return "queued" not in bench.setup.lacks


def _reads_its_queue(bench: Bench) -> bool:
    return not bench.setup.keeps_queue


def _unqueues(bench: Bench) -> bool:
    return bool(bench.profile.unqueue_keys)


SCENES: tuple[Scene, ...] = (
    Scene(
        SITUATIONS["idle"].bring,
        (
            Sentinel("an empty prompt is idle", partial(_is, State.IDLE)),
            Sentinel("all doors tell one state", _doors_agree),
            Sentinel("its process is recognised", _is_recognised),
            Sentinel("its conversation is known", _has_a_conversation),
            Sentinel("its help has the flags of launch and resume", _knows_its_flags),
            *(
                Sentinel(f"idle at {width} columns", _wide(width, State.IDLE))
                for width in (60, 80, 140, 200, 240)
            ),
            Sentinel("a draft is read", _named(DRAFT)),
            *(
                Sentinel(f"a draft at {width} columns", _wide(width, State.DRAFT))
                for width in (60, 80, 140, 200, 240)
            ),
            Sentinel("a draft of another script is read", _named(WIDE)),
            Sentinel("a numbered draft is no dialog", _named(NUMBERED)),
            Sentinel("a quoted footer is a draft", _named(FOOTER)),
            Sentinel("a draft of two lines is read", _lines),
            Sentinel("a wrapped draft is rejoined", _named(WORDS)),
            Sentinel("its exit command is read with its menu", _exit_typed, _types_its_exit),
            Sentinel("its key empties the input", _empties, lambda it: it.profile.empty_keys),
            Sentinel("a paste is whole, or known as a part", _pasted),
            Sentinel("its key opens the editor", _opens_its_editor, lambda it: it.setup.whole),
            Sentinel("a shell command keeps its sign", _in_shell_mode),  # the mode stays
        ),
    ),
    Scene(
        SITUATIONS["idle"].bring,
        (
            Sentinel("a tall draft is whole, or known as a part", _tall),
            Sentinel("a draft is emptied however tall", _emptied_again),
            Sentinel("its exit keys end it", _leaves_by_its_keys),
            Sentinel("its last words name the conversation", _says_its_conversation),
            Sentinel("its conversation is on disk", _is_on_disk, lambda it: it.setup.remembers),
            Sentinel("nothing is left behind", _leaves_nothing),
            Sentinel("a resume goes on with it", _comes_back, lambda it: it.ended["resumable"]),
            Sentinel("a stop keeps a draft", _keeps_a_draft),
        ),
    ),
    Scene(
        SITUATIONS["busy"].bring,
        (
            Sentinel("a turn is busy", partial(_is, State.BUSY)),
            Sentinel("a turn is busy at 60 columns", _wide(60, State.BUSY)),
            Sentinel("a turn is busy at 200 columns", _wide(200, State.BUSY)),
            Sentinel("its key ends the turn", _ends_its_turn, lambda it: it.profile.turn_keys),
        ),
        "busy",
    ),
    Scene(
        SITUATIONS["busy"].bring,
        (Sentinel("a draft in a turn is read", _has_a_draft_in_a_turn, _shows_drafts_in_a_turn),),
        "busy",
    ),
    Scene(
        SITUATIONS["queued"].bring,
        (
            Sentinel("a queued prompt is read", _shows_its_queue, _reads_its_queue),
            Sentinel("its key takes the queue back", _takes_its_queue_back, _unqueues),
        ),
        "queued",
    ),
    Scene(
        SITUATIONS["dialog"].bring,
        (
            Sentinel("a question is a dialog", partial(_is, State.DIALOG)),
            Sentinel("a question has its words", _asks_in_words),
            Sentinel("a dialog at 60 columns", _wide(60, State.DIALOG)),
            Sentinel("a dialog at 200 columns", _wide(200, State.DIALOG)),
            Sentinel("its key denies, and no tool runs", _denies, lambda it: it.setup.denies),
        ),
        "dialog",
    ),
    Scene(
        SITUATIONS["streaming"].bring,
        (Sentinel("a turn that talks is busy", _at_work),),
        "streaming",
        allowed=True,
    ),
)
COUNT = sum(len(scene.sentinels) for scene in SCENES)
